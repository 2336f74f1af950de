import { type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { RE2JS } from 're2js';
import { z } from 'zod';
import { configHolds } from '../calls/conditions.ts';
import type { Component } from '../catalog/schema.ts';
import { SchemaIssues } from '../config/schema-issues.ts';
import { fieldText, YamlDocument, type YamlPath } from '../config/yaml-document.ts';
import { cleanLine } from '../text/clean.ts';
import type { ConfigProblem } from './config-problem.ts';

type ConfigFile = NonNullable<Component['configFile']>;
type Place = (path: YamlPath, part: 'key' | 'value') => { line: number; column: number };

interface ReadText {
  value: unknown;
  problems: ConfigProblem[];
  place: Place;
}

/**
 * What is wrong with the text of a configuration file, as far as its form and its schema tell: the product's own check knows more. `schema` is the text of a JSON Schema.
 * Never throws for the text; a schema that is none is our own mistake, and does.
 */
export function checkConfig(
  text: string,
  { format, rules = [] }: Pick<ConfigFile, 'format'> & Partial<Pick<ConfigFile, 'rules'>>,
  schema?: string,
): ConfigProblem[] {
  if (format === undefined) return [];
  const { value, problems, place } = readers[format](text);
  if (problems.length > 0) return problems;
  const misfits = schema === undefined ? [] : schemaProblems(value, schema, place);
  if (misfits.length > 0) return misfits;
  return rules
    .filter(({ when }) => configHolds(when, value))
    .map(({ at, message, remedy, rule }) => ({
      level: 'error',
      ...place(at, 'value'),
      field: fieldText(at),
      message,
      remedy,
      ...(rule !== undefined && { rule }),
    }));
}

function schemaProblems(value: unknown, schema: string, place: Place): ConfigProblem[] {
  const shape = z.fromJSONSchema(JSON.parse(schema));
  const checked = shape.safeParse(value);
  if (checked.success) return [];
  return new SchemaIssues(shape).describe(checked.error.issues, value).map(({ path, part, field, message, remedy }) => ({
    level: 'error',
    ...place(path, part),
    field,
    message,
    // A regular expression tells few people what to write.
    remedy: (/^It must match \//.test(remedy) && wantedAt(JSON.parse(schema), path)) || remedy,
  }));
}

/** What the schema says in words of the value at this path, as a sentence. */
function wantedAt(schema: unknown, path: YamlPath): string | undefined {
  let node = schema as Record<string, unknown> | undefined;
  for (const key of path) {
    const next = typeof key === 'number' ? node?.['items'] : (node?.['properties'] as Record<string, unknown> | undefined)?.[String(key)];
    node = next as Record<string, unknown> | undefined;
  }
  const words = node?.['description'];
  return typeof words === 'string' && words !== '' ? `Write ${words.replace(/\.$/, '')}.` : undefined;
}

/** Complaints of the product's own check, with their lines where it tells them. One that says nothing that is understood is repeated as it is. */
export function toldProblems(output: string, pattern: string | undefined): ConfigProblem[] {
  const lines = output
    .split('\n')
    .map(cleanLine)
    .filter((line) => line.trim() !== '');
  const expression = pattern === undefined ? undefined : RE2JS.compile(pattern);
  const found = lines.flatMap((text): ConfigProblem[] => {
    const matcher = expression?.matcher(text);
    if (!matcher?.find()) return [];
    const groups = expression?.namedGroups() ?? {};
    const group = (name: string) => (name in groups ? (matcher.group(name) ?? undefined) : undefined);
    return [
      {
        level: 'error',
        line: Number(group('line') ?? 1),
        column: Number(group('column') ?? 1),
        field: '',
        message: group('message') ?? text,
        remedy: '',
      },
    ];
  });
  // Some say everything twice: to their log, and to whoever started them.
  const once = new Map(found.map((problem) => [JSON.stringify(problem), problem]));
  if (once.size > 0) return [...once.values()];
  return [
    { level: 'error', line: 1, column: 1, field: '', message: lines.slice(-5).join(' ') || 'It was refused without a word.', remedy: '' },
  ];
}

const readers: Readonly<Record<NonNullable<ConfigFile['format']>, (text: string) => ReadText>> = {
  yaml(text) {
    const document = new YamlDocument(text);
    return {
      value: document.value ?? {},
      problems: document.problems.map((problem) => ({ level: 'error', field: '', ...problem })),
      place: (path, part) => document.place(path, part),
    };
  },
  // With comments, which the products that take JSON by hand allow. As YAML it says where everything stands.
  json(text) {
    const errors: ParseError[] = [];
    parseTree(text, errors, { allowTrailingComma: false });
    if (errors.length > 0)
      return {
        value: undefined,
        problems: errors.slice(0, 1).map(({ error, offset }) => ({
          level: 'error',
          ...placeAt(text, offset),
          field: '',
          message: `This is no JSON: ${syntaxWords(printParseErrorCode(error))}.`,
          remedy: 'Look at commas, quotes and brackets here and on the line above.',
        })),
        place: () => ({ line: 1, column: 1 }),
      };
    return readers.yaml(withoutComments(text));
  },
  // name=value or name = value, a line each; # and ; begin a comment.
  properties(text) {
    const value: Record<string, string> = {};
    const places = new Map<string, number>();
    const problems: ConfigProblem[] = [];
    for (const [at, line] of text.split(/\r?\n/).entries()) {
      if (/^\s*(?:[#;].*)?$/.test(line)) continue;
      const [, name, written] = /^\s*([\w.-]+)\s*\+?=\s*(.*)$/.exec(line) ?? [];
      if (name === undefined) {
        problems.push({
          level: 'error',
          line: at + 1,
          column: 1,
          field: '',
          message: 'This line is neither name=value nor a comment.',
          remedy: 'Write name=value, or # in front of it.',
        });
      } else if (places.has(name) && !line.includes('+=')) {
        problems.push({
          level: 'error',
          line: at + 1,
          column: 1,
          field: name,
          message: `"${cleanLine(name)}" stands in line ${places.get(name)} already.`,
          remedy: 'Keep one of the two.',
        });
      } else {
        places.set(name, at + 1);
        value[name] = written ?? '';
      }
    }
    return { value, problems, place: ([name]) => ({ line: places.get(String(name)) ?? 1, column: 1 }) };
  },
};

function syntaxWords(code: string): string {
  return code.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`).trim();
}

function placeAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Blanks in their place, so that everything else stands where it stood. */
function withoutComments(text: string): string {
  return text.replaceAll(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|^[ \t]*#[^\n]*/gm, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' '),
  );
}
