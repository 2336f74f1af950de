import { Fault, messageOf } from '../faults/fault.ts';
import type { Entries } from './entry-list.ts';
import { isSameLine } from './log-entry.ts';
import { LogPages } from './log-pages.ts';
import type { LogRing } from './log-ring.ts';
import { type LogDirection, readingLines, ShownLines } from './log-shown.ts';
import type { LogEdge, LogEntry, LogPredicate, LogReading } from './log-store.ts';

/** First page of a search towards the end, and the largest. */
const searchLines: readonly [number, number] = [1_000, 50_000];
const progressMs = 100;
const aroundLines = 200;

/** Begins to read a ring, following. */
export function openReading(ring: LogRing, passes?: LogPredicate): LogReading {
  return new RingReading(ring, passes);
}

/** What an operator does with a log: what is shown is kept in `ShownLines`, and grows through `LogPages`. */
class RingReading implements LogReading {
  readonly #ring: LogRing;
  readonly #passes: LogPredicate | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #closed = false;
  #loading: AbortController | undefined;
  readonly #lines: ShownLines;
  readonly #pages: LogPages;

  constructor(ring: LogRing, passes: LogPredicate | undefined) {
    this.#ring = ring;
    this.#passes = passes;
    this.#lines = new ShownLines(ring, passes, () => this.#loading?.abort());
    this.#pages = new LogPages(ring, passes, this.#lines);
    ring.readers++;
    this.#unsubscribe = ring.subscribe(() => {
      // Without a filter what is shown is what is kept: looked at when it is asked for.
      if (!this.#lines.following) this.#lines.count();
      else if (passes || this.#lines.history.length > 0) this.#lines.current();
      this.#tell();
    });
  }

  get following(): boolean {
    return this.#lines.following;
  }

  entries(): Entries<LogEntry> {
    return this.#lines.following ? this.#lines.current() : this.#lines.shown;
  }

  edges(): { back: LogEdge; forth: LogEdge } {
    let { back, forth } = this.#lines.edges;
    if (this.#lines.following && back.state === 'more' && this.#ring.isWhole) back = { state: 'reached' };
    if (!this.#lines.following && forth.state === 'more' && this.#lines.ringIndex !== undefined && this.waiting() === 0)
      forth = { state: 'reached' };
    return { back, forth };
  }

  waiting(): number {
    if (this.#lines.following) return 0;
    this.#lines.count();
    return this.#lines.waiting;
  }

  more(direction: LogDirection, count: number): void {
    const { state } = this.edges()[direction];
    if (this.#closed || this.#loading || state === 'reached' || count < 1) return;
    if (direction === 'forth' && this.#lines.goThroughRing(count)) {
      this.#tell();
      return;
    }
    void this.#alone(undefined, (signal) => this.#load(direction, count, signal));
  }

  stop(): void {
    this.#loading?.abort();
  }

  pause(): void {
    if (!this.#lines.following) return;
    const shown = this.#lines.current();
    const all = this.#ring.entries();
    this.#lines.following = false;
    this.#lines.shown = shown;
    if (!this.#passes && !this.#lines.cursors.back) this.#lines.known.back = all;
    this.#lines.known.forth = all;
    this.#lines.ringIndex = all.at(-1)?.index ?? -1;
    this.#lines.countedIndex = this.#lines.ringIndex;
    this.#lines.waiting = 0;
    this.#lines.edges.forth = { state: 'more' };
    this.#tell();
  }

  follow(): void {
    if (this.#lines.following) return;
    this.#lines.begin();
    this.#lines.following = true;
    this.#lines.edges.forth = { state: 'reached' };
    this.#lines.known.back = this.#ring.entries();
    this.#tell();
  }

  async jump(timeMs: number, signal: AbortSignal): Promise<number | undefined> {
    const isThere = (entry: LogEntry) => (entry.timeMs ?? Number.NEGATIVE_INFINITY) >= timeMs;
    const first = this.entries().at(0);
    const isBeyond = this.edges().back.state === 'reached' || (first !== undefined && !isThere(first));
    const here = isBeyond ? this.entries().find(isThere) : undefined;
    if (here) {
      this.pause();
      return here.index;
    }
    const ring = this.#ring.entries();
    const oldest = ring.at(0);
    if (oldest && (this.#ring.isWhole || !isThere(oldest))) {
      if (!ring.some((entry) => isThere(entry) && (this.#passes?.(entry) ?? true))) return undefined;
      this.follow();
      this.pause();
      return this.#lines.shown.find(isThere)?.index;
    }
    return this.#alone(signal, async (limit) => {
      await this.#stand(timeMs, limit);
      const found = this.#lines.shown.find(isThere)?.index;
      if (found === undefined) this.follow();
      return found;
    });
  }

  async around(entry: LogEntry, signal: AbortSignal): Promise<number | undefined> {
    const isIt = (one: LogEntry) => one === entry || isSameLine(one, entry);
    if (!this.entries().some(isIt) && this.#ring.entries().some(isIt)) this.follow();
    const here = this.entries().find(isIt);
    if (here) {
      this.pause();
      return here.index;
    }
    const { timeMs } = entry;
    if (timeMs === undefined) return undefined;
    return this.#alone(signal, async (limit) => {
      await this.#stand(timeMs, limit);
      for (let looked = 0; looked < readingLines && !this.#lines.shown.some(isIt); ) {
        const before = this.#lines.shown.at(-1);
        if (before === undefined || (before.timeMs ?? 0) > timeMs + 1000 || this.#lines.edges.forth.state !== 'more') break;
        await this.#pages.page('forth', aroundLines * 10, limit);
        looked += aroundLines * 10;
        if (this.#lines.shown.at(-1) === before && this.#lines.ringIndex !== undefined) break;
      }
      if (!this.#lines.shown.some(isIt)) {
        this.follow();
        return undefined;
      }
      await this.#pages.page('forth', aroundLines, limit);
      await this.#pages.page('back', aroundLines, limit);
      return this.#lines.shown.find(isIt)?.index;
    });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ring.readers--;
    this.#lines.begin();
    this.#unsubscribe();
    this.#listeners.clear();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Runs what loads, after whatever loaded before it was ended. */
  async #alone<T>(signal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    const forward = () => loading.abort(signal?.reason);
    signal?.addEventListener('abort', forward, { once: true });
    try {
      signal?.throwIfAborted();
      return await run(loading.signal);
    } finally {
      signal?.removeEventListener('abort', forward);
      if (this.#loading === loading) this.#loading = undefined;
      this.#tell();
    }
  }

  async #load(direction: LogDirection, count: number, signal: AbortSignal): Promise<void> {
    const edges = this.#lines.edges;
    let found = 0;
    let searched = 0;
    let timeMs: number | undefined;
    let [size] = searchLines;
    let end: LogEdge = { state: 'more' };
    let toldMs = Number.NEGATIVE_INFINITY;
    const onProgress = (lines: number, reachedMs: number | undefined) => {
      searched += lines;
      timeMs = reachedMs ?? timeMs;
      if (signal.aborted || performance.now() - toldMs < progressMs) return;
      toldMs = performance.now();
      edges[direction] = { state: 'loading', searched, timeMs };
      this.#tell();
    };
    try {
      while (found < count && !signal.aborted) {
        edges[direction] = { state: 'loading', searched, timeMs };
        this.#tell();
        if (this.#passes && this.entries().length >= readingLines) {
          const message = `${readingLines} lines are shown already: narrow the filter.`;
          throw new Fault({ code: 'refused.tooMany', message, remedy: 'Narrow the filter.' });
        }
        const { looked, added, isDone } = await this.#pages.page(
          direction,
          this.#passes && direction === 'forth' ? Math.max(size, count) : count - found,
          signal,
          onProgress,
        );
        found += added;
        if (direction === 'forth') onProgress(looked.length, looked.at(-1)?.timeMs);
        else if (!this.#passes) onProgress(looked.length, looked[0]?.timeMs);
        if (isDone) end = { state: direction === 'back' ? 'reached' : 'more' };
        if (isDone || (looked.length === 0 && added === 0)) break;
        size = Math.min(searchLines[1], size * 2);
      }
    } catch (thrown) {
      if (!signal.aborted) end = { state: 'failed', message: thrown instanceof Fault ? thrown.message : messageOf(thrown) };
    }
    edges[direction] = end;
  }

  /** Stands still with what was written from this time on. */
  async #stand(timeMs: number, signal: AbortSignal): Promise<void> {
    const loading = this.#loading;
    this.#loading = undefined;
    this.#lines.begin();
    this.#loading = loading;
    this.#lines.following = false;
    this.#lines.jumpedMs = timeMs;
    this.#lines.jumps++;
    this.#lines.ringIndex = undefined;
    this.#lines.countedIndex = this.#ring.entries().at(-1)?.index ?? -1;
    for (;;) {
      const { isDone, looked } = await this.#pages.page('forth', this.#passes ? searchLines[0] : aroundLines, signal);
      if (isDone || this.#lines.shown.length > 0 || looked.length === 0 || signal.aborted) return;
    }
  }
}
