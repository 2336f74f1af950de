import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { FleetSnapshot } from '../../fleet/model.ts';
import { useParts } from '../context.ts';
import type { Haste } from '../frames.ts';
import type { InterfaceState } from '../interface-store.ts';
import type { Opened } from '../open-screens.ts';
import type { View } from '../screen.ts';
import { selectedComponent } from '../selection.ts';
import type { Theme } from '../theme.ts';

/** `select` must return the same value while that part of the state is unchanged, not a new object. */
export function useInterface<T>(select: (state: InterfaceState) => T): T {
  const { store } = useParts();
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}

const silent = () => () => {};

/** Redraws with a frame on each notification of `subscribe`, but not while it is undefined. `subscribe` must be stable between renders. */
export function useReported(subscribe: ((listener: () => void) => () => void) | undefined, haste: Haste): void {
  const { frames } = useParts();
  const reported = useRef(0);
  const paced = useMemo(() => {
    if (!subscribe) return silent;
    const inFrames = frames.paced(subscribe, haste);
    return (listener: () => void) =>
      inFrames(() => {
        reported.current++;
        listener();
      });
  }, [frames, subscribe, haste]);
  useSyncExternalStore(paced, () => reported.current);
}

/** Looks at something for as long as the screen is shown. `look` returns what ends it. */
export function useWatched({ subscribe, look }: { subscribe: (listener: () => void) => () => void; look: () => () => void }): void {
  useReported(subscribe, 'fact');
  useEffect(look, [look]);
}

export function useFleet(): FleetSnapshot {
  const { app, frames } = useParts();
  const { fleet } = app;
  const subscribe = useMemo(() => frames.paced((listener) => fleet.subscribe(listener), 'fact'), [fleet, frames]);
  return useSyncExternalStore(subscribe, () => fleet.snapshot());
}

/** Samples the CPU and memory of these components for as long as they are shown. */
export function useStats(keys: readonly string[]): void {
  const { fleet } = useParts().app;
  const watched = keys.join('\n');
  const subscribe = useMemo(() => (watched === '' ? undefined : (listener: () => void) => fleet.subscribe(listener)), [fleet, watched]);
  useReported(subscribe, 'fact');
  useEffect(() => {
    if (watched === '') return;
    const stops = watched.split('\n').map((key) => fleet.watchStats(key));
    return () => {
      for (const stop of stops) stop();
    };
  }, [fleet, watched]);
}

export function useNow(ticks = true): number {
  const { clock, frames } = useParts();
  const subscribe = useMemo(() => (ticks ? frames.paced(clock.subscribe, 'fact') : silent), [clock, frames, ticks]);
  return useSyncExternalStore(subscribe, clock.now);
}

export function useMotion(everyMs: number, active: boolean): number {
  const [step, setStep] = useState(0);
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => setStep((value) => value + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, active]);
  return step;
}

export function useView(
  { reads, navigation, timeless, useChanges }: Opened,
  theme: Theme,
  { width, height, focused }: Pick<View, 'width' | 'height' | 'focused'>,
  previousTop = 0,
): View {
  const { app, store } = useParts();
  useReads(reads ?? ((state) => [state]));
  const snapshot = useFleet();
  const nowMs = useNow(!timeless);
  const state = store.get();
  const step = useMotion(120, navigation?.(state) ?? false);
  const component = selectedComponent(app, state);
  const view = { theme, state, snapshot, nowMs, component, width, height, focused, previousTop, step };
  useChanges?.(view);
  return view;
}

function useReads(read: (state: InterfaceState) => readonly unknown[]): void {
  const { store } = useParts();
  const last = useRef<readonly unknown[]>([]);
  useSyncExternalStore(store.subscribe, () => {
    const values = read(store.get());
    const before = last.current;
    if (values.length !== before.length || values.some((value, at) => !Object.is(value, before[at]))) last.current = values;
    return last.current;
  });
}
