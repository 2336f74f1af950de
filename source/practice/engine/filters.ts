import { Refusal } from './refusal.ts';

export interface Filters {
  has(name: string): boolean;
  /** Whether there is no such filter, or one of its values matches. */
  any(name: string, matches: (value: string) => boolean): boolean;
  /** `label=a` or `label=a=b`: all of them must match. */
  labels(labels: Readonly<Record<string, string>>): boolean;
}

/** Reads `{"label":["a=b"]}`, or the older `{"label":{"a=b":true}}`. Refuses unknown names. */
export function readFilters(text: string | null, known: readonly string[]): Filters {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text || '{}');
  } catch {
    throw new Refusal(400, 'invalid filter');
  }
  const filters = new Map<string, string[]>();
  for (const [name, value] of Object.entries(parsed ?? {})) {
    if (!known.includes(name)) throw new Refusal(400, `invalid filter '${name}'`);
    filters.set(name, Array.isArray(value) ? value.map(String) : Object.keys(value ?? {}));
  }
  return {
    has: (name) => filters.has(name),
    any: (name, matches) => filters.get(name)?.some(matches) ?? true,
    labels: (labels) =>
      (filters.get('label') ?? []).every((label) => {
        const [name = '', ...value] = label.split('=');
        return value.length === 0 ? Object.hasOwn(labels, name) : labels[name] === value.join('=');
      }),
  };
}
