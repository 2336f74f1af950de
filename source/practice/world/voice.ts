import type { Random } from './random.ts';

/** A line of a log: to stdout, or as `{err}` to stderr. It may hold newlines: a stack trace is one saying. */
export type Said = string | { err: string };

/** How a program writes its log. */
export interface Voice {
  /** What it says when it starts. */
  begin?(at: Date, random: Random): readonly Said[];
  /** Something that happens in its day. */
  happen(at: Date, random: Random): readonly Said[];
  /** About how often that is. */
  everyMs: number;
  /** What it says when it is asked to end. */
  end?(at: Date, random: Random): readonly Said[];
}

const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');

/** `2026-11-20 12:45:49`, in UTC as containers have it. */
export function dayTime(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ');
}

/** `2026-11-20 12:45:49.123` */
export function dayTimeMs(at: Date): string {
  return at.toISOString().slice(0, 23).replace('T', ' ');
}

/** `2026/11/20 12:45:49` */
export function slashTime(at: Date): string {
  return dayTime(at).replaceAll('-', '/');
}

/** `12:45:49` */
export function clockTime(at: Date): string {
  return at.toISOString().slice(11, 19);
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `20 Nov 2026 12:45:49.123`, as Redis has it. */
export function redisTime(at: Date): string {
  return `${pad(at.getUTCDate())} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()} ${at.toISOString().slice(11, 23)}`;
}

/** All of them on stderr. */
export function toStderr(lines: readonly string[]): Said[] {
  return lines.map((err) => ({ err }));
}
