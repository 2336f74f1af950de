import type { LogEdge, LogEntry, LogReading, LogSource, Logs } from '../fleet/log-store.ts';
import { type LogFilter, loadLogFilter, parseLogFilter } from '../text/log-filter.ts';
import { positionOf } from './log-view.ts';

/** What is looked at: whose log, and what of it. */
export interface LogLook {
  componentKeys: readonly string[];
  /** As it was typed; empty for everything. */
  typed: string;
  /** Lines that do not match are hidden. Otherwise what matches is only highlighted. */
  hides: boolean;
}

/**
 * The one log that is looked at. Several panes and the keys share it, so that it is followed once and its filter is applied once.
 */
export interface LogHub {
  /** Looks at this from now on, and at nothing else. With an anchor, where possible, standing still at that line. */
  look(look: LogLook | undefined, anchor?: LogEntry): Promise<number | undefined>;
  source(): LogSource | undefined;
  /** What is on the screen: the filtered log, or the neighbours of one of its lines. */
  reading(): LogReading | undefined;
  entries(): readonly LogEntry[];
  edges(): { back: LogEdge; forth: LogEdge };
  /** Applied, for highlighting. */
  filter(): LogFilter | undefined;
  /** What is wrong with what was typed. */
  problem(): string | undefined;
  /** What may have been meant instead of what was typed. */
  hint(): string | undefined;
  /** Looks into the history for so many lines, where there are fewer. Gives up by itself after a while: a key goes on. */
  fill(lines: number): void;
  /** Shows this line among its neighbours, without the filter. Answers its index there; undefined when it is gone. */
  enterContext(entry: LogEntry): Promise<number | undefined>;
  inContext(): boolean;
  leaveContext(): void;
  /**
   * The nearest line before or after this one that the filter lets through, also far back in the engine's history; its index in what is on the screen.
   */
  findMatch(from: LogEntry, direction: 'back' | 'forth'): Promise<number | undefined>;
  /** The edge of a search that `findMatch` makes. */
  searching(): LogEdge | undefined;
  /** Ends what is loading or searched. False when nothing was. */
  stop(): boolean;
  jump(timeMs: number): Promise<number | undefined>;
  subscribe(listener: () => void): () => void;
  close(): void;
}

const none: readonly LogEntry[] = [];
const noEdges = { back: { state: 'reached' }, forth: { state: 'reached' } } as const;
/** Lines that a search looks for in one go. */
const matchBatch = 1;

/** Lines that are looked at without anybody having asked. */
const fillLimit = 500_000;

export function sameKeys(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((key, at) => key === other[at]);
}

export function createLogHub(logs: Logs): LogHub {
  let open: { source: LogSource; close: () => void; stopTelling: () => void } | undefined;
  let main: { reading: LogReading; stopTelling: () => void } | undefined;
  let context: { reading: LogReading; stopTelling: () => void } | undefined;
  let search: { reading: LogReading; direction: 'back' | 'forth'; stopTelling: () => void; cancel: () => void } | undefined;
  let current: LogLook | undefined;
  let filter: LogFilter | undefined;
  let problem: string | undefined;
  let hint: string | undefined;
  /** Ends what was asked for in a look that is over. */
  let leaving = new AbortController();
  let jumping: AbortController | undefined;
  const filled = new WeakSet<LogReading>();
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of [...listeners]) listener();
  };
  const held = (reading: LogReading) => ({ reading, stopTelling: reading.subscribe(tell) });
  const letGo = (holding: { reading: LogReading; stopTelling: () => void } | undefined) => {
    holding?.stopTelling();
    holding?.reading.close();
  };

  function endSearch(): void {
    const ending = search;
    search = undefined;
    letGo(ending);
    ending?.cancel();
  }

  function leave(): void {
    leaving.abort();
    leaving = new AbortController();
    jumping = undefined;
    endSearch();
    letGo(context);
    letGo(main);
    context = undefined;
    main = undefined;
    open?.stopTelling();
    open?.close();
    open = undefined;
    filter = undefined;
    problem = undefined;
    hint = undefined;
  }

  const predicate = () => {
    const applied = filter;
    return applied && ((entry: LogEntry) => applied.passes(entry.text));
  };

  /** A regular expression needs a library that is loaded when the first one is typed. */
  async function refilter(look: LogLook, anchor: LogEntry | undefined): Promise<number | undefined> {
    const { signal } = leaving;
    let parsed = parseLogFilter(look.typed);
    if (!open) return undefined;
    const { source } = open;
    if (parsed.state === 'loading') {
      parsed = await loadLogFilter(look.typed);
      if (signal.aborted || current !== look || !open) return undefined;
    }
    filter = parsed.state === 'ready' && look.typed !== '' ? parsed.filter : undefined;
    problem = parsed.state === 'problem' ? parsed.problem : undefined;
    hint = parsed.state === 'ready' ? parsed.hint : undefined;
    endSearch();
    letGo(context);
    context = undefined;
    const reading = source.read(look.hides ? predicate() : undefined);
    let index: number | undefined;
    if (anchor) {
      index = await reading.around(anchor, signal).catch(() => undefined);
      if (index === undefined && anchor.timeMs !== undefined) index = await reading.jump(anchor.timeMs, signal).catch(() => undefined);
      if (signal.aborted || current !== look) {
        reading.close();
        return undefined;
      }
      if (index === undefined) {
        reading.pause();
        index = reading.entries().at(-1)?.index;
      }
    }
    letGo(main);
    main = held(reading);
    tell();
    return index;
  }

  const shown = () => (context ?? main)?.reading;

  const hub: LogHub = {
    look(look, anchor) {
      if (!look) {
        if (current) {
          current = undefined;
          leave();
          tell();
        }
        return Promise.resolve(undefined);
      }
      const before = current;
      if (before && sameKeys(before.componentKeys, look.componentKeys)) {
        if (before.typed === look.typed && before.hides === look.hides) return Promise.resolve(undefined);
        current = look;
        return refilter(look, anchor);
      }
      leave();
      current = look;
      const opened = logs.open(look.componentKeys.length === 1 ? (look.componentKeys[0] as string) : look.componentKeys);
      open = { ...opened, stopTelling: opened.source.subscribe(tell) };
      if (look.typed === '') {
        main = held(opened.source.read());
        tell();
        return Promise.resolve(undefined);
      }
      return refilter(look, anchor);
    },
    source: () => open?.source,
    reading: shown,
    entries: () => shown()?.entries() ?? none,
    edges: () => shown()?.edges() ?? noEdges,
    filter: () => filter,
    problem: () => problem,
    hint: () => hint,
    fill(lines) {
      const reading = shown();
      if (!reading) return;
      const missing = lines - reading.entries().length;
      const { back } = reading.edges();
      // Whoever stopped a search does not want it to begin anew by itself.
      if (missing <= 0 || back.state !== 'more' || filled.has(reading)) return;
      filled.add(reading);
      const stop = reading.subscribe(() => {
        const edge = reading.edges().back;
        if (edge.state !== 'loading') stop();
        else if (edge.searched > fillLimit) {
          stop();
          reading.stop();
        }
      });
      reading.more('back', missing);
    },
    async enterContext(entry) {
      if (!open) return undefined;
      const { signal } = leaving;
      const reading = open.source.read();
      const index = await reading.around(entry, signal).catch(() => undefined);
      if (index === undefined || signal.aborted) {
        reading.close();
        return undefined;
      }
      letGo(context);
      context = held(reading);
      tell();
      return index;
    },
    inContext: () => context !== undefined,
    leaveContext() {
      letGo(context);
      context = undefined;
      tell();
    },
    async findMatch(from, direction) {
      const passes = predicate();
      const target = shown();
      if (!open || !passes || !target) return undefined;
      const entries = target.entries();
      const step = direction === 'back' ? -1 : 1;
      for (let position = positionOf(entries, from.index) + step; position >= 0 && position < entries.length; position += step) {
        const entry = entries[position];
        if (entry && passes(entry)) return entry.index;
      }
      const edge = target.edges()[direction];
      if (edge.state === 'reached' && target.waiting() === 0) return undefined;
      // Beyond what is loaded a filtered reading looks, so that not everything in between has to be kept.
      endSearch();
      const { signal } = leaving;
      const beyond = direction === 'back' ? entries[0] : entries.at(-1);
      if (!beyond) return undefined;
      const reading = open.source.read(passes);
      const found = await new Promise<LogEntry | undefined>((resolve) => {
        const { reading: mine, stopTelling } = held(reading);
        const stopLooking = mine.subscribe(() => look());
        search = { reading: mine, direction, stopTelling, cancel: () => resolve(undefined) };
        const end = (entry: LogEntry | undefined) => {
          stopLooking();
          resolve(entry);
        };
        let known: number | undefined;
        const look = () => {
          if (known === undefined) return;
          const place = known;
          const all = mine.entries();
          const next = direction === 'back' ? all.findLast(({ index }) => index < place) : all.find(({ index }) => index > place);
          if (next) return end(next);
          const { state } = mine.edges()[direction];
          if (state === 'more') mine.more(direction, matchBatch);
          else if (state !== 'loading') end(undefined);
        };
        void (async () => {
          const time = beyond.timeMs;
          known = await mine.around(beyond, signal).catch(() => undefined);
          if (known === undefined && time !== undefined) {
            await mine.jump(time, signal).catch(() => undefined);
            // Everything before this time is before the line.
            const all = mine.entries();
            const later = all.find((entry) => (entry.timeMs ?? 0) >= time);
            known = later ? later.index - (direction === 'forth' ? 1 : 0) : (all.at(-1)?.index ?? 0) + 1;
          }
          known ??= direction === 'back' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
          look();
        })();
      });
      if (search?.reading === reading) endSearch();
      if (!found || signal.aborted || shown() !== target) return undefined;
      return target.around(found, signal).catch(() => undefined);
    },
    searching: () => search?.reading.edges()[search.direction],
    stop() {
      const reading = shown();
      const edges = reading?.edges();
      const loading = edges?.back.state === 'loading' || edges?.forth.state === 'loading';
      if (!search && !loading && !jumping) return false;
      jumping?.abort();
      jumping = undefined;
      endSearch();
      if (loading) reading?.stop();
      tell();
      return true;
    },
    async jump(timeMs) {
      const reading = shown();
      if (!reading) return undefined;
      jumping?.abort();
      const mine = new AbortController();
      jumping = mine;
      try {
        return await reading.jump(timeMs, AbortSignal.any([mine.signal, leaving.signal]));
      } finally {
        if (jumping === mine) jumping = undefined;
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      current = undefined;
      leave();
      listeners.clear();
    },
  };
  return hub;
}
