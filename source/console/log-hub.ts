import type { LogEdge, LogEntry, LogReading, LogSource, Logs } from '../fleet/log-store.ts';
import { type LogFilter, loadLogFilter, parseLogFilter } from '../text/log-filter.ts';
import { markOf } from './log-line-text.ts';
import { loaded, locate } from './log-locate.ts';
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
  enterContext(entry: LogEntry): Promise<number | undefined | 'stopped'>;
  inContext(): boolean;
  leaveContext(): void;
  /**
   * The nearest line before or after this one that the filter lets through, also far back in the engine's history; its index in what is on the screen.
   */
  findMatch(from: LogEntry, direction: 'back' | 'forth'): Promise<number | undefined | 'stopped'>;
  /** The edge of a search that `findMatch` makes. */
  searching(): LogEdge | undefined;
  /** Ends what is loading or searched. False when nothing was. */
  stop(): boolean;
  /** Stands still at the first line at or after this time. Undefined when there is none so late. */
  jump(timeMs: number): Promise<number | undefined | 'stopped'>;
  /** The filter changes: what is on the screen is still as it was before. */
  isChanging(): boolean;
  /** What is being looked for, in a few words. */
  doing(): string | undefined;
  subscribe(listener: () => void): () => void;
  close(): void;
}

const none: readonly LogEntry[] = [];
const noEdges = { back: { state: 'reached' }, forth: { state: 'reached' } } as const;
/** Lines that a search looks for in one go. */
const matchBatch = 1;
/** Up to so many lines between two matches are loaded, instead of going over to another place in the log. */
const nearLines = 20_000;
const pageLines = 2000;
/** Nobody who types a filter waits longer to stand at the same line again; the same time has to do. */
const anchorMs = 1500;

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
  let changing = 0;
  /** Ends what was asked for in a look that is over. */
  let leaving = new AbortController();
  let going: { what: string; stop: AbortController } | undefined;
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

  /** What stands still somewhere in a filtered log is filled downwards first: what was looked for is at its top. */
  async function fillUp(reading: LogReading, lines: number, filtered: boolean): Promise<void> {
    const missing = () => lines - reading.entries().length;
    const { signal } = leaving;
    if (filtered && !reading.following && missing() > 0 && reading.edges().forth.state === 'more') {
      reading.more('forth', missing());
      await loaded(reading, signal).catch(() => {});
    }
    if (signal.aborted || shown() !== reading || missing() <= 0 || reading.edges().back.state !== 'more') return;
    const stop = reading.subscribe(() => {
      const edge = reading.edges().back;
      if (edge.state !== 'loading') stop();
      else if (edge.searched > fillLimit) {
        stop();
        reading.stop();
      }
    });
    reading.more('back', missing());
  }

  function endSearch(): void {
    const ending = search;
    search = undefined;
    letGo(ending);
    ending?.cancel();
  }

  function leave(): void {
    leaving.abort();
    leaving = new AbortController();
    going = undefined;
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

  /** Something that takes its time and that Esc ends. A new one ends the one before. Answers undefined when it failed. */
  async function go<T>(what: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined | 'stopped'> {
    going?.stop.abort();
    const mine = { what, stop: new AbortController() };
    going = mine;
    tell();
    const signal = AbortSignal.any([mine.stop.signal, leaving.signal]);
    try {
      const answer = await ask(signal);
      return signal.aborted ? 'stopped' : answer;
    } catch {
      return signal.aborted ? 'stopped' : undefined;
    } finally {
      if (going === mine) {
        going = undefined;
        tell();
      }
    }
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
      const passes = !look.hides || filter === undefined || filter.passes(anchor.text);
      changing++;
      const found = await go('looking for the same place', async (stop) => {
        const limit = () => AbortSignal.any([stop, signal, AbortSignal.timeout(anchorMs)]);
        const here = passes ? await locate(source, reading, anchor, limit()).catch(() => undefined) : undefined;
        if (here !== undefined || anchor.timeMs === undefined) return here;
        return reading.jump(anchor.timeMs, limit()).catch(() => undefined);
      });
      changing--;
      index = found === 'stopped' ? undefined : found;
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
      // Whoever stopped a search does not want it to begin anew by itself.
      if (!reading || filled.has(reading)) return;
      filled.add(reading);
      void fillUp(reading, lines, current?.hides === true && filter !== undefined && !context);
    },
    async enterContext(entry) {
      if (!open) return undefined;
      const before = shown();
      // Whoever has found a line does not wait for others.
      before?.stop();
      const { source } = open;
      const reading = source.read();
      const index = await go('looking for the line', (signal) => locate(source, reading, entry, signal));
      if (typeof index !== 'number' || shown() !== before) {
        reading.close();
        return index === undefined ? undefined : 'stopped';
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
      let stopped = false;
      let looked = 0;
      const { source } = open;
      const found = await new Promise<LogEntry | undefined>((resolve) => {
        const { reading: mine, stopTelling } = held(reading);
        const stopLooking = mine.subscribe(() => look());
        search = {
          reading: mine,
          direction,
          stopTelling,
          cancel() {
            stopped = true;
            resolve(undefined);
          },
        };
        const end = (entry: LogEntry | undefined) => {
          stopLooking();
          resolve(entry);
        };
        const time = beyond.timeMs ?? 0;
        // Of the lines of one moment those count that are not on the screen already.
        const loaded = new Set(entries.filter(({ timeMs }) => timeMs === time).map(markOf));
        const isBeyond = (entry: LogEntry) => {
          const away = (entry.timeMs ?? 0) - time;
          return away === 0 ? !loaded.has(markOf(entry)) : direction === 'back' ? away < 0 : away > 0;
        };
        let begun = false;
        let seen = 0;
        const look = () => {
          if (!begun) return;
          const next = direction === 'back' ? mine.entries().findLast(isBeyond) : mine.entries().find(isBeyond);
          if (next) return end(next);
          const edge = mine.edges()[direction];
          if (edge.state === 'loading') {
            looked += Math.max(0, edge.searched - seen);
            seen = edge.searched;
          } else if (edge.state === 'more') {
            seen = 0;
            mine.more(direction, matchBatch);
          } else end(undefined);
        };
        void (async () => {
          // From the ring a reading goes back by itself, and faster than engines find a time; only what is apart from the ring has to be found.
          const oldest = source.entries()[0]?.timeMs ?? Number.POSITIVE_INFINITY;
          const apart = (entries.at(-1)?.timeMs ?? 0) < oldest;
          if (direction === 'forth' || apart) await mine.jump(time, signal).catch(() => undefined);
          begun = true;
          look();
        })();
      });
      const isOver = stopped;
      if (search?.reading === reading) endSearch();
      if (isOver || signal.aborted || shown() !== target) return 'stopped';
      if (!found) return undefined;
      return go('looking for the line', async (stop) => {
        // What is near is reached line by line, and all in between stays.
        const mark = markOf(found);
        const here = () => target.entries().find((entry) => entry.timeMs === found.timeMs && markOf(entry) === mark);
        for (
          let loading = 0;
          looked < nearLines && loading < 2 * nearLines && target.edges()[direction].state === 'more';
          loading += pageLines
        ) {
          target.more(direction, pageLines);
          await loaded(target, stop);
          const entry = here();
          if (entry) return entry.index;
        }
        return locate(source, target, found, stop);
      });
    },
    isChanging: () => changing > 0,
    doing: () => going?.what,
    searching: () => search?.reading.edges()[search.direction],
    stop() {
      const reading = shown();
      const edges = reading?.edges();
      const loading = edges?.back.state === 'loading' || edges?.forth.state === 'loading';
      if (!search && !loading && !going) return false;
      going?.stop.abort();
      going = undefined;
      endSearch();
      if (loading) reading?.stop();
      tell();
      return true;
    },
    async jump(timeMs) {
      const reading = shown();
      if (!reading) return undefined;
      reading.stop();
      return go('looking for that time', (signal) => reading.jump(timeMs, signal));
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
