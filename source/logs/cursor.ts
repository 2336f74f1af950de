import { Fault } from '../faults/fault.ts';
import { eachOf } from '../faults/waits.ts';
import { disconnectedFault } from '../fleet/engine-view.ts';
import { type HistoryEdge, overlapLines } from './edge.ts';
import { isSameLine, type KeptEntry } from './entry.ts';
import type { Entries } from './entry-list.ts';
import { linesAfter, linesBefore } from './history.ts';
import type { LogRing } from './ring.ts';
import { type Search, scanBefore } from './scan.ts';
import type { LogTarget } from './targets.ts';

const requestsAtOnce = 8;
const fewestLines = 64;
/**
 * An engine reads a log from its start for each page that is not counted from the end, and Podman for pages far from it: then pages are
 * fewer and larger.
 */
const largePageLines = 5_000;

interface CursorSource {
  target: LogTarget;
  /** Consecutive lines at the edge, in log order: the next page is searched from them. At most `overlapLines`. */
  known: readonly KeptEntry[];
  /** The log has no more lines in this direction. */
  isExhausted: boolean;
  /** Fetched, and not returned yet. In log order. */
  buffer: KeptEntry[];
  /** Time of the last returned line for the order among sources: it only moves in the direction of reading, even if a clock was set. */
  orderMs: number;
  /** Number of matches that scans of this search have fetched. */
  matches: number;
}

/**
 * Reads the engine's history of some containers, in order of time, from the edge of a reading. The output has no gaps: a line is returned
 * when every other container has been read that far, or has no more lines.
 */
export class LogCursor {
  readonly #sources: CursorSource[];
  /** Number of pages that searches have read before the first scan. */
  #searchPages = 0;
  /** Set from the first scan on: the buffers contain only its matches. */
  #search: Search | undefined;

  /** `edge` contains the known lines, oldest first; `timeMs` is the edge for containers without a line there. */
  constructor(
    private readonly ring: LogRing,
    private readonly direction: 'back' | 'forth',
    edge: Entries<KeptEntry>,
    private readonly timeMs: number | undefined,
  ) {
    const known = knownLines(edge, direction, ring.targets.all);
    const start = direction === 'back' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    this.#sources = [...ring.targets.all].map((target) => ({
      target,
      known: known.get(target.container) ?? [],
      isExhausted: false,
      buffer: [],
      orderMs: start,
      matches: 0,
    }));
  }

  get isExhausted(): boolean {
    return this.#sources.every((source) => source.isExhausted && source.buffer.length === 0);
  }

  /** Queries exhausted containers again: they may have new lines. */
  resume(): void {
    for (const source of this.#sources) source.isExhausted = false;
  }

  /**
   * Returns for each container the ring index of its last fetched line, from which reading continues in the ring; if the line is older
   * than the ring, the index before the ring's first. Undefined if a line should be in the ring and is not.
   */
  positionsInRing(): ReadonlyMap<string, number> | undefined {
    const all = this.ring.entries();
    const oldest = all.at(0);
    const positions = new Map<string, number>();
    const lastLines = new Map(this.#sources.map(({ target, known }) => [target.container, known.at(-1)]));
    for (let at = all.length - 1; at >= 0 && positions.size < lastLines.size; at--) {
      const entry = all.at(at) as KeptEntry;
      const last = lastLines.get(entry.container);
      if (last && !positions.has(entry.container) && isSameLine(entry, last)) positions.set(entry.container, entry.index);
    }
    for (const [container, last] of lastLines) {
      if (positions.has(container)) continue;
      if (last && oldest && (last.timeMs ?? 0) >= (oldest.timeMs ?? 0)) return undefined;
      positions.set(container, (oldest?.index ?? this.ring.total()) - 1);
    }
    return positions;
  }

  /** Returns about `count` lines, oldest first; fewer only if there are no more. Throws if no container can be queried. */
  async next(count: number, signal: AbortSignal): Promise<KeptEntry[]> {
    const lines: KeptEntry[] = [];
    while (lines.length < count) {
      try {
        await this.#fill(count, signal);
      } catch (thrown) {
        // Lines already removed from the buffers would be a gap.
        if (lines.length === 0) throw thrown;
        break;
      }
      const before = lines.length;
      for (let source = this.#nextSource(); source && lines.length < count; source = this.#nextSource()) {
        const entry = (this.direction === 'back' ? source.buffer.pop() : source.buffer.shift()) as KeptEntry;
        source.orderMs = this.#orderOf(source, entry);
        lines.push(entry);
        // Its next line may come before those of the others.
        if (source.buffer.length === 0 && !source.isExhausted) break;
      }
      if (lines.length === before) break;
    }
    return this.direction === 'back' ? lines.reverse() : lines;
  }

  /**
   * Reads back for matching lines, for one predicate only: first all lines of the nearest pages, later up to `count` matching lines from
   * one scan of the whole log. `onProgress` reports what was checked.
   */
  async search(search: Search, count: number, signal: AbortSignal): Promise<KeptEntry[]> {
    const page = this.ring.limits.searchPages[this.#searchPages];
    if (page !== undefined) {
      const lines = await this.next(Math.max(page, count), signal);
      this.#searchPages++;
      search.onProgress(lines.length, lines[0]?.timeMs);
      return lines;
    }
    // Pages can have left some of their lines in the buffers.
    if (!this.#search) for (const source of this.#sources) source.buffer = source.buffer.filter(search.passes);
    this.#search = search;
    return this.next(count, signal);
  }

  #orderOf({ orderMs }: CursorSource, { timeMs = orderMs }: KeptEntry): number {
    return this.direction === 'back' ? Math.min(orderMs, timeMs) : Math.max(orderMs, timeMs);
  }

  #nextSource(): CursorSource | undefined {
    let next: CursorSource | undefined;
    let nextMs = 0;
    for (const source of this.#sources) {
      const head = this.direction === 'back' ? source.buffer.at(-1) : source.buffer[0];
      if (!head) continue;
      const orderMs = this.#orderOf(source, head);
      if (next && (this.direction === 'back' ? orderMs < nextMs : orderMs >= nextMs)) continue;
      next = source;
      nextMs = orderMs;
    }
    return next;
  }

  async #fill(count: number, signal: AbortSignal): Promise<void> {
    const empty = this.#sources.filter((source) => !source.isExhausted && source.buffer.length === 0);
    const size = Math.max(fewestLines, Math.ceil((count * 2) / this.#sources.length));
    const refused: CursorSource[] = [];
    let failed: unknown;
    let readable = this.#sources.length - empty.length;
    await eachOf(empty, requestsAtOnce, async (source) => {
      try {
        await this.#fetch(source, this.#sources.length === 1 ? count : size, signal);
        readable++;
      } catch (thrown) {
        signal.throwIfAborted();
        // A removed container, or one whose log driver stores nothing, does not block the others.
        const isRefused = thrown instanceof Fault && (thrown.code === 'engine.logDriver' || thrown.code === 'engine.noContainer');
        if (!isRefused) throw thrown;
        failed = thrown;
        refused.push(source);
      }
    });
    if (failed && readable === 0) throw failed;
    for (const source of refused) source.isExhausted = true;
  }

  async #fetch(source: CursorSource, count: number, signal: AbortSignal): Promise<void> {
    const target = this.ring.targets.get(source.target.container);
    // Removed meanwhile: lines that the engine does not have exist nowhere else.
    if (!target) {
      source.isExhausted = true;
      return;
    }
    if (!target.engine) throw this.ring.targets.away ?? disconnectedFault(target.component);
    const isBack = this.direction === 'back';
    const edge = isBack ? source.known[0] : source.known.at(-1);
    const arrived = this.ring.arrived(target.container);
    // Without a known line all lines that have arrived are after the edge.
    const linesToEnd = edge ? (edge.ordinal === undefined ? undefined : arrived - edge.ordinal) : isBack ? arrived : undefined;
    const page: HistoryEdge = { known: source.known, timeMs: this.timeMs, linesToEnd };
    if (this.#search) {
      const most = Math.ceil(this.ring.limits.foundLines / this.#sources.length);
      const scan = { ...this.#search, most, given: source.matches, signal };
      const { lines, reached } = await scanBefore(target, page, scan);
      source.isExhausted = reached || lines.length === 0;
      source.buffer = lines;
      source.matches += lines.length;
      return;
    }
    const readsFromStart = linesToEnd === undefined || (target.kind === 'podman' && linesToEnd > largePageLines / 2);
    const size = readsFromStart && edge && this.#sources.length === 1 ? Math.max(count, largePageLines) : count;
    const { lines, reached } = await (isBack ? linesBefore : linesAfter)(target, page, size, signal);
    source.isExhausted = reached || lines.length === 0;
    source.buffer = lines;
    if (lines.length === 0) return;
    if (isBack) source.known = [...lines, ...source.known].slice(0, overlapLines);
    else source.known = [...source.known, ...lines].slice(-overlapLines);
  }
}

/** Returns the lines of each container that are nearest to the edge, in log order. */
function knownLines(
  edge: Entries<KeptEntry>,
  direction: 'back' | 'forth',
  targets: Iterable<LogTarget>,
): ReadonlyMap<string, readonly KeptEntry[]> {
  const known = new Map<string, KeptEntry[]>();
  const unfilled = new Set(Array.from(targets, ({ container }) => container));
  const step = direction === 'back' ? 1 : -1;
  for (let at = direction === 'back' ? 0 : edge.length - 1; at >= 0 && at < edge.length && unfilled.size > 0; at += step) {
    const entry = edge.at(at) as KeptEntry;
    const lines = known.get(entry.container);
    if (!lines) known.set(entry.container, [entry]);
    else if (lines.length < overlapLines) lines.push(entry);
    else unfilled.delete(entry.container);
  }
  if (direction === 'forth') for (const lines of known.values()) lines.reverse();
  return known;
}
