import { z } from 'zod';
import { nameRemedy, nearestName } from '../text/nearest-name.ts';
import { shownValue } from '../text/shown-value.ts';
import { fieldText, type YamlPath } from './yaml-document.ts';

/** What a zod issue says, for a person. */
export interface SchemaIssue {
  path: YamlPath;
  /** Is it the key that is wrong, or its value? */
  part: 'key' | 'value';
  /** `ports.web.exposure` */
  field: string;
  message: string;
  remedy: string;
  /** Is nothing there? */
  missing: boolean;
  isUnknownName: boolean;
  /** For an unknown name, the one that was probably meant. */
  meant?: YamlPath;
}

type Json = Record<string, unknown>;

/** Of unknown keys at one place: a file with more of them is another file. */
const unknownLimit = 20;

/** Turns the issues of one schema into sentences. Loads zod: import it lazily where start-up time counts. */
export class SchemaIssues {
  readonly #shape: Json;

  constructor(schema: z.ZodType) {
    this.#shape = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
  }

  describe(issues: readonly z.core.$ZodIssue[], value: unknown): SchemaIssue[] {
    // A misspelt key is missing under its right name too; saying it once is enough.
    const meant = new Set(
      issues.flatMap((issue) =>
        issue.code === 'unrecognized_keys'
          ? issue.keys.slice(0, unknownLimit).map((key) => fieldText([...issue.path, nearestName(key, this.#keysAt(issue.path)) ?? '']))
          : [],
      ),
    );
    return issues.flatMap((issue) =>
      meant.has(fieldText(issue.path)) && valueAt(value, issue.path) === undefined ? [] : this.#describe(issue, value),
    );
  }

  #keysAt(path: YamlPath): string[] {
    return Object.keys((shapeAt(this.#shape, path)?.['properties'] as Json | undefined) ?? {});
  }

  #describe(issue: z.core.$ZodIssue, value: unknown): SchemaIssue[] {
    const path = issue.path;
    const field = fieldText(path);
    const last = path.at(-1);
    const name = last === undefined ? 'The file' : `"${typeof last === 'number' ? field : String(last)}"`;
    const one = (message: string, remedy: string, part: SchemaIssue['part'] = 'value'): SchemaIssue[] => [
      { path, part, field, message, remedy, missing, isUnknownName: false },
    ];
    const missing = valueAt(value, path) === undefined;

    switch (issue.code) {
      case 'unrecognized_keys': {
        const known = this.#keysAt(path);
        return issue.keys.slice(0, unknownLimit).map((key, index) => {
          const more = index === unknownLimit - 1 ? issue.keys.length - unknownLimit : 0;
          const near = nearestName(key, known);
          return {
            path: [...path, key],
            part: 'key' as const,
            field: fieldText([...path, key]),
            message: more > 0 ? `"${key}" and ${more} more are not known here.` : `"${key}" is not known here.`,
            remedy: nameRemedy(key, known, 'Remove it.'),
            missing: false,
            isUnknownName: true,
            ...(near !== undefined && { meant: [...path, near] }),
          };
        });
      }
      case 'invalid_type':
        if (missing) return one(`${name} is missing.`, `Add it: ${aOrAn(kindWords[issue.expected] ?? issue.expected)}.`);
        return one(
          `${name} must be ${aOrAn(kindWords[issue.expected] ?? issue.expected)}, not ${kindOf(valueAt(value, path))}.`,
          valueAt(value, path) === null
            ? `${path.length === 0 ? 'Write it' : 'Give it a value'}, or remove ${path.length === 0 ? 'the file' : 'the line'}.`
            : issue.expected === 'string'
              ? 'Put it into quotes.'
              : `Write ${aOrAn(kindWords[issue.expected] ?? issue.expected)}.`,
        );
      case 'invalid_value': {
        const allowed = issue.values.map(String);
        if (missing) return one(`${name} is missing.`, `Add it: one of ${allowed.join(', ')}.`);
        const written = String(valueAt(value, path));
        return one(`${name} cannot be ${shownValue(written)}.`, nameRemedy(written, allowed, 'Change the value.'));
      }
      case 'invalid_key':
        return one(`The name "${String(path.at(-1))}" is not allowed: ${issue.issues[0]?.message ?? 'wrong form'}.`, 'Rename it.', 'key');
      case 'invalid_format':
        if (missing) return one(`${name} is missing.`, 'Add it.');
        return one(
          `${name} has the wrong form: ${kindOf(valueAt(value, path))}.`,
          /^Invalid/.test(issue.message) ? `It must ${formWords(issue)}.` : `${capital(issue.message)}.`,
        );
      case 'too_small':
        return one(
          `${name} is too ${issue.origin === 'string' ? 'short' : 'small'}.`,
          `It must be at least ${issue.minimum}${unit(issue.origin)}.`,
        );
      case 'too_big':
        return one(
          `${name} is too ${issue.origin === 'string' ? 'long' : 'big'}.`,
          `It must be at most ${issue.maximum}${unit(issue.origin)}.`,
        );
      case 'invalid_union':
        if (missing) return one(`${name} is missing.`, 'Add it.');
        return one(`${name} cannot be ${kindOf(valueAt(value, path))}.`, 'Use one of the kinds of value that the documentation names.');
      default:
        return one(`${path.length === 0 ? 'The file' : name}: ${issue.message}.`, 'Change it accordingly.');
    }
  }
}

const kindWords: Record<string, string> = {
  object: 'map of names to values',
  record: 'map of names to values',
  array: 'list',
  string: 'text',
  number: 'number',
  int: 'whole number',
  boolean: 'true or false',
};

function aOrAn(words: string): string {
  return words === 'text' || words === 'true or false' ? words : `a ${words}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return shownValue(value);
}

function unit(origin: string): string {
  return origin === 'string' ? ' characters long' : origin === 'array' ? ' entries long' : '';
}

function formWords(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'url') return 'be a URL, such as https://example.org';
  if (issue.format === 'starts_with' && 'prefix' in issue) return `begin with ${String(issue.prefix)}`;
  if (issue.format === 'regex' && issue.pattern) return `match ${issue.pattern}`;
  return `be a valid ${issue.format}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function valueAt(value: unknown, path: YamlPath): unknown {
  let here = value;
  for (const step of path) here = (here as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return here;
}

function shapeAt(shape: Json, path: YamlPath): Json | undefined {
  let here: Json | undefined = shape;
  for (const step of path) {
    if (typeof step === 'number') here = here?.['items'] as Json | undefined;
    else here = ((here?.['properties'] as Json | undefined)?.[String(step)] ?? here?.['additionalProperties']) as Json | undefined;
    if (here === undefined) return undefined;
  }
  return here;
}
