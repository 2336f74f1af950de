import { useSyncExternalStore } from 'react';
import { useParts } from '../context.ts';
import type { InterfaceState } from '../interface-store.ts';

/** Something of the interface state; `select` must answer the same while that is the same: what is in the state, a number or a text, not a new object. */
export function useInterface<T>(select: (state: InterfaceState) => T): T {
  const { store } = useParts();
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
