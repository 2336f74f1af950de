import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ConditionFacts, holds } from '../../source/calls/conditions.ts';
import { compileExpression, type ExpressionScope, isProblem } from '../../source/catalog/expressions.ts';
import { defaultSettings } from '../../source/config/settings.ts';
import { checkSettings } from '../../source/config/settings-file.ts';
import { exitCodeOf, Fault, type FaultKind } from '../../source/faults/fault.ts';
import { YamlDocument } from '../../source/yaml/document.ts';
import { fencedBlocks } from './fenced-blocks.ts';
import { verdictOf } from './named-commands.ts';

/** The README and the pages for operators. Those for developers are in docs/development/. */
const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))];
const sources = readdirSync(join(root, 'source'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
  .map((name) => read(join('source', name)))
  .join('\n');

const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');

test.each(pages)('%s has one heading of the first level, and no HTML', (page) => {
  const text = withoutCode(read(page));
  expect(text.match(/^# .+/gm)).toHaveLength(1);
  // A site and GitHub show both as they are, apart from comments.
  expect(text.replaceAll(/^<!-- .+ -->$/gm, '').match(/<[a-z/!][^>\n]*>/gi) ?? []).toEqual([]);
});

test.each(pages)('%s shows no command line that the program would refuse', async (page) => {
  for (const { language, lines } of fencedBlocks(read(page))) {
    if (language !== 'sh' && language !== 'console') continue;
    for (const line of lines) {
      const [, written] = /(?:^(?:\$ )?|[|(] ?)quarterdeck (.+)$/.exec(line) ?? [];
      if (written === undefined) continue;
      const command = (written.split(/ +[#|>] ?|\)"/)[0] ?? '').replaceAll(/['"]/g, '').trim().replaceAll(/\s+/g, ' ');
      expect(await verdictOf(command), `${page}: ${line}`).toBeUndefined();
    }
  }
});

const scopes: readonly string[] = ['probe', 'check', 'config', 'entry'] satisfies ExpressionScope[];

test.each(pages)('%s shows valid JSON, YAML and CEL', (page) => {
  for (const { language, name, content } of fencedBlocks(read(page))) {
    const where = `${page}: ${content}`;
    if (language === 'json') expect(() => JSON.parse(content), where).not.toThrow();
    if (language === 'yaml') expect(new YamlDocument(content).problems, where).toEqual([]);
    if (language === 'yaml' && name === 'config.yaml') expect(checkSettings(content).problems, where).toEqual([]);
    if (language !== 'cel') continue;
    expect(scopes, where).toContain(name);
    expect(isProblem(compileExpression(content.trim(), name as ExpressionScope)), where).toBe(false);
  }
});

test('the CEL examples of docs/catalog.md are true of a response, or of a failure, that they describe', () => {
  const facts: ConditionFacts = {
    ageSeconds: 60,
    env: {},
    fields: { ALLOW_SIGNUP: 'true', BASE_URL: 'http://localhost:8000' },
    ports: [{ name: 'web', exposure: 'lan', published: true }],
    services: {},
    calls: { status: { ok: true, status: 200, json: { users: 0 }, text: '', headers: {} } },
  };
  const json = { state: 'heating', checks: [{ level: 'error' }], queue: '101' };
  const answered = { ...facts, answer: { ok: true, status: 200, json, text: '', headers: {}, failure: '' } };
  const missing = { ok: false, status: 0, json: undefined, text: '', headers: {} };
  const failed = { ...facts, calls: { status: missing }, answer: { ...missing, failure: 'connection refused' } };
  const examples = fencedBlocks(read('docs/catalog.md')).flatMap(({ language, content }) => (language === 'cel' ? [content.trim()] : []));
  expect(examples.length).toBeGreaterThan(6);
  expect(examples.filter((example) => !holds(example, answered).holds && !holds(example, failed).holds)).toEqual([]);
});

describe('docs/configuration.md', () => {
  const text = read('docs/configuration.md');

  test('has every setting', () => {
    const rows = [...text.matchAll(/^\| `(\w+)` \| .+ \| .+ \|$/gm)].map(([, key = '']) => key);
    const { probeIntervalMs: _, ...others } = defaultSettings;
    expect(rows.sort()).toEqual([...Object.keys(others), 'probeInterval', 'rules', 'quietHours'].sort());
  });

  test('names the variables that the program reads', () => {
    const own = new Set(sources.match(/QUARTERDECK_[A-Z_]+/g));
    // Set by the program for its own helpers and builds.
    for (const internal of ['QUARTERDECK_ASK', 'QUARTERDECK_NODE', 'QUARTERDECK_VERSION']) own.delete(internal);
    const named = new Set([...text.matchAll(/^\| (`.+?`) \| .+ \|$/gm)].flatMap(([, cell = '']) => cell.match(/[A-Z][A-Z_]{3,}/g) ?? []));
    expect([...own].filter((variable) => !named.has(variable))).toEqual([]);
    expect([...named].filter((variable) => !sources.includes(variable))).toEqual([]);
  });
});

describe('docs/troubleshooting.md', () => {
  const text = read('docs/troubleshooting.md');
  const kinds = ['usage', 'unreachable', 'refused', 'interrupted', 'failed', 'engine', 'config', 'catalog'] satisfies FaultKind[];

  test('names only codes that the program has', () => {
    const codes = [...text.matchAll(/`((?:usage|unreachable|refused|interrupted|failed|engine|config|catalog)\.\w+)`/g)].map(
      ([, code = '']) => code,
    );
    expect(codes.length).toBeGreaterThan(70);
    expect(codes.filter((code) => !sources.includes(`'${code}'`) && !isBuilt(code))).toEqual([]);
  });

  test('has the exit code of each kind', () => {
    for (const kind of kinds) {
      const row = text.split('\n').find((line) => new RegExp(`^\\| .*\`${kind}\``).test(line) && /^\| [^|]+ \| \d+ \|/.test(line));
      expect(row, kind).toContain(`| ${exitCodeOf(new Fault(`${kind}.what`, 'm', 'r'))} |`);
    }
  });
});

/** `usage.${what}`. */
function isBuilt(code: string): boolean {
  const [kind = '', what = ''] = code.split('.');
  return sources.includes(`\`${kind}.\${`) && sources.includes(`'${what}'`);
}
