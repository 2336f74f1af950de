/** Twice as many timestamps are remembered at most. */
const generation = 16_384;

/**
 * Docker 20.10 sends some lines again when it rotates a log that is followed (seen: up to 500 of 100 kB). Its timestamps have nanoseconds, and no
 * two lines of a stream have the same: one that comes again is the same line.
 */
export class RecentStamps {
  #now = new Set<string>();
  #before = new Set<string>();
  #newest = '';

  /** Remembers it. True when it was there before. */
  isAgain(stamp: string): boolean {
    if (stamp === '') return false;
    if (stamp > this.#newest) this.#newest = stamp;
    else if (this.#now.has(stamp) || this.#before.has(stamp)) return true;
    this.#now.add(stamp);
    if (this.#now.size >= generation) {
      this.#before = this.#now;
      this.#now = new Set();
    }
    return false;
  }
}
