/** `2026-11-20T09:46:26.152324560+00:00`. */
export const stampLimitBytes = 35;

/**
 * RFC 3339 with up to nine digits after the point (Docker), or in seconds (Podman 4). Undefined for any other text. Parsed by hand because
 * it runs for every line: `Date.parse` costs ten times as much.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: parses byte by byte, for every line of every log
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
    for (let digit = start; digit < start + 3; digit++) ms = ms * 10 + (digit < at ? (bytes[digit] as number) - zero : 0);
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
export const noFraction = -1;

/** 152,324,560 for `2026-11-20T09:46:26.152324560Z`: an engine always writes the same number of digits, at most nine. */
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

/** Reads consecutive timestamps from bytes: most of them differ from the previous one only after the point. */
export class StampReader {
  /** The part up to the point, of the timestamp whose time is `#secondMs`. */
  readonly #second = new Uint8Array(pointAt);
  #secondMs = Number.NaN;
  /** Undefined if it follows from the second and the fraction. */
  #stamp: string | undefined = '';
  /** NaN if it was not one. */
  timeMs = Number.NaN;
  fraction = noFraction;

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

  get stamp(): string {
    return this.#stamp ?? `${Buffer.from(this.#second).toString('latin1')}.${String(this.fraction).padStart(9, '0')}Z`;
  }

  /** Fast path for the same second as the previous one, with nine digits: Docker's always have them. */
  #readFraction(bytes: Uint8Array, from: number, end: number): boolean {
    if (end - from !== pointAt + 11 || bytes[from + pointAt] !== point || bytes[end - 1] !== letterZ || Number.isNaN(this.#secondMs))
      return false;
    // From the end, where timestamps differ.
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

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= 0x39;

function number(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at])) return Number.NaN;
    value = value * 10 + ((bytes[at] as number) - zero);
  }
  return value;
}
