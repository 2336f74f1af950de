import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { faultExplanations } from '../../source/cli/commands/explain.ts';

const root = resolve(import.meta.dirname, '../..');
const kinds = ['usage', 'unreachable', 'refused', 'interrupted', 'failed', 'catalog', 'engine', 'config'];
/** File names that look like codes. */
const files = ['catalog.json', 'config.yaml', 'engine.sock'];
/** Codes that are put together, by the template. */
const composed: Readonly<Record<string, RegExp>> = {
  'source/cli/commands/logs.ts: usage.${what}': /\busage\('(\w+)'/g,
  'source/products/headscale/mesh-words.ts: usage.${noun}': /noun: '(\w+)'/g,
};

const sources = readdirSync(join(root, 'source'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\./.test(name))
  .map((name) => ({ file: `source/${name}`, text: readFileSync(join(root, 'source', name), 'utf8') }));

function codesInSource(): string[] {
  const literal = new RegExp(`'((?:${kinds.join('|')})\\.[A-Za-z]+)'`, 'g');
  const whole = sources.flatMap(({ text }) => [...text.matchAll(literal)].map(([, code = '']) => code));
  const folder = (file: string) => file.slice(0, file.lastIndexOf('/'));
  const parts = Object.entries(composed).flatMap(([key, values]) => {
    const [file = '', template = ''] = key.split(': ');
    const beside = sources.filter((one) => folder(one.file) === folder(file));
    return beside.flatMap(({ text }) => [...text.matchAll(values)].map(([, value = '']) => template.replace(/\$.*/, value)));
  });
  return [...new Set([...whole, ...parts])].filter((code) => !files.includes(code)).sort();
}

test('every code in the source is explained, and no explanation is left over', async () => {
  const explained = (await faultExplanations()).map(({ code }) => code);
  expect(new Set(explained).size).toBe(explained.length);
  expect(explained.filter((code) => code.includes('.')).sort()).toEqual(codesInSource());
  expect(explained.filter((code) => !code.includes('.')).sort()).toEqual(kinds.toSorted());
});

test('codes that are put together are known', () => {
  const template = new RegExp(`\`((?:${kinds.join('|')})\\.\\$\\{\\w+\\})\``, 'g');
  const found = sources.flatMap(({ file, text }) =>
    [...text.matchAll(template)].flatMap(([whole, code = '']) => (text.includes(`Fault(${whole}`) ? [`${file}: ${code}`] : [])),
  );
  expect([...new Set(found)].sort()).toEqual(Object.keys(composed).sort());
});

test('an explanation has sentences, at least one cause, and the exit code of its kind', async () => {
  for (const { code, meaning, causes, remedy, exitCode } of await faultExplanations()) {
    expect(causes.length, code).toBeGreaterThan(0);
    for (const text of [meaning, remedy, ...causes]) expect(text, code).toMatch(/^[A-Z`a-z].*\.$/);
    expect(exitCode, code).toBe({ usage: 2, unreachable: 3, refused: 4, interrupted: 130 }[code.split('.')[0] ?? ''] ?? 1);
  }
});
