import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Doubt, FileConditions } from '../calls/file-conditions.ts';
import type { Component } from '../catalog/schema.ts';
import { type JsonObject, listOf, objectOf, parseJson, textOf } from '../text/json-value.ts';
import { nearestName } from '../text/nearest-name.ts';
import { fieldText, type YamlPath } from '../yaml/document.ts';
import { below, insideOf, nodesAt, type SchemaNode } from '../yaml/json-schema.ts';
import { kindWords, SchemaIssues } from '../yaml/schema-issues.ts';
import { type ConfigForm, type ConfigPart, readConfigText, type Unjudged } from './config-text.ts';
import type { ConfigProblem } from './problem.ts';

type ConfigRule = Omit<NonNullable<Component['configFile']>['rules'][number], 'level'> & { level?: 'error' | 'warning' | 'deployed' };

/** Limit of reports per condition: a file with more of them has one common cause. */
const reportedLimit = 20;

export const checkConfig = (...of: Parameters<typeof examineConfig>): ConfigProblem[] => examineConfig(...of).problems;

interface CheckedFile extends Partial<ConfigForm> {
  anyCase?: boolean | undefined;
  emptyIsUnset?: boolean | undefined;
  rules?: readonly ConfigRule[];
}

/**
 * Checks the text of a configuration file for syntax and against its schema: the product's own check knows more. `schema` is the text of
 * a JSON Schema. Never throws because of the text; an invalid schema is our own mistake, and throws. `elsewhere`: the file is not
 * deployed by Quarterdeck.
 */
export function examineConfig(text: string, file: CheckedFile, schema?: string, { elsewhere = false } = {}) {
  const { format, documents, templates, anyCase, emptyIsUnset, rules = [] } = file;
  if (format === undefined) return { problems: [] as ConfigProblem[], unjudged: [] as Unjudged[], isRead: false };
  const read = readConfigText(text, { format, documents, templates });
  const known = schema === undefined ? undefined : readSchema(schema);
  const chosen = documents === 'each' ? kubernetesObjects(read.parts, known?.node) : { parts: read.parts, unjudged: [] };
  const found = chosen.parts.flatMap((written) => {
    if (known === undefined) return brokenRules(written, rules, [], elsewhere);
    const part = anyCase || emptyIsUnset ? asTheProductReads(written, known.node, { anyCase, emptyIsUnset }) : written;
    const misfits = misfitsOf(part, known);
    return [...misfits.map(({ problem }) => problem), ...oldNames(part, known.node), ...brokenRules(part, rules, misfits, elsewhere)];
  });
  return {
    problems: [...read.problems, ...found].toSorted((a, b) => a.line - b.line || a.column - b.column),
    unjudged: [...read.unjudged, ...chosen.unjudged],
    isRead: read.parts.length > 0 || read.problems.length > 0,
  };
}

function brokenRules(part: ConfigPart, rules: readonly ConfigRule[], misfits: readonly Misfit[], elsewhere: boolean): ConfigProblem[] {
  const conditions = new FileConditions(part.value, [...part.doubts, ...misfits.flatMap(({ doubts }) => doubts)]);
  return rules.flatMap(({ id: rule, when, at, message, remedy, level = 'error' }) => {
    const positions = conditions.holding(when, at);
    return positions.slice(0, reportedLimit).map((path, index): ConfigProblem => {
      const more = index === reportedLimit - 1 ? positions.length - reportedLimit : 0;
      return {
        level: level === 'deployed' ? (elsewhere ? 'warning' : 'error') : level,
        ...part.position(path, 'value'),
        field: fieldText(path),
        message: more > 0 ? `${message} Occurrences not shown: ${more}.` : message,
        ...{ remedy, rule },
      };
    });
  });
}

interface Misfit {
  problem: ConfigProblem;
  /** Paths that conditions must not report again. */
  doubts: readonly Doubt[];
}

function readSchema(text: string) {
  const node = parseJson(text) as SchemaNode;
  return { node, shape: z.fromJSONSchema(node) };
}

function misfitsOf({ value, doubts, position }: ConfigPart, { node, shape }: ReturnType<typeof readSchema>): Misfit[] {
  const checked = shape.safeParse(value);
  if (checked.success) return [];
  const isUnknown = (path: YamlPath) => doubts.some((doubt) => isDeepStrictEqual(doubt, path.slice(0, doubt.length)));
  return new SchemaIssues(shape)
    .describe(checked.error.issues, value)
    .filter(({ path }) => !isUnknown(path))
    .map(({ path, part, field, message, remedy, doubt, meant }) => ({
      problem: {
        level: 'error',
        ...position(path, part),
        field,
        message,
        // A regular expression is no help for most people, and "the documentation" is not at hand.
        remedy: (doubt === 'vague' && wantedAt(node, path)) || remedy,
      },
      // An unknown name is present: the value in doubt is the one that was probably meant.
      doubts: doubt === 'unknownName' ? (meant === undefined ? [] : [meant]) : [path],
    }));
}

/** Returns the settings that the schema marks as `deprecated`: the product still accepts them. */
function oldNames({ value, position }: ConfigPart, schema: SchemaNode): ConfigProblem[] {
  const found = new Map<string, ConfigProblem>();
  const search = (inside: unknown, nodes: readonly SchemaNode[], path: YamlPath) => {
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
          ...position(here, 'key'),
          field,
          message: `"${String(key)}" is deprecated, but still accepted.`,
          remedy: String(old['description'] ?? ''),
        });
      if (under.length > 0) search(member, insideOf(schema, nodes, key), here);
    }
  };
  search(value, nodesAt(schema, []), []);
  return [...found.values()];
}

/**
 * Returns the same with the schema's spelling of settings, for products with case-insensitive names, and without settings that are empty.
 * Names of maps that people choose themselves stay, even if empty: a library without settings is valid.
 */
function asTheProductReads(part: ConfigPart, schema: SchemaNode, { anyCase, emptyIsUnset }: Omit<CheckedFile, 'rules'>): ConfigPart {
  const original = new Map<string, YamlPath>();
  const spelled = (value: unknown, nodes: readonly SchemaNode[], path: YamlPath, from: YamlPath): unknown => {
    original.set(fieldText(path), from);
    if (typeof value !== 'object' || value === null) return value;
    const inner = (key: string | number, written: string | number, member: unknown) =>
      spelled(member, insideOf(schema, nodes, key), [...path, key], [...from, written]);
    if (Array.isArray(value)) return value.map((member, index) => inner(index, index, member));
    const settings = nodes.flatMap(({ properties }) => Object.keys(properties ?? {}));
    const known = new Map(settings.map((key) => [anyCase ? key.toLowerCase() : key, key]));
    return Object.fromEntries(
      Object.entries(value).flatMap(([written, member]) => {
        const setting = known.get(anyCase ? written.toLowerCase() : written);
        const key = setting ?? written;
        if (emptyIsUnset && member === null && setting !== undefined) {
          original.set(fieldText([...path, key]), [...from, written]);
          return [];
        }
        return [[key, inner(key, written, member)]];
      }),
    );
  };
  const value = spelled(part.value, nodesAt(schema, []), [], []);
  const asWritten = (path: YamlPath): YamlPath => {
    for (let length = path.length; length > 0; length--) {
      const found = original.get(fieldText(path.slice(0, length)));
      if (found) return [...found, ...path.slice(length)];
    }
    return path;
  };
  return { ...part, value, position: (path, of) => part.position(asWritten(path), of) };
}

function wantedAt(schema: SchemaNode, path: YamlPath): string | undefined {
  const around = nodesAt(schema, path.slice(0, -1));
  const under = path.length === 0 ? [schema] : around.flatMap((node) => below(node, path.at(-1) ?? ''));
  const nodes = nodesAt(schema, path);
  const words =
    under.map(({ description }) => description).find((text): text is string => typeof text === 'string' && text !== '') ??
    (nodes.length > 1 ? [...new Set(nodes.map(kindOfNode))].join(' or ') : '');
  return words === '' ? undefined : `Use ${words.replace(/\.$/, '')}.`;
}

function kindOfNode({ enum: values, description, type }: SchemaNode): string {
  if (Array.isArray(values)) return values.map(String).join(' or ');
  return typeof description === 'string' ? description : (kindWords[String(type)] ?? 'a value from the documentation');
}

/** Returns the objects of a file, including those in a `List`, that are of the schema's kind. Others are reported as not checked. */
function kubernetesObjects(documents: readonly ConfigPart[], schema: JsonObject | undefined) {
  const objects = documents.flatMap((document) => {
    const { kind, items } = objectOf(document.value) ?? {};
    if (!/^(?:\w+)?List$/.test(textOf(kind)) || !Array.isArray(items)) return [document];
    const position: (index: number) => ConfigPart['position'] = (index) => (path, part) =>
      document.position(['items', index, ...path], path.length === 0 ? 'value' : part);
    return listOf(items).map((value, index) => ({ value, doubts: [], position: position(index) }));
  });
  const wanted = textOf(objectOf(objectOf(schema?.['properties'])?.['kind'])?.['const']);
  const kindOf = ({ value }: ConfigPart) => textOf(objectOf(value)?.['kind']);
  const isOther = (one: ConfigPart) => {
    const kind = kindOf(one);
    return kind !== '' && wanted !== '' && kind !== wanted && nearestName(kind, [wanted]) === undefined;
  };
  const others = objects.filter(isOther);
  // A file without an object of that kind is the wrong file: this is reported.
  if (others.length === objects.length) return { parts: objects.slice(0, 1), unjudged: [] };
  return {
    parts: objects.filter((one) => !others.includes(one)),
    unjudged: others.map((one) => ({
      line: one.position(['kind'], 'key').line,
      message: `An object of kind ${kindOf(one)} was not checked.`,
    })),
  };
}
