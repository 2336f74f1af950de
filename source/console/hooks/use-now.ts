import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { useParts } from '../context.ts';

/** Epoch milliseconds, anew every second. */
export function useNow(): number {
  const { clock, frames } = useParts();
  const subscribe = useMemo(() => frames.paced(clock.subscribe, 'fact'), [clock, frames]);
  return useSyncExternalStore(subscribe, clock.now);
}

/** Counts up while `active`: for what moves. */
export function useMotion(everyMs: number, active: boolean): number {
  const [step, setStep] = useState(0);
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => setStep((value) => value + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, active]);
  return step;
}
