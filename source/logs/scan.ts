import { EdgeFinder, type HistoryEdge, overlapLines } from './edge.ts';
import { type KeptEntry, keptEntry, sizeOf } from './entry.ts';
import type { HistoryPage } from './history.ts';
import type { LogPredicate } from './store.ts';
import type { LogTarget } from './targets.ts';
import { TimeSlices } from './time-slices.ts';

const charactersAtOnce = 16_000_000;

export interface Search {
  passes: LogPredicate;
  /** Lines checked in a portion, and the time reached. */
  onProgress: (lines: number, timeMs: number | undefined) => void;
}

interface ScanOptions extends Search {
  /** Maximum number of matching lines returned, the last ones; fewer if they are long. */
  most: number;
  /** Number of matching lines before the edge that were already returned. */
  given: number;
  signal: AbortSignal;
}

/**
 * Returns the last matching lines of one container's log before an edge, in log order: in one pass from the log's start, keeping only the
 * matches. Page by page, an engine would read the log from one of its ends each time.
 *
 * The query has no `until`: Docker ends at the first line beyond it, Podman leaves such lines out, and after a clock was set back both
 * are before the edge. Reading ends where the edge was found instead. `reached`: there are no more matching lines.
 */
export async function scanBefore(target: LogTarget, edge: HistoryEdge, options: ScanOptions): Promise<HistoryPage> {
  const { passes, most, given, signal, onProgress } = options;
  const finder = new EdgeFinder(edge);
  const turns = new TimeSlices();
  const found = new LastLines(most, given);
  signal.throwIfAborted();
  const answer = target.engine?.logs(target.container, { signal, follow: false, tty: target.tty }) ?? [];
  for await (const batch of answer) {
    for (const line of batch) {
      finder.check(line);
      const entry = keptEntry(line, target, 0, undefined);
      if (passes(entry)) found.add(entry, finder.count - 1);
    }
    found.trim(finder);
    onProgress(batch.length, batch.timeMs(batch.length - 1));
    if (finder.isFinal) break;
    if (turns.isDue) await turns.next();
    if (signal.aborted) break;
  }
  signal.throwIfAborted();
  const { position } = finder;
  // Rotated out of the log, and everything before it too.
  if (position === undefined) return { lines: [], reached: true };
  return found.before(position, edge.known[0]?.ordinal);
}

/** Matching lines with their positions. Which of them are before the edge is known when the edge is reached. */
class LastLines {
  #lines: { entry: KeptEntry; position: number }[] = [];
  #characters = 0;
  /** Position of the first line that was dropped. */
  #lostAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly most: number,
    private readonly given: number,
  ) {}

  add(entry: KeptEntry, position: number): void {
    this.#lines.push({ entry, position });
    this.#characters += sizeOf(entry);
  }

  /** Keeps the last lines before the edge; and, as long as a better edge position is possible, the last before that too. */
  trim({ position = 0, count }: EdgeFinder): void {
    const all = this.#lines;
    if (all.length < (this.most + this.given) * 4 + overlapLines && this.#characters < charactersAtOnce * 4) return;
    const edge = this.#countBefore(position);
    const open = Math.max(edge, this.#countBefore(count - overlapLines));
    this.#lines = [...this.#last(0, edge), ...this.#last(edge, open), ...all.slice(open)];
    this.#characters = this.#lines.reduce((sum, { entry }) => sum + sizeOf(entry), 0);
  }

  /** Returns the last lines before this position that were not returned yet, in log order. `ordinal` is that of the line there. */
  before(edge: number, ordinal: number | undefined): HistoryPage {
    const lines = this.#last(0, this.#countBefore(edge));
    const entries = lines.slice(0, Math.max(0, lines.length - this.given)).map(({ entry, position }) => {
      entry.ordinal = ordinal === undefined ? undefined : ordinal - (edge - position);
      return entry;
    });
    return { lines: entries, reached: this.#lostAt >= edge };
  }

  #last(from: number, end: number): { entry: KeptEntry; position: number }[] {
    let start = end;
    let characters = 0;
    while (start > from && end - start < this.most + this.given) {
      characters += sizeOf((this.#lines[start - 1] as { entry: KeptEntry }).entry);
      if (characters > charactersAtOnce && end - start > this.given) break;
      start--;
    }
    if (start > from) this.#lostAt = Math.min(this.#lostAt, this.#lines[from]?.position ?? 0);
    return this.#lines.slice(start, end);
  }

  #countBefore(edge: number): number {
    const at = this.#lines.findIndex(({ position }) => position >= edge);
    return at < 0 ? this.#lines.length : at;
  }
}
