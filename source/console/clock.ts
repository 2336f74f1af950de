import { untilSecondMs } from '../faults/waits.ts';

/** One clock for the whole console: all that shows a time is drawn anew together, once a second. */
export interface Clock {
  /** Epoch milliseconds of the last tick; the same for everything in one frame. */
  now(): number;
  subscribe(listener: () => void): () => void;
}

/** Ticks only while somebody looks, and with the seconds of the machine, as other beats do: what changes with them is one frame. */
export function createClock(read: () => number = Date.now): Clock {
  const listeners = new Set<() => void>();
  let value = read();
  let timer: NodeJS.Timeout | undefined;
  return {
    now: () => value,
    subscribe(listener) {
      listeners.add(listener);
      if (!timer) {
        value = read();
        const tick = () => {
          timer = setTimeout(tick, untilSecondMs());
          value = read();
          for (const each of [...listeners]) each();
        };
        timer = setTimeout(tick, untilSecondMs());
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
      };
    },
  };
}
