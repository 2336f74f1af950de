import type { LogEntry } from '../fleet/log-store.ts';
import { cut, textWidth } from '../text/width.ts';
import { cutStyled, unstyled } from './styled-text.ts';

const printableAscii = /^[\x20-\x7e]*$/;

/** Smart case: capitals in what is searched make it exact. */
export function matcherFor(filter: string): ((text: string) => boolean) | undefined {
  if (filter === '') return undefined;
  if (/\p{Lu}/u.test(filter)) return (text) => unstyled(text).includes(filter);
  const lower = filter.toLowerCase();
  return (text) => unstyled(text).toLowerCase().includes(lower);
}

/**
 * The lines of a log that pass a filter. A new batch costs as much as the batch: what was looked at before is not looked at again, and
 * without a filter nothing is copied.
 */
export interface LogMatches {
  /** Takes the current ring and answers the lines to show, oldest first. */
  update(entries: readonly LogEntry[], filter: string): LogWindow;
}

/** Lines by position, without a copy of the ring. */
export interface LogWindow {
  readonly length: number;
  at(position: number): LogEntry | undefined;
  /** Position of the last line whose index is not beyond this one; -1 when all are. */
  positionOf(index: number): number;
}

function windowOf(entries: readonly LogEntry[], from: number): LogWindow {
  return {
    length: entries.length - from,
    at: (position) => (position < 0 ? undefined : entries[from + position]),
    positionOf(index) {
      let low = from;
      let high = entries.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.index ?? 0) <= index) low = middle + 1;
        else high = middle;
      }
      return low - from - 1;
    },
  };
}

export function createLogMatches(): LogMatches {
  let matched: LogEntry[] = [];
  let gone = 0;
  let lastIndex = -1;
  let current = '';
  let matches: ((text: string) => boolean) | undefined;

  return {
    update(entries, filter) {
      if (filter === '') {
        current = '';
        matched = [];
        return windowOf(entries, 0);
      }
      const newest = entries.at(-1)?.index ?? -1;
      if (filter !== current || newest < lastIndex) {
        current = filter;
        matches = matcherFor(filter);
        matched = [];
        gone = 0;
        lastIndex = -1;
      }
      const oldest = entries[0]?.index ?? 0;
      while (gone < matched.length && (matched[gone]?.index ?? 0) < oldest) gone++;
      if (gone > 4096 && gone > matched.length / 2) {
        matched = matched.slice(gone);
        gone = 0;
      }
      for (let position = windowOf(entries, 0).positionOf(lastIndex) + 1; position < entries.length; position++) {
        const entry = entries[position];
        if (entry && matches?.(entry.text)) matched.push(entry);
      }
      lastIndex = newest;
      return windowOf(matched, gone);
    },
  };
}

/** A text in rows of at most `columns`, broken where the row ends, as terminals do. Colours of a wrapped line are dropped. */
function wrapped(text: string, columns: number): string[] {
  const plain = unstyled(text);
  if (textWidth(plain) <= columns) return [text];
  const rows: string[] = [];
  if (printableAscii.test(plain)) {
    for (let start = 0; start < plain.length; start += columns) rows.push(plain.slice(start, start + columns));
    return rows;
  }
  let rest = plain;
  while (rest !== '') {
    const piece = cut(rest, columns, '') || [...rest][0] || '';
    rows.push(piece);
    rest = rest.slice(piece.length);
  }
  return rows;
}

export interface LogRowOptions {
  columns: number;
  wrap: boolean;
  timestamps: boolean;
  /** Columns for the service's name; 0 shows none. */
  serviceColumns: number;
}

/** `14:01:02`, in the operator's time zone. */
export function clockText(timeMs: number): string {
  const time = new Date(timeMs);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

export interface LogRow {
  /** Time and service, plain. */
  lead: string;
  stream: LogEntry['stream'];
  text: string;
}

/** The rows of one line, cut or wrapped. `!` in front of the text marks what came from stderr. */
export function rowsOf(entry: LogEntry, options: LogRowOptions): LogRow[] {
  const time = options.timestamps ? `${entry.timeMs === undefined ? '        ' : clockText(entry.timeMs)} ` : '';
  const service = options.serviceColumns > 0 ? `${cut(entry.service, options.serviceColumns).padEnd(options.serviceColumns)} ` : '';
  const lead = time + service + (entry.stream === 'stderr' ? '! ' : '  ');
  const room = Math.max(1, options.columns - textWidth(lead));
  if (!options.wrap) {
    const ascii = entry.text.length > room && printableAscii.test(entry.text);
    return [{ lead, stream: entry.stream, text: ascii ? `${entry.text.slice(0, room - 1)}>` : cutStyled(entry.text, room) }];
  }
  return wrapped(entry.text, room).map((text, row) => ({
    lead: row === 0 ? lead : ' '.repeat(textWidth(lead)),
    stream: entry.stream,
    text,
  }));
}

/** As many rows as fit above and including the line at `bottom`: work for what is visible, however long the log is. */
export function visibleRows(window: LogWindow, bottom: number, height: number, options: LogRowOptions): LogRow[] {
  const rows: LogRow[] = [];
  for (let position = bottom; position >= 0 && rows.length < height; position--) {
    const entry = window.at(position);
    if (!entry) break;
    rows.unshift(...rowsOf(entry, options));
  }
  if (rows.length > height) return rows.slice(-height);
  // At the start of the log the rows stand at the top, and what follows fills up.
  for (let position = bottom + 1; rows.length < height && position < window.length; position++) {
    const entry = window.at(position);
    if (entry) rows.push(...rowsOf(entry, options));
  }
  return rows.slice(0, height);
}
