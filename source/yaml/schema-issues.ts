import { z } from 'zod';
import { nameRemedy, nearestName } from '../text/nearest-name.ts';
import { shownValue } from '../text/shown-value.ts';
import { fieldText, type YamlPath } from './document.ts';
import { keysOf, nodesAt, type SchemaNode } from './json-schema.ts';

export interface SchemaIssue {
  path: YamlPath;
  /** Whether the key is wrong, or its value. */
  part: 'key' | 'value';
  /** `ports.web.exposure` */
  field: string;
  message: string;
  remedy: string;
  /** `vague`: the remedy does not say what is expected. */
  doubt?: 'unknownName' | 'vague';
  /** For an unknown name, the name that was probably meant. */
  meant?: YamlPath;
}

/** Names that a file of an earlier version may contain. */
export interface OldNames {
  keys: Readonly<Record<string, string>>;
  values: Readonly<Record<string, Readonly<Record<string, string>>>>;
  dropped: { names: readonly string[]; remedy: string };
}

/** Limit of unknown keys at one position: a file with more of them is another kind of file. */
const unknownLimit = 20;

/** Loads zod: import it lazily where start-up time counts. */
export class SchemaIssues {
  readonly #shape: SchemaNode;
  readonly #oldNames: OldNames | undefined;

  constructor(schema: z.ZodType, oldNames?: OldNames) {
    this.#oldNames = oldNames;
    this.#shape = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode;
  }

  describe(issues: readonly z.core.$ZodIssue[], value: unknown): SchemaIssue[] {
    // A misspelt key is also missing under its correct name; one report is enough.
    const meant = new Set(
      issues.flatMap((issue) =>
        issue.code === 'unrecognized_keys'
          ? issue.keys.slice(0, unknownLimit).map((key) => fieldText([...issue.path, this.#meantBy(key, this.#keysAt(issue.path)) ?? '']))
          : [],
      ),
    );
    return issues.flatMap((issue) =>
      meant.has(fieldText(issue.path)) && valueAt(value, issue.path) === undefined ? [] : this.#describe(issue, value),
    );
  }

  #keysAt(path: YamlPath): string[] {
    return keysOf(nodesAt(this.#shape, path));
  }

  #renamed(key: string, known: readonly string[]): string | undefined {
    const now = this.#oldNames?.keys[key];
    return now !== undefined && known.includes(now) ? now : undefined;
  }

  #meantBy(key: string, known: readonly string[]): string | undefined {
    return this.#renamed(key, known) ?? nearestName(key, known);
  }

  #unknownKey(key: string, known: readonly string[]): { message: string; remedy: string } {
    const now = this.#renamed(key, known);
    if (now !== undefined) return { message: `"${key}" is now "${now}".`, remedy: 'Rename it.' };
    const { names = [], remedy = '' } = this.#oldNames?.dropped ?? {};
    if (names.includes(key)) return { message: `"${key}" is no longer used.`, remedy };
    return { message: `Unknown key "${key}".`, remedy: nameRemedy(key, known, 'Remove it.') };
  }

  #unknownKeys({ path, keys }: z.core.$ZodIssueUnrecognizedKeys): SchemaIssue[] {
    const known = this.#keysAt(path);
    return keys.slice(0, unknownLimit).map((key, index) => {
      const more = index === unknownLimit - 1 ? keys.length - unknownLimit : 0;
      const near = this.#meantBy(key, known);
      const { message, remedy } = this.#unknownKey(key, known);
      return {
        path: [...path, key],
        part: 'key',
        field: fieldText([...path, key]),
        message: more > 0 ? `Unknown keys "${key}" and ${more} more.` : message,
        remedy,
        doubt: 'unknownName',
        ...(near !== undefined && { meant: [...path, near] }),
      };
    });
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one case for each kind of issue
  #describe(issue: z.core.$ZodIssue, whole: unknown): SchemaIssue[] {
    if (issue.code === 'unrecognized_keys') return this.#unknownKeys(issue);
    const { path } = issue;
    const field = fieldText(path);
    const last = path.at(-1);
    const value = valueAt(whole, path);
    const name = last === undefined ? 'The file' : `"${typeof last === 'number' ? field : String(last)}"`;
    const one = (message: string, remedy: string, { part = 'value', ...more }: Partial<SchemaIssue> = {}): SchemaIssue[] => [
      { path, part, field, message, remedy, ...more },
    ];
    const missing = (what = '') => one(`${name} is missing.`, `Add it${what}.`);

    switch (issue.code) {
      case 'invalid_type': {
        const expected = kindWords[issue.expected] ?? `a ${issue.expected}`;
        if (value === undefined) return missing(`: ${expected}`);
        const remedies = path.length === 0 ? 'Add the content, or remove the file.' : 'Set a value, or remove the line.';
        const remedy = issue.expected === 'string' && typeof value !== 'object' ? 'Quote it.' : `Use ${expected}.`;
        return one(`${name} must be ${expected}, not ${kindOf(value)}.`, value === null ? remedies : remedy);
      }
      case 'invalid_value': {
        const allowed = issue.values.map(String);
        if (value === undefined) return missing(`: one of ${allowed.join(', ')}`);
        const written = String(value);
        const now = this.#oldNames?.values[String(last)]?.[written];
        if (now !== undefined) return one(`"${written}" is now "${now}".`, `Use ${now}.`);
        return one(`${name} cannot be ${shownValue(written)}.`, nameRemedy(written, allowed, 'Change the value.'));
      }
      case 'invalid_key':
        return one(`The name "${String(last)}" is not allowed: ${issue.issues[0]?.message ?? 'invalid'}.`, 'Rename it.', { part: 'key' });
      case 'invalid_format': {
        if (value === undefined) return missing();
        const form = /^Invalid/.test(issue.message) ? `It must ${formWords(issue)}` : capital(issue.message);
        return one(`${name} is invalid: ${kindOf(value)}.`, `${form}.`, issue.format === 'regex' ? { doubt: 'vague' } : {});
      }
      case 'too_small':
        return one(
          `${name} is too ${issue.origin === 'string' ? 'short' : 'small'}.`,
          `It must ${bound('at least', issue.minimum, issue)}.`,
        );
      case 'too_big':
        return one(`${name} is too ${issue.origin === 'string' ? 'long' : 'large'}.`, `It must ${bound('at most', issue.maximum, issue)}.`);
      case 'invalid_union': {
        // The key that decides which kind of map it is.
        const kinds = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : undefined;
        if (value === undefined) return missing(kinds && `: one of ${kinds.join(', ')}`);
        if (kinds) return one(`${name} cannot be ${kindOf(value)}.`, nameRemedy(String(value), kinds, 'Change the value.'));
        return one(`${name} cannot be ${kindOf(value)}.`, 'Use one of the documented types.', { doubt: 'vague' });
      }
      default:
        return one(`${name}: ${issue.message}.`, 'Change the value.');
    }
  }
}

/** By type of zod, or of JSON Schema. */
export const kindWords: Readonly<Record<string, string>> = {
  object: 'a map of names to values',
  record: 'a map of names to values',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  integer: 'a whole number',
  boolean: 'true or false',
};

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return shownValue(value);
}

function bound(limit: string, count: number | bigint, { origin }: { origin: string }): string {
  const unit = { string: ['character', 'characters'], array: ['entry', 'entries'] }[origin]?.[count === 1 ? 0 : 1];
  return unit === undefined ? `be ${limit} ${count}` : `have ${limit} ${count} ${unit}`;
}

function formWords(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'url') return 'be a URL, such as https://example.org';
  if (issue.format === 'starts_with' && 'prefix' in issue) return `begin with ${String(issue.prefix)}`;
  if (issue.format === 'regex' && issue.pattern) return `match ${issue.pattern}`;
  return `be a valid ${issue.format}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function valueAt(value: unknown, path: YamlPath): unknown {
  let here = value;
  for (const step of path) here = (here as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return here;
}
