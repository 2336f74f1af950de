import type { Entries } from '../fleet/entry-list.ts';
import type { LogEdge, LogEntry, LogSource } from '../fleet/log-store.ts';
import { markOf } from './log-line-text.ts';

/** Lines that are looked for in one go. */
const batchLines = 1;

export interface LogSearch {
  /** How far it has come. */
  edge(): LogEdge;
  /** Ends it, also after its answer: until then it holds a reading. */
  stop(): void;
  /** The nearest line, undefined when there is none, and how many were looked at. */
  answer: Promise<{ found: LogEntry | undefined; searched: number } | 'stopped'>;
}

/** Looks for a line beyond those that are loaded: with a filtered reading of its own, so that not everything in between has to be kept. */
export function searchBeyond(options: {
  source: LogSource;
  /** What is loaded; at least one line. */
  entries: Entries<LogEntry>;
  direction: 'back' | 'forth';
  passes: (entry: LogEntry) => boolean;
  signal: AbortSignal;
  /** Called whenever it has come further. */
  tell: () => void;
}): LogSearch {
  const { source, entries, direction, passes, signal, tell } = options;
  const reading = source.read(passes);
  const beyond = entries.at(direction === 'back' ? 0 : -1);
  const time = beyond?.timeMs ?? 0;
  // Of the lines of one moment those count that are not on the screen already.
  const known = new Set(entries.filter(({ timeMs }) => timeMs === time).map(markOf));
  const isBeyond = (entry: LogEntry) => {
    const away = (entry.timeMs ?? 0) - time;
    return away === 0 ? !known.has(markOf(entry)) : direction === 'back' ? away < 0 : away > 0;
  };
  const { promise: answer, resolve } = Promise.withResolvers<Awaited<LogSearch['answer']>>();
  let begun = false;
  let searched = 0;
  let seen = 0;
  const stopTelling = reading.subscribe(tell);
  const stopLooking = reading.subscribe(look);

  function end(found: LogEntry | undefined): void {
    stopLooking();
    resolve({ found, searched });
  }

  function look(): void {
    if (!begun) return;
    const next = direction === 'back' ? reading.entries().findLast(isBeyond) : reading.entries().find(isBeyond);
    if (next) {
      end(next);
      return;
    }
    const edge = reading.edges()[direction];
    if (edge.state === 'loading') {
      searched += Math.max(0, edge.searched - seen);
      seen = edge.searched;
    } else if (edge.state === 'more') {
      seen = 0;
      reading.more(direction, batchLines);
    } else end(undefined);
  }

  void (async () => {
    // From the ring a reading goes back by itself, and faster than engines find a time; only what is apart from the ring has to be found.
    const oldest = source.entries().at(0)?.timeMs ?? Number.POSITIVE_INFINITY;
    const apart = (entries.at(-1)?.timeMs ?? 0) < oldest;
    if (direction === 'forth' || apart) await reading.jump(time, signal).catch(() => undefined);
    begun = true;
    look();
  })();

  return {
    edge: () => reading.edges()[direction],
    stop() {
      stopTelling();
      stopLooking();
      reading.close();
      resolve('stopped');
    },
    answer,
  };
}
