import { useEffect, useMemo, useReducer, useSyncExternalStore } from 'react';
import type { FleetSnapshot, StatsHistory } from '../../fleet/model.ts';
import { useParts } from '../context.ts';

export function useFleet(): FleetSnapshot {
  const { fleet } = useParts().deck;
  const subscribe = useMemo(() => (listener: () => void) => fleet.subscribe(listener), [fleet]);
  return useSyncExternalStore(subscribe, () => fleet.snapshot());
}

/** CPU and memory of these components, sampled for as long as they are shown. */
export function useStats(keys: readonly string[]): (key: string) => StatsHistory | undefined {
  const { fleet } = useParts().deck;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const watched = keys.join('\n');
  useEffect(() => {
    if (watched === '') return;
    const stops = watched.split('\n').map((key) => fleet.watchStats(key));
    const unsubscribe = fleet.subscribe(redraw);
    return () => {
      unsubscribe();
      for (const stop of stops) stop();
    };
  }, [fleet, watched]);
  return (key) => fleet.stats(key);
}
