import type { OpenFleet } from '../fleet/open-fleet.ts';
import { LogRing } from './ring.ts';
import type { Logs } from './store.ts';
import { streamLogs } from './stream.ts';

export const logLimits = {
  /** Lines of several containers are held for this time, so that they can be sorted by time. */
  holdMs: 250,
  /** Pause before a stream is reopened that ended while its container still runs. */
  retryMs: 1_000,
  /** A log that sends nothing within this time counts as quiet: the others' lines are output without it. */
  openingMs: 400,
  openingAtOnce: 16,
  /** Limit of lines that wait for other containers, for all together. */
  waitingLines: 64_000,
  waitingBytes: 2_000_000,
  /** Lines queried from the engine's history of one container. With several containers, fewer of each. */
  tail: 2_000,
  lines: 50_000,
  sizeBytes: 8_000_000,
  allLines: 200_000,
  allBytes: 32_000_000,
  /** Pages of a search, nearest first; after these, it scans the log once from its start. */
  searchPages: [1_000, 4_000],
  /** Matches that such a scan returns at once; more are searched for on request. */
  foundLines: 10_000,
  /** Interval between two updates of the shown list: 15 a second. */
  frameMs: 66,
};

export type LogLimits = Readonly<typeof logLimits>;

export function openLogs(fleet: OpenFleet, limits: LogLimits = logLimits): Logs {
  const rings = new Map<string, { ring: LogRing; users: number }>();

  /** Rings without a reader shrink first, then the largest. */
  function keepToBudget(): void {
    const all = Array.from(rings.values(), ({ ring }) => ring);
    const excess = () => ({
      lines: all.reduce((sum, { length }) => sum + length, 0) - limits.allLines,
      bytes: all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) - limits.allBytes,
    });
    let { lines, bytes } = excess();
    if (lines <= 0 && bytes <= 0) return;
    const share = (ring: LogRing) => Math.max(ring.length / limits.allLines, ring.sizeBytes / limits.allBytes);
    all.sort((one, other) => Number(one.readers > 0) - Number(other.readers > 0) || share(other) - share(one));
    for (const ring of all) {
      // At most half, so that the next largest shrinks too.
      const keep = ring.readers > 0 ? 0.5 : 0.1;
      ring.shrink(
        Math.max(Math.ceil(ring.length * keep), ring.length - Math.max(0, lines)),
        Math.max(Math.ceil(ring.sizeBytes * keep), ring.sizeBytes - Math.max(0, bytes)),
      );
      ({ lines, bytes } = excess());
      if (lines <= 0 && bytes <= 0) return;
    }
  }

  return {
    open(keys) {
      const componentKeys = typeof keys === 'string' ? [keys] : [...new Set(keys)].sort();
      const name = componentKeys.join('\n');
      const known = rings.get(name) ?? { ring: new LogRing(componentKeys, fleet, limits, keepToBudget), users: 0 };
      rings.set(name, known);
      known.users++;
      let open = true;
      return {
        source: known.ring,
        close() {
          if (!open) return;
          open = false;
          known.users--;
          if (known.users > 0) return;
          known.ring.close();
          rings.delete(name);
        },
      };
    },
    stream: (options) => streamLogs(fleet, options, limits),
    close() {
      for (const { ring } of rings.values()) ring.close();
      rings.clear();
    },
  };
}
