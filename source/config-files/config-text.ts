import type { Doubt } from '../calls/file-conditions.ts';
import type { Component } from '../catalog/schema.ts';
import { cleanLine } from '../text/clean.ts';
import { positionAt, type TextPosition } from '../text/position.ts';
import { YamlDocument, type YamlPath } from '../yaml/document.ts';
import { readHcl } from './hcl-text.ts';
import { readJson, readKeaJson } from './json-text.ts';
import { type ConfigProblem, errorAt } from './problem.ts';
import { inspectConfig } from './wireguard/inspect-config.ts';

type ConfigFile = NonNullable<Component['configFile']>;
type Format = NonNullable<ConfigFile['format']>;
export type ConfigForm = { format: Format } & Partial<Pick<ConfigFile, 'documents' | 'templates'>>;

/** A part of a file that was not checked, with the reason: not an error. */
export interface Unjudged {
  line: number;
  message: string;
}

export interface ConfigPart {
  value: unknown;
  doubts: readonly Doubt[];
  position(path: YamlPath, part: 'key' | 'value'): TextPosition;
}

export interface ConfigText {
  /** Several if a file may contain several documents; none if it cannot be read. */
  parts: readonly ConfigPart[];
  problems: readonly ConfigProblem[];
  unjudged: readonly Unjudged[];
}

export function readConfigText(text: string, form: ConfigForm): ConfigText {
  const read = { parts: [], problems: [], unjudged: [], ...(form.templates ? readTemplate : readers[form.format])(text, form) };
  const unfilled = form.templates || read.parts.length > 0 ? null : /^[ \t]*(?:- )?\{[%{]/m.exec(text);
  if (!unfilled) return read;
  // All other errors follow from this one.
  const { line } = positionAt(text, unfilled.index);
  const message = 'This looks like a template (Jinja or Helm); the product reads its rendered output.';
  return { ...read, problems: [errorAt({ line, column: 1 }, message, 'Render it first, then check the output.')] };
}

const readers: Readonly<Record<Format, (text: string, form: ConfigForm) => Partial<ConfigText>>> = {
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
      message: 'A second document begins here. Only the first one is read.',
      remedy: 'Merge it into the first one, or remove it.',
    };
    return { ...read, problems: [...(read.problems ?? []), warning] };
  },
  json: readJson,
  'kea-json': readKeaJson,
  'wg-quick': (text) => ({
    parts: [{ value: {}, doubts: [], position: () => ({ line: 1, column: 1 }) }],
    problems: inspectConfig(text).problems,
  }),
  hcl(text) {
    const { value, problem, position } = readHcl(text);
    return problem ? { problems: [problem] } : { parts: [{ value, doubts: [], position }] };
  },
  properties: readProperties,
};

function yamlText(texts: readonly string[]): Partial<ConfigText> {
  const documents = texts.map((text) => new YamlDocument(text));
  const problems = documents.flatMap((document) => document.problems.map((one) => errorAt(one, one.message, one.remedy)));
  if (problems.length > 0) return { problems };
  return {
    parts: documents.map((document) => ({
      value: document.value ?? {},
      doubts: [],
      position: (path, part) => document.position(path, part),
    })),
  };
}

/** Each is preceded by empty lines for the lines before it. Empty documents are left out, except for a single one. */
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

/** A file whose double braces are rendered before it is read: with any that are not quoted, its text is unknown until then. */
function readTemplate(text: string, form: ConfigForm): Partial<ConfigText> {
  // Braces with quotes in them may end the surrounding quotes.
  const withoutWhole = (quoted: string) => (/\{\{(?!.*\}\})/.test(quoted) ? quoted : quoted.replaceAll('{{', '__'));
  const at = text.replaceAll(/"(?:\\.|[^"\\\n])*"|'[^'\n]*'|(?<=^|\s)#.*$/gm, withoutWhole).indexOf('{{');
  if (at < 0) {
    const read = readers[form.format](text, form);
    return { ...read, parts: (read.parts ?? []).map((part) => ({ ...part, doubts: templatesIn(part.value, []) })) };
  }
  const message = 'Text in double braces is rendered before the file is parsed; only the product itself can check it.';
  return { unjudged: [{ line: positionAt(text, at).line, message }] };
}

function templatesIn(value: unknown, path: YamlPath): Doubt[] {
  if (typeof value === 'string') return value.includes('{{') ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  const entries: [PropertyKey, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, member]) => [...(String(key).includes('{{') ? [path] : []), ...templatesIn(member, [...path, key])]);
}

/** Parses name=value or name = value, one per line, or a name alone for a switch; # and ; begin a comment. */
function readProperties(text: string): Partial<ConfigText> {
  const value: Record<string, string> = {};
  const positions = new Map<string, number>();
  const problems: ConfigProblem[] = [];
  const doubts: Doubt[] = [];
  const add = (line: number, field: string, message: string, remedy: string) =>
    problems.push(errorAt({ line, column: 1 }, message, remedy, field));
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:[#;].*)?$/.test(line)) continue;
    const [, name, written] = /^\s*([\w.-]+)\s*(?:\+?=\s*(.*))?$/.exec(line) ?? [];
    if (name === undefined) {
      add(at + 1, '', 'Expected name=value or a comment.', 'Use name=value, or put # in front of a comment.');
      // It may be a misspelling of whatever is missing.
      doubts.push([]);
    } else if (positions.has(name) && !line.includes('+=')) {
      add(at + 1, name, `"${cleanLine(name)}" is already set on line ${positions.get(name)}.`, 'Keep one of the two.');
      doubts.push([name]);
    } else {
      positions.set(name, at + 1);
      value[name] = written ?? 'yes';
    }
  }
  return { parts: [{ value, doubts, position: ([name]) => ({ line: positions.get(String(name)) ?? 1, column: 1 }) }], problems };
}
