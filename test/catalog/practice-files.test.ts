import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readPracticeFiles } from '../../bin/practice-data.ts';
import { problemText } from '../../source/catalog/compile.ts';
import { variablesIn } from '../../source/catalog/interpolation.ts';
import { readInstalled } from '../../source/config/installation.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

const root = join(import.meta.dirname, '../..');
const { components, problems } = readPracticeFiles(root);
const catalog = await wholeCatalog();

/** Returns the problems of a catalog with one component, which has this practice.yaml. */
async function problemsIn(text: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-practice-files-'));
  const file = join(folder, 'catalog/media/films/practice.yaml');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  try {
    return readPracticeFiles(folder).problems.map(problemText);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('every practice.yaml has the shape that docs/development/practice.md describes, and is built as it is', async () => {
  expect(problems.map(problemText)).toEqual([]);
  expect(JSON.parse(await readInstalled('dist/practice.json')), 'run bin/setup').toEqual(components);
});

test.each(components)('$component: its services, container ports, variables and files are those of the catalog', async (simulated) => {
  const entry = catalog.entries.find(({ id }) => id === simulated.component);
  if (!entry) throw new Error(`there is no component ${simulated.component}`);
  const ports = (service: string) => entry.ports.flatMap((port) => (port.service === service ? [String(port.container)] : []));
  for (const [name, { pages = {}, scenarios = {}, settles, restarted }] of Object.entries(simulated.services)) {
    expect(entry.services.map((service) => service.name)).toContain(name);
    const served = [pages, ...Object.values(scenarios).map((scenario) => scenario.pages ?? {})].flatMap(Object.keys);
    expect(ports(name), name).toEqual(expect.arrayContaining(served));
    expect(Object.keys(scenarios), name).toEqual(expect.arrayContaining([settles?.scenario, restarted].filter(Boolean)));
  }
  expect(entry.ports.map(({ container }) => String(container))).toEqual(expect.arrayContaining(Object.keys(simulated.hostPorts ?? {})));
  const folder = join(root, 'catalog', entry.folder);
  for (const path of Object.keys(simulated.files ?? {})) expect(existsSync(join(folder, path)), path).toBe(true);
  const compose = await readFile(join(folder, 'compose.yaml'), 'utf8');
  const variables = variablesIn(compose.replaceAll(/^\s*#.*$/gm, '')).map(({ name }) => name);
  expect(variables).toEqual(expect.arrayContaining(Object.keys(simulated.values ?? {})));
});

test('a mistake in a practice.yaml is reported with file, line and key', async () => {
  const at = 'catalog/media/films/practice.yaml';
  expect(await problemsIn('services:\n  web:\n    log: {evry: 5s}\n')).toEqual([
    `${at}:3:11: services.web.log.evry: Unknown key "evry". Did you mean "every"?`,
  ]);
  expect(await problemsIn('past: {created: 3 days, started: 1d}\nservices: {}\n')).toEqual([
    `${at}:1:17: past.created: "created" is invalid: "3 days". Use a number followed by ms, s, m, h or d, such as 500ms.`,
  ]);
  expect(await problemsIn('services:\n  db: {extends: postgres, with: {databse: films}}\n')).toEqual([
    `${at}:2:3: services.db: "postgres" requires the parameter "database". Set it in with.`,
    `${at}:2:34: services.db.with.databse: Unknown parameter "databse". Remove it.`,
  ]);
  expect(await problemsIn('services:\n  db: {extends: postgress, with: {database: films}, hurry: true}\n')).toEqual([
    `${at}:2:17: services.db.extends: Unknown base service "postgress". Did you mean "postgres"?`,
    expect.stringContaining(`${at}:2:53: services.db.hurry: Unknown key "hurry". Use one of: extends, `),
  ]);
  expect(await problemsIn('services:\n  web:\n    pages:\n      80:\n        /: {requires: {header: a}}\n')).toEqual([
    `${at}:5:23: services.web.pages.80./.requires: "requires": must have either contains or equals. Change the value.`,
  ]);
  expect(await problemsIn('services: [\n')).not.toEqual([]);
});
