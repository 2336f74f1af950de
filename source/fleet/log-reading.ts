import { Fault, messageOf } from '../faults/fault.ts';
import { LogCursor } from './log-cursor.ts';
import { isSameLine, type KeptEntry } from './log-entry.ts';
import type { LogRing } from './log-ring.ts';
import type { LogEdge, LogEntry, LogPredicate, LogReading } from './log-store.ts';

/** A reading lets go of what is far from where it grows. */
const readingLines = 50_000;
/** First page of a search towards the end, and the largest. */
const searchLines: readonly [number, number] = [1_000, 50_000];
const progressMs = 100;
const aroundLines = 200;
/** Lines of a reading that jumped are named beyond all that a ring will ever name. */
const jumpIndexes = 1e12;

type Direction = 'back' | 'forth';

/** Begins to read a ring, following. */
export function openReading(ring: LogRing, passes?: LogPredicate): LogReading {
  return new RingReading(ring, passes);
}

/**
 * While it follows, it shows what passes of the ring, behind what was loaded from the history. While it stands still, `#shown` is held, whatever the ring
 * does; it goes on from the ring index up to which it has looked, or, where the ring does not have that any more, through the history.
 */
class RingReading implements LogReading {
  readonly #ring: LogRing;
  readonly #passes: LogPredicate | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #closed = false;
  #following = true;
  #shown: readonly KeptEntry[] = [];
  /** The ring as it was last looked at. */
  #seen: readonly KeptEntry[] | undefined;
  #history: readonly KeptEntry[] = [];
  /** Without gaps, from the first line on that is known, and up to the last one: there the history meets what is shown. */
  #known: Record<Direction, readonly KeptEntry[]>;
  /** Where a jump went to. */
  #jumpedMs: number | undefined;
  #jumps = 0;
  #cursors: Partial<Record<Direction, LogCursor>> = {};
  #edges: Record<Direction, LogEdge> = { back: { state: 'more' }, forth: { state: 'reached' } };
  #loading: AbortController | undefined;
  /** Of the ring, the last index that was looked at; undefined beyond what the ring has. */
  #ringIndex: number | undefined = -1;
  /** Up to which index of the ring the lines of each container were given by the history. */
  #met: ReadonlyMap<string, number> | undefined;
  /** Lines have numbers of their own, other than in the ring. */
  #isRenumbered = false;
  #waiting = 0;
  #countedIndex = -1;

  constructor(ring: LogRing, passes: LogPredicate | undefined) {
    this.#ring = ring;
    this.#passes = passes;
    this.#known = { back: ring.entries(), forth: [] };
    ring.readers++;
    this.#unsubscribe = ring.subscribe(() => {
      if (this.#following) this.#current();
      else this.#count();
      this.#tell();
    });
  }

  get following(): boolean {
    return this.#following;
  }

  entries(): readonly LogEntry[] {
    return this.#following ? this.#current() : this.#shown;
  }

  edges(): { back: LogEdge; forth: LogEdge } {
    let { back, forth } = this.#edges;
    if (this.#following && back.state === 'more' && this.#ring.isWhole) back = { state: 'reached' };
    if (!this.#following && forth.state === 'more' && this.#ringIndex !== undefined && this.waiting() === 0) forth = { state: 'reached' };
    return { back, forth };
  }

  waiting(): number {
    if (this.#following) return 0;
    this.#count();
    return this.#waiting;
  }

  more(direction: Direction, count: number): void {
    const { state } = this.edges()[direction];
    if (this.#closed || this.#loading || state === 'reached' || count < 1) return;
    if (direction === 'forth' && this.#goThroughRing(count)) {
      this.#tell();
      return;
    }
    void this.#alone(undefined, (signal) => this.#load(direction, count, signal));
  }

  stop(): void {
    this.#loading?.abort();
  }

  pause(): void {
    if (!this.#following) return;
    const shown = this.#current();
    const all = this.#ring.entries();
    this.#following = false;
    this.#shown = shown;
    if (!this.#passes && !this.#cursors.back) this.#known.back = all;
    this.#known.forth = all;
    this.#ringIndex = all.at(-1)?.index ?? -1;
    this.#countedIndex = this.#ringIndex;
    this.#waiting = 0;
    this.#edges.forth = { state: 'more' };
    this.#tell();
  }

  follow(): void {
    if (this.#following) return;
    this.#begin();
    this.#following = true;
    this.#edges.forth = { state: 'reached' };
    this.#known.back = this.#ring.entries();
    this.#tell();
  }

  async jump(timeMs: number, signal: AbortSignal): Promise<number | undefined> {
    const isThere = (entry: LogEntry) => (entry.timeMs ?? Number.NEGATIVE_INFINITY) >= timeMs;
    const [first] = this.entries();
    const isBeyond = this.edges().back.state === 'reached' || (first !== undefined && !isThere(first));
    const here = isBeyond ? this.entries().find(isThere) : undefined;
    if (here) {
      this.pause();
      return here.index;
    }
    const ring = this.#ring.entries();
    if (ring[0] && (this.#ring.isWhole || !isThere(ring[0]))) {
      if (!ring.some((entry) => isThere(entry) && (this.#passes?.(entry) ?? true))) return undefined;
      this.follow();
      this.pause();
      return this.#shown.find(isThere)?.index;
    }
    return this.#alone(signal, async (limit) => {
      await this.#stand(timeMs, limit);
      const found = this.#shown.find(isThere)?.index;
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
      for (let looked = 0; looked < readingLines && !this.#shown.some(isIt); ) {
        const before = this.#shown.at(-1);
        if (before === undefined || (before.timeMs ?? 0) > timeMs + 1000 || this.#edges.forth.state !== 'more') break;
        await this.#page('forth', aroundLines * 10, limit);
        looked += aroundLines * 10;
        if (this.#shown.at(-1) === before && this.#ringIndex !== undefined) break;
      }
      if (!this.#shown.some(isIt)) {
        this.follow();
        return undefined;
      }
      await this.#page('forth', aroundLines, limit);
      await this.#page('back', aroundLines, limit);
      return this.#shown.find(isIt)?.index;
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
    this.#begin();
    this.#unsubscribe();
    this.#listeners.clear();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Forgets what is shown and where it came from. */
  #begin(): void {
    this.#loading?.abort();
    this.#cursors = {};
    this.#history = [];
    this.#shown = [];
    this.#seen = undefined;
    this.#known = { back: [], forth: [] };
    this.#jumpedMs = undefined;
    this.#ringIndex = -1;
    this.#met = undefined;
    this.#isRenumbered = false;
    this.#waiting = 0;
    this.#edges = { back: { state: 'more' }, forth: { state: 'more' } };
  }

  /** What is shown while it follows. A new batch costs as much as the batch. */
  #current(): readonly KeptEntry[] {
    const all = this.#ring.entries();
    if (this.#seen === all) return this.#shown;
    const passes = this.#passes;
    // What the ring let go stood between its lines and the history, or was incomplete.
    const isTorn = passes
      ? (this.#known.back[0]?.index ?? 0) < this.#ring.completeIndex
      : this.#history.length > 0 && all[0]?.index !== this.#known.back[0]?.index;
    if (!this.#seen || isTorn) {
      if (isTorn) this.#loading?.abort();
      if (isTorn || !passes) this.#cursors = {};
      if (isTorn) this.#history = [];
      if (isTorn || this.#known.back.length === 0) this.#known.back = all;
      this.#shown = passes ? all.filter(passes) : all;
    } else if (!passes) this.#shown = this.#history.length > 0 ? [...this.#history, ...all] : all;
    else {
      const added = all.slice(firstAfter(all, this.#seen.at(-1)?.index ?? -1)).filter(passes);
      if (this.#known.back.length === 0) this.#known.back = all;
      if (added.length > 0) this.#shown = this.#shown.concat(added);
      if (this.#shown.length > readingLines) {
        const oldest = Math.max(all[0]?.index ?? 0, this.#shown.at(-readingLines)?.index ?? 0);
        this.#loading?.abort();
        this.#cursors = {};
        this.#history = [];
        this.#known.back = all.slice(firstAfter(all, oldest - 1));
        this.#shown = this.#shown.slice(firstAfter(this.#shown, oldest - 1));
        this.#edges.back = { state: 'more' };
      }
    }
    this.#seen = all;
    return this.#shown;
  }

  /** Lines of the ring behind the last one that was looked at. */
  #count(): void {
    const all = this.#ring.entries();
    if (!this.#passes) {
      this.#waiting = Math.max(0, (all.at(-1)?.index ?? -1) - (this.#ringIndex ?? this.#countedIndex));
      return;
    }
    for (let at = firstAfter(all, this.#countedIndex); at < all.length; at++) {
      const entry = all[at] as KeptEntry;
      this.#countedIndex = entry.index;
      if (entry.index > (this.#met?.get(entry.container) ?? -1) && this.#passes(entry)) this.#waiting++;
    }
  }

  /** Goes on through the ring. False where that does not have what comes next. */
  #goThroughRing(count: number): boolean {
    const all = this.#ring.entries();
    const oldest = all[0]?.index ?? 0;
    if (this.#following || this.#ringIndex === undefined || oldest > this.#ringIndex + 1) return false;
    const added: KeptEntry[] = [];
    let index = this.#shown.at(-1)?.index ?? this.#firstIndex;
    for (let at = firstAfter(all, this.#ringIndex); at < all.length && added.length < count; at++) {
      const entry = all[at] as KeptEntry;
      this.#ringIndex = entry.index;
      if (entry.index <= (this.#met?.get(entry.container) ?? -1) || !(this.#passes?.(entry) ?? true)) continue;
      added.push(this.#isRenumbered ? { ...entry, index: ++index } : entry);
    }
    this.#waiting = Math.max(0, this.#waiting - added.length);
    this.#known.forth = all;
    delete this.#cursors.forth;
    this.#extend('forth', added);
    return true;
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

  async #load(direction: Direction, count: number, signal: AbortSignal): Promise<void> {
    const edges = this.#edges;
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
        const { looked, added, isDone } = await this.#page(
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
    this.#begin();
    this.#loading = loading;
    this.#following = false;
    this.#jumpedMs = timeMs;
    this.#jumps++;
    this.#ringIndex = undefined;
    this.#countedIndex = this.#ring.entries().at(-1)?.index ?? -1;
    for (;;) {
      const { isDone, looked } = await this.#page('forth', this.#passes ? searchLines[0] : aroundLines, signal);
      if (isDone || this.#shown.length > 0 || looked.length === 0 || signal.aborted) return;
    }
  }

  /** One page; what passes of it is shown. */
  async #page(
    direction: Direction,
    count: number,
    signal: AbortSignal,
    onProgress: (lines: number, timeMs: number | undefined) => void = () => undefined,
  ): Promise<{ looked: readonly KeptEntry[]; added: number; isDone: boolean }> {
    if (direction === 'forth' && this.#goThroughRing(count)) return { looked: [], added: 0, isDone: true };
    const cursors = this.#cursors;
    const cursor = this.#cursorTo(direction);
    if (direction === 'forth') {
      if (cursor.reached) cursor.resume();
      this.#ringIndex = undefined;
      this.#met = undefined;
    }
    const looked = await (this.#passes && direction === 'back'
      ? cursor.search({ passes: this.#passes, onProgress }, count, signal)
      : cursor.next(count, signal));
    // Meanwhile something else is shown.
    if (this.#cursors !== cursors || cursors[direction] !== cursor) return { looked: [], added: 0, isDone: true };
    if (this.#jumpedMs !== undefined && this.#known.back.length === 0) this.#known.back = looked;
    const passing = this.#passes ? looked.filter(this.#passes) : looked;
    const shown = this.#following ? this.#current() : this.#shown;
    let index =
      direction === 'back' ? (shown[0]?.index ?? this.#firstIndex) - passing.length : (shown.at(-1)?.index ?? this.#firstIndex) + 1;
    for (const entry of passing) entry.index = index++;
    if (direction === 'forth') this.#isRenumbered = true;
    if (direction === 'forth' && cursor.reached) this.#met = cursor.meet();
    if (this.#met) {
      this.#ringIndex = Math.min(...this.#met.values(), this.#ring.total() - 1);
      this.#countedIndex = this.#ringIndex;
      this.#waiting = 0;
    }
    this.#extend(direction, passing);
    return { looked, added: passing.length, isDone: direction === 'back' ? cursor.reached : this.#ringIndex !== undefined };
  }

  get #firstIndex(): number {
    return this.#jumpedMs === undefined ? (this.#known.back[0]?.index ?? 0) : this.#jumps * jumpIndexes;
  }

  #cursorTo(direction: Direction): LogCursor {
    const open = this.#cursors[direction];
    if (open) return open;
    if (direction === 'back' && this.#following && !this.#passes) this.#known.back = this.#ring.entries();
    const edge = direction === 'back' ? this.#backEdge() : this.#forthEdge();
    let newestMs: number | undefined;
    for (const { timeMs } of this.#known.back) if (timeMs !== undefined && timeMs > (newestMs ?? timeMs - 1)) newestMs = timeMs;
    const edgeMs = direction === 'back' ? newestMs : edge.at(-1)?.timeMs;
    const jumpedMs = this.#jumpedMs === undefined || direction === 'forth' ? this.#jumpedMs : this.#jumpedMs - 1;
    const cursor = new LogCursor(this.#ring, direction, edge, jumpedMs ?? edgeMs);
    this.#cursors[direction] = cursor;
    return cursor;
  }

  /** With what came after it: there are the first known lines of those that had not written for long. */
  #backEdge(): readonly KeptEntry[] {
    const known = this.#known.back;
    const all = this.#ring.entries();
    const last = known.at(-1)?.index ?? Number.POSITIVE_INFINITY;
    const goesOn = this.#jumpedMs === undefined && !this.#isRenumbered && (all[0]?.index ?? last) <= last + 1;
    return goesOn ? known.concat(all.slice(firstAfter(all, last))) : known;
  }

  #forthEdge(): readonly KeptEntry[] {
    return this.#known.forth.slice(0, firstAfter(this.#known.forth, this.#ringIndex ?? Number.POSITIVE_INFINITY));
  }

  #extend(direction: Direction, added: readonly KeptEntry[]): void {
    if (added.length === 0) return;
    if (this.#following) this.#history = [...added, ...this.#history];
    this.#shown = direction === 'back' ? [...added, ...this.#shown] : [...this.#shown, ...added];
    // With a predicate what is shown is not all there is, and nothing can be taken up again from there.
    if (this.#following || this.#passes || this.#shown.length <= readingLines) return;
    if (direction === 'forth') {
      this.#shown = this.#shown.slice(-readingLines);
      this.#known.back = this.#shown;
      delete this.#cursors.back;
      this.#edges.back = { state: 'more' };
    } else {
      this.#shown = this.#shown.slice(0, readingLines);
      this.#known.forth = this.#shown;
      delete this.#cursors.forth;
      this.#ringIndex = this.#isRenumbered ? undefined : this.#shown.at(-1)?.index;
      this.#edges.forth = { state: 'more' };
    }
    this.#jumpedMs = undefined;
  }
}

/** Position of the first entry with a higher index. */
function firstAfter(all: readonly KeptEntry[], index: number): number {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle]?.index ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  return low;
}
