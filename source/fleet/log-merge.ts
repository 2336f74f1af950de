import type { LogBatch } from '../engine/log-batch.ts';

/** Lines of one origin, in the order of its log. */
export interface LogRun<Origin> {
  origin: Origin;
  lines: LogBatch;
}

export interface MergeLimits {
  /** A line is held at most this long for what others may still send; undefined waits for all. */
  holdMs: number | undefined;
  /** Of all lanes together. A lane whose share is full is not read on. */
  lines: number;
  /** Of one lane. */
  sizeBytes: number;
  nowMs?: () => number;
}

const fewestLines = 128;

interface Portion {
  lines: LogBatch;
  arrivedMs: number;
}

interface Lane<Origin> {
  origin: Origin;
  portions: Portion[];
  /** The first line of the first portion that has not gone out. */
  at: number;
  lines: number;
  sizeBytes: number;
  /** Time of the line that went out last, or of one before it where the clock was set back: never descends. */
  key: number;
  /** Has not had the time to send anything yet. */
  opening: boolean;
  goOn: (() => void) | undefined;
}

/**
 * Puts the lines of several logs in order of time. Each log keeps its own order, also where its clock was set back. A line goes out when every
 * other log has come as far, or when it was held long enough. One log alone passes through as it is.
 */
export class LogMerge<Origin> {
  readonly #limits: MergeLimits;
  readonly #now: () => number;
  readonly #lanes = new Set<Lane<Origin>>();
  readonly #ended = new Set<Lane<Origin>>();
  #wake: (() => void) | undefined;
  #awake = false;
  #closed = false;
  #failure: { thrown: unknown } | undefined;

  constructor(limits: MergeLimits) {
    this.#limits = limits;
    this.#now = limits.nowMs ?? Date.now;
  }

  /**
   * Adds a log and reads it as fast as its lines go out; resolves when it has ended. `opened` is to be called when it has begun to send or has
   * nothing to send at the moment: nothing goes out before, so that what was written long ago is in order too.
   */
  async add(origin: Origin, open: (opened: () => void) => AsyncIterable<LogBatch>): Promise<void> {
    const lane: Lane<Origin> = {
      origin,
      portions: [],
      at: 0,
      lines: 0,
      sizeBytes: 0,
      key: Number.NEGATIVE_INFINITY,
      opening: true,
      goOn: undefined,
    };
    this.#lanes.add(lane);
    const opened = () => {
      if (!lane.opening) return;
      lane.opening = false;
      this.#tell();
    };
    try {
      for await (const lines of open(opened)) {
        if (this.#closed) return;
        if (lines.length === 0) continue;
        lane.portions.push({ lines, arrivedMs: this.#now() });
        lane.lines += lines.length;
        for (let at = 0; at < lines.length; at++) lane.sizeBytes += lines.sizeBytes(at);
        opened();
        this.#tell();
        if (this.#isFull(lane)) {
          await new Promise<void>((resolve) => {
            lane.goOn = resolve;
          });
          if (this.#closed) return;
        }
      }
    } finally {
      lane.opening = false;
      this.#ended.add(lane);
      if (lane.portions.length === 0) this.#lanes.delete(lane);
      this.#tell();
    }
  }

  /** How many logs have not ended, or have lines left to go out. */
  get lanes(): number {
    return this.#lanes.size;
  }

  /** What can go out now; empty when nothing can. */
  take(): LogRun<Origin>[] {
    const runs: LogRun<Origin>[] = [];
    const first = this.#lanes.values().next().value;
    if (first && this.#lanes.size === 1) {
      for (const { lines } of first.portions) {
        runs.push({ origin: first.origin, lines: first.at > 0 ? lines.slice(first.at, lines.length) : lines });
        first.at = 0;
      }
      first.key = Math.max(first.key, lastTimeMs(runs.at(-1)?.lines) ?? first.key);
      first.portions = [];
      first.lines = 0;
      first.sizeBytes = 0;
      this.#settle(first);
      return runs;
    }
    const { holdMs } = this.#limits;
    const cutoffMs = holdMs === undefined ? Number.NEGATIVE_INFINITY : this.#now() - holdMs;
    let watermark = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes) {
      if (lane.opening) return runs;
      if (lane.portions.length === 0 && !this.#ended.has(lane)) watermark = Math.min(watermark, lane.key);
    }
    for (;;) {
      let lowest: Lane<Origin> | undefined;
      let lowestKey = Number.POSITIVE_INFINITY;
      let nextKey = Number.POSITIVE_INFINITY;
      for (const lane of this.#lanes) {
        if (lane.portions.length === 0) continue;
        const key = headKey(lane);
        if (!lowest || key < lowestKey) {
          nextKey = lowestKey;
          lowestKey = key;
          lowest = lane;
        } else if (key < nextKey) nextKey = key;
      }
      if (!lowest) return runs;
      const run = this.#takeRun(lowest, nextKey, watermark, cutoffMs);
      if (!run || run.length === 0) return runs;
      runs.push({ origin: lowest.origin, lines: run });
      if (lowest.portions.length === 0 && !this.#ended.has(lowest)) watermark = Math.min(watermark, lowest.key);
      this.#settle(lowest);
    }
  }

  /** Lines off the first portion of a lane, as far as nobody else's come before them. */
  #takeRun(lane: Lane<Origin>, nextKey: number, watermark: number, cutoffMs: number): LogBatch | undefined {
    const [portion] = lane.portions;
    if (!portion) return undefined;
    const { lines } = portion;
    const most = portion.arrivedMs <= cutoffMs ? nextKey : Math.min(nextKey, watermark);
    let end = lane.at;
    let { key } = lane;
    for (; end < lines.length; end++) {
      const next = Math.max(key, lines.timeMs(end) ?? key);
      if (next > most) break;
      key = next;
      lane.sizeBytes -= lines.sizeBytes(end);
    }
    const run = lane.at === 0 && end === lines.length ? lines : lines.slice(lane.at, end);
    lane.key = key;
    lane.lines -= run.length;
    lane.at = end;
    if (end === lines.length) {
      lane.portions.shift();
      lane.at = 0;
    }
    return run;
  }

  /** Resolves when more may go out. At once when something happened since the last time. */
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

  /** Throws what `fail` was told. */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.thrown;
  }

  /** Whoever waits for more gets this thrown. */
  fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#tell();
  }

  /** Wakes whoever waits for more. */
  nudge(): void {
    this.#tell();
  }

  close(): void {
    this.#closed = true;
    for (const lane of this.#lanes) lane.goOn?.();
    this.#tell();
  }

  #tell(): void {
    this.#awake = true;
    this.#wake?.();
  }

  /** Until the oldest arrival was held long enough. */
  #heldMs(): number | undefined {
    if (this.#limits.holdMs === undefined) return undefined;
    let oldest: number | undefined;
    for (const { portions } of this.#lanes) {
      const arrived = portions[0]?.arrivedMs;
      if (arrived !== undefined && (oldest === undefined || arrived < oldest)) oldest = arrived;
    }
    return oldest === undefined ? undefined : Math.max(1, oldest + this.#limits.holdMs - this.#now());
  }

  #isFull(lane: Lane<Origin>): boolean {
    return lane.lines >= Math.max(fewestLines, this.#limits.lines / this.#lanes.size) || lane.sizeBytes >= this.#limits.sizeBytes;
  }

  #settle(lane: Lane<Origin>): void {
    if (this.#ended.has(lane) && lane.portions.length === 0) {
      this.#lanes.delete(lane);
      this.#ended.delete(lane);
    }
    if (lane.goOn && !this.#isFull(lane)) {
      lane.goOn();
      lane.goOn = undefined;
    }
  }
}

function headKey<Origin>({ key, portions, at }: Lane<Origin>): number {
  return Math.max(key, portions[0]?.lines.timeMs(at) ?? key);
}

function lastTimeMs(lines: LogBatch | undefined): number | undefined {
  return lines?.timeMs(lines.length - 1);
}
