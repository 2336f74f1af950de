import type { LogBatch } from '../engine/log-batch.ts';

/** Lines that are remembered of one container, and of all that are followed together: three hundred of them are no more than four. */
const mostOfOne = 16_384;
const fewestOfOne = 512;
const mostOfAll = 65_536;
const comparedBytes = 12;

/**
 * Docker 20.10 sends some lines again when it rotates a log that is followed (seen: up to 500 of 100 kB). Its timestamps have nanoseconds: a line
 * older than the newest that has timestamp and text of one that was there is that one.
 *
 * Each line is remembered and hardly one is ever looked for, so they are kept as they come, and gone through then.
 */
export class RecentStamps {
  #now: number[] = [];
  #before: readonly number[] = [];
  #newestMs = Number.NEGATIVE_INFINITY;
  #newestFraction = 0;
  /** It goes through what was there; the newest line can be the last of that. */
  #isSending = false;

  /** Remembers a line of the batch. True when it was there before. `followed` containers share the memory. */
  isAgain(batch: LogBatch, at: number, followed: number): boolean {
    const timeMs = batch.timeMs(at);
    if (timeMs === undefined) return false;
    const fraction = batch.fraction(at);
    const mark = markOf(batch, at, timeMs, fraction);
    // Within a millisecond the fraction decides; it counts from the second on.
    if (timeMs > this.#newestMs || (timeMs === this.#newestMs && fraction > this.#newestFraction)) {
      this.#newestMs = timeMs;
      this.#newestFraction = fraction;
      this.#isSending = false;
    } else if (timeMs < this.#newestMs || fraction < this.#newestFraction || this.#isSending) {
      this.#isSending = this.#now.includes(mark) || this.#before.includes(mark);
      if (this.#isSending) return true;
    }
    this.#now.push(mark);
    // Two generations are remembered.
    if (this.#now.length >= Math.min(mostOfOne, Math.max(fewestOfOne, mostOfAll / followed)) / 2) {
      this.#before = this.#now;
      this.#now = [];
    }
    return false;
  }
}

/** 53 bits of the timestamp, the length and the last bytes: the texts themselves would be kept in memory. */
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
