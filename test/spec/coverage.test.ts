import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readRules, readTitles } from './coverage.ts';

describe('coverage of the specification', () => {
  it('reads all rules, without a gap', () => {
    const rules = readRules(readFileSync('test/spec/rules.md', 'utf8'));
    expect(rules.map(({ rule }) => rule)).toEqual(Array.from({ length: 89 }, (_, index) => `R${index + 1}`));
    for (const { title } of rules) expect(title.length).toBeGreaterThan(10);
  });

  it('finds rules in titles of every kind of string, also in rows of a table', () => {
    const source = `it('a (R${1})', f); it.each([["b's (R${2}, R${3})", 1]]); describe(\`c (R${4})\`, f); // (R${5})\nconst x = 'R${6}';`;
    expect(readTitles(source).map(({ rules }) => rules)).toEqual([['R1'], ['R2', 'R3'], ['R4']]);
  });

  // Two processes that parse every test of the project.
  it('reports as a table and as JSON, and never fails the build', { timeout: 120_000 }, () => {
    const run = (...args: string[]) =>
      execFileSync(process.execPath, ['--import', 'tsx', 'test/spec/coverage.ts', ...args], { encoding: 'utf8' });
    expect(run()).toMatch(/^Rules: \d+ of 89 with a test\./m);
    expect(run()).toMatch(/^Components: \d+ of \d+ with a catalog folder\.$/m);
    const json = JSON.parse(run('--json')) as {
      schema: number;
      rules: { rule: string; tests: unknown[] }[];
      components: { id: string; folder: boolean }[];
    };
    expect(json.schema).toBe(1);
    expect(json.rules.find(({ rule }) => rule === 'R19')?.tests.length).toBeGreaterThan(0);
    expect(json.components).toContainEqual({ id: 'password-vault', group: 'security', folder: true });
  });
});
