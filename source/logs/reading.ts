import { Fault, messageOf } from '../faults/fault.ts';
import { createListeners } from '../faults/listeners.ts';
import { endingWith } from '../faults/waits.ts';
import { isSameLine } from './entry.ts';
import type { Entries } from './entry-list.ts';
import type { LogRing } from './ring.ts';
import { type LogDirection, maxReadingLines, ShownLines } from './shown.ts';
import type { LogEdge, LogEntry, LogPredicate, LogReading } from './store.ts';

/** First page of a search towards the end, and the largest page. */
const searchLines: readonly [number, number] = [1_000, 50_000];
const progressMs = 100;
const aroundLines = 200;

export class RingReading implements LogReading {
  readonly #listeners = createListeners();
  readonly subscribe = this.#listeners.subscribe;
  readonly #unsubscribe: () => void;
  #closed = false;
  #loading: AbortController | undefined;
  readonly #lines: ShownLines;

  constructor(
    private readonly ring: LogRing,
    private readonly passes: LogPredicate | undefined,
  ) {
    this.#lines = new ShownLines(ring, passes, () => this.#loading?.abort());
    ring.readers++;
    this.#unsubscribe = ring.subscribe(() => {
      // Without a filter, the shown lines are the kept lines: evaluated on demand.
      if (!this.#lines.following) this.#lines.countWaiting();
      else if (passes || this.#lines.history.length > 0) this.#lines.current();
      this.#listeners.notify();
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
    if (this.#lines.following && back.state === 'more' && this.ring.isWhole) back = { state: 'reached' };
    if (!this.#lines.following && forth.state === 'more' && this.#lines.ringIndex !== undefined && this.waiting() === 0)
      forth = { state: 'reached' };
    return { back, forth };
  }

  waiting(): number {
    if (this.#lines.following) return 0;
    this.#lines.countWaiting();
    return this.#lines.waiting;
  }

  more(direction: LogDirection, count: number): void {
    const { state } = this.edges()[direction];
    if (this.#closed || this.#loading || state === 'reached' || count < 1) return;
    if (direction === 'forth' && this.#lines.extendFromRing(count)) {
      this.#listeners.notify();
      return;
    }
    void this.#replaceLoad(undefined, (signal) => this.#load(direction, count, signal));
  }

  stop(): void {
    this.#loading?.abort();
  }

  pause(): void {
    if (!this.#lines.following) return;
    const shown = this.#lines.current();
    const all = this.ring.entries();
    this.#lines.following = false;
    this.#lines.shown = shown;
    if (!this.passes && !this.#lines.cursors.back) this.#lines.anchors.back = all;
    this.#lines.anchors.forth = all;
    this.#lines.ringIndex = all.at(-1)?.index ?? -1;
    this.#lines.countedIndex = this.#lines.ringIndex;
    this.#lines.waiting = 0;
    this.#lines.edges.forth = { state: 'more' };
    this.#listeners.notify();
  }

  follow(): void {
    if (this.#lines.following) return;
    this.#lines.reset();
    this.#lines.following = true;
    this.#lines.edges.forth = { state: 'reached' };
    this.#lines.anchors.back = this.ring.entries();
    this.#listeners.notify();
  }

  async jump(timeMs: number, signal: AbortSignal): Promise<number | undefined> {
    const isAfter = (entry: LogEntry) => (entry.timeMs ?? Number.NEGATIVE_INFINITY) >= timeMs;
    const first = this.entries().at(0);
    const isBeyond = this.edges().back.state === 'reached' || (first !== undefined && !isAfter(first));
    const here = isBeyond ? this.entries().find(isAfter) : undefined;
    if (here) {
      this.pause();
      return here.index;
    }
    const ring = this.ring.entries();
    const oldest = ring.at(0);
    if (oldest && (this.ring.isWhole || !isAfter(oldest))) {
      if (!ring.some((entry) => isAfter(entry) && (this.passes?.(entry) ?? true))) return undefined;
      this.follow();
      this.pause();
      return this.#lines.shown.find(isAfter)?.index;
    }
    return this.#replaceLoad(signal, async (limit) => {
      await this.#pauseAt(timeMs, limit);
      const found = this.#lines.shown.find(isAfter)?.index;
      if (found === undefined) this.follow();
      return found;
    });
  }

  async around(entry: LogEntry, signal: AbortSignal): Promise<number | undefined> {
    const isSame = (one: LogEntry) => one === entry || isSameLine(one, entry);
    if (!this.entries().some(isSame) && this.ring.entries().some(isSame)) this.follow();
    const here = this.entries().find(isSame);
    if (here) {
      this.pause();
      return here.index;
    }
    const { timeMs } = entry;
    if (timeMs === undefined) return undefined;
    return this.#replaceLoad(signal, async (limit) => {
      await this.#pauseAt(timeMs, limit);
      for (let read = 0; read < maxReadingLines && !this.#lines.shown.some(isSame); ) {
        const before = this.#lines.shown.at(-1);
        if (before === undefined || (before.timeMs ?? 0) > timeMs + 1000 || this.#lines.edges.forth.state !== 'more') break;
        await this.#lines.page('forth', aroundLines * 10, limit);
        read += aroundLines * 10;
        if (this.#lines.shown.at(-1) === before && this.#lines.ringIndex !== undefined) break;
      }
      if (!this.#lines.shown.some(isSame)) {
        this.follow();
        return undefined;
      }
      await this.#lines.page('forth', aroundLines, limit);
      await this.#lines.page('back', aroundLines, limit);
      return this.#lines.shown.find(isSame)?.index;
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.ring.readers--;
    this.#lines.reset();
    this.#unsubscribe();
    this.#listeners.clear();
  }

  /** Cancels the previous load first. */
  async #replaceLoad<T>(signal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#loading?.abort();
    using loading = endingWith(...(signal ? [signal] : []));
    this.#loading = loading;
    try {
      signal?.throwIfAborted();
      return await run(loading.signal);
    } finally {
      if (this.#loading === loading) this.#loading = undefined;
      this.#listeners.notify();
    }
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the steps of one load share its progress, which the operator sees
  async #load(direction: LogDirection, count: number, signal: AbortSignal): Promise<void> {
    const edges = this.#lines.edges;
    let found = 0;
    let searched = 0;
    let timeMs: number | undefined;
    let [size] = searchLines;
    let end: LogEdge = { state: 'more' };
    let reportedMs = Number.NEGATIVE_INFINITY;
    const onProgress = (lines: number, reachedMs: number | undefined) => {
      searched += lines;
      timeMs = reachedMs ?? timeMs;
      if (signal.aborted || performance.now() - reportedMs < progressMs) return;
      reportedMs = performance.now();
      edges[direction] = { state: 'loading', searched, timeMs };
      this.#listeners.notify();
    };
    try {
      while (found < count && !signal.aborted) {
        edges[direction] = { state: 'loading', searched, timeMs };
        this.#listeners.notify();
        if (this.passes && this.entries().length >= maxReadingLines) {
          const message = `The maximum of ${maxReadingLines} lines is already shown.`;
          throw new Fault('refused.tooMany', message, 'Narrow the filter.');
        }
        const wanted = this.passes && direction === 'forth' ? Math.max(size, count) : count - found;
        const { read, added, isDone } = await this.#lines.page(direction, wanted, signal, onProgress);
        found += added;
        if (direction === 'forth') onProgress(read.length, read.at(-1)?.timeMs);
        else if (!this.passes) onProgress(read.length, read[0]?.timeMs);
        if (isDone) end = { state: direction === 'back' ? 'reached' : 'more' };
        if (isDone || (read.length === 0 && added === 0)) break;
        size = Math.min(searchLines[1], size * 2);
      }
    } catch (thrown) {
      if (!signal.aborted) end = { state: 'failed', message: thrown instanceof Fault ? thrown.message : messageOf(thrown) };
    }
    edges[direction] = end;
  }

  /** Pauses the view at the lines written from this time on. */
  async #pauseAt(timeMs: number, signal: AbortSignal): Promise<void> {
    const loading = this.#loading;
    this.#loading = undefined;
    this.#lines.reset();
    this.#loading = loading;
    this.#lines.following = false;
    this.#lines.jumpedMs = timeMs;
    this.#lines.jumps++;
    this.#lines.ringIndex = undefined;
    this.#lines.countedIndex = this.ring.entries().at(-1)?.index ?? -1;
    for (;;) {
      const { isDone, read } = await this.#lines.page('forth', this.passes ? searchLines[0] : aroundLines, signal);
      if (isDone || this.#lines.shown.length > 0 || read.length === 0 || signal.aborted) return;
    }
  }
}
