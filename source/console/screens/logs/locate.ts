import { orAborted } from '../../../faults/waits.ts';
import { type Entries, entryAt } from '../../../logs/entry-list.ts';
import type { LogEntry, LogReading, LogSource } from '../../../logs/store.ts';
import { markOf } from './line-prefix.ts';
import { positionOf } from './model.ts';

/** Number of lines on either side of a line that was found far away. */
const neighbours = 200;
/** Number of lines with one timestamp to search at a time, and the number of such pages. */
const momentLines = 1000;
const momentPages = 10;
/** Up to this many lines between two matches are loaded, instead of jumping to another position in the log. */
const nearLines = 20_000;
const pageLines = 2000;

export async function loaded(reading: LogReading, signal: AbortSignal): Promise<void> {
  const isLoading = () => reading.edges().back.state === 'loading' || reading.edges().forth.state === 'loading';
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => isLoading() || resolve();
  signal.throwIfAborted();
  const unsubscribe = reading.subscribe(look);
  look();
  await orAborted(promise, signal).finally(unsubscribe);
}

/** Searches the exact timestamp first. Where the engine knows only seconds, which can hold 100,000 lines, `around` finds it. */
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

type Direction = 'back' | 'forth';
type Search = { reading: LogReading; direction: Direction; searched: number };

/** Shows a line that a search of so many lines found. */
export async function reach(source: LogSource, found: LogEntry, { reading, direction, searched }: Search, signal: AbortSignal) {
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

function isKept(entries: Entries<LogEntry>, entry: LogEntry): boolean {
  const kept = entryAt(entries, positionOf(entries, entry.index));
  return kept?.index === entry.index && kept.timeMs === entry.timeMs && kept.text === entry.text;
}

const batchLines = 1;

/** Searches beyond the loaded lines with a filtered reading of its own, so that not every line in between has to be kept. */
export function searchBeyond(
  source: LogSource,
  direction: Direction,
  entries: Entries<LogEntry>,
  passes: (entry: LogEntry) => boolean,
  notify: () => void,
) {
  const reading = source.read(passes);
  const beyond = entries.at(direction === 'back' ? 0 : -1);
  const time = beyond?.timeMs ?? 0;
  // Among lines with the same timestamp, only those that are not on the screen count.
  const known = new Set(entries.filter(({ timeMs }) => timeMs === time).map(markOf));
  const isBeyond = (entry: LogEntry) => {
    const away = (entry.timeMs ?? 0) - time;
    return away === 0 ? !known.has(markOf(entry)) : direction === 'back' ? away < 0 : away > 0;
  };

  async function answer(signal: AbortSignal): Promise<{ found: LogEntry | undefined; searched: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<LogEntry | undefined>();
    let searched = 0;
    let seen = 0;
    function look() {
      const next = direction === 'back' ? reading.entries().findLast(isBeyond) : reading.entries().find(isBeyond);
      if (next) return resolve(next);
      const edge = reading.edges()[direction];
      if (edge.state === 'loading') {
        searched += Math.max(0, edge.searched - seen);
        seen = edge.searched;
      } else if (edge.state === 'more') {
        seen = 0;
        reading.more(direction, batchLines);
      } else if (edge.state === 'failed') reject(new Error(edge.message));
      else resolve(undefined);
    }
    reading.subscribe(notify);
    try {
      // A reading continues backwards from the ring by itself, faster than engines find a time. Only a position outside of the ring requires
      // a jump.
      const oldest = source.entries().at(0)?.timeMs ?? Number.POSITIVE_INFINITY;
      const apart = (entries.at(-1)?.timeMs ?? 0) < oldest;
      if (direction === 'forth' || apart) await reading.jump(time, signal).catch(() => undefined);
      signal.throwIfAborted();
      reading.subscribe(look);
      look();
      return { found: await orAborted(promise, signal), searched };
    } finally {
      reading.close();
    }
  }

  return { edge: () => reading.edges()[direction], answer };
}
