import { type Entries, JoinedEntries } from './entry-list.ts';
import { LogCursor } from './log-cursor.ts';
import type { KeptEntry } from './log-entry.ts';
import type { LogRing } from './log-ring.ts';
import { firstAfter, type LogDirection, type ShownLines } from './log-shown.ts';
import type { LogPredicate } from './log-store.ts';

/** Lets a reading grow: out of the ring, or, beyond that, out of the engine's history. */
export class LogPages {
  readonly #ring: LogRing;
  readonly #passes: LogPredicate | undefined;
  readonly #lines: ShownLines;

  constructor(ring: LogRing, passes: LogPredicate | undefined, lines: ShownLines) {
    this.#ring = ring;
    this.#passes = passes;
    this.#lines = lines;
  }

  /** One page; what passes of it is shown. */
  async page(
    direction: LogDirection,
    count: number,
    signal: AbortSignal,
    onProgress: (lines: number, timeMs: number | undefined) => void = () => undefined,
  ): Promise<{ looked: readonly KeptEntry[]; added: number; isDone: boolean }> {
    if (direction === 'forth' && this.#lines.goThroughRing(count)) return { looked: [], added: 0, isDone: true };
    const cursors = this.#lines.cursors;
    const cursor = this.#cursorTo(direction);
    if (direction === 'forth') {
      if (cursor.reached) cursor.resume();
      this.#lines.ringIndex = undefined;
      this.#lines.met = undefined;
    }
    const looked = await (this.#passes && direction === 'back'
      ? cursor.search({ passes: this.#passes, onProgress }, count, signal)
      : cursor.next(count, signal));
    // Meanwhile something else is shown.
    if (this.#lines.cursors !== cursors || cursors[direction] !== cursor) return { looked: [], added: 0, isDone: true };
    if (this.#lines.jumpedMs !== undefined && this.#lines.known.back.length === 0) this.#lines.known.back = looked;
    const passing = this.#passes ? looked.filter(this.#passes) : looked;
    const shown = this.#lines.following ? this.#lines.current() : this.#lines.shown;
    let index =
      direction === 'back'
        ? (shown.at(0)?.index ?? this.#lines.firstIndex) - passing.length
        : (shown.at(-1)?.index ?? this.#lines.firstIndex) + 1;
    for (const entry of passing) entry.index = index++;
    if (direction === 'forth') this.#lines.isRenumbered = true;
    if (direction === 'forth' && cursor.reached) this.#lines.met = cursor.meet();
    if (this.#lines.met) {
      this.#lines.ringIndex = Math.min(...this.#lines.met.values(), this.#ring.total() - 1);
      this.#lines.countedIndex = this.#lines.ringIndex;
      this.#lines.waiting = 0;
    }
    this.#lines.extend(direction, passing);
    return { looked, added: passing.length, isDone: direction === 'back' ? cursor.reached : this.#lines.ringIndex !== undefined };
  }

  #cursorTo(direction: LogDirection): LogCursor {
    const open = this.#lines.cursors[direction];
    if (open) return open;
    if (direction === 'back' && this.#lines.following && !this.#passes) this.#lines.known.back = this.#ring.entries();
    const edge = direction === 'back' ? this.#backEdge() : this.#forthEdge();
    let newestMs: number | undefined;
    for (const { timeMs } of this.#lines.known.back) if (timeMs !== undefined && timeMs > (newestMs ?? timeMs - 1)) newestMs = timeMs;
    const edgeMs = direction === 'back' ? newestMs : edge.at(-1)?.timeMs;
    const jumpedMs = this.#lines.jumpedMs === undefined || direction === 'forth' ? this.#lines.jumpedMs : this.#lines.jumpedMs - 1;
    const cursor = new LogCursor(this.#ring, direction, edge, jumpedMs ?? edgeMs);
    this.#lines.cursors[direction] = cursor;
    return cursor;
  }

  /** With what came after it: there are the first known lines of those that had not written for long. */
  #backEdge(): Entries<KeptEntry> {
    const known = this.#lines.known.back;
    const all = this.#ring.entries();
    const last = known.at(-1)?.index ?? Number.POSITIVE_INFINITY;
    const goesOn = this.#lines.jumpedMs === undefined && !this.#lines.isRenumbered && (all.at(0)?.index ?? last) <= last + 1;
    const later = goesOn ? all.slice(firstAfter(all, last)) : [];
    return later.length > 0 ? new JoinedEntries(known, later) : known;
  }

  #forthEdge(): readonly KeptEntry[] {
    return this.#lines.known.forth.slice(0, firstAfter(this.#lines.known.forth, this.#lines.ringIndex ?? Number.POSITIVE_INFINITY));
  }
}
