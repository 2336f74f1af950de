import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { FleetSnapshot, StatsHistory } from '../../fleet/model.ts';
import { useParts } from '../context.ts';
import { useTold } from './use-told.ts';

export function useFleet(): FleetSnapshot {
  const { deck, frames } = useParts();
  const { fleet } = deck;
  const subscribe = useMemo(() => frames.paced((listener) => fleet.subscribe(listener), 'fact'), [fleet, frames]);
  return useSyncExternalStore(subscribe, () => fleet.snapshot());
}

/** CPU and memory of these components, sampled for as long as they are shown. */
export function useStats(keys: readonly string[]): (key: string) => StatsHistory | undefined {
  const { fleet } = useParts().deck;
  const watched = keys.join('\n');
  const subscribe = useMemo(() => (watched === '' ? undefined : (listener: () => void) => fleet.subscribe(listener)), [fleet, watched]);
  useTold(subscribe, 'fact');
  useEffect(() => {
    if (watched === '') return;
    const stops = watched.split('\n').map((key) => fleet.watchStats(key));
    return () => {
      for (const stop of stops) stop();
    };
  }, [fleet, watched]);
  return (key) => fleet.stats(key);
}
