import { isTooDeep, nestingProblem } from './nesting.ts';

/* Reading what another program wrote: a value of another kind counts as missing. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

/** `JSON.parse` for text from outside: what is nested too deep is a syntax error, and not a full stack of whatever walks the value. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(nestingProblem);
  return JSON.parse(text);
}

/** Undefined for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
