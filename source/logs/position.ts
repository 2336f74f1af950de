import { noFraction } from '../engine/log-stamp.ts';

/** The lines of one second, each by the fraction in its timestamp. Only numbers: there can be 100,000 of them. */
interface Seen {
  second: number;
  fractions: number[];
}

/**
 * The position where reading a log was interrupted: its last two seconds, and the number of lines with each timestamp. Engines are
 * queried by whole seconds, Podman 4's timestamps are no finer, and Docker records the two streams of a program out of order: lines
 * counted here were seen.
 *
 * After a clock was set back, an engine sends lines again that are older in the log and newer in time. `before` is the last two seconds
 * before that: everything up to them was seen too.
 */
export class LogPosition {
  #second = Number.NEGATIVE_INFINITY;
  #seen: Seen[] = [];
  #before: readonly Seen[] = [];
  #beforeSecond = Number.NEGATIVE_INFINITY;
  /** Timestamp of the first line: a tail begins in the middle of a second. */
  #firstMs = Number.NEGATIVE_INFINITY;

  /** Start time of the next query; undefined while no line with a time was seen. */
  get sinceMs(): number | undefined {
    if (!Number.isFinite(this.#second)) return undefined;
    return (this.#second - 1) * 1000;
  }

  take(timeMs: number | undefined, fraction: number): void {
    if (timeMs === undefined) return;
    const second = Math.floor(timeMs / 1000);
    if (second > this.#second) {
      if (this.#second === Number.NEGATIVE_INFINITY) this.#firstMs = timeMs;
      this.#second = second;
      this.#seen = this.#seen.filter((one) => one.second >= second - 1);
      if (second > this.#beforeSecond + 1) this.#before = [];
    } else if (second < this.#second - 1) {
      this.#before = this.#seen;
      this.#beforeSecond = this.#second;
      this.#seen = [];
      this.#second = second;
      this.#firstMs = second * 1000;
    }
    // At most two of them, usually the last.
    let seen = this.#seen.at(-1);
    if (seen?.second !== second) seen = this.#seen.find((one) => one.second === second);
    if (!seen) {
      seen = { second, fractions: [] };
      this.#seen.push(seen);
    }
    seen.fractions.push(fraction);
  }

  /** Decides for each line that an engine sends from `sinceMs` on, in order, whether it was seen before. */
  skipper(): (timeMs: number | undefined, fraction: number) => boolean {
    const left = countsOf(this.#seen);
    const before = countsOf(this.#before);
    const beforeEndMs = (this.#beforeSecond + 1) * 1000;
    const firstMs = this.#firstMs;
    let looking = before.size > 0;
    let found = false;
    return (timeMs, fraction) => {
      if (looking) {
        if (countDown(before, timeMs, fraction)) {
          found = true;
          return true;
        }
        // If the log was rotated in between, earlier lines are gone; only a fine timestamp decides.
        const isAfter =
          found || (timeMs ?? 0) >= beforeEndMs || (fraction !== noFraction && left.get(secondOf(timeMs))?.has(fraction) === true);
        if (!isAfter) return true;
        looking = false;
      }
      if (countDown(left, timeMs, fraction)) {
        found = true;
        return true;
      }
      return !found && timeMs !== undefined && timeMs < firstMs;
    };
  }
}

/** Number of lines of each fraction, by second. */
type Counts = Map<number, Map<number, number>>;

function countsOf(seen: readonly Seen[]): Counts {
  const counts: Counts = new Map();
  for (const { second, fractions } of seen) {
    const here = counts.get(second) ?? new Map<number, number>();
    for (const fraction of fractions) here.set(fraction, (here.get(fraction) ?? 0) + 1);
    counts.set(second, here);
  }
  return counts;
}

const secondOf = (timeMs: number | undefined) => Math.floor((timeMs ?? Number.NaN) / 1000);

function countDown(counts: Counts, timeMs: number | undefined, fraction: number): boolean {
  const here = counts.get(secondOf(timeMs));
  const left = here?.get(fraction) ?? 0;
  if (left > 0) here?.set(fraction, left - 1);
  return left > 0;
}
