import { useSyncExternalStore } from 'react';
import { useParts } from '../context.ts';
import type { InterfaceState } from '../interface-store.ts';

/** A part of the interface state; `select` must answer what is in the state, not make something new. */
export function useInterface<T>(select: (state: InterfaceState) => T): T {
  const { store } = useParts();
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
