import type { LogEdge, LogEntry, LogPredicate, LogReading, LogSource, Logs } from '../../../source/logs/store.ts';
import { sampleNowMs } from './sample-fleet.ts';

type Line = string | Partial<LogEntry>;

/** Logs in memory: rings, and behind them an engine's history that can be slow or broken. */
export interface FakeLogs extends Logs {
  add(componentKey: string, lines: readonly Line[]): void;
  /** Lines that are older than all that the ring ever held. */
  addHistory(componentKey: string, lines: readonly Line[]): void;
  /** The history answers nothing any more until the returned function is called. */
  holdHistory(): () => void;
  /** The history cannot be read. */
  failHistory(message: string): void;
  opened(): string[];
  /** Lines that were read from the history. */
  readonly historyReads: () => number;
}

interface Context {
  keep: number;
  gate: Promise<void> | undefined;
  failure: string | undefined;
  reads: number;
}

interface Loading {
  direction: 'back' | 'forth';
  searched: number;
  timeMs: number | undefined;
  cancelled: boolean;
}

class FakeSource implements LogSource {
  readonly componentKeys: readonly string[];
  readonly context: Context;
  readonly listeners = new Set<() => void>();
  /** All lines there ever were, oldest first; those with an index from 0 on arrived while somebody looked. */
  all: LogEntry[] = [];
  #ring: readonly LogEntry[] = [];
  #total = 0;

  constructor(componentKeys: readonly string[], context: Context) {
    this.componentKeys = componentKeys;
    this.context = context;
  }

  entries() {
    return this.#ring;
  }

  total() {
    return this.#total;
  }

  state() {
    return { following: true, message: undefined };
  }

  subscribe(listener: () => void) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  add(lines: readonly Line[], component = this.componentKeys[0] ?? '') {
    const added = lines.map((line) => {
      const index = this.#total++;
      return entryOf(line, index, component, sampleNowMs - 60_000 + index * 1000);
    });
    this.all.push(...added);
    this.#ring = [...this.#ring, ...added].slice(-this.context.keep);
    this.tell();
  }

  addHistory(lines: readonly Line[], component = this.componentKeys[0] ?? '') {
    const first = this.all[0]?.index ?? 0;
    const added = lines.map((line, at) => {
      const index = first - lines.length + at;
      return entryOf(line, index, component, sampleNowMs - 60_000 + index * 1000);
    });
    this.all.unshift(...added);
  }

  tell() {
    for (const listener of [...this.listeners]) listener();
  }

  read(passes: LogPredicate = () => true): LogReading {
    return new FakeReading(this, passes);
  }
}

function entryOf(line: Line, index: number, component: string, timeMs: number): LogEntry {
  const entry = typeof line === 'string' ? { text: line } : line;
  return { index, timeMs, component, container: `c-${component}`, service: 'server', stream: 'stdout', text: '', ...entry };
}

class FakeReading implements LogReading {
  readonly #source: FakeSource;
  readonly #passes: LogPredicate;
  readonly #listeners = new Set<() => void>();
  readonly #stop: () => void;
  /** What is held is from this index on; undefined is the ring. */
  #from: number | undefined;
  /** And up to this one; undefined follows. */
  #to: number | undefined;
  #loading: Loading | undefined;
  #failure: string | undefined;
  #shown: { all: number; from: number; to: number; entries: readonly LogEntry[] } | undefined;

  constructor(source: FakeSource, passes: LogPredicate) {
    this.#source = source;
    this.#passes = passes;
    this.#stop = source.subscribe(() => this.#tell());
  }

  get following() {
    return this.#to === undefined;
  }

  #tell() {
    for (const listener of [...this.#listeners]) listener();
  }

  #first(): number {
    return this.#from ?? this.#source.entries()[0]?.index ?? 0;
  }

  entries() {
    const { all } = this.#source;
    const from = this.#first();
    const to = this.#to ?? Number.POSITIVE_INFINITY;
    const last = all.at(-1)?.index ?? -1;
    if (this.#shown?.all !== last || this.#shown.from !== from || this.#shown.to !== to) {
      const entries = all.filter((entry) => entry.index >= from && entry.index <= to && this.#passes(entry));
      this.#shown = { all: last, from, to, entries };
    }
    return this.#shown.entries;
  }

  edges(): { back: LogEdge; forth: LogEdge } {
    const oldest = this.#source.all[0]?.index ?? 0;
    const loading = (direction: 'back' | 'forth'): LogEdge | undefined =>
      this.#loading?.direction === direction
        ? { state: 'loading', searched: this.#loading.searched, timeMs: this.#loading.timeMs }
        : undefined;
    const back: LogEdge = this.#first() <= oldest ? { state: 'reached' } : { state: 'more' };
    return {
      back: loading('back') ?? (this.#failure === undefined ? back : { state: 'failed', message: this.#failure }),
      forth: loading('forth') ?? { state: this.waiting() > 0 ? 'more' : 'reached' },
    };
  }

  waiting() {
    const to = this.#to;
    return to === undefined ? 0 : this.#source.all.filter((entry) => entry.index > to && this.#passes(entry)).length;
  }

  more(direction: 'back' | 'forth', count: number) {
    if (this.#loading) return;
    if (direction === 'forth') {
      const to = this.#to;
      if (to === undefined) return;
      const found = this.#source.all.filter((entry) => entry.index > to && this.#passes(entry)).slice(0, count);
      this.#to = found.at(-1)?.index ?? to;
      this.#tell();
      return;
    }
    if (this.#first() <= (this.#source.all[0]?.index ?? 0)) return;
    const loading: Loading = { direction, searched: 0, timeMs: undefined, cancelled: false };
    this.#loading = loading;
    this.#failure = undefined;
    void this.#load(loading, count);
    this.#tell();
  }

  async #load(loading: Loading, count: number) {
    const { all, context } = this.#source;
    let found = 0;
    let from = this.#first();
    for (const entry of all.filter(({ index }) => index < from).toReversed()) {
      loading.searched++;
      context.reads++;
      loading.timeMs = entry.timeMs;
      from = entry.index;
      if (this.#passes(entry)) found++;
      if (found >= count) break;
    }
    this.#tell();
    await (context.gate ?? Promise.resolve());
    if (loading.cancelled) return;
    this.#loading = undefined;
    if (context.failure === undefined) this.#from = from;
    else this.#failure = context.failure;
    this.#tell();
  }

  stop() {
    if (this.#loading) this.#loading.cancelled = true;
    this.#loading = undefined;
    this.#tell();
  }

  pause() {
    this.#from = this.#first();
    this.#to ??= this.#source.all.at(-1)?.index ?? -1;
    this.#tell();
  }

  follow() {
    this.#from = undefined;
    this.#to = undefined;
    this.#tell();
  }

  async jump(timeMs: number, signal: AbortSignal) {
    await this.#opened(signal);
    const { all } = this.#source;
    const at = all.findIndex((entry) => (entry.timeMs ?? 0) >= timeMs && this.#passes(entry));
    return at < 0 ? undefined : this.#standAt(at);
  }

  async around(entry: LogEntry, signal: AbortSignal) {
    await this.#opened(signal);
    const at = this.#source.all.findIndex(
      (one) => one.container === entry.container && one.timeMs === entry.timeMs && one.text === entry.text,
    );
    const found = this.#source.all[at];
    return found && this.#passes(found) ? this.#standAt(at) : undefined;
  }

  /** When the history answers, or nobody waits for it any more. */
  async #opened(signal: AbortSignal) {
    const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.#source.context.gate ?? Promise.resolve(), ended]);
    signal.throwIfAborted();
  }

  #standAt(at: number): number {
    const { all } = this.#source;
    this.#from = Math.min(this.#first(), all[Math.max(0, at - 50)]?.index ?? 0);
    this.#to ??= all.at(-1)?.index ?? 0;
    this.#tell();
    return all[at]?.index ?? 0;
  }

  subscribe(listener: () => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close() {
    this.stop();
    this.#stop();
    this.#listeners.clear();
  }
}

export function createFakeLogs(options: { keep: number }): FakeLogs {
  const context: Context = { keep: options.keep, gate: undefined, failure: undefined, reads: 0 };
  const sources = new Map<string, FakeSource>();
  const open: string[] = [];
  const source = (keys: readonly string[]) => {
    const name = keys.join(' + ');
    const known = sources.get(name);
    if (known) return known;
    const made = new FakeSource(keys, context);
    if (keys.length > 1) {
      const members = keys.flatMap((key) => source([key]).all).sort((one, other) => (one.timeMs ?? 0) - (other.timeMs ?? 0));
      for (const { index: _, ...entry } of members) made.add([entry], entry.component);
    }
    sources.set(name, made);
    return made;
  };
  return {
    open(componentKeys) {
      const keys = typeof componentKeys === 'string' ? [componentKeys] : componentKeys;
      const name = keys.join(' + ');
      open.push(name);
      return {
        source: source(keys),
        close() {
          const at = open.indexOf(name);
          if (at >= 0) open.splice(at, 1);
        },
      };
    },
    stream: async function* () {},
    close() {},
    add(componentKey, lines) {
      source([componentKey]);
      for (const each of sources.values()) if (each.componentKeys.includes(componentKey)) each.add(lines, componentKey);
    },
    addHistory(componentKey, lines) {
      source([componentKey]);
      for (const each of sources.values()) if (each.componentKeys.includes(componentKey)) each.addHistory(lines, componentKey);
    },
    holdHistory() {
      const { promise, resolve } = Promise.withResolvers<void>();
      context.gate = promise;
      return () => {
        context.gate = undefined;
        resolve();
      };
    },
    failHistory(message) {
      context.failure = message;
    },
    opened: () => [...open],
    historyReads: () => context.reads,
  };
}
