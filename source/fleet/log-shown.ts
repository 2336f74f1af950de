import { type Entries, JoinedEntries } from './entry-list.ts';
import type { LogCursor } from './log-cursor.ts';
import type { KeptEntry } from './log-entry.ts';
import type { LogRing } from './log-ring.ts';
import type { LogEdge, LogPredicate } from './log-store.ts';

/** A reading lets go of what is far from where it grows. */
export const readingLines = 50_000;
/** Lines of a reading that jumped are named beyond all that a ring will ever name. */
const jumpIndexes = 1e12;

export type LogDirection = 'back' | 'forth';

/**
 * What a reading shows, and where it came from. While it follows, that is what passes of the ring, behind what was loaded from the history. While it
 * stands still, `shown` is held, whatever the ring does; it goes on from the ring index up to which it has looked.
 */
export class ShownLines {
  readonly #ring: LogRing;
  readonly #passes: LogPredicate | undefined;
  readonly #stop: () => void;
  following = true;
  shown: Entries<KeptEntry> = [];
  /** The ring as it was last looked at. */
  seen: Entries<KeptEntry> | undefined;
  history: Entries<KeptEntry> = [];
  /** Without gaps, from the first line on that is known, and up to the last one: there the history meets what is shown. */
  known: Record<LogDirection, Entries<KeptEntry>>;
  /** Where a jump went to. */
  jumpedMs: number | undefined;
  jumps = 0;
  cursors: Partial<Record<LogDirection, LogCursor>> = {};
  edges: Record<LogDirection, LogEdge> = { back: { state: 'more' }, forth: { state: 'reached' } };
  /** Of the ring, the last index that was looked at; undefined beyond what the ring has. */
  ringIndex: number | undefined = -1;
  /** Up to which index of the ring the lines of each container were given by the history. */
  met: ReadonlyMap<string, number> | undefined;
  /** Lines have numbers of their own, other than in the ring. */
  isRenumbered = false;
  waiting = 0;
  countedIndex = -1;

  /** `stop` ends what is loading: it would not fit any more. */
  constructor(ring: LogRing, passes: LogPredicate | undefined, stop: () => void) {
    this.#ring = ring;
    this.#passes = passes;
    this.#stop = stop;
    this.known = { back: ring.entries(), forth: [] };
  }

  /** Forgets what is shown and where it came from. */
  begin(): void {
    this.#stop();
    this.cursors = {};
    this.history = [];
    this.shown = [];
    this.seen = undefined;
    this.known = { back: [], forth: [] };
    this.jumpedMs = undefined;
    this.ringIndex = -1;
    this.met = undefined;
    this.isRenumbered = false;
    this.waiting = 0;
    this.edges = { back: { state: 'more' }, forth: { state: 'more' } };
  }

  /** What is shown while it follows. A new batch costs as much as the batch. */
  current(): Entries<KeptEntry> {
    const all = this.#ring.entries();
    if (this.seen === all) return this.shown;
    const passes = this.#passes;
    // What the ring let go stood between its lines and the history, or was incomplete.
    const isTorn = passes
      ? (this.known.back.at(0)?.index ?? 0) < this.#ring.completeIndex
      : this.history.length > 0 && all.at(0)?.index !== this.known.back.at(0)?.index;
    if (!this.seen || isTorn) {
      if (isTorn) this.#stop();
      if (isTorn || !passes) this.cursors = {};
      if (isTorn) this.history = [];
      if (isTorn || this.known.back.length === 0) this.known.back = all;
      this.shown = passes ? all.filter(passes) : all;
    } else if (!passes) this.shown = this.history.length > 0 ? new JoinedEntries(this.history, all) : all;
    else {
      const added = all.slice(firstAfter(all, this.seen.at(-1)?.index ?? -1)).filter(passes);
      if (this.known.back.length === 0) this.known.back = all;
      if (added.length > 0) this.shown = [...this.shown, ...added];
      if (this.shown.length > readingLines) {
        const oldest = Math.max(all.at(0)?.index ?? 0, this.shown.at(-readingLines)?.index ?? 0);
        this.#stop();
        this.cursors = {};
        this.history = [];
        this.known.back = all.slice(firstAfter(all, oldest - 1));
        this.shown = this.shown.slice(firstAfter(this.shown, oldest - 1));
        this.edges.back = { state: 'more' };
      }
    }
    this.seen = all;
    return this.shown;
  }

  /** Lines of the ring behind the last one that was looked at. */
  count(): void {
    const all = this.#ring.entries();
    if (!this.#passes) {
      this.waiting = Math.max(0, (all.at(-1)?.index ?? -1) - (this.ringIndex ?? this.countedIndex));
      return;
    }
    for (let at = firstAfter(all, this.countedIndex); at < all.length; at++) {
      const entry = all.at(at) as KeptEntry;
      this.countedIndex = entry.index;
      if (entry.index > (this.met?.get(entry.container) ?? -1) && this.#passes(entry)) this.waiting++;
    }
  }

  /** Goes on through the ring. False where that does not have what comes next. */
  goThroughRing(count: number): boolean {
    const all = this.#ring.entries();
    const oldest = all.at(0)?.index ?? 0;
    if (this.following || this.ringIndex === undefined || oldest > this.ringIndex + 1) return false;
    const added: KeptEntry[] = [];
    let index = this.shown.at(-1)?.index ?? this.firstIndex;
    for (let at = firstAfter(all, this.ringIndex); at < all.length && added.length < count; at++) {
      const entry = all.at(at) as KeptEntry;
      this.ringIndex = entry.index;
      if (entry.index <= (this.met?.get(entry.container) ?? -1) || !(this.#passes?.(entry) ?? true)) continue;
      added.push(this.isRenumbered ? { ...entry, index: ++index } : entry);
    }
    this.waiting = Math.max(0, this.waiting - added.length);
    this.known.forth = all;
    delete this.cursors.forth;
    this.extend('forth', added);
    return true;
  }

  get firstIndex(): number {
    return this.jumpedMs === undefined ? (this.known.back.at(0)?.index ?? 0) : this.jumps * jumpIndexes;
  }

  extend(direction: LogDirection, added: Entries<KeptEntry>): void {
    if (added.length === 0) return;
    if (this.following) this.history = [...added, ...this.history];
    this.shown = direction === 'back' ? [...added, ...this.shown] : [...this.shown, ...added];
    // With a predicate what is shown is not all there is, and nothing can be taken up again from there.
    if (this.following || this.#passes || this.shown.length <= readingLines) return;
    if (direction === 'forth') {
      this.shown = this.shown.slice(-readingLines);
      this.known.back = this.shown;
      delete this.cursors.back;
      this.edges.back = { state: 'more' };
    } else {
      this.shown = this.shown.slice(0, readingLines);
      this.known.forth = this.shown;
      delete this.cursors.forth;
      this.ringIndex = this.isRenumbered ? undefined : this.shown.at(-1)?.index;
      this.edges.forth = { state: 'more' };
    }
    this.jumpedMs = undefined;
  }
}

/** Position of the first entry with a higher index. */
export function firstAfter(all: Entries<KeptEntry>, index: number): number {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all.at(middle)?.index ?? 0) <= index) low = middle + 1;
    else high = middle;
  }
  return low;
}
