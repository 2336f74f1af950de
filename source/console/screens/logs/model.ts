import { type Entries, entryAt } from '../../../logs/entry-list.ts';
import { firstAfter } from '../../../logs/shown.ts';
import type { LogEntry } from '../../../logs/store.ts';

/** The position of a paused log. Lines are identified by their index, so that nothing moves when lines are added or dropped. */
export interface LogPosition {
  bottom: number;
  /** Rows of the bottom line that are below the edge. */
  skip: number;
  cursor: number;
}

export interface LogGeometry {
  height: number;
  rowsOf(entry: LogEntry): number;
}

/** One row of the screen: a row of a line or, with position -1, the message above the first line. */
export interface PositionedRow {
  position: number;
  row: number;
}

/** Returns the position of the last line up to this index; -1 when all are beyond it. */
export const positionOf = (entries: Entries<LogEntry>, index: number): number => firstAfter(entries, index) - 1;

function rowsAt(entries: Entries<LogEntry>, position: number, geometry: LogGeometry): number {
  const entry = entryAt(entries, position);
  return entry ? Math.max(1, geometry.rowsOf(entry)) : 1;
}

/** Measures only visible lines, however long the log is. A log that does not fill the screen begins at its top. */
export function positionedRows(entries: Entries<LogEntry>, current: LogPosition | undefined, geometry: LogGeometry): PositionedRow[] {
  if (entries.length === 0) return [];
  const { height } = geometry;
  const bottom = current ? Math.max(0, positionOf(entries, current.bottom)) : entries.length - 1;
  // When the lowest line was dropped, the line in its position is shown in full.
  const skip =
    current && entryAt(entries, bottom)?.index === current.bottom ? Math.min(current.skip, rowsAt(entries, bottom, geometry) - 1) : 0;
  const rows: PositionedRow[] = [];
  for (let position = bottom; position >= -1 && rows.length < height; position--) {
    const count = rowsAt(entries, position, geometry) - (position === bottom ? skip : 0);
    for (let row = count - 1; row >= 0 && rows.length < height; row--) rows.push({ position, row });
  }
  rows.reverse();
  const below = { position: bottom, row: rowsAt(entries, bottom, geometry) - skip };
  return [...rows, ...rowsFrom(entries, below, { ...geometry, height: height - rows.length })];
}

function positionWith(entries: Entries<LogEntry>, rows: readonly PositionedRow[], cursor: number, geometry: LogGeometry): LogPosition {
  const last = rows.at(-1) ?? { position: entries.length - 1, row: 0 };
  const position = Math.max(0, last.position);
  return {
    bottom: entryAt(entries, position)?.index ?? 0,
    skip: last.position < 0 ? rowsAt(entries, 0, geometry) - 1 : Math.max(0, rowsAt(entries, position, geometry) - 1 - last.row),
    cursor: entryAt(entries, Math.min(entries.length - 1, Math.max(0, cursor)))?.index ?? 0,
  };
}

function rowsFrom(entries: Entries<LogEntry>, first: PositionedRow, geometry: LogGeometry): PositionedRow[] {
  const rows: PositionedRow[] = [];
  for (let position = first.position; position < entries.length && rows.length < geometry.height; position++) {
    const count = rowsAt(entries, position, geometry);
    for (let row = position === first.position ? first.row : 0; row < count && rows.length < geometry.height; row++)
      rows.push({ position, row });
  }
  return rows;
}

export function positionAtEnd(entries: Entries<LogEntry>): LogPosition {
  const index = entries.at(-1)?.index ?? 0;
  return { bottom: index, skip: 0, cursor: index };
}

/** Returns the position with the cursor on another line, scrolled as little as possible to show that line. */
export function withCursor(entries: Entries<LogEntry>, current: LogPosition, target: number, geometry: LogGeometry): LogPosition {
  const cursor = Math.min(entries.length - 1, Math.max(0, target));
  const index = entryAt(entries, cursor)?.index ?? 0;
  const rows = positionedRows(entries, current, geometry);
  const [first] = rows;
  const last = rows.at(-1);
  if (!first || !last) return current;
  const count = rowsAt(entries, cursor, geometry);
  // The message above the first line is shown together with it.
  const wanted: PositionedRow = cursor === 0 && geometry.height > 2 ? { position: -1, row: 0 } : { position: cursor, row: 0 };
  if (wanted.position < first.position || (wanted.position === first.position && first.row > 0)) {
    return { ...positionWith(entries, rowsFrom(entries, wanted, geometry), cursor, geometry), cursor: index };
  }
  if (cursor > last.position || (cursor === last.position && last.row < count - 1)) {
    return { bottom: index, skip: Math.max(0, count - geometry.height), cursor: index };
  }
  return { ...current, cursor: index };
}

/** Scrolls to the cursor after keys that were faster than frames and measured another width, or a change of wrapping. */
export function withCursorSeen(entries: Entries<LogEntry>, current: LogPosition, geometry: LogGeometry): LogPosition {
  if (entries.length === 0) return current;
  const cursor = Math.max(0, positionOf(entries, current.cursor));
  const isSeen = positionedRows(entries, current, geometry).some(({ position }) => position === cursor);
  return isSeen ? current : withCursor(entries, current, cursor, geometry);
}

export function positionAround(entries: Entries<LogEntry>, index: number, geometry: LogGeometry, share = 0.4): LogPosition {
  const position = Math.max(0, positionOf(entries, index));
  let above = Math.floor(geometry.height * share);
  let first: PositionedRow = { position, row: 0 };
  for (let at = position - 1; at >= -1 && above > 0; at--) {
    const count = rowsAt(entries, at, geometry);
    first = { position: at, row: Math.max(0, count - above) };
    above -= count;
  }
  const rows = rowsFrom(entries, first, geometry);
  if (rows.length < geometry.height) return { ...positionAtEnd(entries), cursor: entryAt(entries, position)?.index ?? 0 };
  return positionWith(entries, rows, position, geometry);
}

/** Scrolls by some rows, up when `amount` is negative; the cursor moves along. */
export function scrolled(entries: Entries<LogEntry>, current: LogPosition, amount: number, geometry: LogGeometry): LogPosition {
  const rows = positionedRows(entries, current, geometry);
  const [first] = rows;
  if (!first) return current;
  const cursor = Math.max(0, positionOf(entries, current.cursor));
  const moved = walked(entries, { position: cursor, row: 0 }, amount, geometry);
  const top = walked(entries, first, amount, geometry);
  const shown = rowsFrom(entries, top, geometry);
  const next = shown.length < geometry.height ? { ...positionAtEnd(entries) } : positionWith(entries, shown, moved.position, geometry);
  return withCursor(entries, next, moved.position === cursor && amount !== 0 ? cursor + Math.sign(amount) : moved.position, geometry);
}

/** Returns the row at this distance, or the last one in that direction. */
function walked(entries: Entries<LogEntry>, from: PositionedRow, amount: number, geometry: LogGeometry): PositionedRow {
  let { position, row } = from;
  let left = Math.abs(amount);
  while (left > 0) {
    if (amount > 0) {
      const rest = rowsAt(entries, position, geometry) - 1 - row;
      if (left <= rest) return { position, row: row + left };
      if (position >= entries.length - 1) return { position, row: row + rest };
      left -= rest + 1;
      position++;
      row = 0;
    } else {
      if (left <= row) return { position, row: row - left };
      if (position <= -1) return { position: -1, row: 0 };
      left -= row + 1;
      position--;
      row = rowsAt(entries, position, geometry) - 1;
    }
  }
  return { position, row };
}

/** Moves a line down or up. A line that is taller than the screen is scrolled through first. */
export function stepped(entries: Entries<LogEntry>, current: LogPosition, step: 1 | -1, geometry: LogGeometry): LogPosition {
  const cursor = Math.max(0, positionOf(entries, current.cursor));
  const rows = positionedRows(entries, current, geometry);
  const own = rows.filter(({ position }) => position === cursor);
  const index = entryAt(entries, cursor)?.index ?? 0;
  const count = rowsAt(entries, cursor, geometry);
  if (own.length > 0 && count > geometry.height) {
    const [first] = own;
    const last = own.at(-1);
    if (step > 0 && last && last.row < count - 1) return { bottom: index, skip: count - 2 - last.row, cursor: index };
    if (step < 0 && first && first.row > 0 && last) {
      return { bottom: index, skip: Math.min(count - 1, count - last.row), cursor: index };
    }
  }
  const before = entryAt(entries, cursor - 1);
  if (step < 0 && before && rowsAt(entries, cursor - 1, geometry) > geometry.height) {
    return { bottom: before.index, skip: 0, cursor: before.index };
  }
  return withCursor(entries, current, cursor + step, geometry);
}
