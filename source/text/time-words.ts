import parseDuration from 'parse-duration';
import { cleanLine } from './clean.ts';

export const timeWordsHint = '10m or 2h30m (before now), 14:02, 2026-11-20, 2026-11-20 14:02 (add Z for UTC), @1763647200 or now';

const duration = /^-?(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?)[\s,]*)+(?:ago)?$/i;
const unixTime = /^(@?)(\d{1,16})(?:\.(\d{1,9}))?$/;
const moment =
  /^(?:(\d{4})-(\d{1,2})-(\d{1,2})|(today|yesterday))?(?:(?:^|[Tt]|\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?$/i;
/** Earlier than any container engine; an earlier time is a typing error. */
const earliestMs = Date.UTC(2000, 0, 1);
const latestMs = Date.UTC(2200, 0, 1);

/** In the machine's zone unless it names one; a time of day is its last occurrence. Never throws. */
export function parseTimeWords(typed: string, nowMs: number): { timeMs: number } | { problem: string } {
  const written = typed.trim();
  const timeMs = written.length > 60 ? undefined : timeOf(written, nowMs);
  if (timeMs !== undefined && timeMs >= earliestMs && timeMs < latestMs) return { timeMs };
  if (written === '') return { problem: `A time is required: use ${timeWordsHint}.` };
  if (/^\d{1,8}$/.test(written))
    return { problem: `"${written}" has no unit: use ${written}m for minutes or ${written}h for hours, or put @ before Unix seconds.` };
  const shown = cleanLine(written);
  return { problem: `"${shown.length > 40 ? `${shown.slice(0, 40)}...` : shown}" is not a valid time: use ${timeWordsHint}.` };
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each form of a time is tried in turn
function timeOf(written: string, nowMs: number): number | undefined {
  if (/^now$/i.test(written)) return nowMs;
  if (duration.test(written)) {
    const ms = parseDuration(written.replace(/^-/, '').replace(/,/g, ' '));
    return ms === null ? undefined : nowMs - Math.round(ms);
  }
  const unix = unixTime.exec(written);
  if (unix) return timeOfUnix(unix);
  const found = moment.exec(written);
  if (!found || written === '') return undefined;
  const [, year, month, day, word, hour, minute, second, fraction, zone] = found;
  if (year === undefined && word === undefined && hour === undefined) return undefined;
  const ms = Math.floor(Number(`0.${fraction ?? 0}`) * 1000);
  const clock: Clock = [Number(hour ?? 0), Number(minute ?? 0), Number(second ?? 0), ms];
  if (clock[0] > 23 || clock[1] > 59 || clock[2] > 59) return undefined;
  const offsetMinutes = offsetOf(zone);
  if (Number.isNaN(offsetMinutes)) return undefined;
  if (year !== undefined) return timeAt([Number(year), Number(month), Number(day)], clock, offsetMinutes);
  const today = dayAt(nowMs, offsetMinutes);
  const yesterday: Day = [today[0], today[1], today[2] - 1];
  if (word !== undefined) return timeAt(/^today$/i.test(word) ? today : yesterday, clock, offsetMinutes, true);
  const timeMs = timeAt(today, clock, offsetMinutes);
  return timeMs !== undefined && timeMs > nowMs ? timeAt(yesterday, clock, offsetMinutes, true) : timeMs;
}

/** Seconds, or milliseconds if seconds would be in the far future. A bare number this short is not a time. */
function timeOfUnix([, at, digits = '', fraction = '']: RegExpExecArray): number | undefined {
  if (at === '' && digits.length < 9) return undefined;
  if (digits.length >= 12) return Number(digits);
  return Number(digits) * 1000 + Math.floor(Number(`0.${fraction || 0}`) * 1000);
}

/** The month is from 1. */
type Day = readonly [year: number, month: number, day: number];
type Clock = readonly [hour: number, minute: number, second: number, ms: number];

/** Minutes east of Greenwich; undefined is the machine's own zone. */
function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  if (/^[a-z]/i.test(zone)) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  return hours > 14 || minutes > 59 ? Number.NaN : (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

function dayAt(timeMs: number, offsetMinutes: number | undefined): Day {
  if (offsetMinutes === undefined) {
    const local = new Date(timeMs);
    return [local.getFullYear(), local.getMonth() + 1, local.getDate()];
  }
  const there = new Date(timeMs + offsetMinutes * 60_000);
  return [there.getUTCFullYear(), there.getUTCMonth() + 1, there.getUTCDate()];
}

/** Undefined for a day that is not in the calendar. `overflows`: a day of 0 is the last of the previous month. */
function timeAt([year, month, day]: Day, clock: Clock, offsetMinutes: number | undefined, overflows = false): number | undefined {
  const parts = [year, month - 1, day, ...clock] as const;
  const calendar = new Date(Date.UTC(year, month - 1, day));
  if (!overflows && (calendar.getUTCMonth() !== month - 1 || calendar.getUTCDate() !== day)) return undefined;
  return offsetMinutes === undefined ? new Date(...parts).getTime() : Date.UTC(...parts) - offsetMinutes * 60_000;
}
