import type { LogEntry } from '../fleet/log-store.ts';
import { cleanLine } from '../text/clean.ts';
import type { LogFilter } from '../text/log-filter.ts';
import { type LogLevel, levelOf } from '../text/log-level.ts';
import { ownTime, type TextRange } from '../text/log-time.ts';
import { readableLine } from '../text/structured-line.ts';
import { cut, textWidth } from '../text/width.ts';

const printableAscii = /^[\x20-\x7e]*$/;

/** What a line shows: as the program wrote it, or JSON and logfmt in a form that people read. */
export interface LineText {
  /** Plain. */
  text: string;
  /** The same with the program's own colours, where it has some. */
  styled: string | undefined;
  level: LogLevel | undefined;
  ascii: boolean;
  /** The line that this is without the time it states itself, and where that stands in it. */
  timed?: { whole: LineText; range: TextRange };
}

const asWritten = new WeakMap<LogEntry, LineText>();
const asRead = new WeakMap<LogEntry, LineText>();

/** Looked at once per line, and only for lines that are on the screen. */
export function lineText(entry: LogEntry, raw: boolean): LineText {
  const cache = raw ? asWritten : asRead;
  const known = cache.get(entry);
  if (known) return known;
  const readable = raw ? undefined : readableLine(entry.text);
  // What a JSON string spells out can be anything again.
  const text = readable === undefined ? entry.text : cleanLine(readable);
  const styled = readable === undefined || readable === entry.text ? entry.styled : undefined;
  const made: LineText = { text, styled, level: levelOf(entry.text), ascii: printableAscii.test(text) };
  cache.set(entry, made);
  return made;
}

const withoutTime = new WeakMap<LogEntry, LineText>();

/**
 * The readable form without the time that the line states itself, for a place where a time stands before every line. What is found by that time
 * keeps it.
 */
export function untimedText(entry: LogEntry, filter: LogFilter | undefined): LineText {
  let line = withoutTime.get(entry);
  if (!line) {
    line = untimed(lineText(entry, false), entry.timeMs);
    withoutTime.set(entry, line);
  }
  if (!line.timed || !filter) return line;
  const { whole, range } = line.timed;
  return rangesIn(whole, filter).some(([from, to]) => from < range.end && to > range.start) ? whole : line;
}

function untimed(whole: LineText, timeMs: number | undefined): LineText {
  const range = ownTime(whole.text, timeMs);
  if (!range) return whole;
  const { text, styled } = whole;
  const { start, end } = range;
  return {
    ...whole,
    text: text.slice(0, start) + text.slice(end),
    styled: styled && styledSlice(styled, 0, start) + styledSlice(styled, end, text.length),
    timed: { whole, range },
  };
}

/** Where in a text a row begins and ends. */
export type Piece = TextRange;

/** Columns of characters that stand alone and whose width is no question; undefined for all others, which can belong together. */
function plainColumns(unit: number): 1 | 2 | undefined {
  if (unit < 0x300) return unit >= 0x20 && (unit < 0x7f || unit > 0xa0) && unit !== 0xad ? 1 : undefined;
  if (unit >= 0x400 && unit <= 0x482) return 1;
  if ((unit >= 0x4e00 && unit <= 0x9fff) || (unit >= 0x3041 && unit <= 0x3096) || (unit >= 0x30a1 && unit <= 0x30fa)) return 2;
  return undefined;
}

/** `endOfRow` for the characters that most lines are made of; undefined where one of another kind is in the way. */
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

/** The end of what fits into so many columns from `start` on. At least one character, so that whoever goes on gets to the end. */
export function endOfRow(text: string, start: number, columns: number): number {
  // Telling characters apart that belong together costs a hundred times as much.
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

const wrappedBefore = new WeakMap<LineText, { columns: number; pieces: readonly Piece[] }>();

/** A line in rows of at most `columns`, broken where the row ends, as terminals do. */
export function wrappedPieces(line: LineText, columns: number): readonly Piece[] {
  const { text } = line;
  if (line.ascii && text.length <= columns) return [{ start: 0, end: text.length }];
  const known = wrappedBefore.get(line);
  if (known?.columns === columns) return known.pieces;
  const pieces: Piece[] = [];
  for (let start = 0; start < text.length; ) {
    const end = line.ascii ? Math.min(text.length, start + columns) : endOfRow(text, start, columns);
    pieces.push({ start, end });
    start = end;
  }
  if (pieces.length === 0) pieces.push({ start: 0, end: 0 });
  wrappedBefore.set(line, { columns, pieces });
  return pieces;
}

/** How many rows a line takes when it is wrapped. Cheap for plain lines. */
export function wrappedHeight(line: LineText, columns: number): number {
  if (line.ascii) return Math.max(1, Math.ceil(line.text.length / columns));
  return wrappedPieces(line, columns).length;
}

type CutPiece = Piece & { cut: boolean };

const shiftedBefore = new WeakMap<LineText, { shift: number; columns: number; piece: CutPiece }>();

/** The part of a line that is seen when the first `shift` columns have gone to the left. */
export function shiftedPiece(line: LineText, shift: number, columns: number): CutPiece {
  if (line.ascii) return makeShifted(line, shift, columns);
  const known = shiftedBefore.get(line);
  if (known?.shift === shift && known.columns === columns) return known.piece;
  const piece = makeShifted(line, shift, columns);
  shiftedBefore.set(line, { shift, columns, piece });
  return piece;
}

function makeShifted(line: LineText, shift: number, columns: number): CutPiece {
  const { text } = line;
  const start = shift === 0 ? 0 : line.ascii ? Math.min(shift, text.length) : endOfRow(text, 0, shift);
  const whole = line.ascii ? Math.min(text.length, start + columns) : endOfRow(text, start, columns);
  if (whole >= text.length) return { start, end: text.length, cut: false };
  const room = Math.max(0, columns - 1);
  const end = line.ascii ? start + room : endOfRow(text, start, room);
  // One wide character can be more than there is room for beside the mark.
  return { start, end: textWidth(text.slice(start, end)) > room ? start : end, cut: true };
}

const styling = /\x1b\[[0-9;:]*m/g;

/** A part of a text with colours, by places in the same text without them. The colours are closed at its end. */
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

export interface Segment {
  text: string;
  /** It is what was searched for. */
  match: boolean;
}

type Ranges = ReturnType<LogFilter['ranges']>;

const foundBefore = new WeakMap<LineText, { filter: LogFilter; ranges: Ranges }>();

/** Where the filter matches. Beginning and end of a line are those of the whole one. */
function rangesIn(line: LineText, filter: LogFilter): Ranges {
  const known = foundBefore.get(line);
  if (known?.filter === filter) return known.ranges;
  let ranges: Ranges;
  if (line.timed) {
    const { whole, range } = line.timed;
    const moved = (at: number) => (at >= range.end ? at - (range.end - range.start) : Math.min(at, range.start));
    ranges = rangesIn(whole, filter).map(([from, to]) => [moved(from), moved(to)] as const);
  } else ranges = filter.ranges(line.text);
  foundBefore.set(line, { filter, ranges });
  return ranges;
}

/** A part of a line, taken apart where the filter matches. */
export function segmentsOf(line: LineText, piece: Piece, filter: LogFilter | undefined, colours: boolean): Segment[] {
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
