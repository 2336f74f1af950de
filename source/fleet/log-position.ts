import type { LogLine } from '../engine/engine.ts';

/** The lines of one second, each by what its timestamp says beyond that. Numbers alone: there can be 100,000 of them. */
interface Seen {
  second: number;
  fractions: number[];
}

const noFraction = -1;

/**
 * Where reading a log broke off: its last two seconds, and how many lines of them bore each timestamp. Engines are asked for whole seconds again,
 * Podman 4's timestamps are no finer, and Docker writes down the two streams of a program out of order: what was counted here was seen.
 *
 * After a clock was set back an engine sends again what is older in the log and newer in time. `before` are the last two seconds before that: all
 * up to them was seen too.
 */
export class LogPosition {
  #second = Number.NEGATIVE_INFINITY;
  #seen: Seen[] = [];
  #before: readonly Seen[] = [];
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
    // Two of them at most, mostly the last.
    let seen = this.#seen.at(-1);
    if (seen?.second !== second) seen = this.#seen.find((one) => one.second === second);
    if (!seen) {
      seen = { second, fractions: [] };
      this.#seen.push(seen);
    }
    seen.fractions.push(fractionOf(stamp));
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
        if (countDown(before, line)) {
          found = true;
          return true;
        }
        // Where the log was rotated in between, those before are gone; only a fine timestamp tells.
        const isAfter = found || (line.timeMs ?? 0) >= beforeEndMs || (fractionOf(line.stamp) !== noFraction && isCounted(left, line));
        if (!isAfter) return true;
        looking = false;
      }
      if (countDown(left, line)) {
        found = true;
        return true;
      }
      return !found && line.timeMs !== undefined && line.timeMs < firstMs;
    };
  }
}

/** How many lines there are of each fraction, by seconds. */
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

const secondOf = ({ timeMs }: LogLine) => Math.floor((timeMs ?? Number.NaN) / 1000);

function isCounted(counts: Counts, line: LogLine): boolean {
  return counts.get(secondOf(line))?.has(fractionOf(line.stamp)) ?? false;
}

function countDown(counts: Counts, line: LogLine): boolean {
  const here = counts.get(secondOf(line));
  const fraction = fractionOf(line.stamp);
  const left = here?.get(fraction) ?? 0;
  if (left > 0) here?.set(fraction, left - 1);
  return left > 0;
}

/** Behind the point of `2026-11-20T09:46:26.152324560Z`: an engine writes as many digits each time, nine at most. */
function fractionOf(stamp: string): number {
  if (stamp.charCodeAt(pointAt) !== 0x2e) return noFraction;
  let fraction = 0;
  for (let at = pointAt + 1; at < stamp.length; at++) {
    const digit = stamp.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) break;
    fraction = fraction * 10 + digit;
  }
  return fraction;
}

const pointAt = 19;
