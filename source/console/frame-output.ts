import { textWidth } from '../text/width.ts';
import type { Size } from './layout.ts';

/** Ink writes these before and after a frame, so that the terminal shows it as a whole. */
const begin = '\x1b[?2026h';
const end = '\x1b[?2026l';

// Ink begins the changed part of a row with all colours that were started and ended before it.
const unusedColour = /\x1b\[(?:3[0-7]|9[0-7]|38[;\d]+)m(?=\x1b\[39m)/g;
const endedTwice = /(?:\x1b\[39m){2,}/g;

// Moves to the beginning of the next row. mosh does not support this sequence, and draws over the row above. Ink never moves beyond its own
// frame, so nothing scrolls.
const nextRow = /\x1b\[E/g;

const enterScreen = '\x1b[?1049h';
const leaveScreen = '\x1b[?1049l';
/** A character that the terminal draws wider than it was counted must not wrap to a new row. */
const noWrap = '\x1b[?7l';
const wrapAgain = '\x1b[?7h';
/** Not every terminal has an alternate screen: the output of other programs is cleared. */
const cleared = '\x1b[H\x1b[2J';

/** Ink erases its frame row by row upwards, from the position where it left the cursor. */
const erasedRows = /^(?:\x1b\[2K(?:\x1b\[1A)?)+\x1b\[G/;
const frameStart = /^(?:\x1b\[2K|\x1b\[\d*A|\x1b\[G|\x1b\[[0-3]?J|\x1b\[H)*/;
const cursorShown = /\x1b\[\?25[hl]/g;
const rowEnd = /(\n|\x1b\[E)/;
const atColumn = /^\x1b\[(\d+)G/;
/** Characters that are one column wide in every terminal. */
const narrow = '\\x20-\\x7e\\u00a0-\\u02ff\\u2010-\\u2027\\u2190-\\u2193\\u2500-\\u25fc\\u2713-\\u2718\\u2800-\\u28ff';
const narrowRow = new RegExp(`^[\\x07\\x1b${narrow}]*$`);
const rowParts = new RegExp(
  `\\x1b\\[[\\d;:?]*[A-Za-z]|\\x1b\\]8;[^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)|([${narrow}]+)|([^\\x07\\x1b${narrow}]+)`,
  'g',
);

/** Adds the absolute column after each character whose width differs between terminals. */
function anchored(row: string, firstColumn: number): string {
  if (narrowRow.test(row)) return row;
  let column = firstColumn;
  let fixed = '';
  for (const [part, plain, other] of row.matchAll(rowParts)) {
    fixed += part;
    column += plain?.length ?? (other === undefined ? 0 : textWidth(other));
    if (other !== undefined) fixed += `\x1b[${column}G`;
  }
  return fixed;
}

/** Puts each row at an absolute position: when a terminal draws one row wrongly, the others stay in position. */
export function placed(frame: string, height: number): string {
  const rows = frame.replace(cursorShown, '');
  const [start] = frameStart.exec(rows) as RegExpExecArray;
  const pieces = rows.slice(start.length).split(rowEnd);
  let result = frame.match(cursorShown)?.join('') ?? '';
  if (/\x1b\[[0-3]?J/.test(start)) result += cleared;
  const count = (pieces.length + 1) / 2;
  for (let row = 0; row < Math.min(count, height); row++) {
    const piece = pieces[2 * row] ?? '';
    // An unchanged row is skipped, an empty one is drawn.
    if (piece === '' && pieces[2 * row + 1] !== '\n') continue;
    const at = atColumn.exec(piece);
    const column = at ? Number(at[1]) : 1;
    result += at
      ? `\x1b[${row + 1};${column}H${anchored(piece.slice(at[0].length), column)}`
      : `\x1b[${row + 1};1H\x1b[K${anchored(piece, 1)}`;
  }
  if (start.includes('\x1b[2K') && count < height) result += `\x1b[${count + 1};1H\x1b[J`;
  return result;
}

export interface PositionedText {
  x: number;
  y: number;
  text: string;
}

export function enteredWith(texts: readonly PositionedText[]): string {
  const rows = texts.map(({ x, y, text }) => `\x1b[${y + 1};${x + 1}H${anchored(text, x + 1)}`);
  return `${enterScreen}${noWrap}\x1b[?25l${begin}${cleared}${rows.join('')}${end}`;
}

/** Returns an equivalent frame that is a quarter smaller and works in every terminal. */
export function leaner(frame: string): string {
  return frame.replace(unusedColour, '').replace(endedTwice, '\x1b[39m').replace(nextRow, '\r\n');
}

/** A frame is one write instead of three. `shown`: the size of a first frame that is on the screen already (`enteredWith`). */
export function frameOutput(
  stdout: NodeJS.WriteStream,
  written: (tookMs: number, sizeBytes: number) => void,
  shown?: Size,
): NodeJS.WriteStream {
  let frame = '';
  let ours = false;
  let entered = shown;
  const flush = (): boolean => {
    if (frame === '') return true;
    const ends = frame.endsWith(end) ? -end.length : undefined;
    const whole = leaner(ours ? begin + placed(frame.slice(begin.length, ends), stdout.rows) + frame.slice(ends ?? frame.length) : frame);
    frame = '';
    const startMs = performance.now();
    // On a terminal this waits until the data was accepted.
    const goOn = stdout.write(whole);
    written(performance.now() - startMs, Buffer.byteLength(whole));
    return goOn;
  };
  const outside = (data: string): string => {
    if (data.includes(enterScreen)) {
      ours = true;
      const stands = entered?.columns === stdout.columns && entered.rows === stdout.rows;
      const screen = entered ? '' : enterScreen + noWrap;
      entered = undefined;
      return data.replace(enterScreen, screen + (stands ? '' : cleared));
    }
    if (data.includes(leaveScreen)) {
      ours = false;
      return data.replace(leaveScreen, wrapAgain + leaveScreen);
    }
    return ours ? data.replace(erasedRows, cleared) : data;
  };
  const write = (data: string, ...rest: []): boolean => {
    if (rest.length > 0 || typeof data !== 'string') flush();
    else if (data === begin || frame !== '') {
      // Flushes a frame that is never ended.
      if (frame === '') queueMicrotask(flush);
      frame += data;
      return data === end ? flush() : true;
    }
    return stdout.write(typeof data === 'string' ? outside(data) : data, ...rest);
  };
  return new Proxy(stdout, {
    get(target, name) {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
