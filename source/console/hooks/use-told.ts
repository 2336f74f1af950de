import { useMemo, useRef, useSyncExternalStore } from 'react';
import { useParts } from '../context.ts';
import type { Haste } from '../frames.ts';

const silent = () => () => {};

/** Draws anew, with a frame, whenever `subscribe` tells; not while `subscribe` is undefined. It must stay the same from one drawing to the next. */
export function useTold(subscribe: ((listener: () => void) => () => void) | undefined, haste: Haste): void {
  const { frames } = useParts();
  const told = useRef(0);
  const paced = useMemo(() => {
    if (!subscribe) return silent;
    const inFrames = frames.paced(subscribe, haste);
    return (listener: () => void) =>
      inFrames(() => {
        told.current++;
        listener();
      });
  }, [frames, subscribe, haste]);
  useSyncExternalStore(paced, () => told.current);
}
