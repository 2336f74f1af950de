import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml, parseYamlDocument, parseYamlDocuments } from '../yaml/text.ts';
import { parsedJson, parseJson } from './json-value.ts';
import { deepestNesting, isTooDeep } from './nesting.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const tooDeep = /Nested more than 200 levels deep/;

describe('text that is nested too deep', () => {
  test('is no JSON, and what is not is', () => {
    expect(parseJson(nested(deepestNesting))).toBeDefined();
    for (const text of [nested(deepestNesting + 1), nested(300_000), '['.repeat(300_000), '{"a":'.repeat(300_000)]) {
      expect(() => parseJson(text)).toThrow(tooDeep);
      expect(parsedJson(text)).toBeUndefined();
    }
  });

  test('is found by brackets that count: not those in strings and comments, nor those that were closed', () => {
    expect(isTooDeep(JSON.stringify(['['.repeat(1000), '\\"['.repeat(1000)]))).toBe(false);
    expect(isTooDeep(`[${'[],'.repeat(1000)}[]]`)).toBe(false);
    expect(isTooDeep(`// "\n${nested(1000)} // "`)).toBe(true);
    expect(isTooDeep(`/* " */ ${nested(1000)} /* " */`)).toBe(true);
    expect(isTooDeep(`{"open: 1,\n${nested(1000)}`)).toBe(true);
    expect(isTooDeep(`${']'.repeat(1000)}${'['.repeat(300)}`)).toBe(true);
  });

  test('nothing else is refused', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => !isTooDeep(JSON.stringify(value))));
  });

  test.each([
    ['flow lists', nested(300_000)],
    ['lists that are never closed', '['.repeat(300_000)],
    ['flow maps', '{a: '.repeat(300_000)],
    ['block lists', `${'- '.repeat(300_000)}x`],
    ['keys', `${'? '.repeat(300_000)}x`],
    ['block maps', Array.from({ length: 1000 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
    ['behind brackets that close nothing', `a: "${']'.repeat(1000)}"\nb: ${'['.repeat(300_000)}`],
  ])('is no YAML: %s', (_, text) => {
    expect(parseYamlDocument(text).errors[0]?.message).toMatch(tooDeep);
    expect(parseYamlDocuments(text)[0]?.errors[0]?.message).toMatch(tooDeep);
    expect(() => parseYaml(text)).toThrow(tooDeep);
  });

  test('is not a YAML text with many brackets, wide text or long lists of dashes', () => {
    const text = `a: "${'['.repeat(1000)}"\nb: |\n  ${'[ '.repeat(900)}\n${' '.repeat(900)}deep\nc: [${'[],'.repeat(500)}[]]\n# ${'{'.repeat(900)}\n`;
    expect(parseYamlDocument(text).errors).toEqual([]);
  });
});

test('text from outside reaches a recursive parser over the guard alone', () => {
  const source = resolve(import.meta.dirname, '..');
  // The catalog that the build wrote; the cache of rows, which reads its own output; log lines, which have their own depth limit; and the
  // practice stack, which reads requests of our own flows.
  const spared =
    /^(?:text\/json-value|yaml\/text|logs\/structured-line|catalog\/compiled-file|console\/row-output)\.ts$|^practice\/|^products\/[^/]+\/simulator\//;
  const unguarded = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file) && !spared.test(file))
    .filter((file) => {
      const code = readFileSync(join(source, file), 'utf8');
      return /JSON\.parse\(|import [^;]*\bparse(?:Document|AllDocuments)?\b[^;]*from 'yaml'/.test(code);
    });
  expect(unguarded).toEqual([]);
});
