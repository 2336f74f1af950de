import type { LogEntry } from '../fleet/log-store.ts';

/** What makes a line the same in every reading. */
export function markOf(entry: LogEntry): string {
  return `${entry.timeMs ?? ''} ${entry.container} ${entry.stream} ${entry.text}`;
}

/** `password-vault` of `nas/password-vault/password-vault`. */
export function componentName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** A line for a file or the clipboard: time, whose it is, stderr told apart, text. */
export function fullLine(entry: LogEntry, several: boolean): string {
  const time = entry.timeMs === undefined ? '-' : new Date(entry.timeMs).toISOString();
  const name = several ? `${componentName(entry.component)}/${entry.service}` : entry.service;
  return `${time} ${name} ${entry.stream === 'stderr' ? 'stderr' : 'stdout'} ${entry.text}`;
}
