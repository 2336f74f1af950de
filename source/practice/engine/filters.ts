import { Refusal } from './refusal.ts';

/** `{"label":["a=b"]}`, or the older `{"label":{"a=b":true}}`. Refuses names that are not known there. */
export function readFilters(text: string | null, known: readonly string[]): Map<string, string[]> {
  if (!text) return new Map();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'invalid filter');
  }
  const filters = new Map<string, string[]>();
  for (const [name, value] of Object.entries((parsed ?? {}) as Record<string, unknown>)) {
    if (!known.includes(name)) throw new Refusal(400, `invalid filter '${name}'`);
    filters.set(name, Array.isArray(value) ? value.map(String) : Object.keys((value ?? {}) as object));
  }
  return filters;
}

/** `a` or `a=b`; all of them must hold. */
export function labelsMatch(wanted: readonly string[] | undefined, labels: Readonly<Record<string, string>>): boolean {
  return (wanted ?? []).every((one) => {
    const at = one.indexOf('=');
    return at < 0 ? Object.hasOwn(labels, one) : labels[one.slice(0, at)] === one.slice(at + 1);
  });
}
