import type { LogFilter } from '../../../logs/filter.ts';
import { type LogLevel, levelOf } from '../../../logs/level.ts';
import type { LogEntry } from '../../../logs/store.ts';
import { readableLine } from '../../../logs/structured-line.ts';
import { ownTime, type TextRange } from '../../../logs/time.ts';
import { cleanLine } from '../../../text/clean.ts';
import { cut, textWidth } from '../../../text/width.ts';
import { rememberedFor } from '../../remembered.ts';

const printableAscii = /^[\x20-\x7e]*$/;

export interface LineText {
  text: string;
  styled: string | undefined;
  level: LogLevel | undefined;
  ascii: boolean;
  /** Set on a line without its own timestamp: the whole line, and the position of the timestamp in it. */
  timed?: { whole: LineText; range: TextRange };
}

const asWritten = rememberedFor(
  ({ text, styled }: LogEntry): LineText => ({ text, styled, level: levelOf(text), ascii: printableAscii.test(text) }),
);

const asRead = rememberedFor((entry: LogEntry): LineText => {
  const readable = readableLine(entry.text);
  if (readable === undefined || readable === entry.text) return asWritten(entry);
  // A decoded JSON string can contain any characters again.
  const text = cleanLine(readable);
  return { text, styled: undefined, level: levelOf(entry.text), ascii: printableAscii.test(text) };
});

export const lineText = (entry: LogEntry, raw: boolean): LineText => (raw ? asWritten(entry) : asRead(entry));

const withoutTime = rememberedFor((entry: LogEntry): LineText => {
  const whole = lineText(entry, false);
  const range = ownTime(whole.text, entry.timeMs);
  if (!range) return whole;
  const { text, styled } = whole;
  const { start, end } = range;
  return {
    ...whole,
    text: text.slice(0, start) + text.slice(end),
    styled: styled && styledSlice(styled, 0, start) + styledSlice(styled, end, text.length),
    timed: { whole, range },
  };
});

/** For logs with a time before every line. A line whose timestamp matches the filter keeps it. */
export function untimedText(entry: LogEntry, filter: LogFilter | undefined): LineText {
  const line = withoutTime(entry);
  if (!line.timed || !filter) return line;
  const { whole, range } = line.timed;
  return rangesIn(whole, filter).some(([from, to]) => from < range.end && to > range.start) ? whole : line;
}

/** Returns the columns of a character that stands alone and has a certain width. Undefined for others, which can combine. */
function plainColumns(unit: number): 1 | 2 | undefined {
  if (unit < 0x300) return unit >= 0x20 && (unit < 0x7f || unit > 0xa0) && unit !== 0xad ? 1 : undefined;
  if (unit >= 0x400 && unit <= 0x482) return 1;
  if ((unit >= 0x4e00 && unit <= 0x9fff) || (unit >= 0x3041 && unit <= 0x3096) || (unit >= 0x30a1 && unit <= 0x30fa)) return 2;
  return undefined;
}

function endOfPlainRow(text: string, start: number, columns: number): number | undefined {
  let used = 0;
  for (let at = start; at < text.length; at++) {
    const width = plainColumns(text.charCodeAt(at));
    if (width === undefined) return undefined;
    if (used + width > columns) return at > start ? at : at + 1;
    used += width;
  }
  return text.length;
}

/** Includes at least one character, so that a loop over the rows ends. */
function endOfRow(text: string, start: number, columns: number): number {
  // Segmenting combined characters costs a hundred times as much.
  const plain = endOfPlainRow(text, start, columns);
  if (plain !== undefined) return plain;
  for (let size = columns * 2 + 32; ; size *= 2) {
    const piece = text.slice(start, start + size);
    const fitting = cut(piece, columns, '');
    if (fitting.length < piece.length || start + size >= text.length) {
      return start + (fitting.length || ([...piece][0]?.length ?? 0));
    }
  }
}

const wrappedAt = rememberedFor((line: LineText, columns: number): readonly TextRange[] => {
  const { text } = line;
  const pieces: TextRange[] = [];
  for (let start = 0; start < text.length; ) {
    const end = line.ascii ? Math.min(text.length, start + columns) : endOfRow(text, start, columns);
    pieces.push({ start, end });
    start = end;
  }
  return pieces.length === 0 ? [{ start: 0, end: 0 }] : pieces;
});

/** Splits a line into rows of at most `columns`, broken at the edge of the row, as terminals do. */
export function wrappedPieces(line: LineText, columns: number): readonly TextRange[] {
  return line.ascii && line.text.length <= columns ? [{ start: 0, end: line.text.length }] : wrappedAt(line, columns);
}

export function wrappedHeight(line: LineText, columns: number): number {
  if (line.ascii) return Math.max(1, Math.ceil(line.text.length / columns));
  return wrappedPieces(line, columns).length;
}

export type CutPiece = TextRange & { cut: boolean };

export const shiftedPiece = rememberedFor((line: LineText, shift: number, columns: number): CutPiece => {
  const { text } = line;
  const start = shift === 0 ? 0 : line.ascii ? Math.min(shift, text.length) : endOfRow(text, 0, shift);
  const whole = line.ascii ? Math.min(text.length, start + columns) : endOfRow(text, start, columns);
  if (whole >= text.length) return { start, end: text.length, cut: false };
  const room = Math.max(0, columns - 1);
  const end = line.ascii ? start + room : endOfRow(text, start, room);
  // One wide character can exceed the space beside the mark.
  return { start, end: textWidth(text.slice(start, end)) > room ? start : end, cut: true };
});

const styling = /\x1b\[[0-9;:]*m/g;

/** Returns a part of a coloured text, by positions in the same text without colours. The colours are closed at its end. */
export function styledSlice(styled: string, start: number, end: number): string {
  let active = '';
  let result = '';
  let at = 0;
  let last = 0;
  const take = (piece: string) => {
    const from = Math.max(0, start - at);
    const to = Math.min(piece.length, end - at);
    if (to > from) result += (result === '' ? active : '') + piece.slice(from, to);
    at += piece.length;
  };
  for (const match of styled.matchAll(styling)) {
    take(styled.slice(last, match.index));
    last = match.index + match[0].length;
    if (at >= end) break;
    active = /^\x1b\[0?m$/.test(match[0]) ? '' : active + match[0];
    if (result !== '') result += match[0];
  }
  if (at < end) take(styled.slice(last));
  return active !== '' && result.includes('\x1b') ? `${result}\x1b[0m` : result;
}

interface Segment {
  text: string;
  match: boolean;
}

type Ranges = ReturnType<LogFilter['ranges']>;

/** Returns the matches of the filter. Beginning and end of a line are those of the whole one. */
const rangesIn: (line: LineText, filter: LogFilter) => Ranges = rememberedFor(({ text, timed }: LineText, filter: LogFilter) => {
  if (!timed) return filter.ranges(text);
  const { whole, range } = timed;
  const moved = (at: number) => (at >= range.end ? at - (range.end - range.start) : Math.min(at, range.start));
  return rangesIn(whole, filter).map(([from, to]) => [moved(from), moved(to)] as const);
});

export function segmentsOf(line: LineText, piece: TextRange, filter: LogFilter | undefined, colours: boolean): Segment[] {
  const shown = (start: number, end: number) =>
    colours && line.styled !== undefined ? styledSlice(line.styled, start, end) : line.text.slice(start, end);
  if (!filter) return [{ text: shown(piece.start, piece.end), match: false }];
  const segments: Segment[] = [];
  let at = piece.start;
  for (const [from, to] of rangesIn(line, filter)) {
    if (to <= at || from >= to) continue;
    if (from >= piece.end) break;
    if (from > at) segments.push({ text: shown(at, from), match: false });
    const end = Math.min(to, piece.end);
    segments.push({ text: line.text.slice(Math.max(from, at), end), match: true });
    at = end;
  }
  if (at < piece.end || segments.length === 0) segments.push({ text: shown(at, piece.end), match: false });
  return segments;
}
