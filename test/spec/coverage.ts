import { globSync, readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';

/**
 * `npm run coverage:spec`: which rules of the specification have a test that names them, and which components have a catalog folder. A report,
 * not a gate: it ends with 0. `--json` for programs.
 */

interface Row {
  rule: string;
  title: string;
  tests: { file: string; title: string }[];
}

const root = new URL('../../', import.meta.url).pathname;

export function readRules(markdown: string): { rule: string; title: string }[] {
  return [...markdown.matchAll(/^- \*\*(R\d+)\*\* (?:\(L[^)]*\) )?(.*)$/gm)].map(([, rule = '', text = '']) => ({
    rule,
    title: (text.split(/ Test: |(?<=\w{3}\.) (?=[A-Z])/, 1)[0] ?? '').replace(/\.$/, ''),
  }));
}

/** Titles of tests that name rules: `(R63)`, `(R1, R2)`; found in the text, so that nothing has to run. */
export function readTitles(source: string): { title: string; rules: string[] }[] {
  const found: { title: string; rules: string[] }[] = [];
  // A table's rows carry titles too, so every string literal of a test file that names a rule in brackets counts.
  for (const [, , text = ''] of source.matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])*\((?:R\d+(?:, )?)+\)(?:\\.|(?!\1)[^\\\n])*)\1/g)) {
    const rules = [...text.matchAll(/\(((?:R\d+(?:, )?)+)\)/g)].flatMap(([, list = '']) => list.split(/, ?/).filter(Boolean));
    found.push({ title: text.replaceAll(/\\(.)/g, '$1'), rules });
  }
  return found;
}

function collect(): { rules: Row[]; components: { id: string; group: string; folder: boolean }[]; unknown: string[] } {
  const rows = new Map<string, Row>(
    readRules(readFileSync(`${root}test/spec/rules.md`, 'utf8')).map(({ rule, title }) => [rule, { rule, title, tests: [] }]),
  );
  const unknown = new Set<string>();
  const files = globSync(['source/**/*.test.{ts,tsx}', 'test/**/*.test.{ts,tsx}'], { cwd: root }).sort();
  for (const file of files) {
    for (const { title, rules } of readTitles(readFileSync(root + file, 'utf8'))) {
      for (const rule of rules) {
        const row = rows.get(rule);
        if (row) row.tests.push({ file, title });
        else unknown.add(`${rule} in ${file}`);
      }
    }
  }
  const inventory = parse(readFileSync(`${root}test/spec/components.yaml`, 'utf8')) as { id: string; group: string; deploy: string }[];
  const components = inventory
    // `embedded` means: a service inside other components, no folder of its own.
    .filter(({ deploy }) => deploy !== 'embedded')
    .map(({ id, group }) => ({
      id,
      group,
      folder: statSync(`${root}catalog/${group}/${id}`, { throwIfNoEntry: false })?.isDirectory() ?? false,
    }));
  return { rules: [...rows.values()], components, unknown: [...unknown] };
}

function report(): string {
  const { rules, components, unknown } = collect();
  const lines = ['Rule   Tests  What it says'];
  for (const { rule, title, tests } of rules)
    lines.push(`${rule.padEnd(6)} ${String(tests.length || '-').padStart(5)}  ${title.length > 110 ? `${title.slice(0, 109)}>` : title}`);
  const untested = rules.filter(({ tests }) => tests.length === 0);
  const missing = components.filter(({ folder }) => !folder);
  const byGroup = Map.groupBy(missing, ({ group }) => group);
  lines.push('', 'Components without a catalog folder:');
  for (const [group, members] of byGroup) lines.push(`  ${group} (${members.length}): ${members.map(({ id }) => id).join(', ')}`);
  if (missing.length === 0) lines.push('  none');
  if (unknown.length > 0)
    lines.push('', 'Rules that tests name but the specification does not have:', ...unknown.map((line) => `  ${line}`));
  lines.push(
    '',
    `Rules: ${rules.length - untested.length} of ${rules.length} with a test. Without: ${untested.map(({ rule }) => rule).join(', ') || 'none'}.`,
  );
  lines.push(`Components: ${components.length - missing.length} of ${components.length} with a catalog folder.`);
  return lines.join('\n');
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  console.log(process.argv.includes('--json') ? JSON.stringify({ schema: 1, ...collect() }, null, 2) : report());
