import type { LogEntry } from '../../fleet/log-store.ts';
import { durationText } from '../../text/quantities.ts';
import { cut, pad, textWidth } from '../../text/width.ts';
import type { LogTimes } from '../interface-store.ts';
import { type Telling, whoParts } from '../log-line-text.ts';

const two = (value: number) => String(value).padStart(2, '0');

/** `14:01:02`, in the operator's time zone. */
export function clockText(timeMs: number): string {
  const time = new Date(timeMs);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** Columns of `dateText` with the space behind it. */
export const dateColumns = 6;

/** `11-19`: the day as the clock beside it counts days. */
export function dateText(timeMs: number, times: LogTimes): string {
  const time = new Date(timeMs);
  return times === 'utc' ? time.toISOString().slice(5, 10) : `${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

/** Columns of a time with the space behind it. */
export function timeColumns(times: LogTimes): number {
  return { off: 0, relative: 5, utc: 10, local: 9 }[times];
}

export function timeText(timeMs: number | undefined, times: LogTimes, nowMs: number): string {
  if (times === 'off') return '';
  const columns = timeColumns(times);
  if (timeMs === undefined) return ' '.repeat(columns);
  if (times === 'relative') return `${durationText(nowMs - timeMs).padStart(columns - 1)} `;
  return times === 'utc' ? `${new Date(timeMs).toISOString().slice(11, 19)}Z ` : `${clockText(timeMs)} `;
}

/** Whose a line is. */
export function whoOf(entry: Pick<LogEntry, 'component' | 'service'>, telling: Telling): string {
  return whoParts(entry, telling).join('/');
}

/** Of a component's name at least so much stays. */
const leastOfName = 5;

/** `whoOf` in so many columns. The component gives way before its host and its service do, as long as all can be told. */
export function whoText(entry: Pick<LogEntry, 'component' | 'service'>, telling: Telling, columns: number, ellipsis: string): string {
  const parts = whoParts(entry, telling);
  const who = parts.join('/');
  if (textWidth(who) <= columns || parts.length < 2) return pad(who, columns, 'left', ellipsis);
  const at = telling === 'host' ? 1 : 0;
  const others = parts.reduce((sum, part, index) => sum + (index === at ? 0 : textWidth(part) + 1), 0);
  const room = columns - others;
  if (room < leastOfName) return pad(who, columns, 'left', ellipsis);
  return pad(parts.map((part, index) => (index === at ? cut(part, room, ellipsis) : part)).join('/'), columns, 'left', ellipsis);
}

/** Columns for whose lines these are; none where all are of one. `width` is that of the log. */
export function whoColumns(services: readonly string[], telling: Telling, width: number): number {
  if (telling === 'service' && services.length < 2) return 0;
  const wide = width >= 100;
  const most = { service: 14, component: wide ? 24 : 16, host: wide ? 32 : 22 }[telling];
  return Math.min(most, Math.max(0, ...services.map(textWidth)));
}
