/** `2026-11-20T09:46:26.152324560+00:00`. */
export const stampLimitBytes = 35;

/**
 * Milliseconds of a timestamp as engines write it before each line: RFC 3339 with up to nine digits behind the point (Docker), or to the
 * second (Podman 4). Undefined for anything else. By hand because it runs for every line: `Date.parse` costs ten times as much.
 */
export function parseStamp(bytes: Uint8Array, from = 0, end = bytes.length): number | undefined {
  if (end - from < 20 || end - from > stampLimitBytes) return undefined;
  if (bytes[from + 4] !== dash || bytes[from + 7] !== dash || bytes[from + 10] !== letterT) return undefined;
  if (bytes[from + 13] !== colon || bytes[from + 16] !== colon) return undefined;
  const year = number(bytes, from, from + 4);
  const month = number(bytes, from + 5, from + 7);
  const day = number(bytes, from + 8, from + 10);
  const hour = number(bytes, from + 11, from + 13);
  const minute = number(bytes, from + 14, from + 16);
  const second = number(bytes, from + 17, from + 19);
  let at = from + 19;
  let ms = 0;
  if (bytes[at] === point) {
    const start = ++at;
    while (at < end && isDigit(bytes[at])) at++;
    if (at === start || at - start > 9) return undefined;
    for (let place = 0; place < 3; place++) ms = ms * 10 + (start + place < at ? (bytes[start + place] as number) - zero : 0);
  }
  let offsetMinutes = 0;
  if (bytes[at] === letterZ) {
    if (at + 1 !== end) return undefined;
  } else {
    if ((bytes[at] !== plus && bytes[at] !== dash) || bytes[at + 3] !== colon || at + 6 !== end) return undefined;
    offsetMinutes = (number(bytes, at + 1, at + 3) * 60 + number(bytes, at + 4, at + 6)) * (bytes[at] === plus ? 1 : -1);
  }
  const time = Date.UTC(year, month - 1, day, hour, minute - offsetMinutes, second, ms);
  return Number.isNaN(time) ? undefined : time;
}

const pointAt = 19;
/** Of a timestamp in whole seconds. */
export const noFraction = -1;

/**
 * What a timestamp says beyond its second, of `2026-11-20T09:46:26.152324560Z` 152,324,560: an engine writes as many digits each time, nine at most.
 */
export function fractionOf(stamp: string): number {
  if (stamp.charCodeAt(pointAt) !== point) return noFraction;
  let fraction = 0;
  for (let at = pointAt + 1; at < stamp.length; at++) {
    const digit = stamp.charCodeAt(at) - zero;
    if (digit < 0 || digit > 9) break;
    fraction = fraction * 10 + digit;
  }
  return fraction;
}

/** Reads timestamps that lie in bytes, one after the other: most of them differ from the one before behind the point only. */
export class StampReader {
  /** Up to the point, of the timestamp that `#secondMs` is the time of. */
  readonly #second = new Uint8Array(pointAt);
  #secondMs = Number.NaN;
  /** Undefined where it follows from the second and the fraction. */
  #stamp: string | undefined = '';
  /** Of the timestamp that was read last; NaN where it was none. */
  timeMs = Number.NaN;
  /** The same as `fractionOf`. */
  fraction = noFraction;

  /** Is it one? */
  read(bytes: Uint8Array, from: number, end: number): boolean {
    if (this.#readFraction(bytes, from, end)) return true;
    this.timeMs = parseStamp(bytes, from, end) ?? Number.NaN;
    if (Number.isNaN(this.timeMs)) return false;
    this.#stamp = Buffer.from(bytes.subarray(from, end)).toString('latin1');
    this.fraction = fractionOf(this.#stamp);
    if (bytes[end - 1] === letterZ) {
      this.#second.set(bytes.subarray(from, from + pointAt));
      this.#secondMs = Math.floor(this.timeMs / 1000) * 1000;
    }
    return true;
  }

  /** To the letter, the one that was read last. */
  get stamp(): string {
    return this.#stamp ?? `${Buffer.from(this.#second).toString('latin1')}.${String(this.fraction).padStart(9, '0')}Z`;
  }

  /** Where it is of the same second as the one before, with nine digits: Docker's always have them. */
  #readFraction(bytes: Uint8Array, from: number, end: number): boolean {
    if (end - from !== pointAt + 11 || bytes[from + pointAt] !== point || bytes[end - 1] !== letterZ || Number.isNaN(this.#secondMs))
      return false;
    // From its end: that is where another one differs.
    for (let at = pointAt - 1; at >= 0; at--) if (bytes[from + at] !== this.#second[at]) return false;
    let fraction = 0;
    for (let at = from + pointAt + 1; at < end - 1; at++) {
      const digit = (bytes[at] as number) - zero;
      if (digit < 0 || digit > 9) return false;
      fraction = fraction * 10 + digit;
    }
    this.#stamp = undefined;
    this.fraction = fraction;
    this.timeMs = this.#secondMs + Math.floor(fraction / 1e6);
    return true;
  }
}

const zero = 0x30;
const dash = 0x2d;
const colon = 0x3a;
const point = 0x2e;
const plus = 0x2b;
const letterT = 0x54;
const letterZ = 0x5a;

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= 0x39;
}

/** NaN when something else than digits stands there. */
function number(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at])) return Number.NaN;
    value = value * 10 + ((bytes[at] as number) - zero);
  }
  return value;
}
