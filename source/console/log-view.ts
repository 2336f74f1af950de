import { type Entries, entryAt } from '../fleet/entry-list.ts';
import type { LogEntry } from '../fleet/log-store.ts';

/** Where a log stands still. Lines are named by their index, so that nothing moves when others come or go. */
export interface LogPlace {
  /** The lowest line on the screen. */
  bottom: number;
  /** Rows of it that are below the edge. */
  skip: number;
  /** The line that keys are about. */
  cursor: number;
}

/** What decides how many rows a line takes. */
export interface LogGeometry {
  height: number;
  rowsOf(entry: LogEntry): number;
}

/** One row of the screen: a row of a line, or, with position -1, what is said above the first line. */
export interface PlacedRow {
  position: number;
  row: number;
}

/** Position of the last line whose index is not beyond this one; -1 when all are. */
export function positionOf(entries: Entries<LogEntry>, index: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entryAt(entries, middle)?.index ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function rowsAt(entries: Entries<LogEntry>, position: number, geometry: LogGeometry): number {
  const entry = entryAt(entries, position);
  return entry ? Math.max(1, geometry.rowsOf(entry)) : 1;
}

/**
 * What is on the screen, from the top: work for what is visible, however long the log is. Without a place the end is shown. A log that does not
 * fill the screen stands at its top.
 */
export function placedRows(entries: Entries<LogEntry>, place: LogPlace | undefined, geometry: LogGeometry): PlacedRow[] {
  if (entries.length === 0) return [];
  const { height } = geometry;
  const bottom = place ? Math.max(0, positionOf(entries, place.bottom)) : entries.length - 1;
  // Where the lowest line is no longer there, the one that stands in its place is shown whole.
  const skip = place && entryAt(entries, bottom)?.index === place.bottom ? Math.min(place.skip, rowsAt(entries, bottom, geometry) - 1) : 0;
  const rows: PlacedRow[] = [];
  for (let position = bottom; position >= -1 && rows.length < height; position--) {
    const count = rowsAt(entries, position, geometry) - (position === bottom ? skip : 0);
    for (let row = count - 1; row >= 0 && rows.length < height; row--) rows.push({ position, row });
  }
  rows.reverse();
  for (let position = bottom; position < entries.length && rows.length < height; position++) {
    const count = rowsAt(entries, position, geometry);
    for (let row = position === bottom ? count - skip : 0; row < count && rows.length < height; row++) rows.push({ position, row });
  }
  return rows;
}

function placeOf(entries: Entries<LogEntry>, rows: readonly PlacedRow[], cursor: number, geometry: LogGeometry): LogPlace {
  const last = rows.at(-1) ?? { position: entries.length - 1, row: 0 };
  const position = Math.max(0, last.position);
  return {
    bottom: entryAt(entries, position)?.index ?? 0,
    skip: last.position < 0 ? rowsAt(entries, 0, geometry) - 1 : Math.max(0, rowsAt(entries, position, geometry) - 1 - last.row),
    cursor: entryAt(entries, Math.min(entries.length - 1, Math.max(0, cursor)))?.index ?? 0,
  };
}

/** The rows downwards from a row that is to be the first one. */
function rowsFrom(entries: Entries<LogEntry>, first: PlacedRow, geometry: LogGeometry): PlacedRow[] {
  const rows: PlacedRow[] = [];
  for (let position = first.position; position < entries.length && rows.length < geometry.height; position++) {
    const count = rowsAt(entries, position, geometry);
    for (let row = position === first.position ? first.row : 0; row < count && rows.length < geometry.height; row++)
      rows.push({ position, row });
  }
  return rows;
}

/** Where the end stands still, with the cursor on the last line. */
export function placeAtEnd(entries: Entries<LogEntry>): LogPlace {
  const index = entries.at(-1)?.index ?? 0;
  return { bottom: index, skip: 0, cursor: index };
}

/** The place with the cursor on another line, moved as little as it takes to see that line. */
export function withCursor(entries: Entries<LogEntry>, place: LogPlace, target: number, geometry: LogGeometry): LogPlace {
  const cursor = Math.min(entries.length - 1, Math.max(0, target));
  const index = entryAt(entries, cursor)?.index ?? 0;
  const rows = placedRows(entries, place, geometry);
  const [first] = rows;
  const last = rows.at(-1);
  if (!first || !last) return place;
  const count = rowsAt(entries, cursor, geometry);
  // The first line comes with what is said above it.
  const wanted: PlacedRow = cursor === 0 && geometry.height > 2 ? { position: -1, row: 0 } : { position: cursor, row: 0 };
  if (wanted.position < first.position || (wanted.position === first.position && first.row > 0)) {
    return { ...placeOf(entries, rowsFrom(entries, wanted, geometry), cursor, geometry), cursor: index };
  }
  if (cursor > last.position || (cursor === last.position && last.row < count - 1)) {
    return { bottom: index, skip: Math.max(0, count - geometry.height), cursor: index };
  }
  return { ...place, cursor: index };
}

/**
 * The place, moved where its line is not on the screen: keys came faster than frames, and were measured against another width, or wrapping changed
 * since. What keys are about is always seen.
 */
export function withCursorSeen(entries: Entries<LogEntry>, place: LogPlace, geometry: LogGeometry): LogPlace {
  if (entries.length === 0) return place;
  const cursor = Math.max(0, positionOf(entries, place.cursor));
  const isSeen = placedRows(entries, place, geometry).some(({ position }) => position === cursor);
  return isSeen ? place : withCursor(entries, place, cursor, geometry);
}

/** The place with this line in the upper part of the screen. */
export function placeAround(entries: Entries<LogEntry>, index: number, geometry: LogGeometry, share = 0.4): LogPlace {
  const position = Math.max(0, positionOf(entries, index));
  let above = Math.floor(geometry.height * share);
  let first: PlacedRow = { position, row: 0 };
  for (let at = position - 1; at >= -1 && above > 0; at--) {
    const count = rowsAt(entries, at, geometry);
    first = { position: at, row: Math.max(0, count - above) };
    above -= count;
  }
  const rows = rowsFrom(entries, first, geometry);
  if (rows.length < geometry.height) return { ...placeAtEnd(entries), cursor: entryAt(entries, position)?.index ?? 0 };
  return placeOf(entries, rows, position, geometry);
}

/** Some rows down, or up where `amount` is negative; the cursor goes along. */
export function scrolled(entries: Entries<LogEntry>, place: LogPlace, amount: number, geometry: LogGeometry): LogPlace {
  const rows = placedRows(entries, place, geometry);
  const [first] = rows;
  if (!first) return place;
  const cursor = Math.max(0, positionOf(entries, place.cursor));
  const moved = walked(entries, { position: cursor, row: 0 }, amount, geometry);
  const top = walked(entries, first, amount, geometry);
  const shown = rowsFrom(entries, top, geometry);
  const next = shown.length < geometry.height ? { ...placeAtEnd(entries) } : placeOf(entries, shown, moved.position, geometry);
  return withCursor(entries, next, moved.position === cursor && amount !== 0 ? cursor + Math.sign(amount) : moved.position, geometry);
}

/** So many rows further, as far as there are some. */
function walked(entries: Entries<LogEntry>, from: PlacedRow, amount: number, geometry: LogGeometry): PlacedRow {
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

/** A line down or up. A line that is taller than the screen is scrolled through first. */
export function stepped(entries: Entries<LogEntry>, place: LogPlace, step: 1 | -1, geometry: LogGeometry): LogPlace {
  const cursor = Math.max(0, positionOf(entries, place.cursor));
  const rows = placedRows(entries, place, geometry);
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
  return withCursor(entries, place, cursor + step, geometry);
}
