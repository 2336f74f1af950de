import { type Entries, entryAt } from '../fleet/entry-list.ts';
import type { LogEntry, LogReading, LogSource } from '../fleet/log-store.ts';
import { markOf } from './log-line-text.ts';
import { positionOf } from './log-view.ts';

/** Lines to either side of one that was looked for far away. */
const neighbours = 200;
/** Lines of one moment that are looked through for one of them, at a time, and how often. */
const momentLines = 1000;
const momentPages = 10;
/** Up to so many lines between two matches are loaded, instead of going over to another place in the log. */
const nearLines = 20_000;
const pageLines = 2000;

/** Waits until nothing is loading there. */
export function loaded(reading: LogReading, signal: AbortSignal): Promise<void> {
  const isLoading = () => reading.edges().back.state === 'loading' || reading.edges().forth.state === 'loading';
  return new Promise((resolve, reject) => {
    const stop = () => {
      unsubscribe();
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const unsubscribe = reading.subscribe(() => {
      if (!isLoading()) stop();
    });
    signal.addEventListener('abort', stop);
    if (signal.aborted || !isLoading()) stop();
  });
}

/**
 * Stands still with this line. Looks at its very moment first: engines count that fine, and a second can hold a hundred thousand lines. Where the
 * engine knows seconds only, `around` finds it.
 */
export async function locate(source: LogSource, reading: LogReading, entry: LogEntry, signal: AbortSignal): Promise<number | undefined> {
  const mark = markOf(entry);
  const isIt = (one: LogEntry) => one === entry || (one.timeMs === entry.timeMs && markOf(one) === mark);
  const isHere = reading.entries().some(isIt);
  if (!isHere && entry.timeMs !== undefined && !isKept(source.entries(), entry)) {
    await reading.jump(entry.timeMs, signal);
    for (let pages = 0; pages < momentPages && !reading.following; pages++) {
      const found = reading.entries().find(isIt);
      if (found) {
        reading.more('back', neighbours);
        if (reading.entries().at(-1)?.index === found.index) reading.more('forth', neighbours);
        return found.index;
      }
      const last = reading.entries().at(-1)?.timeMs;
      if (last === undefined || last > entry.timeMs || reading.edges().forth.state !== 'more') break;
      reading.more('forth', momentLines);
      await loaded(reading, signal);
    }
  }
  return reading.around(entry, signal);
}

/** The index of a line that was found beyond what is loaded. What is near is reached line by line, so that all in between stays. */
export async function reach(options: {
  source: LogSource;
  reading: LogReading;
  found: LogEntry;
  direction: 'back' | 'forth';
  /** Lines that lie between. */
  searched: number;
  signal: AbortSignal;
}): Promise<number | undefined> {
  const { source, reading, found, direction, searched, signal } = options;
  const mark = markOf(found);
  if (searched < nearLines) {
    for (let lines = 0; lines < 2 * nearLines && reading.edges()[direction].state === 'more'; lines += pageLines) {
      reading.more(direction, pageLines);
      await loaded(reading, signal);
      const entry = reading.entries().find((one) => one.timeMs === found.timeMs && markOf(one) === mark);
      if (entry) return entry.index;
    }
  }
  return locate(source, reading, found, signal);
}

/** Is this line one that the ring has, under the same index? */
function isKept(entries: Entries<LogEntry>, entry: LogEntry): boolean {
  const kept = entryAt(entries, positionOf(entries, entry.index));
  return kept?.index === entry.index && kept.timeMs === entry.timeMs && kept.text === entry.text;
}
