import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { loadFolder } from '../../catalog/load-folder.ts';
import { catalogOf, openCatalog } from '../../catalog/open-catalog.ts';
import { installationFolder } from '../../config/installation.ts';
import { readComponentSource } from '../../stack/component-source.ts';

const catalogNew = flowOf('catalog-new');

let fixture: FlowFixture;
let folder: string;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  folder = join(fixture.folder, 'own');
});
afterEach(() => fixture.close());

const run = (words: readonly string[], options: Record<string, string> = {}) => fixture.run(catalogNew, undefined, { words, options });
const builtIn = () => openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json') });
const both = { image: 'ghcr.io/acme/notes:2.1', port: '3000' };

test('writes an entry that the check accepts as it is, with the line that editors want', async () => {
  const { message } = await run(['note-keeper', folder], both);
  expect(message).toContain(`quarterdeck catalog check ${folder}`);
  expect(message).toContain(`catalogFolder: ${folder}`);
  const { entries, problems } = await loadFolder(folder, { own: true, besides: (await builtIn()).entries });
  expect(problems).toEqual([]);
  expect(entries[0]).toMatchObject({
    id: 'note-keeper',
    image: 'ghcr.io/acme/notes:2.1',
    ports: [{ host: 3000, container: 3000, exposure: 'loopback' }],
  });
  const [first = ''] = (await readFile(join(folder, 'note-keeper', 'component.yaml'), 'utf8')).split('\n');
  const [, schema = ''] = /^# yaml-language-server: \$schema=(file:.*component\.schema\.json)$/.exec(first) ?? [];
  expect(JSON.parse(await readFile(new URL(schema), 'utf8'))).toHaveProperty('properties.probe');
  expect((await fixture.audited()).map(({ request }) => request)).toContain(`write component.yaml, compose.yaml to ${folder}/note-keeper`);
});

test('asks for what was not said', async () => {
  const operator = new OperatorDouble();
  operator.answers = { id: ['bread'], folder: [folder], image: ['baker/bread:1'], port: ['8000'] };
  fixture.operator = operator;
  await run([]);
  expect(await readFile(join(folder, 'bread', 'compose.yaml'), 'utf8')).toContain('${WEB_PORT:-8000}:8000/tcp');
});

test('never writes over what is there, and nothing in a dry run', async () => {
  await mkdir(join(folder, 'note-keeper'), { recursive: true });
  await writeFile(join(folder, 'note-keeper', 'compose.yaml'), 'mine');
  await expect(run(['note-keeper', folder], both)).rejects.toMatchObject({ code: 'refused.fileThere' });
  expect(await readFile(join(folder, 'note-keeper', 'compose.yaml'), 'utf8')).toBe('mine');
  fixture.policy = { ...fixture.policy, dryRun: true };
  expect((await run(['other', folder], both)).message).toMatch(/^Dry run/);
  expect(await readdir(folder)).toEqual(['note-keeper']);
});

test.each([
  [['Note'], both, 'usage.component'],
  [['../x'], both, 'usage.component'],
  [['a', '/tmp', 'b'], both, 'usage.words'],
  [['notes'], { ...both, image: 'no image' }, 'usage.option'],
  [['notes'], { ...both, port: '70000' }, 'usage.option'],
])('%j with %j is refused before anything is written', async (words, options, code) => {
  await expect(run(words.length > 1 ? words : [...words, folder], options)).rejects.toMatchObject({ code });
  await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a built-in one begins as a copy with all its files, and wins over it', async () => {
  fixture.catalog = await builtIn();
  for (const id of ['llm-proxy', 'authoritative-dns']) await run([id, folder]);
  const path = join(folder, 'llm-proxy', 'component.yaml');
  await writeFile(path, (await readFile(path, 'utf8')).replace(/^kind: .*$/m, 'kind: Our own proxy'));
  const opened = await openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json'), ownFolder: folder });
  expect(opened.problems.filter(({ level }) => level === 'error')).toEqual([]);
  expect(opened.entries).toHaveLength(fixture.catalog.entries.length);
  const own = opened.get('llm-proxy');
  expect(own).toMatchObject({ kind: 'Our own proxy', own: true, folder: join(folder, 'llm-proxy') });
  for (const id of ['llm-proxy', 'authoritative-dns']) {
    const [ours, theirs] = await Promise.all(
      [opened.get(id), fixture.catalog.get(id)].map((entry) => entry && readComponentSource(entry, join(installationFolder(), 'catalog'))),
    );
    expect({ ...ours, folder: '' }).toEqual({ ...theirs, folder: '' });
  }
});

test('own files, templates and schema are the own ones; a broken entry beside it takes nothing down', async () => {
  fixture.catalog = await builtIn();
  await run(['llm-proxy', folder]);
  const [delivered = ''] = (await readdir(join(folder, 'llm-proxy', 'files'))).sort();
  await appendFile(join(folder, 'llm-proxy', 'files', delivered), '# ours\n');
  await writeFile(join(folder, 'llm-proxy', 'config.schema.json'), '{"type": "object", "description": "ours"}');
  await mkdir(join(folder, 'broken'));
  await writeFile(join(folder, 'broken', 'component.yaml'), 'id: [');
  await mkdir(join(folder, 'media', 'half'), { recursive: true });
  await writeFile(join(folder, 'media', 'half', 'component.yaml'), 'id: half\ngroup: media\n');
  // If the operator's version of a built-in entry is broken, the built-in one is used.
  await mkdir(join(folder, 'rss-reader'));
  await writeFile(join(folder, 'rss-reader', 'component.yaml'), 'id: rss-reader\n');
  const opened = await openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json'), ownFolder: folder });
  const entry = opened.get('llm-proxy');
  if (!entry) throw new Error('it is gone');
  const source = await readComponentSource(entry, join(installationFolder(), 'catalog'));
  expect(JSON.stringify(source)).toContain('# ours');
  expect(source.configSchema).toContain('ours');
  expect(opened.get('rss-reader')).toMatchObject({ own: false, product: { name: 'Miniflux' } });
  expect(opened.entries).toHaveLength(fixture.catalog.entries.length);
  expect(new Set(opened.problems.map(({ file }) => file.slice(folder.length + 1)))).toEqual(
    new Set(['broken/component.yaml', 'media/half/component.yaml', 'rss-reader/component.yaml']),
  );
  expect(catalogOf(opened.entries, []).get('llm-proxy')?.own).toBe(true);
});
