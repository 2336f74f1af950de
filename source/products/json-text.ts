import { findNodeAtLocation, getLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Doubt } from '../calls/file-conditions.ts';
import type { YamlPath } from '../config/yaml-document.ts';
import { cleanLine } from '../text/clean.ts';
import { isTooDeep, nestingProblem } from '../text/nesting.ts';
import { placeAt } from '../text/text-place.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { ConfigText, Unjudged } from './config-text.ts';

/** JSON as most programs read it: without comments, and without a comma behind the last entry. */
export function readJson(text: string): ConfigText {
  return readTree(text, { doubts: () => [], problems: [], unjudged: [] });
}

interface Extras {
  /** Known once the text is read. */
  doubts(root: Node): Doubt[];
  problems: readonly ConfigProblem[];
  unjudged: readonly Unjudged[];
}

const tooDeep: ConfigText = {
  parts: [],
  problems: [{ level: 'error', line: 1, column: 1, field: '', message: nestingProblem, remedy: 'Check that this is the right file.' }],
  unjudged: [],
};

function readTree(text: string, { doubts, problems, unjudged }: Extras): ConfigText {
  if (isTooDeep(text)) return tooDeep;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: false, disallowComments: true });
  const [error] = errors;
  if (error || root === undefined)
    return {
      parts: [],
      problems: [{ level: 'error', ...placeAt(text, error?.offset ?? 0), field: '', ...mistake(text, error) }],
      unjudged: [],
    };
  const twice = duplicatesIn(root).map(
    (key): ConfigProblem => ({
      level: 'error',
      ...placeAt(text, key.offset),
      field: '',
      message: `"${cleanLine(String(key.value))}" is there twice.`,
      remedy: 'Keep one of the two.',
    }),
  );
  if (twice.length > 0) return { parts: [], problems: twice, unjudged: [] };
  return {
    parts: [{ value: plainValue(root), doubts: doubts(root), place: (path, part) => placeAt(text, offsetOf(root, path, part)) }],
    problems,
    unjudged,
  };
}

function mistake(text: string, error: ParseError | undefined): { message: string; remedy: string } {
  const code = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
  if (code === 'InvalidCommentToken')
    return { message: 'This is a comment, and its program reads JSON without any.', remedy: 'Remove it.' };
  if (/^[}\]]/.test(text.slice(error?.offset)) && /,\s*$/.test(text.slice(0, error?.offset)))
    return { message: 'A comma stands in front of nothing.', remedy: 'Remove the comma behind the last entry.' };
  const words = code.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`).trim();
  return { message: `This is no JSON: ${words}.`, remedy: 'Look at commas, quotes and brackets here and on the line above.' };
}

function plainValue(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(plainValue);
  if (node.type !== 'object') return node.value as unknown;
  const entries = (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key && value ? [[String(key.value), plainValue(value)]] : [],
  );
  return Object.fromEntries(entries) as unknown;
}

function duplicatesIn(node: Node): Node[] {
  const seen = new Set<string>();
  const here = (node.type === 'object' ? (node.children ?? []) : []).flatMap(({ children: [key] = [] }) => {
    if (!key || !seen.has(String(key.value))) {
      seen.add(String(key?.value));
      return [];
    }
    return [key];
  });
  return [...here, ...(node.children ?? []).flatMap(duplicatesIn)];
}

/** Where the value at this path stands, or its key; for what is missing, the nearest thing around it. */
function offsetOf(root: Node, path: YamlPath, part: 'key' | 'value'): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length) as (string | number)[]);
    if (!node) continue;
    const wantsKey = part === 'key' && length === path.length && node.parent?.type === 'property';
    return (wantsKey ? node.parent?.offset : undefined) ?? node.offset;
  }
  return root.offset;
}

interface Token {
  /** The sign itself, `value` or `include`. */
  kind: string;
  at: number;
  length: number;
}

/** Each is looked for in the whole text. */
const includeLimit = 100;
/** Of commas too many. */
const warnedLimit = 20;

/**
 * JSON as Kea's own parser takes it (src/bin/dhcp4/dhcp4_lexer.ll and dhcp4_parser.yy): comments of three kinds, further commas behind an entry, of which it warns, and
 * `<?include "file"?>` anywhere. Files that it includes are not read.
 */
export function readKeaJson(text: string): ConfigText {
  if (isTooDeep(text)) return tooDeep;
  const plain = text.split('');
  const blank = (at: number, length: number, by = ' ') => {
    for (let one = at; one < at + length; one++) if (plain[one] !== '\n') plain[one] = one === at ? by : ' ';
  };
  const tokens: Token[] = [];
  const parts =
    /"(?:\\.|[^"\\\n])*"|(\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/)|(<\?\s*include\s*"[^"\n]+"\s*\?>)|([{}[\],:])|[^\s"{}[\],:#/<]+|./g;
  for (const found of text.matchAll(parts)) {
    const [whole, comment, include, sign] = found;
    const at = found.index;
    if (comment !== undefined) blank(at, comment.length);
    else if (whole.trim() !== '') tokens.push({ kind: include === undefined ? (sign ?? 'value') : 'include', at, length: whole.length });
  }
  const includes = tokens.filter(({ kind }) => kind === 'include');
  if (includes.length > includeLimit) {
    const message = `It takes in ${includes.length} other files, which are not read here; only Kea itself can judge it.`;
    return { parts: [], problems: [], unjudged: [{ line: placeAt(text, includes[0]?.at ?? 0).line, message }] };
  }
  const problems: ConfigProblem[] = [];
  const holes: { at: number; about: Doubt['about'] }[] = [];
  const unjudged: Unjudged[] = [];
  for (const [index, { kind, at, length }] of tokens.entries()) {
    const around = (step: 1 | -1) => {
      let other = index + step;
      while (tokens[other]?.kind === 'include') other += step;
      return tokens[other]?.kind ?? '';
    };
    const [before, after] = [around(-1), around(1)];
    // Kea writes numbers as C++ does.
    if (
      kind === 'value' &&
      /^[+-]?(?:\d+\.|\.\d+|\+?\d+(?:\.\d+)?)(?:[eE][+-]?\d+)?$/.test(text.slice(at, at + length)) &&
      !/^-?\d+(?:\.\d+)?$/.test(text.slice(at, at + length))
    ) {
      holes.push({ at, about: 'value' });
      blank(at, length, '0');
    }
    if (kind === 'include') {
      unjudged.push({
        line: placeAt(text, at).line,
        message: `${cleanLine(text.slice(at, at + length))} was not read, and what it brings not checked.`,
      });
      const isValue = before === ':' && tokens[index - 1]?.kind === ':';
      holes.push({ at, about: isValue ? 'value' : 'rest' });
      blank(
        at,
        length,
        isValue
          ? '0'
          : /^(?:value|[}\]])$/.test(before) && /^(?:value|[{[])$/.test(after) && tokens[index - 1]?.kind !== 'include'
            ? ','
            : ' ',
      );
    } else if (kind === ',' && /^[}\],]$/.test(after) && !/^[{[]$/.test(before)) {
      blank(at, 1);
      if (tokens[index - 1]?.kind === 'include' || tokens[index + 1]?.kind === 'include') continue;
      problems.push({
        level: 'warning',
        ...placeAt(text, at),
        field: '',
        message: 'A comma stands in front of nothing. Kea takes it, and warns that something may have been left out.',
        remedy: 'Remove it.',
      });
    } else if (kind === ',' && /^[{[]$/.test(before) && tokens[index - 1]?.kind === 'include') blank(at, 1);
  }
  const read = plain.join('');
  const doubts = (root: Node) =>
    holes.map(({ at, about }): Doubt => {
      const { path } = getLocation(read, at);
      return { path: about === 'value' || root.type !== 'object' ? path : path.slice(0, -1), about };
    });
  // A file that only names another one.
  if (tokens.length > 0 && tokens.every(({ kind }) => kind === 'include')) return { parts: [], problems: [], unjudged };
  return readTree(read, { doubts, problems: problems.slice(0, warnedLimit), unjudged });
}
