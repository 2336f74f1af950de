import type { LogEntry } from '../../fleet/log-store.ts';
import { durationText } from '../../text/quantities.ts';
import { cut, pad, textWidth } from '../../text/width.ts';
import type { LogTimes } from '../interface-store.ts';
import { componentName } from '../log-line-text.ts';

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

/** Whose a line is: the service, and among several components the component before it. */
export function whoOf({ component, service }: Pick<LogEntry, 'component' | 'service'>, merged: boolean): string {
  if (!merged) return service;
  const name = componentName(component);
  return service === name || service === '' ? name : `${name}/${service}`;
}

/** `whoOf` in so many columns. The component gives way before its service does, as long as both can be told. */
export function whoText(entry: Pick<LogEntry, 'component' | 'service'>, merged: boolean, columns: number, ellipsis: string): string {
  const who = whoOf(entry, merged);
  const slash = who.indexOf('/');
  const service = slash < 0 ? '' : who.slice(slash);
  const room = columns - textWidth(service);
  const shown = textWidth(who) > columns && service !== '' && room >= 5 ? cut(who.slice(0, slash), room, ellipsis) + service : who;
  return pad(shown, columns, 'left', ellipsis);
}

/** Columns for whose lines these are; none where all are of one. `width` is that of the log. */
export function whoColumns(services: readonly string[], merged: boolean, width: number): number {
  if (!merged && services.length < 2) return 0;
  const most = !merged ? 14 : width >= 100 ? 24 : 16;
  return Math.min(most, Math.max(0, ...services.map(textWidth)));
}
