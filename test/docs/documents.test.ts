import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { componentJson } from '../../source/app/entry-json.ts';
import { flows } from '../../source/app/flow-registry.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { componentSchema } from '../../source/catalog/schema.ts';
import { faultExplanations } from '../../source/cli/commands/explain.ts';
import { createLogText } from '../../source/cli/log-text.ts';
import { portsJson, statusJson } from '../../source/cli/status-json.ts';
import { LogBatch } from '../../source/engine/log-batch.ts';
import { Fault } from '../../source/faults/fault.ts';
import { startPractice } from '../contract/practice-stack.ts';
import { catalogFolder } from '../doubles/catalog-folder.ts';
import { componentView, engineView, portView, serviceView } from '../doubles/fleet-double.ts';
import { generatedDocuments, withGeneratedBlocks } from './generated-blocks.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    // What the site installs and generates is below docs/site/.
    .filter((name) => name.endsWith('.md') && !/^site\/.+\//.test(name))
    .map((name) => `docs/${name}`),
];
const pages = documents.filter((file) => file === 'README.md' || /^docs\/[\w-]+\.md$/.test(file));
/** What is written for developers names files and identifiers of the source. */
const forDevelopers = documents.filter((file) => file === 'CONTRIBUTING.md' || file.startsWith('docs/development/'));

const pathsIn = (file: string): string[] =>
  [...read(file).matchAll(/(?:^|[`\s])((?:source|test|bin|catalog|bundle|docs|dist|\.ci)\/[\w./-]+)(?=[`\s])/gm)].map(
    ([, path = '']) => path,
  );
const codeIn = (file: string): string[] => [...read(file).matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = '']) => code);

/** The anchors that GitHub gives to the headings of a page. */
const anchorsIn = (file: string): string[] =>
  [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(/\s/g, '-'),
  );

/** Every path of keys in a value; lists count as one of their kind. */
function keyPaths(value: unknown, path = ''): Set<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((item) => [...keyPaths(item, `${path}[]`)]));
  if (typeof value !== 'object' || value === null) return new Set();
  return new Set(Object.entries(value).flatMap(([key, member]) => [`${path}.${key}`, ...keyPaths(member, `${path}.${key}`)]));
}

function documented(name: string): unknown {
  const match = new RegExp(`\`\`\`json ${name}\n([\\s\\S]*?)\`\`\``).exec(read('docs/json.md'));
  if (!match?.[1]) throw new Error(`docs/json.md shows no shape "${name}"`);
  return JSON.parse(match[1]);
}

test.each(Object.entries(generatedDocuments))('%s has the %s of the program (npm run docs writes them)', async (file, block) => {
  expect(read(file)).toContain(`<!-- generated: ${block} -->`);
  expect(read(file)).toBe(await withGeneratedBlocks(read(file)));
});

describe('the README', () => {
  test('opens with a picture and the two commands', () => {
    const opening = read('README.md').split('\n## ')[0] ?? '';
    expect(opening).toMatch(/!\[.+\]\(docs\/pictures\/tour\.svg\)/);
    expect(opening.match(/^npm (start|test)\b/gm)).toEqual(['npm start', 'npm test']);
  });

  test('has less than 150 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(150);
  });

  test('links every page', () => {
    const linked = [...read('README.md').matchAll(/\]\((docs\/[\w-]+\.md)/g)].map(([, page]) => page);
    const indirect = ['docs/read-only-console.md'];
    expect(pages.filter((page) => page !== 'README.md' && !linked.includes(page) && !indirect.includes(page))).toEqual([]);
  });
});

test('docs/procedures.md names no verb and no option that the program does not have', () => {
  const verbs = new Map(flows.map((flow) => [flow.verb, flow]));
  const groups = new Set(flows.flatMap(({ verb }) => (verb.includes(' ') ? [verb.split(' ')[0] ?? ''] : [])));
  const named = [...read('docs/procedures.md').matchAll(/`(?:quarterdeck )?([a-z][a-z-]*(?: [^`]*)?)`/g)].map((match) =>
    (match[1] ?? '').split(/\s+/),
  );
  const written = named.filter(([first = '', second = '']) => verbs.has(first) || (groups.has(first) && /^[a-z]/.test(second)));
  expect(written.length).toBeGreaterThan(60);
  const unknown = written.flatMap(([first = '', second = '', ...rest]) => {
    const flow = verbs.get(`${first} ${second}`) ?? verbs.get(first);
    const options = [second, ...rest].filter((word) => word.startsWith('--')).map((word) => word.slice(2));
    if (!flow) return [`${first} ${second}`];
    return options.filter((name) => !flow.flags?.[name] && !['answers', 'dryRun'].includes(name)).map((name) => `${flow.verb} --${name}`);
  });
  expect(unknown).toEqual([]);
});

describe('docs/catalog.md', () => {
  const text = read('docs/catalog.md');
  const shown = (name: string) => new RegExp(`\`\`\`yaml ${name}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? '';

  test('its example is an entry without anything wrong', async () => {
    const { folder, remove } = await catalogFolder({
      'bread-book/component.yaml': shown('component.yaml'),
      'bread-book/compose.yaml': shown('compose.yaml'),
    });
    const { entries, problems } = await loadFolder(folder, { own: true });
    await remove();
    expect(problems).toEqual([]);
    expect(entries.map(({ id }) => id)).toEqual(['bread-book']);
  });

  test('names every key of component.yaml, and no other', () => {
    const [, table = ''] = /^## Keys\n([\s\S]*?)^## /m.exec(text) ?? [];
    const rows = [...table.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, keys = '']) => [...keys.matchAll(/`(\w+)`/g)].map(([, key]) => key));
    // In the row of deploy.
    expect([...rows, 'image'].sort()).toEqual(Object.keys(componentSchema.shape).sort());
  });
});

test.each(documents)('%s: every link to a file leads to one', (file) => {
  for (const [, target = '', anchor] of read(file).matchAll(/\]\((?!https?:)([^)#]*)(?:#([\w-]+))?\)/g)) {
    const path = target === '' ? file : join(dirname(file), target);
    expect(existsSync(resolve(root, path)), `${file} -> ${target}`).toBe(true);
    if (anchor !== undefined) expect(anchorsIn(path), `${file} -> ${target}#${anchor}`).toContain(anchor);
  }
});

test.each(documents)('%s: every file of the checkout that it names exists', (file) => {
  // The component that the walk-through adds, and what building the site writes.
  const later = /^(?:catalog\/media\/request-manager|docs\/site\/(?:dist|pages\/|pictures\/))$/;
  const missing = pathsIn(file).filter((path) => !existsSync(resolve(root, path)) && !later.test(path));
  expect(missing).toEqual([]);
});

test.each(forDevelopers)('%s: every file that it names without a folder is in a folder that it names', (file) => {
  const folders = ['.', ...pathsIn(file).flatMap((path) => [path, dirname(path)])];
  const named = codeIn(file).filter((code) => /^[\w.-]+\.(?:tsx?|c?js|mjs)$/.test(code));
  expect(named.filter((name) => !folders.some((folder) => existsSync(resolve(root, folder, name))))).toEqual([]);
});

test('every identifier that documents for developers name is in the program or its tests', () => {
  const words = new Set(
    ['source', 'test', 'bundle', 'bin'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:tsx?|mjs)$/.test(name))
        .flatMap((name) => read(join(folder, name)).match(/\w+/g) ?? []),
    ),
  );
  const named = forDevelopers.flatMap((file) =>
    codeIn(file).flatMap((code) => code.match(/(?<![\w./-])(?:[a-z]+[A-Z]\w*|[A-Z][a-z]\w*)(?![\w/-])/g) ?? []),
  );
  expect(named.length).toBeGreaterThan(20);
  expect([...new Set(named)].filter((name) => !words.has(name))).toEqual([]);
});

test.each(documents)('%s: every npm script that it names exists', (file) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const [, script] of read(file).matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts), file).toContain(script);
});

describe('docs/json.md', () => {
  const service = serviceView('reader', { ports: [{ address: '127.0.0.1', hostPort: 1, containerPort: 2, protocol: 'tcp' }] });
  const finding = { check: 'c', level: 'warning' as const, message: 'm', remedy: 'r' };
  const task = { id: 'd', title: 't', detail: '', done: false, by: 'hand' as const, urgent: true };
  const probe = { state: undefined, detail: '', atMs: 0, version: undefined, failure: undefined, status: { text: 's' } };
  const unfinished = [{ engineName: 'local', run: 'r', by: 'b', startedAt: 's', components: ['c'], summary: 's' }];
  const engineName = engineView('local', {
    hostKind: 'ssh',
    connection: { state: 'away', sinceMs: 0, roundTripMs: 12, message: 'why', remedy: 'what', retryAtMs: 0 },
    clockAheadMs: 3_600_000,
    notes: ['n'],
    link: { state: 'away', sinceMs: 0, message: 'why', remedy: 'what', retryAtMs: 0 },
  });
  const snapshot = {
    revision: 1,
    settled: true,
    engines: [engineName],
    components: [componentView('rss-reader', { services: [service], findings: [finding], setupTasks: [task], backup: { atMs: 0 }, probe })],
    ports: [
      portView(1, 'rss-reader', {
        component: 'local/stack/rss-reader',
        service: 'reader',
        containerPort: 2,
        role: 'r',
        conflictWith: ['x'],
        note: 'n',
      }),
    ],
  };

  test('shows the shape of status', () => {
    expect(keyPaths(documented('status'))).toEqual(keyPaths(JSON.parse(JSON.stringify(statusJson(snapshot, { unfinished })))));
  });

  test('shows the shape of ports', () => {
    expect(keyPaths(documented('ports'))).toEqual(keyPaths(JSON.parse(JSON.stringify(portsJson(snapshot)))));
  });

  test('shows the shape of a practice stack', async () => {
    await using practice = await startPractice();
    const { products, ...facts } = practice.facts;
    const [one] = Object.entries(documented('practice') as object).flatMap(([key, value]) =>
      key === 'products' ? Object.keys(value as object) : [],
    );
    const shown = { ...facts, products: Object.fromEntries(Object.entries(products).filter(([id]) => id === one)) };
    expect(keyPaths(documented('practice'))).toEqual(keyPaths(JSON.parse(JSON.stringify(shown))));
  });

  test('shows the shape of a log line', () => {
    const component = componentView('rss-reader');
    const write = createLogText([component], {
      filter: undefined,
      streams: { stdout: true, stderr: true },
      wanted: new Map(),
      json: true,
      raw: false,
      timestamps: false,
      coloured: false,
      plainEnough: (line) => line,
    });
    const origin = { component: component.key, container: 'c', service: 'reader' };
    const lines = LogBatch.of([{ timeMs: 0, stamp: '', stream: 'stdout', text: 'x', cut: true }]);
    expect(keyPaths(documented('logs'))).toEqual(keyPaths(JSON.parse(write({ origin, lines }))));
  });

  test('shows the shape of the catalog', async () => {
    const { entries } = await openCatalog({ compiledFile: join(root, 'dist/catalog.json') });
    expect(keyPaths(documented('catalog'))).toEqual(
      keyPaths({ schema: 1, components: JSON.parse(JSON.stringify(entries.map(componentJson))) }),
    );
  });

  test('shows the shape of a fault', () => {
    const fault = new Fault('config.syntax', 'm', 'r', { where: { file: 'f', line: 1, column: 1, field: 'x' } });
    expect(keyPaths(documented('fault'))).toEqual(keyPaths(JSON.parse(JSON.stringify(fault))));
  });

  test('shows the shape of an explanation', async () => {
    expect(keyPaths(documented('explain'))).toEqual(keyPaths({ schema: 1, faults: await faultExplanations() }));
  });
});
