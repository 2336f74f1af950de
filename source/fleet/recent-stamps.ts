import type { LogLine } from '../engine/engine.ts';

/** Lines that are remembered of one container, and of all that are followed together: three hundred of them are no more than four. */
const mostOfOne = 16_384;
const fewestOfOne = 512;
const mostOfAll = 65_536;
const comparedCharacters = 12;
/** From here on the timestamps of neighbours differ: seconds and what is behind the point. */
const comparedStamp = 17;

/**
 * Docker 20.10 sends some lines again when it rotates a log that is followed (seen: up to 500 of 100 kB). Its timestamps have nanoseconds: a line
 * older than the newest that has timestamp and text of one that was there is that one.
 */
export class RecentStamps {
  #now = new Set<number>();
  #before: ReadonlySet<number> = new Set();
  #newest = '';
  /** It goes through what was there; the newest line can be the last of that. */
  #isSending = false;

  /** Remembers it. True when it was there before. `followed` containers share the memory. */
  isAgain({ stamp, text }: LogLine, followed: number): boolean {
    if (stamp === '') return false;
    const mark = markOf(stamp, text);
    if (stamp > this.#newest) {
      this.#newest = stamp;
      this.#isSending = false;
    } else if (stamp < this.#newest || this.#isSending) {
      this.#isSending = this.#now.has(mark) || this.#before.has(mark);
      if (this.#isSending) return true;
    }
    this.#now.add(mark);
    // Two generations are remembered.
    if (this.#now.size >= Math.min(mostOfOne, Math.max(fewestOfOne, mostOfAll / followed)) / 2) {
      this.#before = this.#now;
      this.#now = new Set();
    }
    return false;
  }
}

/** 53 bits of the end of the timestamp, the length and the last characters: the texts themselves would be kept in memory. */
function markOf(stamp: string, text: string): number {
  let high = text.length;
  let low = 0;
  for (let at = comparedStamp; at < stamp.length; at++) {
    high = (Math.imul(high, 31) + stamp.charCodeAt(at)) | 0;
    low = (Math.imul(low, 16_777_619) ^ stamp.charCodeAt(at)) | 0;
  }
  for (let at = Math.max(0, text.length - comparedCharacters); at < text.length; at++) {
    high = (Math.imul(high, 31) + text.charCodeAt(at)) | 0;
    low = (Math.imul(low, 16_777_619) ^ text.charCodeAt(at)) | 0;
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
