import type { LogBatch } from '../engine/log-batch.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { createListeners } from '../faults/listeners.ts';
import type { OpenFleet } from '../fleet/open-fleet.ts';
import type { KeptEntry } from './entry.ts';
import type { Entries } from './entry-list.ts';
import { KeptLines } from './kept-lines.ts';
import { RingReading } from './reading.ts';
import type { LogLimits } from './rings.ts';
import type { LogPredicate, LogReading, LogSource } from './store.ts';
import { logRuns } from './stream.ts';
import { type LogOrigin, LogTargets } from './targets.ts';
import { TimeSlices } from './time-slices.ts';

/** The newest lines of some components, followed for as long as it is open. */
export class LogRing implements LogSource {
  readonly componentKeys: readonly string[];
  readonly targets: LogTargets;
  readonly #listeners = createListeners();
  readonly subscribe = this.#listeners.subscribe;
  readonly #arrivals = new Map<string, { count: number; firstMs: number | undefined }>();
  readonly #refusals = new Map<string, string>();
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #openedMs = Date.now();
  #kept = new KeptLines();
  /** Received, and not shown yet. */
  #pending: { lines: LogBatch; origin: LogOrigin; ordinal: number }[] = [];
  #pendingLines = 0;
  #total = 0;
  #tail = 0;
  #completeMs = Number.NEGATIVE_INFINITY;
  #flush: NodeJS.Timeout | undefined;
  #streams = 0;
  #broken: string | undefined;
  readers = 0;
  /** The start is complete, and no line was dropped since. */
  isWhole = true;
  /** Lines before this index had a gap and were dropped because of it. */
  completeIndex = 0;

  /** `grown` is called after each commit: the budget covers all rings together. */
  constructor(
    keys: readonly string[],
    fleet: OpenFleet,
    readonly limits: LogLimits,
    private readonly grown: () => void,
  ) {
    this.componentKeys = keys;
    this.targets = new LogTargets(fleet, keys);
    this.#unsubscribe = this.targets.subscribe(() => this.#schedule());
    void this.#follow();
  }

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

  arrived(container: string): number {
    return this.#arrivals.get(container)?.count ?? 0;
  }

  state(): { following: boolean; message: string | undefined } {
    // A container that was removed since has no log, and no problem.
    const refusals = [...this.#refusals].flatMap(([container, message]) => (this.targets.get(container) ? message : []));
    const [refusal] = refusals;
    const more = refusals.length > 1 ? ` (and ${refusals.length - 1} more)` : '';
    return { following: this.#streams > 0, message: this.targets.message ?? this.#broken ?? (refusal && `${refusal}${more}`) };
  }

  read(passes?: LogPredicate): LogReading {
    return new RingReading(this, passes);
  }

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
    const turns = new TimeSlices();
    try {
      const batches = logRuns({
        componentKeys: this.componentKeys,
        targets: this.targets,
        limits: this.limits,
        turns,
        follow: true,
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
          // Portions from one network chunk are small enough; portions that were held back for other sources can be large.
          this.#receive(lines, origin);
          if (turns.isDue) await turns.next();
          if (signal.aborted) return;
        }
        this.#schedule();
      }
    } catch (thrown) {
      if (signal.aborted) return;
      this.#broken = thrown instanceof Fault ? thrown.message : `the log was interrupted: ${messageOf(thrown)}`;
      this.#schedule();
    }
  }

  #receive(lines: LogBatch, origin: LogOrigin): void {
    const arrivals = this.#arrivals.get(origin.container) ?? { count: 0, firstMs: undefined };
    this.#arrivals.set(origin.container, arrivals);
    const ordinal = arrivals.count;
    for (let at = 0; at < lines.length && arrivals.firstMs === undefined; at++) arrivals.firstMs = lines.timeMs(at);
    arrivals.count += lines.length;
    const isTail = ordinal < this.#tail && arrivals.count >= this.#tail;
    // The log continues before the requested range: lines of other containers before that point have a gap among them.
    if (isTail && (lines.timeMs(this.#tail - 1 - ordinal) ?? 0) < this.#openedMs) {
      this.isWhole = false;
      if (arrivals.firstMs !== undefined && this.targets.size > 1) this.#completeMs = Math.max(this.#completeMs, arrivals.firstMs);
    }
    this.#pending.push({ lines, origin, ordinal });
    this.#pendingLines += lines.length;
    this.#total += lines.length;
    if (this.#pendingLines >= this.limits.lines) this.#commit();
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined;
      this.#commit();
      this.#listeners.notify();
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
    this.grown();
  }
}

/** Lines per container: a whole stack does not load three hundred times as much. */
function tailOf(most: number, containers: number): number {
  return Math.max(Math.min(most, 60), Math.min(most, Math.floor((most * 4) / containers)));
}
