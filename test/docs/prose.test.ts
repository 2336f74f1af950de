import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../..');

interface Words {
  words: Record<string, { use: string; pattern: string }>;
  skipped: readonly string[];
  allowed: readonly string[];
  programs: readonly string[];
}

const { words, skipped, allowed, programs } = parse(readFileSync(join(import.meta.dirname, 'prose-words.yaml'), 'utf8')) as Words;
const rules = Object.entries(words).map(([word, { use, pattern }]) => ({ word, use, pattern: new RegExp(pattern, 'i') }));
const any = new RegExp(rules.map(({ pattern }) => pattern.source).join('|'), 'i');
const paths = (pattern: string): string[] =>
  globSync(pattern, { cwd: root })
    .filter((path) => !skipped.some((part) => path.includes(part)))
    .sort();

const sources = paths('source/**/*.{ts,tsx}')
  .filter((path) => !/\.test\.tsx?$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** An identifier, a path, a key of a step or a script is not prose. */
const isProse = (text: string): boolean => /[a-z]{2,} [a-z]/i.test(text) && !/[\n{}$<>]|&&|\|\|/.test(text.trim());

function bannedIn(where: string, text: string): string[] {
  if (!any.test(text) || !isProse(text) || allowed.includes(text)) return [];
  return rules.filter(({ pattern }) => pattern.test(text)).map(({ word, use }) => `${where}: "${text}" has "${word}": write ${use}.`);
}

/** Literals of one line, in which values are `SOME`. A parser would be exact, and take a minute for all files. */
const literal = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
const comment = /^\s*(?:\/\/|\/?\*)|\s\/\/ .*$|\/\*.*\*\//;

function sourceFindings(): string[] {
  return sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        any.test(line) && !/^import /.test(line)
          ? [...line.replace(comment, '').matchAll(literal)].flatMap(([, single, double, template]) =>
              bannedIn(`${path}:${index + 1}`, (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/g, 'SOME')),
            )
          : [],
      ),
  );
}

const operatorKeys = /^\s*(?:- )?\{?(?:kind|title|label|description|message|remedy|advice|detail|reason|note|why)\b.*/;

function catalogFindings(): string[] {
  return paths('catalog/**/component.yaml').flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, index) => (operatorKeys.test(line) ? bannedIn(`${path}:${index + 1}`, line.replace(/[{}]/g, ' ').trim()) : [])),
  );
}

/** Lines of Markdown outside of code blocks. */
function proseLines(path: string): { where: string; line: string }[] {
  let isCode = false;
  return readFileSync(join(root, path), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (/^\s*```/.test(line)) isCode = !isCode;
      return isCode ? [] : [{ where: `${path}:${index + 1}`, line }];
    });
}

/** A heading with two or more capitalised words after the first, which are not names: `Backup And Restore`. */
function isTitleCase(heading: string): boolean {
  const later = heading
    .replace(/`[^`]*`/g, '')
    .split(/\s+/)
    .slice(1);
  return later.some((word) => /^(?:And|Or|The|Of|For|With|In|To|On|From|Your|How|Use|Using)$/.test(word));
}

function documentFindings(): string[] {
  return paths('docs/*.md').flatMap((path) =>
    proseLines(path).flatMap(({ where, line }) => [
      ...bannedIn(where, line.replace(/`[^`]*`/g, 'CODE').replace(/[{}$<>]/g, '')),
      ...(/^#+ [a-z]/.test(line) || (/^#+ /.test(line) && isTitleCase(line.replace(/^#+ /, '')))
        ? [`${where}: the heading "${line}" is not in sentence case.`]
        : []),
    ]),
  );
}

/** Messages of faults that are one literal: `new Fault('code', 'Message.'`. They begin with a capital, a value or the name of a program. */
function faultFindings(): string[] {
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:new Fault\(\s*'[\w.]+',|const message =)\s*(['"`])((?:(?!\1).)*)\1[,;]/g)].flatMap(([, , message = '']) => {
      const [first = ''] = message.split(' ');
      const isSentence =
        (/^(?:[A-Z\d"(]|\\?\$\{|--|\{run )/.test(message) || programs.includes(first)) && /(?:[.!?)]|\})$|\$\{[^}]*$/.test(message);
      return isSentence ? [] : [`${path}: the message "${message}" is not a sentence.`];
    }),
  );
}

test('texts use the words of the field', () => {
  expect([...new Set([...sourceFindings(), ...catalogFindings(), ...documentFindings(), ...faultFindings()])]).toEqual([]);
});
