import { isTooDeep, nestingProblem } from './nesting.ts';

/* Reads the output of another program: a value of another type counts as missing. */

export type JsonObject = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

export function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** Returns an empty object for any other value. */
export function mapOf(value: unknown): JsonObject {
  return objectOf(value) ?? {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a list; a single value counts as a list of one. */
export function oneOrMore(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

/** Returns the objects of a list: other items are ignored. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return listOf(value).filter((one): one is JsonObject => objectOf(one) !== undefined);
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

/** Returns a copy with each text replaced. Names of members stay. */
export function mapTexts(value: unknown, replace: (text: string, path: Path) => string, path: Path = []): unknown {
  if (typeof value === 'string') return replace(value, path);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, replace, [...path, index]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapTexts(member, replace, [...path, key])]));
}

/** Returns a time in milliseconds. Go's zero time (year 1) means "not set". */
export function timeOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

/** `JSON.parse` for external text: nesting that is too deep is a syntax error, and not a stack overflow in code that walks the value. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(nestingProblem);
  return JSON.parse(text);
}

/** Returns undefined for invalid JSON. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
