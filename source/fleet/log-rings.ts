import { LogRing } from './log-ring.ts';
import type { Logs } from './log-store.ts';
import { type StreamLimits, streamLimits, streamLogs } from './log-stream.ts';
import type { OpenFleet } from './open-fleet.ts';

export interface LogLimits extends StreamLimits {
  /** Lines asked of the engine's history, of one container. Of several it is less of each. */
  tail: number;
  /** Kept in one ring. */
  lines: number;
  sizeBytes: number;
  /** Kept in all rings. */
  allLines: number;
  allBytes: number;
  /** Pages of a search, nearest first; then it reads what lies before them in one go from the start of the log. */
  searchPages: readonly number[];
  /** Lines that such a reading finds at once; more are looked for when they are asked for. */
  foundLines: number;
  /** Between two replacements of what is shown: 15 a second. */
  frameMs: number;
}

export const logLimits: LogLimits = {
  ...streamLimits,
  tail: 2_000,
  lines: 50_000,
  sizeBytes: 8_000_000,
  allLines: 200_000,
  allBytes: 32_000_000,
  searchPages: [1_000, 4_000],
  foundLines: 10_000,
  frameMs: 66,
};

/** Opens the second store. */
export function openLogs(fleet: OpenFleet, limits: LogLimits = logLimits): Logs {
  const rings = new Map<string, { ring: LogRing; users: number }>();

  /** Rings that nobody reads give first, then the largest. */
  function keepToBudget(): void {
    let lines = 0;
    let sizeBytes = 0;
    for (const { ring } of rings.values()) {
      lines += ring.length;
      sizeBytes += ring.sizeBytes;
    }
    if (lines <= limits.allLines && sizeBytes <= limits.allBytes) return;
    const share = (ring: LogRing) => Math.max(ring.length / limits.allLines, ring.sizeBytes / limits.allBytes);
    const givers = [...rings.values()]
      .map(({ ring }) => ring)
      .sort((one, other) => Number(one.readers > 0) - Number(other.readers > 0) || share(other) - share(one));
    for (const ring of givers) {
      const linesBefore = ring.length;
      const bytesBefore = ring.sizeBytes;
      // Half at most, so that the next largest gives too.
      const keep = ring.readers > 0 ? 0.5 : 0.1;
      ring.shrink(
        Math.max(Math.ceil(linesBefore * keep), linesBefore - Math.max(0, lines - limits.allLines)),
        Math.max(Math.ceil(bytesBefore * keep), bytesBefore - Math.max(0, sizeBytes - limits.allBytes)),
      );
      lines -= linesBefore - ring.length;
      sizeBytes -= bytesBefore - ring.sizeBytes;
      if (lines <= limits.allLines && sizeBytes <= limits.allBytes) return;
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
