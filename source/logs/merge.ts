import type { LogBatch } from '../engine/log-batch.ts';

export interface LogRun<Origin> {
  origin: Origin;
  lines: LogBatch;
}

export interface MergeLimits {
  /** Longest time that a line is held back for lines of other sources; undefined waits for all. */
  holdMs: number | undefined;
  /** Limit of all sources together. A source whose share is full is not read further. */
  lines: number;
  sizeBytes: number;
  nowMs?: () => number;
}

const fewestLines = 128;

interface Portion {
  lines: LogBatch;
  arrivedMs: number;
}

interface MergeSource<Origin> {
  origin: Origin;
  portions: Portion[];
  /** The first line of the first portion that has not been output. */
  at: number;
  lines: number;
  sizeBytes: number;
  /** Time of the line that was output last, or of an earlier one if the clock was set back: never decreases. */
  key: number;
  /** It has not had time to send anything yet. */
  opening: boolean;
  ended: boolean;
  resume: (() => void) | undefined;
}

/**
 * Merges the lines of several logs by time. Each log keeps its own order, even if its clock was set back. A line is output when every
 * other log has advanced that far, or when it was held long enough. A single log passes through unchanged.
 */
export class LogMerge<Origin> {
  readonly #now: () => number;
  readonly #sources = new Set<MergeSource<Origin>>();
  #wake: (() => void) | undefined;
  #awake = false;
  #closed = false;
  #failure: { thrown: unknown } | undefined;

  constructor(private readonly limits: MergeLimits) {
    this.#now = limits.nowMs ?? Date.now;
  }

  /**
   * Adds a log and reads it as fast as its lines are output; resolves when it has ended. Call `opened` when it has begun to send or has
   * nothing to send at the moment: no line is output before that, so that old lines are in order too.
   */
  async add(origin: Origin, open: (opened: () => void) => AsyncIterable<LogBatch>): Promise<void> {
    const source: MergeSource<Origin> = {
      origin,
      portions: [],
      at: 0,
      lines: 0,
      sizeBytes: 0,
      key: Number.NEGATIVE_INFINITY,
      opening: true,
      ended: false,
      resume: undefined,
    };
    this.#sources.add(source);
    const opened = () => {
      if (!source.opening) return;
      source.opening = false;
      this.nudge();
    };
    try {
      for await (const lines of open(opened)) {
        if (this.#closed) return;
        if (lines.length === 0) continue;
        source.portions.push({ lines, arrivedMs: this.#now() });
        source.lines += lines.length;
        for (let at = 0; at < lines.length; at++) source.sizeBytes += lines.sizeBytes(at);
        opened();
        this.nudge();
        if (this.#isFull(source)) {
          await new Promise<void>((resolve) => {
            source.resume = resolve;
          });
          if (this.#closed) return;
        }
      }
    } finally {
      source.opening = false;
      source.ended = true;
      if (source.portions.length === 0) this.#sources.delete(source);
      this.nudge();
    }
  }

  get sources(): number {
    return this.#sources.size;
  }

  take(): LogRun<Origin>[] {
    const runs: LogRun<Origin>[] = [];
    const { holdMs } = this.limits;
    const cutoffMs = holdMs === undefined ? Number.NEGATIVE_INFINITY : this.#now() - holdMs;
    let watermark = Number.POSITIVE_INFINITY;
    for (const source of this.#sources) {
      if (source.opening) return runs;
      if (source.portions.length === 0 && !source.ended) watermark = Math.min(watermark, source.key);
    }
    for (;;) {
      const { lowest, nextKey } = this.#lowest();
      if (!lowest) return runs;
      const run = this.#takeRun(lowest, nextKey, watermark, cutoffMs);
      if (!run || run.length === 0) return runs;
      runs.push({ origin: lowest.origin, lines: run });
      if (lowest.portions.length === 0 && !lowest.ended) watermark = Math.min(watermark, lowest.key);
      this.#settle(lowest);
    }
  }

  /** Returns the source with the earliest line, and the time of the earliest line of the others. */
  #lowest(): { lowest: MergeSource<Origin> | undefined; nextKey: number } {
    let lowest: MergeSource<Origin> | undefined;
    let lowestKey = Number.POSITIVE_INFINITY;
    let nextKey = Number.POSITIVE_INFINITY;
    for (const source of this.#sources) {
      const [portion] = source.portions;
      if (!portion) continue;
      const key = Math.max(source.key, portion.lines.timeMs(source.at) ?? source.key);
      if (!lowest || key < lowestKey) {
        nextKey = lowestKey;
        lowestKey = key;
        lowest = source;
      } else if (key < nextKey) nextKey = key;
    }
    return { lowest, nextKey };
  }

  /** Removes lines from the first portion of a source, up to the earliest line of the other sources. */
  #takeRun(source: MergeSource<Origin>, nextKey: number, watermark: number, cutoffMs: number): LogBatch | undefined {
    const [portion] = source.portions;
    if (!portion) return undefined;
    const { lines } = portion;
    const most = portion.arrivedMs <= cutoffMs ? nextKey : Math.min(nextKey, watermark);
    let end = source.at;
    let { key } = source;
    for (; end < lines.length; end++) {
      const next = Math.max(key, lines.timeMs(end) ?? key);
      if (next > most) break;
      key = next;
      source.sizeBytes -= lines.sizeBytes(end);
    }
    const run = source.at === 0 && end === lines.length ? lines : lines.slice(source.at, end);
    source.key = key;
    source.lines -= run.length;
    source.at = end;
    if (end === lines.length) {
      source.portions.shift();
      source.at = 0;
    }
    return run;
  }

  /** Resolves when more may be output. At once if something happened since the last call. */
  async more(): Promise<void> {
    this.throwFailure();
    if (!this.#awake) {
      const heldMs = this.#heldMs();
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (heldMs !== undefined) timer = setTimeout(resolve, heldMs);
      });
      this.#wake = undefined;
      clearTimeout(timer);
    }
    this.#awake = false;
    this.throwFailure();
  }

  throwFailure(): void {
    if (this.#failure) throw this.#failure.thrown;
  }

  fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.nudge();
  }

  close(): void {
    this.#closed = true;
    for (const source of this.#sources) source.resume?.();
    this.nudge();
  }

  nudge(): void {
    this.#awake = true;
    this.#wake?.();
  }

  /** Time until the oldest arrival was held long enough. */
  #heldMs(): number | undefined {
    if (this.limits.holdMs === undefined) return undefined;
    let oldest: number | undefined;
    for (const { portions } of this.#sources) {
      const arrived = portions[0]?.arrivedMs;
      if (arrived !== undefined && (oldest === undefined || arrived < oldest)) oldest = arrived;
    }
    return oldest === undefined ? undefined : Math.max(1, oldest + this.limits.holdMs - this.#now());
  }

  #isFull(source: MergeSource<Origin>): boolean {
    return source.lines >= Math.max(fewestLines, this.limits.lines / this.#sources.size) || source.sizeBytes >= this.limits.sizeBytes;
  }

  #settle(source: MergeSource<Origin>): void {
    if (source.ended && source.portions.length === 0) this.#sources.delete(source);
    if (source.resume && !this.#isFull(source)) {
      source.resume();
      source.resume = undefined;
    }
  }
}
