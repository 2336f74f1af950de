import { type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { RE2JS } from 're2js';
import { z } from 'zod';
import { configHolds } from '../calls/conditions.ts';
import type { Component } from '../catalog/schema.ts';
import { SchemaIssues } from '../config/schema-issues.ts';
import { fieldText, YamlDocument, type YamlPath } from '../config/yaml-document.ts';
import { cleanLine } from '../text/clean.ts';
import type { ConfigProblem } from './config-problem.ts';
import { readHcl } from './hcl-text.ts';
import { inspectConfig } from './wireguard/inspect-config.ts';

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
    // A regular expression tells few people what to write, and "the documentation" is not at hand.
    remedy: (/^(?:It must match \/|Use one of the kinds of value)/.test(remedy) && wantedAt(JSON.parse(schema), path)) || remedy,
  }));
}

type SchemaNode = Readonly<Record<string, unknown>>;

/** What the schema says in words of the value at this path, as a sentence. */
function wantedAt(schema: SchemaNode, path: YamlPath): string | undefined {
  let nodes = alternatives(schema);
  let under: SchemaNode[] = [schema];
  for (const key of path) {
    under = nodes.flatMap((node) => below(node, key));
    nodes = under.flatMap(alternatives);
  }
  const words =
    under.map(({ description }) => description).find((text): text is string => typeof text === 'string' && text !== '') ??
    (nodes.length > 1 ? [...new Set(nodes.map(kindOfNode))].join(' or ') : '');
  return words === '' ? undefined : `Write ${words.replace(/\.$/, '')}.`;
}

/** The schema itself, or those that it lets choose between. */
function alternatives(node: SchemaNode): SchemaNode[] {
  const choices = node['anyOf'] as SchemaNode[] | undefined;
  return choices === undefined ? [node] : choices.flatMap(alternatives);
}

function below(node: SchemaNode, key: YamlPath[number]): SchemaNode[] {
  const named = (node['properties'] as Readonly<Record<string, SchemaNode>> | undefined)?.[String(key)];
  if (named !== undefined) return [named];
  for (const [pattern, other] of Object.entries((node['patternProperties'] as Readonly<Record<string, SchemaNode>> | undefined) ?? {}))
    if (new RegExp(pattern).test(String(key))) return [other];
  const rest = typeof key === 'number' ? node['items'] : node['additionalProperties'];
  return typeof rest === 'object' && rest !== null ? [rest as SchemaNode] : [];
}

function kindOfNode({ enum: values, description, type }: SchemaNode): string {
  if (Array.isArray(values)) return values.map(String).join(' or ');
  if (typeof description === 'string') return description;
  const words: Readonly<Record<string, string>> = {
    string: 'text',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    array: 'a list',
    object: 'a map of names to values',
  };
  return words[String(type)] ?? 'what the documentation names';
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
    const plain = withoutComments(text);
    parseTree(plain, errors, { allowTrailingComma: false });
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
    return readers.yaml(plain);
  },
  'wg-quick': (text) => ({ value: {}, problems: inspectConfig(text).problems.slice(), place: () => ({ line: 1, column: 1 }) }),
  hcl(text) {
    const { value, problem, place } = readHcl(text);
    return { value, problems: problem ? [problem] : [], place };
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
  return text.replaceAll(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|#[^\n]*/g, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' '),
  );
}
