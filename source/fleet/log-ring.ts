import { Fault, messageOf } from '../faults/fault.ts';
import { type KeptEntry, keptEntry, sizeOf } from './log-entry.ts';
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
  /** What is kept begins at `#start`; the empty places before that are cut off now and then, not each time. */
  #kept: (KeptEntry | undefined)[] = [];
  #start = 0;
  /** What is kept, as it was last asked for. */
  #entries: readonly KeptEntry[] | undefined = [];
  #pending: KeptEntry[] = [];
  #characters = 0;
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
  entries(): readonly KeptEntry[] {
    this.#entries ??= this.#kept.slice(this.#start) as KeptEntry[];
    return this.#entries;
  }

  get length(): number {
    return this.#kept.length - this.#start;
  }

  total(): number {
    return this.#total;
  }

  get characters(): number {
    return this.#characters;
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
  shrink(lines: number, characters: number): void {
    const all = this.#kept;
    const before = this.#start;
    while (this.length > lines || (this.#characters > characters && this.length > 1)) {
      this.#characters -= sizeOf(all[this.#start] as KeptEntry);
      all[this.#start++] = undefined;
    }
    if (this.#start === before) return;
    this.#entries = undefined;
    this.isWhole = false;
    if (this.#start <= this.length) return;
    this.#kept = all.slice(this.#start);
    this.#start = 0;
  }

  close(): void {
    this.#closing.abort();
    this.#unsubscribe();
    this.targets.close();
    clearTimeout(this.#flush);
    this.#listeners.clear();
    this.#kept = [];
    this.#start = 0;
    this.#entries = [];
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
          for (const line of lines) {
            const ordinal = arrivals.count++;
            arrivals.firstMs ??= line.timeMs;
            if (arrivals.count === this.#tail) this.#noteTail(arrivals, line.timeMs);
            this.#pending.push(keptEntry(line, origin, this.#total++, ordinal));
          }
          if (this.#pending.length >= this.limits.lines) this.#commit();
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
    for (const entry of added) {
      this.#characters += sizeOf(entry);
      this.#kept.push(entry);
    }
    this.#entries = undefined;
    if (Number.isFinite(this.#completeMs)) {
      const all = this.entries();
      const start = all.findIndex((entry) => (entry.timeMs ?? Number.NEGATIVE_INFINITY) >= this.#completeMs);
      this.#completeMs = Number.NEGATIVE_INFINITY;
      if (start > 0) {
        this.shrink(all.length - start, Number.POSITIVE_INFINITY);
        this.completeIndex = all[start]?.index ?? 0;
      }
    }
    this.shrink(this.limits.lines, this.limits.characters);
    this.#grown();
  }
}

/** Lines asked of each container's history: a whole stack is not asked for three hundred times as much. */
function tailOf(most: number, containers: number): number {
  return Math.max(Math.min(most, 60), Math.min(most, Math.floor((most * 4) / containers)));
}
