import type { Entries } from '../fleet/entry-list.ts';
import type { LogEdge, LogEntry, LogReading, LogSource, Logs } from '../fleet/log-store.ts';
import { SourceColours } from '../terminal/source-colours.ts';
import { type LogFilter, loadLogFilter, parseLogFilter } from '../text/log-filter.ts';
import { loaded, locate, reach } from './log-locate.ts';
import { type LogSearch, searchBeyond } from './log-search.ts';
import { positionOf } from './log-view.ts';
import type { Role } from './theme.ts';

/** Colours that tell the components of a merged log apart. The name stands there as well. */
export const sourceRoles: readonly Role[] = ['accent', 'unknown', 'good', 'busy', 'heading', 'idle'];

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
  entries(): Entries<LogEntry>;
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
  /** Which of `sourceRoles` each component has, by key. */
  readonly sources: SourceColours;
  subscribe(listener: () => void): () => void;
  close(): void;
}

const none: readonly LogEntry[] = [];
const noEdges = { back: { state: 'reached' }, forth: { state: 'reached' } } as const;
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
  let search: LogSearch | undefined;
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
    ending?.stop();
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
        const entry = entries.at(position);
        if (entry && passes(entry)) return entry.index;
      }
      const edge = target.edges()[direction];
      const beyond = entries.at(direction === 'back' ? 0 : -1);
      if (!beyond || (edge.state === 'reached' && target.waiting() === 0)) return undefined;
      endSearch();
      const { source } = open;
      const { signal } = leaving;
      const mine = searchBeyond({ source, entries, direction, passes, signal, tell });
      search = mine;
      const answer = await mine.answer;
      if (search === mine) endSearch();
      if (answer === 'stopped' || signal.aborted || shown() !== target) return 'stopped';
      const { found, searched } = answer;
      if (!found) return undefined;
      return go('looking for the line', (stop) => reach({ source, reading: target, found, direction, searched, signal: stop }));
    },
    isChanging: () => changing > 0,
    doing: () => going?.what,
    searching: () => search?.edge(),
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
    sources: new SourceColours(sourceRoles.length),
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
