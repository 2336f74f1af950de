import type { LogLine } from '../engine/engine.ts';

/** Neighbours in the log that bear the same timestamp. */
interface Stamped {
  stamp: string;
  second: number;
  count: number;
}

/**
 * Where reading a log broke off: its last two seconds, and how many lines of them bore each timestamp. Engines are asked for whole seconds again,
 * Podman 4's timestamps are no finer, and Docker writes down the two streams of a program out of order: what was counted here was seen.
 *
 * After a clock was set back an engine sends again what is older in the log and newer in time. `before` are the last two seconds before that: all
 * up to them was seen too.
 */
export class LogPosition {
  #second = Number.NEGATIVE_INFINITY;
  #seen: Stamped[] = [];
  #before: readonly Stamped[] = [];
  #beforeSecond = Number.NEGATIVE_INFINITY;
  /** Of the first line: a tail begins in the middle of a second. */
  #firstMs = Number.NEGATIVE_INFINITY;

  /** From where on the engine is to be asked; undefined while no line with a time was seen. */
  get sinceMs(): number | undefined {
    if (!Number.isFinite(this.#second)) return undefined;
    return (this.#second - 1) * 1000;
  }

  take({ timeMs, stamp }: LogLine): void {
    if (timeMs === undefined || stamp === '') return;
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
    const last = this.#seen.at(-1);
    if (last?.stamp === stamp) last.count++;
    else this.#seen.push({ stamp, second, count: 1 });
  }

  /** Tells of the lines that an engine sends from `sinceMs` on, one after the other, whether each was seen before. */
  skipper(): (line: LogLine) => boolean {
    const left = countsOf(this.#seen);
    const before = countsOf(this.#before);
    const beforeEndMs = (this.#beforeSecond + 1) * 1000;
    const firstMs = this.#firstMs;
    let looking = before.size > 0;
    let found = false;
    return (line) => {
      if (looking) {
        if (countDown(before, line.stamp)) {
          found = true;
          return true;
        }
        // Where the log was rotated in between, those before are gone; only a fine timestamp tells.
        const isAfter = found || (line.timeMs ?? 0) >= beforeEndMs || (line.stamp.includes('.') && left.has(line.stamp));
        if (!isAfter) return true;
        looking = false;
      }
      if (countDown(left, line.stamp)) {
        found = true;
        return true;
      }
      return !found && line.timeMs !== undefined && line.timeMs < firstMs;
    };
  }
}

function countsOf(seen: readonly Stamped[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { stamp, count } of seen) counts.set(stamp, (counts.get(stamp) ?? 0) + count);
  return counts;
}

function countDown(counts: Map<string, number>, stamp: string): boolean {
  const left = counts.get(stamp) ?? 0;
  if (left > 0) counts.set(stamp, left - 1);
  return left > 0;
}
