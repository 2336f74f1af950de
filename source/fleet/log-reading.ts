import type { LogEntry, LogPredicate, LogReading, LogSource } from './log-store.ts';

/** A reading over a ring. */
export function openReading(source: LogSource, passes?: LogPredicate): LogReading {
  let held: readonly LogEntry[] | undefined;
  let from: readonly LogEntry[] | undefined;
  let matched: readonly LogEntry[] = [];
  const listeners = new Set<() => void>();
  const unsubscribe = source.subscribe(() => {
    for (const listener of [...listeners]) listener();
  });
  const current = () => {
    const all = source.entries();
    if (!passes) return all;
    if (from !== all) matched = all.filter(passes);
    from = all;
    return matched;
  };
  const stand = () => {
    held ??= current();
    return held;
  };
  const told = (change: () => void) => {
    change();
    for (const listener of [...listeners]) listener();
  };
  return {
    get following() {
      return held === undefined;
    },
    entries: () => held ?? current(),
    edges: () => ({ back: { state: 'reached' }, forth: { state: 'reached' } }),
    waiting() {
      if (!held) return 0;
      const last = held.at(-1)?.index ?? -1;
      return current().filter((entry) => entry.index > last).length;
    },
    more: () => undefined,
    stop: () => undefined,
    pause: () => told(stand),
    follow: () =>
      told(() => {
        held = undefined;
      }),
    async jump(timeMs) {
      const index = stand().find((entry) => (entry.timeMs ?? 0) >= timeMs)?.index;
      told(() => undefined);
      return index;
    },
    async around(entry) {
      const index = stand().find(
        (one) => one.container === entry.container && one.timeMs === entry.timeMs && one.text === entry.text,
      )?.index;
      told(() => undefined);
      return index;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      unsubscribe();
      listeners.clear();
    },
  };
}
