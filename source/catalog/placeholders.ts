import type { ComponentCall } from './schema.ts';

const pattern = /<([A-Za-z][\w-]*)>/g;

export const placeholdersIn = (text: string): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '');

/** Returns the path of a request with its query. `fill` completes each of its texts. */
export function requestPath({ path, query }: NonNullable<ComponentCall['http']>, fill = (text: string) => text): string {
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${fill(value)}`);
  return `${fill(path)}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

/** Names unknown to `value` stay unchanged. */
export function fillPlaceholders(text: string, value: (name: string) => string | undefined): string {
  return text.replaceAll(pattern, (written, name: string) => value(name) ?? written);
}
