import type { Doubt } from '../calls/file-conditions.ts';
import type { Component } from '../catalog/schema.ts';
import { type Place, YamlDocument, type YamlPath } from '../config/yaml-document.ts';
import { cleanLine } from '../text/clean.ts';
import { placeAt } from '../text/text-place.ts';
import type { ConfigProblem } from './config-problem.ts';
import { readHcl } from './hcl-text.ts';
import { readJson, readKeaJson } from './json-text.ts';
import { holdsPlaceholder, maskTemplate } from './template-blocks.ts';
import { inspectConfig } from './wireguard/inspect-config.ts';

type ConfigFile = NonNullable<Component['configFile']>;
export type ConfigForm = Pick<ConfigFile, 'format'> & Partial<Pick<ConfigFile, 'documents' | 'templates'>>;

/** What of a file was not judged, and why: no mistake. */
export interface Unjudged {
  line: number;
  message: string;
}

/** A document that was read. */
export interface ConfigPart {
  value: unknown;
  doubts: readonly Doubt[];
  /** May anything be missing because it comes later? */
  incomplete?: boolean;
  place(path: YamlPath, part: 'key' | 'value'): Place;
}

export interface ConfigText {
  /** Several where a file may hold several documents; none where it cannot be read. */
  parts: readonly ConfigPart[];
  problems: readonly ConfigProblem[];
  unjudged: readonly Unjudged[];
}

/** Reads a text as far as its form goes. Never throws. */
export function readConfigText(text: string, form: ConfigForm & { format: NonNullable<ConfigFile['format']> }): ConfigText {
  if (form.templates !== undefined) return readTemplate(text, form);
  const read = readers[form.format](text, form);
  const unfilled = read.parts.length === 0 ? /^[ \t]*(?:- )?\{[%{]/m.exec(text) : null;
  if (!unfilled) return read;
  // Everything else that is said of it follows from this.
  const { line } = placeAt(text, unfilled.index);
  const message = 'This is a template, of Jinja or Helm perhaps, and the product reads what is made of it.';
  return { ...read, problems: [{ level: 'error', line, column: 1, field: '', message, remedy: 'Fill it in first, and check that.' }] };
}

type Reader = (text: string, form: ConfigForm) => ConfigText;

const readers: Readonly<Record<NonNullable<ConfigFile['format']>, Reader>> = {
  yaml(text, { documents }) {
    if (documents === undefined) return yamlText([text]);
    const [first = '', ...others] = documentsOf(text);
    if (documents === 'each') return yamlText([first, ...others]);
    const read = yamlText([first]);
    const ignored = others.find((other) => new YamlDocument(other).value != null);
    if (ignored === undefined) return read;
    const warning: ConfigProblem = {
      level: 'warning',
      line: (/^\n*/.exec(ignored)?.[0].length ?? 0) + 1,
      column: 1,
      field: '',
      message: 'A second document begins here. The first alone is read, all that follows is ignored.',
      remedy: 'Move it into the first one, or remove it.',
    };
    return { ...read, problems: [...read.problems, warning] };
  },
  json: readJson,
  'kea-json': readKeaJson,
  'wg-quick': (text) => ({
    parts: [{ value: {}, doubts: [], place: () => ({ line: 1, column: 1 }) }],
    problems: inspectConfig(text).problems,
    unjudged: [],
  }),
  hcl(text) {
    const { value, problem, place } = readHcl(text);
    return problem
      ? { parts: [], problems: [problem], unjudged: [] }
      : { parts: [{ value, doubts: [], place }], problems: [], unjudged: [] };
  },
  properties: readProperties,
};

function yamlText(texts: readonly string[]): ConfigText {
  const documents = texts.map((text) => new YamlDocument(text));
  const problems = documents.flatMap((document) => document.problems.map((one) => ({ level: 'error' as const, field: '', ...one })));
  if (problems.length > 0) return { parts: [], problems, unjudged: [] };
  return {
    parts: documents.map((document) => ({
      value: document.value ?? {},
      doubts: [],
      place: (path, part) => document.place(path, part),
    })),
    problems,
    unjudged: [],
  };
}

/** The documents of a file, each with the lines before it left empty. Those without anything in them are left out, but for the only one. */
function documentsOf(text: string): string[] {
  const documents: string[] = [];
  let lines: string[] = [];
  const all = text.split('\n');
  for (const [at, line] of all.entries()) {
    if (at > 0 && /^---(?=\s|$)/.test(line)) {
      documents.push(lines.join('\n'));
      lines = all.slice(0, at).map(() => '');
    }
    lines.push(line);
  }
  documents.push(lines.join('\n'));
  const holding = documents.filter((one) => one.split('\n').some((line) => !/^(?:---|\.\.\.|%.*|\s*)\s*(?:#.*)?$/.test(line.trimEnd())));
  return holding.length > 0 ? holding : documents.slice(0, 1);
}

/** What a program fills in before it reads the file. What is left is held against the schema, with the filled-in parts in doubt. */
function readTemplate(text: string, form: ConfigForm & { format: NonNullable<ConfigFile['format']> }): ConfigText {
  const masked = maskTemplate(text, form.format === 'json' ? 'json' : 'yaml');
  if (masked.problem) return { parts: [], problems: [{ level: 'error', field: '', ...masked.problem }], unjudged: [] };
  if (masked.firstLine === undefined) return readers[form.format](text, form);
  const read = readers[form.format](masked.text, form);
  const line = masked.firstLine;
  if (read.problems.length > 0)
    return {
      parts: [],
      problems: [],
      unjudged: [
        {
          line,
          message: 'The template blocks from here on make another text of it before it is read; only the program itself can judge it.',
        },
      ],
    };
  return {
    ...read,
    parts: read.parts.map((part) => ({
      ...part,
      doubts: placeholdersIn(part.value, []),
      incomplete: masked.hasBlocks,
    })),
    unjudged: [
      {
        line,
        message: masked.hasBlocks
          ? 'The template blocks from here on are filled in before it is read: each was looked at once, as it stands, and what its parts name of each other was not compared.'
          : 'What stands in double braces is filled in before it is read, and was not judged.',
      },
    ],
  };
}

function placeholdersIn(value: unknown, path: YamlPath): Doubt[] {
  if (typeof value === 'string') return holdsPlaceholder(value) ? [{ path, about: 'value' }] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => placeholdersIn(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...(holdsPlaceholder(key) ? [{ path, about: 'rest' as const }] : []),
    ...placeholdersIn(member, [...path, key]),
  ]);
}

/** name=value or name = value, a line each, or name alone for a switch; # and ; begin a comment. */
function readProperties(text: string): ConfigText {
  const value: Record<string, string> = {};
  const places = new Map<string, number>();
  const problems: ConfigProblem[] = [];
  const doubts: Doubt[] = [];
  const add = (line: number, field: string, message: string, remedy: string) =>
    problems.push({ level: 'error', line, column: 1, field, message, remedy });
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:[#;].*)?$/.test(line)) continue;
    const [, name, written] = /^\s*([\w.-]+)\s*(?:\+?=\s*(.*))?$/.exec(line) ?? [];
    if (name === undefined) {
      add(at + 1, '', 'This line is neither name=value nor a comment.', 'Write name=value, or # in front of it.');
      // It may have been meant as whatever is missing.
      doubts.push({ path: [], about: 'rest' });
    } else if (places.has(name) && !line.includes('+=')) {
      add(at + 1, name, `"${cleanLine(name)}" stands in line ${places.get(name)} already.`, 'Keep one of the two.');
      doubts.push({ path: [name], about: 'value' });
    } else {
      places.set(name, at + 1);
      value[name] = written ?? 'yes';
    }
  }
  return { parts: [{ value, doubts, place: ([name]) => ({ line: places.get(String(name)) ?? 1, column: 1 }) }], problems, unjudged: [] };
}
