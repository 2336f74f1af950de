import type { LogLine } from '../engine/engine.ts';

/** Twice as many lines are remembered at most. */
const generation = 16_384;
const comparedCharacters = 32;

/**
 * Docker 20.10 sends some lines again when it rotates a log that is followed (seen: up to 500 of 100 kB). Its timestamps have nanoseconds: a line
 * older than the newest that has timestamp and text of one that was there is that one.
 */
export class RecentStamps {
  #now = new Map<string, number>();
  #before: ReadonlyMap<string, number> = new Map();
  #newest = '';
  /** It goes through what was there; the newest line can be the last of that. */
  #isSending = false;

  /** Remembers it. True when it was there before. */
  isAgain({ stamp, text }: LogLine): boolean {
    if (stamp === '') return false;
    const mark = markOf(text);
    if (stamp > this.#newest) {
      this.#newest = stamp;
      this.#isSending = false;
    } else if (stamp < this.#newest || this.#isSending) {
      this.#isSending = (this.#now.get(stamp) ?? this.#before.get(stamp)) === mark;
      if (this.#isSending) return true;
    }
    this.#now.set(stamp, mark);
    if (this.#now.size >= generation) {
      this.#before = this.#now;
      this.#now = new Map();
    }
    return false;
  }
}

/** Of its length and its last characters: the text itself would be kept in memory. */
function markOf(text: string): number {
  let mark = text.length;
  for (let at = Math.max(0, text.length - comparedCharacters); at < text.length; at++) mark = (mark * 31 + text.charCodeAt(at)) | 0;
  return mark;
}
