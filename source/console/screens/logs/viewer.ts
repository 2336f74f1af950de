import { createSourceColours } from '../../../app/source-colours.ts';
import { createListeners } from '../../../faults/listeners.ts';
import type { Entries } from '../../../logs/entry-list.ts';
import { type LogFilter, loadLogFilter, parseLogFilter } from '../../../logs/filter.ts';
import type { LogEdge, LogEntry, LogReading, LogSource, Logs } from '../../../logs/store.ts';
import type { Role } from '../../theme.ts';
import { loaded, locate, reach, searchBeyond } from './locate.ts';
import { positionOf } from './model.ts';

export const sourceRoles: readonly Role[] = ['accent', 'unknown', 'ok', 'busy', 'heading', 'off'];

interface LogLook {
  componentKeys: readonly string[];
  typed: string;
  /** Lines that do not match are hidden. Otherwise matches are only highlighted. */
  hides: boolean;
}

/** A sentence, or the edge of a search. */
type Doing = string | (() => LogEdge);

const none: readonly LogEntry[] = [];
const noEdges = { back: { state: 'reached' }, forth: { state: 'reached' } } as const;
/** Longest wait for the line of the previous position after a filter was typed; after that, the line at the same time is used. */
const anchorMs = 1500;
/** Number of lines that are searched without a request. */
const fillLimit = 500_000;

/** Manages the one log that is shown: several panes and the keys share it, so that it is followed and filtered once. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: reading, filter and search change together
export function createLogViewer(logs: Logs) {
  let open: { source: LogSource; close: () => void } | undefined;
  let main: LogReading | undefined;
  let context: LogReading | undefined;
  let current: LogLook | undefined;
  let applied: { filter?: LogFilter; problem?: string; hint?: string } = {};
  let changing = 0;
  /** Cancels what fills or filters a log that is no longer shown. */
  let leaving = new AbortController();
  let pending: { doing: Doing; stop: AbortController } | undefined;
  const filled = new WeakSet<LogReading>();
  const { subscribe, notify, clear } = createListeners();
  const shown = () => context ?? main;
  const watched = (reading: LogReading) => {
    reading.subscribe(notify);
    return reading;
  };

  /** Fills the screen. A filtered log that is paused is filled downwards first, because the match is at its top. */
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

  function cancel(): void {
    pending?.stop.abort();
    pending = undefined;
  }

  function closeContext(): void {
    context?.close();
    context = undefined;
  }

  function leave(): void {
    leaving.abort();
    leaving = new AbortController();
    cancel();
    closeContext();
    main?.close();
    main = undefined;
    open?.close();
    open = undefined;
    applied = {};
  }

  /** Runs a slow request that Esc cancels. A new one cancels the previous one. */
  async function request<T>(doing: Doing, ask: (signal: AbortSignal) => Promise<T>): Promise<T | 'failed' | 'stopped'> {
    cancel();
    const mine = { doing, stop: new AbortController() };
    pending = mine;
    notify();
    const { signal } = mine.stop;
    try {
      const answer = await ask(signal);
      return signal.aborted ? 'stopped' : answer;
    } catch {
      return signal.aborted ? 'stopped' : 'failed';
    } finally {
      if (pending === mine) {
        pending = undefined;
        notify();
      }
    }
  }

  const predicate = () => {
    const { filter } = applied;
    return filter && ((entry: LogEntry) => filter.passes(entry.text));
  };

  /** Pauses at this line, otherwise at the same time, otherwise at the end. */
  async function pauseAt(anchor: LogEntry, source: LogSource, reading: LogReading, { hides }: LogLook): Promise<number | undefined> {
    const passes = !hides || (applied.filter?.passes(anchor.text) ?? true);
    changing++;
    const found = await request('finding the same line', async (stop) => {
      const limit = () => AbortSignal.any([stop, AbortSignal.timeout(anchorMs)]);
      const here = passes ? await locate(source, reading, anchor, limit()).catch(() => undefined) : undefined;
      if (here !== undefined || anchor.timeMs === undefined) return here;
      return reading.jump(anchor.timeMs, limit()).catch(() => undefined);
    });
    changing--;
    if (typeof found === 'number') return found;
    reading.pause();
    return reading.entries().at(-1)?.index;
  }

  /** Applies the filter. A regular expression requires a library that is loaded when the first one is typed. */
  async function refilter(look: LogLook, anchor: LogEntry | undefined): Promise<number | undefined> {
    const { signal } = leaving;
    const isOver = () => signal.aborted || current !== look;
    let parsed = parseLogFilter(look.typed);
    if (!open) return undefined;
    const { source } = open;
    if (parsed.state === 'loading') {
      parsed = await loadLogFilter(look.typed);
      if (isOver()) return undefined;
    }
    if (parsed.state === 'problem') applied = { problem: parsed.problem };
    else applied = look.typed === '' ? { hint: parsed.hint } : { filter: parsed.filter, hint: parsed.hint };
    cancel();
    closeContext();
    const reading = source.read(look.hides ? predicate() : undefined);
    const index = anchor && (await pauseAt(anchor, source, reading, look));
    if (isOver()) {
      reading.close();
      return undefined;
    }
    main?.close();
    main = watched(reading);
    notify();
    return index;
  }

  return {
    /** With an anchor, pauses at that line where possible. */
    async look(look: LogLook | undefined, anchor?: LogEntry): Promise<number | undefined> {
      const before = current;
      current = look;
      if (!look) {
        if (!before) return undefined;
        leave();
        notify();
        return undefined;
      }
      if (before && before.componentKeys.join('\n') === look.componentKeys.join('\n')) {
        if (before.typed !== look.typed || before.hides !== look.hides) return refilter(look, anchor);
        current = before;
        return undefined;
      }
      leave();
      const { source, close } = logs.open(look.componentKeys.length === 1 ? (look.componentKeys[0] as string) : look.componentKeys);
      const unsubscribe = source.subscribe(notify);
      const closeSource = () => {
        unsubscribe();
        close();
      };
      open = { source, close: closeSource };
      if (look.typed !== '') return refilter(look, anchor);
      main = watched(source.read());
      notify();
      return undefined;
    },
    source: () => open?.source,
    /** The reading on the screen: the filtered log, or the neighbours of one of its lines. */
    reading: shown,
    entries: (): Entries<LogEntry> => shown()?.entries() ?? none,
    edges: (): { back: LogEdge; forth: LogEdge } => shown()?.edges() ?? noEdges,
    filter: () => applied.filter,
    problem: () => applied.problem,
    hint: () => applied.hint,
    /** Searches the history for this many lines when there are fewer. Stops after a limit: a key continues the search. */
    fill(lines: number) {
      const reading = shown();
      // A search that was stopped must not restart by itself.
      if (!reading || filled.has(reading)) return;
      filled.add(reading);
      void fillUp(reading, lines, current?.hides === true && applied.filter !== undefined && !context);
    },
    /** Shows this line in context, without the filter. Returns its index there; undefined when it is gone. */
    async enterContext(entry: LogEntry) {
      if (!open) return undefined;
      const before = shown();
      // The line is found, so the search for others stops.
      before?.stop();
      const { source } = open;
      const reading = source.read();
      const index = await request('finding the line', (signal) => locate(source, reading, entry, signal));
      if (typeof index !== 'number' || shown() !== before) {
        reading.close();
        return typeof index === 'number' ? ('stopped' as const) : index;
      }
      closeContext();
      context = watched(reading);
      notify();
      return index;
    },
    inContext: () => context !== undefined,
    leaveContext() {
      closeContext();
      notify();
    },
    // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: among the loaded lines first, then beyond them in one search
    async findMatch(from: LogEntry, direction: 'back' | 'forth') {
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
      const { source } = open;
      const search = searchBeyond(source, direction, entries, passes, notify);
      const answer = await request(search.edge, search.answer);
      if (answer === 'stopped' || shown() !== target) return 'stopped' as const;
      if (answer === 'failed') return answer;
      if (!answer.found) return undefined;
      const { found, searched } = answer;
      return request('finding the line', (signal) => reach(source, found, { reading: target, direction, searched }, signal));
    },
    /** The filter is changing: the screen still shows the previous lines. */
    isChanging: () => changing > 0,
    doing: () => (typeof pending?.doing === 'function' ? pending.doing() : pending?.doing),
    stop() {
      const reading = shown();
      const edges = reading?.edges();
      const loading = edges?.back.state === 'loading' || edges?.forth.state === 'loading';
      if (!loading && !pending) return false;
      cancel();
      if (loading) reading?.stop();
      notify();
      return true;
    },
    /** Pauses at the first line at or after this time. Undefined when there is none that late. */
    async jump(timeMs: number) {
      const reading = shown();
      if (!reading) return undefined;
      reading.stop();
      return request('finding that time', (signal) => reading.jump(timeMs, signal));
    },
    coloursOf: createSourceColours(sourceRoles.length),
    subscribe,
    close() {
      current = undefined;
      leave();
      clear();
    },
  };
}

export type LogViewer = ReturnType<typeof createLogViewer>;
