import type { LogBatch } from '../engine/log-batch.ts';

/** Number of remembered lines per container, and of all followed containers together: three hundred of them use no more than four. */
const mostOfOne = 16_384;
const fewestOfOne = 512;
const mostOfAll = 65_536;
const comparedBytes = 12;

/**
 * Docker 20.10 sends some lines again when it rotates a followed log (observed: the newest one, and up to 500 of 100 kB). Its timestamps have
 * nanoseconds: a line that is no newer than the newest one, with the timestamp and text of an earlier line, is that line. journald's have
 * microseconds, within which a program may write the same twice.
 *
 * Lines are stored in arrival order and searched on demand, because lookups are very rare.
 */
export class RecentStamps {
  #now: number[] = [];
  #before: readonly number[] = [];
  #newestMs = Number.NEGATIVE_INFINITY;
  #newestFraction = 0;
  /** The engine is sending earlier lines again; the newest line can be the last of them. */
  #isSending = false;

  /** Remembers a line of the batch. Returns true if it was seen before. `followed` containers share the memory. */
  isAgain(batch: LogBatch, at: number, followed: number): boolean {
    const timeMs = batch.timeMs(at);
    if (timeMs === undefined) return false;
    const fraction = batch.fraction(at);
    const mark = markOf(batch, at, timeMs, fraction);
    // Within a millisecond the fraction decides; it counts from the second.
    if (timeMs > this.#newestMs || (timeMs === this.#newestMs && fraction > this.#newestFraction)) {
      this.#newestMs = timeMs;
      this.#newestFraction = fraction;
      this.#isSending = false;
    } else if (timeMs < this.#newestMs || fraction < this.#newestFraction || this.#isSending || fraction % 1_000 !== 0) {
      this.#isSending = this.#now.includes(mark) || this.#before.includes(mark);
      if (this.#isSending) return true;
    }
    this.#now.push(mark);
    if (this.#now.length >= Math.min(mostOfOne, Math.max(fewestOfOne, mostOfAll / followed)) / 2) {
      this.#before = this.#now;
      this.#now = [];
    }
    return false;
  }
}

/** 53 bits of the timestamp, the length and the last bytes: storing the texts themselves would use too much memory. */
function markOf(batch: LogBatch, at: number, timeMs: number, fraction: number): number {
  const { bytes } = batch;
  const end = batch.end(at);
  const start = Math.max(batch.start(at), end - comparedBytes);
  let high = Math.imul(batch.sizeBytes(at), 31) ^ fraction;
  let low = Math.floor(timeMs / 1000) | 0;
  for (let byte = start; byte < end; byte++) {
    high = (Math.imul(high, 31) + (bytes[byte] as number)) | 0;
    low = Math.imul(low, 16_777_619) ^ (bytes[byte] as number);
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
