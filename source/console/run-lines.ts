import type { Choice, Shown, ShownSecret } from '../session/session.ts';
import { reviewLines } from '../terminal/review-text.ts';
import { tableLines } from '../terminal/table.ts';
import { todoLines } from '../terminal/todo-text.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { blockSize, type Modules, moduleBlocks } from '../text/module-blocks.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';
import { fieldText } from './filter-text.ts';
import type { Dialog, RunView } from './interface-store.ts';
import { keyText } from './key-press.ts';
import type { CommandId, Keymap } from './keymap.ts';
import { windowStart } from './layout.ts';
import { itemLines, progressBar, runningLines } from './run-progress.ts';
import { cutStyled, styledWidth } from './styled-text.ts';
import { characters } from './text-field.ts';
import type { Theme } from './theme.ts';
import { wholeRow } from './widgets/whole-row.ts';

/** As wide as a day: narrower columns are not cut. */
const shortCell = 10;

function shownTable(table: Extract<Shown, { kind: 'table' }>, theme: Theme, room: number): string[] {
  const rows = table.rows.map((row) => row.map(cleanLine));
  // Half a date or half a number says something else.
  const isShort = (index: number) => rows.every((row) => textWidth(row[index] ?? '') <= shortCell);
  const columns = table.columns.map((heading, index) => ({
    heading,
    align: table.align?.[index] ?? ('left' as const),
    ...(!isShort(index) && { least: 8 }),
  }));
  return [
    ...(table.title ? [theme.paint('heading', cleanLine(table.title))] : []),
    ...tableLines(columns, rows, { width: room, heading: (text) => theme.paint('faint', text), whole: true }),
  ];
}

export interface SecretsShown {
  /** Until it is masked again. */
  secondsLeft: number;
  copyKey: string;
  /** For a QR code: the whole screen for it, and saving it to a file. */
  aloneKey: string;
  saveKey: string;
  /** Without colours it is drawn for the other background. */
  swapped: boolean;
  /** Not where frames are kept: a screen reader's output scrolls by. */
  drawn: boolean;
  /** How many there are for what is shown: half a code is worth nothing to a camera. */
  rows: number;
}

/** The value while it may be seen. A secret without one was masked again. */
function secretLines(
  { label, value, secondsLeft, code }: ShownSecret,
  theme: Theme,
  room: number,
  secrets: SecretsShown | undefined,
): string[] {
  const head = wrap(cleanLine(label), room).map((line) => theme.paint('strong', line));
  if (value === '')
    return [
      ...head,
      '',
      theme.glyphs.mask.repeat(8),
      '',
      ...wrap('Masked again. Start it anew to see it.', room).map((line) => theme.paint('faint', line)),
    ];
  const shown = secrets?.drawn
    ? cleanLines(value).flatMap((line) => wrap(line, room).map((part) => theme.paint('accent', part)))
    : [theme.glyphs.mask.repeat(8)];
  const left = `${Math.min(secondsLeft, secrets?.secondsLeft ?? 0)} s`;
  return [
    ...head,
    '',
    ...shown,
    ...(code && secrets ? ['', ...codeLines(code, theme, room, secrets)] : []),
    '',
    `${theme.paint('key', secrets?.copyKey ?? '')} copies it   ${theme.paint('faint', `masked again in ${left}`)}`,
  ];
}

/** All of a code, or the keys that lead to it: half of one is worth nothing to a camera. */
function codeLines(code: Modules, theme: Theme, room: number, { drawn, rows, aloneKey, saveKey, swapped }: SecretsShown): string[] {
  const size = blockSize(code, theme);
  if (drawn && size.columns <= room && size.rows <= rows) return codeBlocks(code, theme, swapped);
  const alone = drawn ? `${aloneKey} shows its QR code on the whole screen, ` : '';
  const way = drawn ? `${saveKey} saves it to a file.` : `${saveKey} saves its QR code to a file.`;
  return wrap(alone + way, room).map((line) => theme.paint('faint', line));
}

function codeBlocks(code: Modules, theme: Theme, swapped: boolean): string[] {
  const { ascii, depth } = theme;
  const background = swapped ? (theme.background === 'dark' ? 'light' : 'dark') : theme.background;
  return moduleBlocks(code, { ascii, colour: depth !== 'none', background });
}

/** The last QR code that a run showed, until it is masked. */
export function shownCode({ shown }: RunView): (ShownSecret & { code: Modules }) | undefined {
  return shown.findLast((each): each is ShownSecret & { code: Modules } => each.kind === 'secret' && each.code !== undefined);
}

/** A QR code on the whole screen, the keys below it; or how much larger the screen has to be. */
export function codeScreen(
  run: RunView,
  theme: Theme,
  keymap: Keymap,
  { columns, rows, nowMs }: { columns: number; rows: number; nowMs: number },
): string[] {
  const code = shownCode(run)?.code;
  if (!code) return [];
  const size = blockSize(code, theme);
  const key = (id: CommandId, what: string) => `${theme.paint('key', keymap.keyOf(id))} ${theme.paint('faint', what)}`;
  const left = Math.max(0, Math.ceil(((run.secretUntilMs ?? nowMs) - nowMs) / 1000));
  const keys = [
    key('back', 'back'),
    ...(theme.depth === 'none' ? [key('swap-code', 'swap light and dark')] : []),
    key('save-code', 'save'),
    theme.paint('faint', `masked again in ${left} s`),
  ];
  const foot = cutStyled(` ${keys.join('   ')}`, columns, theme.glyphs.ellipsis);
  const body =
    size.columns <= columns && size.rows < rows
      ? codeBlocks(code, theme, run.codeSwapped)
      : wrap(
          `The QR code needs ${size.columns} x ${size.rows + 1} characters, and this terminal has ${columns} x ${rows}. Make the terminal larger, or press ${keymap.keyOf('save-code')} to save the code to a file.`,
          Math.min(columns - 4, 70),
        );
  const across = Math.max(...body.map(styledWidth));
  const indent = ' '.repeat(Math.max(0, (columns - across) >> 1));
  const above = Math.max(0, (rows - 1 - body.length) >> 1);
  const filled = [...Array.from({ length: above }, () => ''), ...body.map((line) => indent + line)];
  return [...filled, ...Array.from({ length: Math.max(0, rows - 1 - filled.length) }, () => ''), foot];
}

/** What stands under something else still does when it is wrapped: of a policy, or what would be lost. */
function wrapIndented(line: string, room: number): string[] {
  const indent = ' '.repeat(Math.min(line.length - line.trimStart().length, room >> 1));
  return wrap(line.trimStart(), room - indent.length).map((part) => indent + part);
}

/** What a flow showed, as lines of at most `room`. */
export function shownLines(shown: Shown, theme: Theme, room: number, secrets?: SecretsShown): string[] {
  switch (shown.kind) {
    case 'text':
      return cleanLines(shown.text).flatMap((line) => wrapIndented(line, room));
    case 'review':
      return reviewLines(shown.review, { paint: (role, text) => theme.paint(role, text), columns: room }).map((line) =>
        cutStyled(line, room, theme.glyphs.ellipsis),
      );
    case 'secret':
      return secretLines(shown, theme, room, secrets);
    case 'output':
      return cleanLines(new TextDecoder().decode(shown.bytes)).flatMap((line) =>
        wrap(line, room).map((part) => (shown.stream === 'stderr' ? theme.paint('warn', part) : part)),
      );
    case 'table':
      return shownTable(shown, theme, room);
    case 'item':
      return itemLines(shown, theme, room);
  }
}

type ConfirmDialog = Extract<Dialog, { kind: 'confirm' }>;

/** What is to be done, and what is sent for it: of a request that names many things the beginning, all of them are in the table above. */
function confirmHead({ confirmation }: ConfirmDialog, theme: Theme, room: number, requestRows: number): string[] {
  const request = confirmation.request === undefined ? [] : wrap(cleanLine(confirmation.request), room);
  const shown =
    request.length <= requestRows
      ? request
      : [...request.slice(0, requestRows - 1), cut(request.slice(requestRows - 1).join(' '), room, theme.glyphs.ellipsis)];
  return [
    ...wrap(cleanLine(confirmation.title), room).map((line) => theme.paint('strong', line)),
    ...shown.map((line) => theme.paint('faint', line)),
  ];
}

function consequenceLines({ confirmation }: ConfirmDialog, theme: Theme, room: number): string[] {
  return confirmation.consequences.flatMap((consequence) =>
    wrap(cleanLine(consequence), room - 2).map((line, row) => theme.paint('warn', `${row === 0 ? theme.glyphs.tone.warn : ' '} ${line}`)),
  );
}

function confirmKeys({ confirmation, field, problem }: ConfirmDialog, theme: Theme, keymap: Keymap, room: number): string[] {
  const key = (id: 'yes' | 'no' | 'accept' | 'cancel') => theme.paint('key', keyText(keymap.binding(id).keys[0] ?? ''));
  if (confirmation.lenient) return [`${key('accept')} yes, do it     ${key('cancel')} cancel`];
  if (confirmation.typed === undefined) return [`${key('yes')} yes, do it     ${key('no')} no`];
  return [
    ...wrap(`Type ${cleanLine(confirmation.typed)} to confirm:`, room),
    `${theme.paint('accent', '>')} ${fieldText(theme, field)}`,
    ...(problem ? [theme.paint('bad', cleanLine(problem))] : []),
  ];
}

/**
 * A confirmation stands whole below what was shown. Where the screen is too low for that, what would be lost scrolls with what was shown,
 * and the keys stay.
 */
function confirmParts(
  dialog: ConfirmDialog,
  theme: Theme,
  keymap: Keymap,
  room: number,
  height: number,
): { scrolled: string[]; ask: string[] } {
  const head = confirmHead(dialog, theme, room, 2);
  const lost = consequenceLines(dialog, theme, room);
  const keys = confirmKeys(dialog, theme, keymap, room);
  const whole = [...head, ...(lost.length > 0 ? ['', ...lost] : []), '', ...keys];
  const request = confirmHead(dialog, theme, room, Number.POSITIVE_INFINITY);
  const isCut = (rows: number) => request.length > confirmHead(dialog, theme, room, rows).length;
  if (whole.length <= height) return { scrolled: isCut(2) ? request : [], ask: whole };
  return { scrolled: [...lost, ...(isCut(1) ? ['', ...request] : [])], ask: [...confirmHead(dialog, theme, room, 1), '', ...keys] };
}

/** A secret that stands as long as its question does. */
function revealedLines({ label, value }: Pick<ShownSecret, 'label' | 'value'>, theme: Theme, room: number, drawn: boolean): string[] {
  const head = wrap(cleanLine(label), room);
  if (!drawn)
    return [
      ...head,
      theme.glyphs.mask.repeat(8),
      ...wrap('What is spoken stays where it was said: ask for it in a terminal, with the verb.', room),
    ];
  return [...head, ...cleanLines(value).flatMap((line) => wrap(line, room).map((part) => theme.paint('accent', part)))];
}

function questionLines(
  dialog: Extract<Dialog, { kind: 'question' }>,
  theme: Theme,
  { room, height, drawn }: { room: number; height: number; drawn: boolean },
): string[] {
  const { question, field, cursor, picked, problem } = dialog;
  const { glyphs } = theme;
  const lines = wrap(cleanLine(question.label), room).map((line) => theme.paint('strong', line));
  if (question.help) lines.push(...wrap(cleanLine(question.help), room).map((line) => theme.paint('faint', line)));
  if (question.reveals) lines.push('', ...revealedLines(question.reveals, theme, room, drawn));
  lines.push('');
  if (question.kind === 'choice' || question.kind === 'several') {
    const textOf = ({ label, detail }: Choice) => `${cleanLine(label)}${detail ? `  ${cleanLine(detail)}` : ''}`;
    const chosen = question.choices[cursor];
    const boxWidth = question.kind === 'several' ? 4 : 0;
    const about = chosen ? wholeRow(textWidth(textOf(chosen)) + boxWidth + 2 > room, textOf(chosen), { theme, width: room, height }) : [];
    const most = Math.max(3, height - lines.length - 2 - (about.length > 0 ? about.length + 1 : 0));
    const start = windowStart({ previous: 0, selected: cursor, height: most, total: question.choices.length });
    for (const [offset, choice] of question.choices.slice(start, start + most).entries()) {
      const here = start + offset === cursor;
      const box = question.kind === 'several' ? `[${picked.has(choice.value) ? 'x' : ' '}] ` : '';
      const text = pad(`${here ? glyphs.pointer : ' '} ${box}${textOf(choice)}`, room, 'left', glyphs.ellipsis);
      lines.push(here ? theme.paint('selected', text) : text);
    }
    if (question.choices.length > most) lines.push(theme.paint('faint', `${cursor + 1} of ${question.choices.length}`));
    if (about.length > 0) lines.push('', ...about);
  } else {
    const hide = (text: string) => (question.kind === 'secret' ? glyphs.mask.repeat(characters(text).length) : text);
    // A long answer shows its end, where the cursor mostly is.
    const all = characters(field.text);
    const from = Math.max(0, field.cursor - (room - 4));
    lines.push(
      `${theme.paint('accent', '>')} ${fieldText(theme, { text: all.slice(from, from + room - 3).join(''), cursor: field.cursor - from }, hide)}`,
    );
  }
  if (problem) lines.push(...wrap(cleanLine(problem), room).map((line) => theme.paint('bad', line)));
  return lines;
}

function tailLines({ tail }: RunView, theme: Theme, room: number): string[] {
  return tail.flatMap((line) => wrap(cleanLine(line), room).map((part) => theme.paint('faint', part)));
}

function leftLines({ todo }: RunView, theme: Theme, keymap: Keymap, room: number): string[] {
  if (!todo) return [];
  const style = { strong: (text: string) => theme.paint('strong', text), faint: (text: string) => theme.paint('faint', text) };
  return ['', ...todoLines(todo, { columns: room, ...style, confirm: `${keymap.keyOf('palette')} duty ${todo.component}` })];
}

/** A sentence of two lines, and what sets it apart. */
const endRows = 3;

export interface RunScreen {
  lines: string[];
  /** Of what was shown, for scrolling; `base` is where that begins which belongs to the question that stands. */
  shown: { height: number; total: number; base: number };
}

/** The box of a run: what it showed, then what it asks or how it ended. At most `height` lines; what was shown scrolls. */
export function runScreen(
  run: RunView,
  theme: Theme,
  keymap: Keymap,
  { room, height, nowMs, step = 0, drawn = true }: { room: number; height: number; nowMs: number; step?: number; drawn?: boolean },
): RunScreen {
  const secrets: SecretsShown = {
    secondsLeft: Math.max(0, Math.ceil(((run.secretUntilMs ?? nowMs) - nowMs) / 1000)),
    copyKey: keymap.keyOf('copy-secret'),
    aloneKey: keymap.keyOf('show-code'),
    saveKey: keymap.keyOf('save-code'),
    swapped: run.codeSwapped,
    drawn,
    // Below it stands how the run ended.
    rows: height - endRows,
  };
  const linesOf = (shown: readonly Shown[]) => shown.flatMap((each) => shownLines(each, theme, room, secrets));
  if (run.state === 'running' && !run.dialog) {
    const told = [...linesOf(run.shown.filter(({ kind }) => kind !== 'item')), ...tailLines(run, theme, room)];
    const lines = runningLines(run, { theme, room, height, step, told });
    return { lines, shown: { height: lines.length, total: lines.length, base: 0 } };
  }
  const { scrolled, ask } =
    run.dialog?.kind === 'confirm'
      ? confirmParts(run.dialog, theme, keymap, room, height)
      : { scrolled: [], ask: run.dialog?.kind === 'question' ? questionLines(run.dialog, theme, { room, height, drawn }) : [] };
  const tone = run.amiss ? 'warn' : 'good';
  const end = run.fault
    ? [
        ...wrap(`${theme.glyphs.tone.bad} ${run.fault.message}`, room).map((line) => theme.paint('bad', line)),
        '',
        ...wrap(`${theme.glyphs.arrow} ${run.fault.remedy}`, room),
      ]
    : run.outcome
      ? wrap(`${theme.glyphs.tone[tone]} ${run.outcome}`, room).map((line) => theme.paint(tone, line))
      : [];
  const left = leftLines(run, theme, keymap, room);
  // A list that is too long to stand below how it ended scrolls above it.
  const below = end.length + left.length <= Math.max(0, height - 4);
  const bottom = [...ask, ...end, ...(below ? left : [])].slice(0, height);
  // How it went wrong is mostly in what was said last.
  const tail = run.state === 'failed' ? tailLines(run, theme, room) : [];
  const all = [...(below ? [] : [...left, '']), ...linesOf(run.shown), ...tail, ...scrolled];
  const shownRoom = Math.max(0, height - bottom.length - (bottom.length > 0 && all.length > 0 ? 1 : 0));
  const shownHeight = Math.min(all.length, shownRoom);
  const base = run.dialog ? linesOf(run.shown.slice(0, run.answeredAt)).length : 0;
  const top = Math.max(0, Math.min(base + run.scroll, all.length - shownHeight));
  const visible = all.slice(top, top + shownHeight);
  return {
    lines: [...visible, ...(visible.length > 0 && bottom.length > 0 ? [''] : []), ...bottom],
    shown: { height: shownHeight, total: all.length, base },
  };
}

/** `Pulling 40 %`: how far a running flow is; of several things at once how many, and how far they are together. */
export function progressText(run: RunView, theme: Theme): string {
  const progress = run.progress.at(-1);
  if (!progress) return '';
  if (run.progress.length > 1) {
    const fraction = run.progress.reduce((sum, each) => sum + (each.fraction ?? 0), 0) / run.progress.length;
    return `${run.progress.length} at once, ${Math.round(fraction * 100)} % ${progressBar(fraction, theme, 12)}`;
  }
  if (progress.fraction === undefined) return cleanLine(progress.label);
  return `${cleanLine(progress.label)} ${progressBar(progress.fraction, theme, 12)} ${Math.round(progress.fraction * 100)} %`;
}
