import type { LogBatch } from '../engine/log-batch.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Entries } from './entry-list.ts';
import { KeptLines } from './kept-lines.ts';
import type { KeptEntry } from './log-entry.ts';
import { openReading } from './log-reading.ts';
import type { LogLimits } from './log-rings.ts';
import type { LogPredicate, LogReading, LogSource } from './log-store.ts';
import { logRuns } from './log-stream.ts';
import { type LogOrigin, LogTargets } from './log-targets.ts';
import type { OpenFleet } from './open-fleet.ts';
import { TurnKeeper } from './turn-keeper.ts';

interface Arrivals {
  count: number;
  firstMs: number | undefined;
}

/** The newest lines of some components, followed for as long as it is open. */
export class LogRing implements LogSource {
  readonly componentKeys: readonly string[];
  readonly targets: LogTargets;
  readonly limits: LogLimits;
  readonly #listeners = new Set<() => void>();
  readonly #arrivals = new Map<string, Arrivals>();
  readonly #refusals = new Map<string, string>();
  readonly #closing = new AbortController();
  readonly #grown: () => void;
  readonly #unsubscribe: () => void;
  readonly #openedMs = Date.now();
  #kept = new KeptLines();
  /** Arrived, and not shown yet. */
  #pending: { lines: LogBatch; origin: LogOrigin; ordinal: number }[] = [];
  #pendingLines = 0;
  #total = 0;
  #tail = 0;
  #completeMs = Number.NEGATIVE_INFINITY;
  #flush: NodeJS.Timeout | undefined;
  #streams = 0;
  #broken: string | undefined;
  /** Readings that are open. */
  readers = 0;
  /** Nothing was left out at the beginning, and nothing let go since. */
  isWhole = true;
  /** Lines before this index had a gap among them, and were let go for that. */
  completeIndex = 0;

  /** `grown` is called after each commit: the budget is for all rings together. */
  constructor(keys: readonly string[], fleet: OpenFleet, limits: LogLimits, grown: () => void) {
    this.componentKeys = keys;
    this.limits = limits;
    this.#grown = grown;
    this.targets = new LogTargets(fleet, keys);
    this.#unsubscribe = this.targets.subscribe(() => this.#schedule());
    void this.#follow();
  }

  /** The same list until something comes or goes; a list does not change. */
  entries(): Entries<KeptEntry> {
    return this.#kept.entries();
  }

  get length(): number {
    return this.#kept.length;
  }

  total(): number {
    return this.#total;
  }

  get sizeBytes(): number {
    return this.#kept.sizeBytes;
  }

  /** Lines of a container that arrived so far. */
  arrived(container: string): number {
    return this.#arrivals.get(container)?.count ?? 0;
  }

  state(): { following: boolean; message: string | undefined } {
    const [refusal] = this.#refusals.values();
    const more = this.#refusals.size > 1 ? ` (and ${this.#refusals.size - 1} more)` : '';
    return { following: this.#streams > 0, message: this.targets.message ?? this.#broken ?? (refusal && `${refusal}${more}`) };
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read(passes?: LogPredicate): LogReading {
    return openReading(this, passes);
  }

  /** Lets the oldest go until no more than this is kept. */
  shrink(lines: number, sizeBytes: number): void {
    if (this.#kept.shrink(lines, sizeBytes)) this.isWhole = false;
  }

  close(): void {
    this.#closing.abort();
    this.#unsubscribe();
    this.targets.close();
    clearTimeout(this.#flush);
    this.#listeners.clear();
    this.#kept = new KeptLines();
    this.#pending = [];
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    const turns = new TurnKeeper();
    try {
      const batches = logRuns({
        componentKeys: this.componentKeys,
        targets: this.targets,
        limits: this.limits,
        turns,
        follow: true,
        persistent: true,
        signal,
        tailOf: (containers) => {
          this.#tail = tailOf(this.limits.tail, containers);
          return this.#tail;
        },
        onNotice: (message) => {
          this.#broken = message;
          this.#schedule();
        },
        onRefused: ({ container, service }, message) => {
          this.#refusals.set(container, this.targets.size > 1 ? `${service}: ${message}` : message);
          this.#schedule();
        },
        onReading: (streams) => {
          if (streams > this.#streams) this.#broken = undefined;
          this.#streams = streams;
          this.#schedule();
        },
      });
      for await (const runs of batches) {
        for (const { origin, lines } of runs) {
          // Portions that a chunk of the network gives are small enough; what was held back for others can be large.
          const arrivals = this.#arrivalsOf(origin);
          const ordinal = arrivals.count;
          for (let at = 0; at < lines.length && arrivals.firstMs === undefined; at++) arrivals.firstMs = lines.timeMs(at);
          arrivals.count += lines.length;
          if (ordinal < this.#tail && arrivals.count >= this.#tail) this.#noteTail(arrivals, lines.timeMs(this.#tail - 1 - ordinal));
          this.#pending.push({ lines, origin, ordinal });
          this.#pendingLines += lines.length;
          this.#total += lines.length;
          if (this.#pendingLines >= this.limits.lines) this.#commit();
          if (turns.isDue) await turns.next();
          if (signal.aborted) return;
        }
        this.#schedule();
      }
    } catch (thrown) {
      if (signal.aborted) return;
      this.#broken = thrown instanceof Fault ? thrown.message : `the log broke off: ${messageOf(thrown)}`;
      this.#schedule();
    }
  }

  #arrivalsOf({ container }: LogOrigin): Arrivals {
    let arrivals = this.#arrivals.get(container);
    if (!arrivals) {
      arrivals = { count: 0, firstMs: undefined };
      this.#arrivals.set(container, arrivals);
    }
    return arrivals;
  }

  /** The log of this container goes on before what was asked for: what others wrote before that stands in a gap. */
  #noteTail({ firstMs }: Arrivals, lastMs: number | undefined): void {
    if ((lastMs ?? 0) >= this.#openedMs) return;
    this.isWhole = false;
    if (firstMs !== undefined && this.targets.size > 1) this.#completeMs = Math.max(this.#completeMs, firstMs);
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined;
      this.#commit();
      for (const listener of [...this.#listeners]) listener();
    }, this.limits.frameMs);
  }

  #commit(): void {
    const added = this.#pending;
    if (added.length === 0) return;
    this.#pending = [];
    this.#pendingLines = 0;
    for (const { lines, origin, ordinal } of added) this.#kept.add(lines, origin, ordinal);
    if (Number.isFinite(this.#completeMs)) {
      const all = this.entries();
      const start = all.findIndex((entry) => (entry.timeMs ?? Number.NEGATIVE_INFINITY) >= this.#completeMs);
      this.#completeMs = Number.NEGATIVE_INFINITY;
      if (start > 0) {
        this.shrink(all.length - start, Number.POSITIVE_INFINITY);
        this.completeIndex = all.at(start)?.index ?? 0;
      }
    }
    this.shrink(this.limits.lines, this.limits.sizeBytes);
    this.#grown();
  }
}

/** Lines asked of each container's history: a whole stack is not asked for three hundred times as much. */
function tailOf(most: number, containers: number): number {
  return Math.max(Math.min(most, 60), Math.min(most, Math.floor((most * 4) / containers)));
}
