import { useEffect, useState } from 'react';
import { useParts } from '../context.ts';

/** Epoch milliseconds, anew every `everyMs`; standing still while `active` is false. */
export function useNow(everyMs: number, active = true): number {
  const { now } = useParts();
  const [value, setValue] = useState(now);
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => setValue(now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, active, now]);
  return value;
}
