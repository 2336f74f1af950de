import { untilSecondMs } from '../faults/waits.ts';

/** Ticks only while it has a subscriber, in step with the machine's seconds: changes at the same second are one frame. */
export function createClock(read: () => number = Date.now) {
  const listeners = new Set<() => void>();
  let value = read();
  let timer: NodeJS.Timeout | undefined;
  const tick = () => {
    timer = setTimeout(tick, untilSecondMs());
    value = read();
    for (const each of [...listeners]) each();
  };
  return {
    /** Epoch milliseconds of the last tick; the same for everything in one frame. */
    now: () => value,
    subscribe(listener: () => void) {
      if (!timer) tick();
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
      };
    },
  };
}
