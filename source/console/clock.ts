/** One clock for the whole console: all that shows a time is drawn anew together, once a second. */
export interface Clock {
  /** Epoch milliseconds of the last tick; the same for everything in one frame. */
  now(): number;
  subscribe(listener: () => void): () => void;
}

const everyMs = 1000;

/** Ticks only while somebody looks. */
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
        timer = setInterval(() => {
          value = read();
          for (const each of [...listeners]) each();
        }, everyMs);
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}
