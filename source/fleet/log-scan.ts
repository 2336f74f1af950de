import { type BackEdge, EdgeFinder, overlapLines } from './log-edge.ts';
import { type KeptEntry, keptEntry, sizeOf } from './log-entry.ts';
import type { LogPredicate } from './log-store.ts';
import type { LogTarget } from './log-targets.ts';
import { TurnKeeper } from './turn-keeper.ts';

const charactersAtOnce = 16_000_000;

export interface ScanOptions {
  passes: LogPredicate;
  /** At most so many of the lines that pass are given, the last ones; fewer where they are long. */
  most: number;
  /** So many lines before the edge that pass were given already. */
  given: number;
  signal: AbortSignal;
  /** Told after each portion: lines looked at in it, and the time that it reached. */
  onProgress: (lines: number, timeMs: number | undefined) => void;
}

/**
 * What passes of one container's log before an edge, the last lines of it, in the order of the log: in one go from the log's start, of which nothing but
 * them is kept. An engine that is asked for page after page would read the log from one of its ends each time.
 *
 * It is asked for all, without `until`: Docker ends at the first line beyond that, Podman leaves such lines out, and after a clock was set back both
 * lie before the edge. Reading ends where the edge was met instead. `reached`: no more that pass are there.
 */
export async function scanBefore(
  target: LogTarget,
  edge: BackEdge,
  options: ScanOptions,
): Promise<{ lines: KeptEntry[]; reached: boolean }> {
  const { passes, most, given, signal, onProgress } = options;
  const finder = new EdgeFinder(edge);
  const turns = new TurnKeeper();
  const found = new LastLines(most, given);
  const ending = new AbortController();
  const forward = () => ending.abort(signal.reason);
  signal.addEventListener('abort', forward, { once: true });
  try {
    signal.throwIfAborted();
    const answer = target.engine?.logs(target.container, { signal: ending.signal, follow: false, tty: target.tty }) ?? [];
    for await (const batch of answer) {
      for (const line of batch) {
        finder.look(line);
        const entry = keptEntry(line, target, 0, undefined);
        if (passes(entry)) found.add(entry, finder.position - 1);
      }
      found.trim(finder);
      onProgress(batch.length, batch.timeMs(batch.length - 1));
      if (finder.isSure) break;
      if (turns.isDue) await turns.next();
      if (signal.aborted) break;
    }
  } finally {
    signal.removeEventListener('abort', forward);
    ending.abort();
  }
  signal.throwIfAborted();
  const { place } = finder;
  // Rotated away, and all that was before it too.
  if (place === undefined) return { lines: [], reached: true };
  return found.before(place, edge.known[0]?.ordinal);
}

/** Lines that pass, with their positions. Which of them lie before the edge is known later, when that has come. */
class LastLines {
  readonly #most: number;
  readonly #given: number;
  #lines: { entry: KeptEntry; position: number }[] = [];
  #characters = 0;
  /** Where the first line stood that was let go. */
  #lostAt = Number.POSITIVE_INFINITY;

  constructor(most: number, given: number) {
    this.#most = most;
    this.#given = given;
  }

  add(entry: KeptEntry, position: number): void {
    this.#lines.push({ entry, position });
    this.#characters += sizeOf(entry);
  }

  /** Keeps the last lines before the edge; and, as long as a better place for that can come, the last before that too. */
  trim({ place = 0, position }: EdgeFinder): void {
    const all = this.#lines;
    if (all.length < (this.#most + this.#given) * 4 + overlapLines && this.#characters < charactersAtOnce * 4) return;
    const edge = this.#countBefore(place);
    const open = Math.max(edge, this.#countBefore(position - overlapLines));
    this.#lines = [...this.#last(0, edge), ...this.#last(edge, open), ...all.slice(open)];
    this.#characters = this.#lines.reduce((sum, { entry }) => sum + sizeOf(entry), 0);
  }

  /** The last lines before this place that were not given, in the order of the log. `ordinal` is that of the line at the place. */
  before(place: number, ordinal: number | undefined): { lines: KeptEntry[]; reached: boolean } {
    const lines = this.#last(0, this.#countBefore(place));
    const entries = lines.slice(0, Math.max(0, lines.length - this.#given)).map(({ entry, position }) => {
      entry.ordinal = ordinal === undefined ? undefined : ordinal - (place - position);
      return entry;
    });
    return { lines: entries, reached: this.#lostAt >= place };
  }

  #last(from: number, end: number): { entry: KeptEntry; position: number }[] {
    let start = end;
    let characters = 0;
    while (start > from && end - start < this.#most + this.#given) {
      characters += sizeOf((this.#lines[start - 1] as { entry: KeptEntry }).entry);
      if (characters > charactersAtOnce && end - start > this.#given) break;
      start--;
    }
    if (start > from) this.#lostAt = Math.min(this.#lostAt, this.#lines[from]?.position ?? 0);
    return this.#lines.slice(start, end);
  }

  #countBefore(place: number): number {
    const at = this.#lines.findIndex(({ position }) => position >= place);
    return at < 0 ? this.#lines.length : at;
  }
}
