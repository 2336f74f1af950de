import type { LogEntry } from '../../../logs/store.ts';
import { durationText } from '../../../text/quantities.ts';
import { cut, pad, textWidth } from '../../../text/width.ts';
import type { LogTimes } from './state.ts';

const two = (value: number) => String(value).padStart(2, '0');

export const clockText = (timeMs: number): string => new Date(timeMs).toTimeString().slice(0, 8);

export const dateColumns = 6;

export function dateText(timeMs: number, times: LogTimes): string {
  const time = new Date(timeMs);
  return times === 'utc' ? time.toISOString().slice(5, 10) : `${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

export const timeColumns = (times: LogTimes): number => ({ off: 0, relative: 5, utc: 10, local: 9 })[times];

export function timeText(timeMs: number | undefined, times: LogTimes, nowMs: number): string {
  if (times === 'off') return '';
  const columns = timeColumns(times);
  if (timeMs === undefined) return ' '.repeat(columns);
  if (times === 'relative') return `${durationText(nowMs - timeMs).padStart(columns - 1)} `;
  return times === 'utc' ? `${new Date(timeMs).toISOString().slice(11, 19)}Z ` : `${clockText(timeMs)} `;
}

export function sourceName(entry: Pick<LogEntry, 'component' | 'service'>, naming: SourceNaming): string {
  return sourceParts(entry, naming).join('/');
}

const leastOfName = 5;

/** Returns `sourceName` in this many columns. The component is cut before its host and its service, while all of them fit. */
export function sourceText(
  entry: Pick<LogEntry, 'component' | 'service'>,
  naming: SourceNaming,
  columns: number,
  ellipsis: string,
): string {
  const parts = sourceParts(entry, naming);
  const who = parts.join('/');
  if (textWidth(who) <= columns || parts.length < 2) return pad(who, columns, 'left', ellipsis);
  const at = naming === 'host' ? 1 : 0;
  const others = parts.reduce((sum, part, index) => sum + (index === at ? 0 : textWidth(part) + 1), 0);
  const room = columns - others;
  if (room < leastOfName) return pad(who, columns, 'left', ellipsis);
  return pad(parts.map((part, index) => (index === at ? cut(part, room, ellipsis) : part)).join('/'), columns, 'left', ellipsis);
}

/** Returns the width of the column with the source of each line; 0 when all have the same source. `width` is that of the log. */
export function sourceColumns(services: readonly string[], naming: SourceNaming, width: number): number {
  if (naming === 'service' && services.length < 2) return 0;
  const wide = width >= 100;
  const most = { service: 14, component: wide ? 24 : 16, host: wide ? 32 : 22 }[naming];
  return Math.min(most, Math.max(0, ...services.map(textWidth)));
}

/** Returns the identity of a line, which is the same in every reading. */
export function markOf(entry: LogEntry): string {
  return `${entry.timeMs ?? ''} ${entry.container} ${entry.stream} ${entry.text}`;
}

/** Returns `password-vault` of `nas/password-vault/password-vault`. */
export const componentName = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

/** Returns `nas` of `nas/stack/password-vault`, `nas/podman` of `nas/podman/stack/password-vault`. */
const hostName = (key: string): string => key.split('/').slice(0, -2).join('/');

/** The service within one component, the component among several, preceded by the host where they are on several. */
export type SourceNaming = 'service' | 'component' | 'host';

export function sourceNamingOf(componentKeys: readonly string[]): SourceNaming {
  if (componentKeys.length < 2) return 'service';
  return new Set(componentKeys.map(hostName)).size > 1 ? 'host' : 'component';
}

export function sourceParts({ component, service }: Pick<LogEntry, 'component' | 'service'>, naming: SourceNaming): string[] {
  if (naming === 'service') return [service];
  const name = componentName(component);
  return [...(naming === 'host' ? [hostName(component)] : []), name, ...(service === name || service === '' ? [] : [service])];
}

export function fullLine(entry: LogEntry, naming: SourceNaming): string {
  const time = entry.timeMs === undefined ? '-' : new Date(entry.timeMs).toISOString();
  const host = naming === 'host' ? `${hostName(entry.component)}/` : '';
  const name = naming === 'service' ? entry.service : `${host}${componentName(entry.component)}/${entry.service}`;
  return `${time} ${name} ${entry.stream === 'stderr' ? 'stderr' : 'stdout'} ${entry.text}`;
}
