import { LogCursor } from './cursor.ts';
import type { KeptEntry } from './entry.ts';
import { type Entries, JoinedEntries } from './entry-list.ts';
import type { LogRing } from './ring.ts';
import type { LogEdge, LogPredicate } from './store.ts';

/** Limit of shown lines: at the limit, a reading drops lines at the opposite end of where it grows. */
export const maxReadingLines = 50_000;
/** The lines after each jump have indexes of their own, beyond any index of a ring. */
const indexesPerJump = 1e12;

export type LogDirection = 'back' | 'forth';

/**
 * The lines that a reading shows, and their source. While it follows, these are the matching lines of the ring, after those loaded from
 * the history. While it is paused, `shown` is fixed, whatever the ring does; it resumes from the ring index up to which it has read.
 */
export class ShownLines {
  following = true;
  shown: Entries<KeptEntry> = [];
  /** The ring's entries that `shown` was computed from; undefined if it has to be computed again. */
  ringEntries: Entries<KeptEntry> | undefined;
  /** While it follows: lines loaded from the engine's history, before those of the ring. */
  history: Entries<KeptEntry> = [];
  /** Lines without gaps and without a filter, from whose first (`back`) or last (`forth`) line a cursor continues. */
  anchors: Record<LogDirection, Entries<KeptEntry>>;
  /** Target of the last jump, until lines around it are anchors. */
  jumpedMs: number | undefined;
  jumps = 0;
  cursors: Partial<Record<LogDirection, LogCursor>> = {};
  edges: Record<LogDirection, LogEdge> = { back: { state: 'more' }, forth: { state: 'reached' } };
  /** While paused: the last ring index that was read; undefined while the last shown line is older than the ring. */
  ringIndex: number | undefined = -1;
  /** By container: ring index up to which its lines were read from the history. */
  readUpTo: ReadonlyMap<string, number> | undefined;
  /** Shown lines have indexes of their own, different from the ring's. */
  isRenumbered = false;
  /** While paused: matching lines after the last shown one. */
  waiting = 0;
  /** The last ring index that `waiting` includes. */
  countedIndex = -1;

  /** `cancelLoad` is called when the result of a load would no longer fit. */
  constructor(
    private readonly ring: LogRing,
    private readonly passes: LogPredicate | undefined,
    private readonly cancelLoad: () => void,
  ) {
    this.anchors = { back: ring.entries(), forth: [] };
  }

  reset(): void {
    this.#dropHistory();
    this.shown = [];
    this.ringEntries = undefined;
    this.anchors = { back: [], forth: [] };
    this.jumpedMs = undefined;
    this.ringIndex = -1;
    this.readUpTo = undefined;
    this.isRenumbered = false;
    this.waiting = 0;
    this.edges = { back: { state: 'more' }, forth: { state: 'more' } };
  }

  /** Returns the shown lines while it follows. The cost of a new batch depends on the size of the batch only. */
  current(): Entries<KeptEntry> {
    const all = this.ring.entries();
    if (this.ringEntries === all) return this.shown;
    const passes = this.passes;
    // The ring dropped lines: those after the history, or, with a filter, lines that had a gap among them.
    const hasGap = passes
      ? (this.anchors.back.at(0)?.index ?? 0) < this.ring.completeIndex
      : this.history.length > 0 && all.at(0)?.index !== this.anchors.back.at(0)?.index;
    if (hasGap) this.#dropHistory();
    if (!this.ringEntries || hasGap) {
      if (!passes) this.cursors = {};
      if (hasGap || this.anchors.back.length === 0) this.anchors.back = all;
      this.shown = passes ? all.filter(passes) : all;
    } else if (passes) this.#showNew(all, passes, this.ringEntries);
    else this.shown = this.history.length > 0 ? new JoinedEntries(this.history, all) : all;
    this.ringEntries = all;
    return this.shown;
  }

  #dropHistory(): void {
    this.cancelLoad();
    this.cursors = {};
    this.history = [];
  }

  #showNew(all: Entries<KeptEntry>, passes: LogPredicate, before: Entries<KeptEntry>): void {
    const added = all.slice(firstAfter(all, before.at(-1)?.index ?? -1)).filter(passes);
    if (this.anchors.back.length === 0) this.anchors.back = all;
    if (added.length > 0) this.shown = [...this.shown, ...added];
    if (this.shown.length <= maxReadingLines) return;
    const oldest = Math.max(all.at(0)?.index ?? 0, this.shown.at(-maxReadingLines)?.index ?? 0);
    this.#dropHistory();
    this.anchors.back = all.slice(firstAfter(all, oldest - 1));
    this.shown = this.shown.slice(firstAfter(this.shown, oldest - 1));
    this.edges.back = { state: 'more' };
  }

  /** Counts the matching lines of the ring that arrived since the last call. */
  countWaiting(): void {
    const all = this.ring.entries();
    if (!this.passes) {
      this.waiting = Math.max(0, (all.at(-1)?.index ?? -1) - (this.ringIndex ?? this.countedIndex));
      return;
    }
    for (let at = firstAfter(all, this.countedIndex); at < all.length; at++) {
      const entry = all.at(at) as KeptEntry;
      this.countedIndex = entry.index;
      if (entry.index > (this.readUpTo?.get(entry.container) ?? -1) && this.passes(entry)) this.waiting++;
    }
  }

  /** Shows the next lines from the ring. Returns false if the ring does not contain the line after the last one read. */
  extendFromRing(count: number): boolean {
    const all = this.ring.entries();
    const oldest = all.at(0)?.index ?? 0;
    if (this.following || this.ringIndex === undefined || oldest > this.ringIndex + 1) return false;
    const added: KeptEntry[] = [];
    let index = this.shown.at(-1)?.index ?? this.firstIndex;
    for (let at = firstAfter(all, this.ringIndex); at < all.length && added.length < count; at++) {
      const entry = all.at(at) as KeptEntry;
      this.ringIndex = entry.index;
      if (entry.index <= (this.readUpTo?.get(entry.container) ?? -1) || !(this.passes?.(entry) ?? true)) continue;
      added.push(this.isRenumbered ? { ...entry, index: ++index } : entry);
    }
    this.waiting = Math.max(0, this.waiting - added.length);
    this.anchors.forth = all;
    delete this.cursors.forth;
    this.extend('forth', added);
    return true;
  }

  /** Loads more lines: from the ring, or, beyond that, from the engine's history. */
  async page(
    direction: LogDirection,
    count: number,
    signal: AbortSignal,
    onProgress: (lines: number, timeMs: number | undefined) => void = () => undefined,
  ): Promise<{ read: readonly KeptEntry[]; added: number; isDone: boolean }> {
    if (direction === 'forth' && this.extendFromRing(count)) return { read: [], added: 0, isDone: true };
    const cursors = this.cursors;
    const cursor = this.#cursorTo(direction);
    if (direction === 'forth') {
      if (cursor.isExhausted) cursor.resume();
      this.ringIndex = undefined;
      this.readUpTo = undefined;
    }
    const read = await (this.passes && direction === 'back'
      ? cursor.search({ passes: this.passes, onProgress }, count, signal)
      : cursor.next(count, signal));
    // The view changed meanwhile.
    if (this.cursors !== cursors || cursors[direction] !== cursor) return { read: [], added: 0, isDone: true };
    if (this.jumpedMs !== undefined && this.anchors.back.length === 0) this.anchors.back = read;
    const passing = this.passes ? read.filter(this.passes) : read;
    const shown = this.following ? this.current() : this.shown;
    const neighbour = shown.at(direction === 'back' ? 0 : -1)?.index ?? this.firstIndex;
    let index = direction === 'back' ? neighbour - passing.length : neighbour + 1;
    for (const entry of passing) entry.index = index++;
    if (direction === 'forth') this.#continueInRing(cursor);
    this.extend(direction, passing);
    return { read, added: passing.length, isDone: direction === 'back' ? cursor.isExhausted : this.ringIndex !== undefined };
  }

  #continueInRing(cursor: LogCursor): void {
    this.isRenumbered = true;
    if (cursor.isExhausted) this.readUpTo = cursor.positionsInRing();
    if (!this.readUpTo) return;
    this.ringIndex = Math.min(...this.readUpTo.values(), this.ring.total() - 1);
    this.countedIndex = this.ringIndex;
    this.waiting = 0;
  }

  #cursorTo(direction: LogDirection): LogCursor {
    const open = this.cursors[direction];
    if (open) return open;
    if (direction === 'back' && this.following && !this.passes) this.anchors.back = this.ring.entries();
    const edge = direction === 'back' ? this.#backEdge() : this.#forthEdge();
    let newestMs: number | undefined;
    for (const { timeMs } of this.anchors.back) if (timeMs !== undefined && timeMs > (newestMs ?? timeMs - 1)) newestMs = timeMs;
    const edgeMs = direction === 'back' ? newestMs : edge.at(-1)?.timeMs;
    const jumpedMs = this.jumpedMs === undefined || direction === 'forth' ? this.jumpedMs : this.jumpedMs - 1;
    const cursor = new LogCursor(this.ring, direction, edge, jumpedMs ?? edgeMs);
    this.cursors[direction] = cursor;
    return cursor;
  }

  /** Includes later lines of the ring: they contain the first known lines of containers that rarely write. */
  #backEdge(): Entries<KeptEntry> {
    const known = this.anchors.back;
    const all = this.ring.entries();
    const last = known.at(-1)?.index ?? Number.POSITIVE_INFINITY;
    const isInRing = this.jumpedMs === undefined && !this.isRenumbered && (all.at(0)?.index ?? last) <= last + 1;
    const later = isInRing ? all.slice(firstAfter(all, last)) : [];
    return later.length > 0 ? new JoinedEntries(known, later) : known;
  }

  #forthEdge(): readonly KeptEntry[] {
    return this.anchors.forth.slice(0, firstAfter(this.anchors.forth, this.ringIndex ?? Number.POSITIVE_INFINITY));
  }

  /** Index of the first line that will be shown, if none is shown yet. */
  get firstIndex(): number {
    return this.jumpedMs === undefined ? (this.anchors.back.at(0)?.index ?? 0) : this.jumps * indexesPerJump;
  }

  extend(direction: LogDirection, added: Entries<KeptEntry>): void {
    if (added.length === 0) return;
    if (this.following) this.history = [...added, ...this.history];
    this.shown = direction === 'back' ? [...added, ...this.shown] : [...this.shown, ...added];
    // With a predicate, the shown lines have gaps and cannot be anchors.
    if (this.following || this.passes || this.shown.length <= maxReadingLines) return;
    if (direction === 'forth') {
      this.shown = this.shown.slice(-maxReadingLines);
      this.anchors.back = this.shown;
      delete this.cursors.back;
      this.edges.back = { state: 'more' };
    } else {
      this.shown = this.shown.slice(0, maxReadingLines);
      this.anchors.forth = this.shown;
      delete this.cursors.forth;
      this.ringIndex = this.isRenumbered ? undefined : this.shown.at(-1)?.index;
      this.edges.forth = { state: 'more' };
    }
    this.jumpedMs = undefined;
  }
}

/** Returns the position of the first entry with a higher index. */
export function firstAfter(all: Entries<{ index: number }>, index: number): number {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all.at(middle)?.index ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  return low;
}
