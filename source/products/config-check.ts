import { z } from 'zod';
import { type Doubt, FileConditions } from '../calls/file-conditions.ts';
import type { Component } from '../catalog/schema.ts';
import { SchemaIssues, valueAt } from '../config/schema-issues.ts';
import { fieldText, type YamlPath } from '../config/yaml-document.ts';
import { parseJson } from '../text/json-value.ts';
import type { ConfigProblem } from './config-problem.ts';
import { type ConfigForm, type ConfigPart, readConfigText, type Unjudged } from './config-text.ts';
import { kubernetesObjects } from './kubernetes-objects.ts';
import { holdsPlaceholder, withoutPlaceholders } from './template-blocks.ts';

type ConfigRule = Omit<NonNullable<Component['configFile']>['rules'][number], 'level'> & { level?: 'error' | 'warning' | 'deployed' };

/** Of one condition: a file in which more is wrong has something in common. */
const toldLimit = 20;

export interface CheckedConfig {
  problems: ConfigProblem[];
  /** What could not be judged, and why. */
  unjudged: Unjudged[];
}

/** {@link examineConfig}, where only what is wrong counts. */
export function checkConfig(...of: Parameters<typeof examineConfig>): ConfigProblem[] {
  return examineConfig(...of).problems;
}

/**
 * What is wrong with the text of a configuration file, as far as its form and its schema tell: the product's own check knows more. `schema` is the text of a JSON Schema.
 * Never throws for the text; a schema that is none is our own mistake, and does. `elsewhere`: it is no file that is deployed from here.
 */
export function examineConfig(
  text: string,
  {
    format,
    documents,
    templates,
    anyCase,
    emptyIsUnset,
    rules = [],
  }: ConfigForm & { anyCase?: boolean | undefined; emptyIsUnset?: boolean | undefined; rules?: readonly ConfigRule[] },
  schema?: string,
  { elsewhere = false }: { elsewhere?: boolean } = {},
): CheckedConfig {
  if (format === undefined) return { problems: [], unjudged: [] };
  const form: ConfigForm & { format: typeof format } = { format, documents, templates };
  const read = readConfigText(text, form);
  const known = schema === undefined ? undefined : readSchema(schema);
  const chosen = documents === 'each' ? kubernetesObjects(read.parts, known?.node) : { parts: read.parts, unjudged: [] };
  const found = chosen.parts.flatMap((written) => {
    const spelled = known !== undefined && anyCase === true ? spelledAsIn(known.node, written) : written;
    const part =
      known !== undefined && emptyIsUnset === true ? { ...spelled, value: withoutEmpty(spelled.value, alternatives(known.node)) } : spelled;
    const misfits = known === undefined ? [] : misfitsOf(part, known, templates !== undefined);
    return [
      ...misfits.map(({ problem }) => problem),
      ...(known === undefined ? [] : oldNames(part, known.node)),
      ...(part.incomplete ? [] : brokenRules(part, rules, misfits, elsewhere)),
    ];
  });
  const problems = [...read.problems, ...found].map(({ field, message, ...problem }) => ({
    ...problem,
    field: withoutPlaceholders(field),
    message: withoutPlaceholders(message),
  }));
  return {
    problems: problems.toSorted((a, b) => a.line - b.line || a.column - b.column),
    unjudged: [...read.unjudged, ...chosen.unjudged],
  };
}

function brokenRules(part: ConfigPart, rules: readonly ConfigRule[], misfits: readonly Misfit[], elsewhere: boolean): ConfigProblem[] {
  const conditions = new FileConditions(part.value, [...part.doubts, ...misfits.flatMap(({ doubts }) => doubts)]);
  return rules.flatMap(({ when, at, message, remedy, rule, level = 'error' }) => {
    const places = conditions.holding(when, at);
    return places.slice(0, toldLimit).map((path, index): ConfigProblem => {
      const more = index === toldLimit - 1 ? places.length - toldLimit : 0;
      return {
        level: level === 'deployed' ? (elsewhere ? 'warning' : 'error') : level,
        ...part.place(path, 'value'),
        field: fieldText(path),
        message: more > 0 ? `${message} So it is in ${more} more places.` : message,
        remedy,
        ...(rule !== undefined && { rule }),
      };
    });
  });
}

interface Misfit {
  problem: ConfigProblem;
  /** What conditions should not speak of again. */
  doubts: readonly Doubt[];
}

interface KnownSchema {
  node: SchemaNode;
  shape: z.ZodType;
}

function readSchema(text: string): KnownSchema {
  const schema = parseJson(text) as SchemaNode;
  return { node: schema, shape: z.fromJSONSchema(schema) };
}

function misfitsOf({ value, doubts, incomplete, place }: ConfigPart, { node, shape }: KnownSchema, hasTemplates: boolean): Misfit[] {
  const checked = shape.safeParse(value);
  if (checked.success) return [];
  const isUnknown = (path: YamlPath, missing: boolean) =>
    (missing && (incomplete === true || doubts.some((doubt) => doubt.about === 'rest' && isSame(doubt.path, path.slice(0, -1))))) ||
    doubts.some((doubt) => doubt.about === 'value' && isSame(doubt.path, path.slice(0, doubt.path.length))) ||
    holdsPlaceholder(String(path.at(-1) ?? '')) ||
    (hasTemplates && /\{\{/.test(textAt(value, path)));
  return new SchemaIssues(shape)
    .describe(checked.error.issues, value)
    .filter(({ path, missing }) => !isUnknown(path, missing))
    .map(({ path, part, field, message, remedy, isUnknownName, meant }) => ({
      problem: {
        level: 'error',
        ...place(path, part),
        field,
        message,
        // A regular expression tells few people what to write, and "the documentation" is not at hand.
        remedy: (/^(?:It must match \/|Use one of the kinds of value)/.test(remedy) && wantedAt(node, path)) || remedy,
      },
      // An unknown name is there, and not what its place lacks.
      doubts: (isUnknownName ? (meant === undefined ? [] : [meant]) : [path]).map((doubted) => ({ path: doubted, about: 'value' })),
    }));
}

function textAt(value: unknown, path: YamlPath): string {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : '';
}

function isSame(one: YamlPath, other: YamlPath): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}

/** Names of maps that people choose themselves stay: a library without settings is one. */
function withoutEmpty(value: unknown, nodes: readonly SchemaNode[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const under = (key: PropertyKey) => nodes.flatMap((node) => below(node, key)).flatMap(alternatives);
  if (Array.isArray(value)) return value.map((member, index) => withoutEmpty(member, under(index)));
  const isSetting = (key: string) => nodes.some(({ properties }) => typeof properties === 'object' && Object.hasOwn(properties ?? {}, key));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === null && isSetting(key) ? [] : [[key, withoutEmpty(member, under(key))]])),
  );
}

/** Settings that the schema calls `deprecated`: the product takes them still. */
function oldNames({ value, place }: ConfigPart, schema: SchemaNode): ConfigProblem[] {
  const found = new Map<string, ConfigProblem>();
  const look = (inside: unknown, nodes: readonly SchemaNode[], path: YamlPath) => {
    if (typeof inside !== 'object' || inside === null) return;
    const entries: [PropertyKey, unknown][] = Array.isArray(inside) ? [...inside.entries()] : Object.entries(inside);
    for (const [key, member] of entries) {
      const here = [...path, key];
      const under = nodes.flatMap((node) => below(node, key));
      const old = under.find(({ deprecated }) => deprecated === true);
      const field = fieldText(here);
      if (old)
        found.set(field, {
          level: 'warning',
          ...place(here, 'key'),
          field,
          message: `"${String(key)}" is an old name, which is taken still.`,
          remedy: String(old['description'] ?? ''),
        });
      if (under.length > 0) look(member, under.flatMap(alternatives), here);
    }
  };
  look(value, alternatives(schema), []);
  return [...found.values()];
}

/** The same with settings written as the schema writes them, where the product does not look at the case of letters. */
function spelledAsIn(schema: SchemaNode, part: ConfigPart): ConfigPart {
  const original = new Map<string, YamlPath>();
  const spelled = (value: unknown, nodes: readonly SchemaNode[], path: YamlPath, from: YamlPath): unknown => {
    original.set(fieldText(path), from);
    if (typeof value !== 'object' || value === null) return value;
    const inner = (key: string | number, written: string | number, member: unknown) =>
      spelled(member, nodes.flatMap((node) => below(node, key)).flatMap(alternatives), [...path, key], [...from, written]);
    if (Array.isArray(value)) return value.map((member, index) => inner(index, index, member));
    const known = new Map(nodes.flatMap(({ properties }) => Object.keys(properties ?? {}).map((key) => [key.toLowerCase(), key])));
    return Object.fromEntries(
      Object.entries(value).map(([written, member]) => {
        const key = known.get(written.toLowerCase()) ?? written;
        return [key, inner(key, written, member)];
      }),
    );
  };
  const value = spelled(part.value, alternatives(schema), [], []);
  const asWritten = (path: YamlPath): YamlPath => {
    for (let length = path.length; length > 0; length--) {
      const found = original.get(fieldText(path.slice(0, length)));
      if (found) return [...found, ...path.slice(length)];
    }
    return path;
  };
  return { ...part, value, place: (path, of) => part.place(asWritten(path), of) };
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

function below(node: SchemaNode, key: PropertyKey): SchemaNode[] {
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
