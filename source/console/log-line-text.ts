import type { LogEntry } from '../fleet/log-store.ts';

/** What makes a line the same in every reading. */
export function markOf(entry: LogEntry): string {
  return `${entry.timeMs ?? ''} ${entry.container} ${entry.stream} ${entry.text}`;
}

/** `password-vault` of `nas/password-vault/password-vault`. */
export function componentName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** `nas` of `nas/stack/password-vault`, `nas/podman` of `nas/podman/stack/password-vault`. */
function hostName(key: string): string {
  return key.split('/').slice(0, -2).join('/');
}

/** What tells the lines of a log apart: the service in that of one component, the component among several, and the host before it where they are on several. */
export type Telling = 'service' | 'component' | 'host';

export function tellingOf(componentKeys: readonly string[]): Telling {
  if (componentKeys.length < 2) return 'service';
  return new Set(componentKeys.map(hostName)).size > 1 ? 'host' : 'component';
}

/** The parts of whose a line is, as far as they tell something. */
export function whoParts({ component, service }: Pick<LogEntry, 'component' | 'service'>, telling: Telling): string[] {
  if (telling === 'service') return [service];
  const name = componentName(component);
  return [...(telling === 'host' ? [hostName(component)] : []), name, ...(service === name || service === '' ? [] : [service])];
}

/** A line for a file or the clipboard: time, whose it is, stderr told apart, text. */
export function fullLine(entry: LogEntry, telling: Telling): string {
  const time = entry.timeMs === undefined ? '-' : new Date(entry.timeMs).toISOString();
  const host = telling === 'host' ? `${hostName(entry.component)}/` : '';
  const name = telling === 'service' ? entry.service : `${host}${componentName(entry.component)}/${entry.service}`;
  return `${time} ${name} ${entry.stream === 'stderr' ? 'stderr' : 'stdout'} ${entry.text}`;
}
