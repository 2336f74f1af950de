import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { UnattendedOperator } from '../../app/unattended-operator.ts';
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

const run = (words: readonly string[], options: Record<string, string | readonly string[]> = {}) =>
  fixture.run(catalogNew, undefined, { words, options });
const builtIn = () => openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json') });
const all = {
  name: 'Acme Notes',
  kind: 'Notebook',
  group: 'productivity',
  image: 'ghcr.io/acme/notes:2.1',
  port: '3000',
  'host-port': '3001',
  health: '/health',
  volume: ['/data'],
  'time-zone': 'yes',
};

test('writes an entry that the check accepts as it is, with the line that editors want', async () => {
  const { message } = await run(['note-keeper', folder], all);
  expect(message).toContain(`quarterdeck catalog check ${folder}`);
  expect(message).toContain(`set catalogFolder to ${folder}`);
  const { entries, problems } = await loadFolder(folder, { own: true, besides: (await builtIn()).entries });
  expect(problems).toEqual([]);
  expect(entries[0]).toMatchObject({
    id: 'note-keeper',
    image: 'ghcr.io/acme/notes:2.1',
    ports: [{ host: 3001, container: 3000, exposure: 'loopback' }],
    fields: [{ name: 'TZ', label: 'Time zone' }],
    backup: [{ volume: 'data', method: 'stop' }],
  });
  const [first = ''] = (await readFile(join(folder, 'note-keeper', 'component.yaml'), 'utf8')).split('\n');
  const [, schema = ''] = /^# yaml-language-server: \$schema=(file:.*component\.schema\.json)$/.exec(first) ?? [];
  expect(JSON.parse(await readFile(new URL(schema), 'utf8'))).toHaveProperty('properties.probe');
  expect((await fixture.audited()).map(({ request }) => request)).toContain(`write component.yaml, compose.yaml to ${folder}/note-keeper`);
});

test('prompts for what no flag says, checks each answer, and assumes nothing', async () => {
  const operator = new OperatorDouble();
  operator.answers = { id: ['bread'], folder: [folder] };
  const { image, ...others } = { ...all, image: 'baker/bread:latest', volume: 'none', 'time-zone': 'no' };
  operator.typed['entry'] = [others];
  fixture.operator = operator;
  await run([], { image });
  const [form] = operator.forms;
  expect(form?.fields.map(({ id, value, required }) => [id, value, required])).toEqual(
    ['name', 'kind', 'group', 'port', 'host-port', 'health', 'volume', 'time-zone'].map((id) => [id, '', true]),
  );
  expect(await readFile(join(folder, 'bread', 'compose.yaml'), 'utf8')).toBe(
    [
      'services:',
      '  app:',
      '    image: baker/bread:latest',
      '    restart: unless-stopped',
      '    ports:',
      '      - "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-3001}:3000/tcp"',
      '',
    ].join('\n'),
  );
  const component = await readFile(join(folder, 'bread', 'component.yaml'), 'utf8');
  expect(component).not.toMatch(/^(?:fields|volumes|backup):|TZ|tagReason|\n\n\n/m);
  const { problems } = await loadFolder(folder, { own: true });
  expect(problems).toEqual([]);
});

test('each folder has a volume of its own, in compose.yaml and in the backup', async () => {
  await run(['many', folder], { ...all, volume: ['/app/data/', '/var/lib/data', '/app/media', '/2', '/srv/.config'] });
  const { entries, problems } = await loadFolder(folder, { own: true });
  expect(problems).toEqual([]);
  const targets = ['/app/data', '/var/lib/data', '/app/media', '/2', '/srv/.config'];
  const names = ['data', 'var-lib-data', 'media', 'data-2', 'config'];
  expect(entries[0]?.services[0]?.mounts.map(({ source, target }) => [source, target])).toEqual(
    names.map((name, index) => [name, targets[index]]),
  );
  expect(entries[0]?.backup.map(({ volume }) => volume)).toEqual(names);
  expect(Object.keys(entries[0]?.volumes ?? {})).toEqual(targets);
});

test.each<[what: string, answers: Record<string, string | readonly string[]>]>([
  ['a kind that has settings of its own in the built-in catalog', { kind: 'Wiki' }],
  ['a media server with its library', { kind: 'Media server', group: 'media', volume: ['/media', '/config'] }],
  ['a digest', { image: `baker/bread@sha256:${'a1'.repeat(32)}` }],
  ['text that YAML would read otherwise', { name: 'yes: "no" # maybe', kind: "true'", health: '/a:' }],
  ...['security', 'ai', 'media', 'vpn', 'networking', 'cluster'].map(
    (group) => [`the group ${group}`, { group }] as [string, { group: string }],
  ),
])('an entry with %s passes the check', async (_, answers) => {
  await run(['some', folder], { ...all, ...answers });
  const { entries, problems } = await loadFolder(folder, { own: true, besides: (await builtIn()).entries });
  expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
  expect(entries[0]).toMatchObject({ id: 'some', kind: { ...all, ...answers }.kind, product: { name: { ...all, ...answers }.name } });
});

test('without a terminal, all missing flags are named at once', async () => {
  const { name, volume, 'time-zone': _, ...given } = all;
  const sink = { show: () => {} };
  const flags = catalogNew.flags;
  fixture.operator = new UnattendedOperator({ sink, yes: true, flags }) as never;
  await expect(run(['note-keeper', folder], given)).rejects.toMatchObject({
    code: 'usage.answer',
    message: expect.stringContaining('Data folders (volume): A value is required.'),
    remedy: 'Add --name NAME --volume PATH --time-zone YES|NO to the command line.',
  });
  await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  await run(['note-keeper', folder], { ...given, name, volume, 'time-zone': 'no' });
});

test('a host port that another component has by default is refused, and a free one is named', async () => {
  fixture.catalog = await builtIn();
  const [port = 0] = fixture.catalog.get('password-vault')?.ports.map(({ host }) => host) ?? [];
  const refused = run(['note-keeper', folder], { ...all, 'host-port': String(port) });
  await expect(refused).rejects.toMatchObject({
    code: 'usage.option',
    message: expect.stringMatching(
      new RegExp(
        `^--host-port cannot be "${port}"\\. ${port} is the default port of password-vault \\(Vaultwarden\\)\\. No catalog entry uses \\d+\\.$`,
      ),
    ),
  });
  const [, free = ''] = /uses (\d+)\.$/.exec((await refused.catch(({ message }: Error) => message)) as string) ?? [];
  expect(fixture.catalog.entries.flatMap(({ ports }) => ports.map(({ host }) => host))).not.toContain(Number(free));
  await run(['note-keeper', folder], { ...all, 'host-port': free });
});

test('flags of a new entry are refused for a copy', async () => {
  fixture.catalog = await builtIn();
  await expect(run(['llm-proxy', folder], { port: '80' })).rejects.toMatchObject({
    code: 'usage.option',
    message: '--port is for a new entry, but llm-proxy is copied from the built-in catalog.',
  });
});

test('never writes over what is there, and nothing in a dry run', async () => {
  await mkdir(join(folder, 'note-keeper'), { recursive: true });
  await writeFile(join(folder, 'note-keeper', 'compose.yaml'), 'mine');
  await expect(run(['note-keeper', folder], all)).rejects.toMatchObject({ code: 'refused.fileThere' });
  expect(await readFile(join(folder, 'note-keeper', 'compose.yaml'), 'utf8')).toBe('mine');
  fixture.policy = { ...fixture.policy, dryRun: true };
  expect((await run(['other', folder], all)).message).toMatch(/^Dry run/);
  expect(await readdir(folder)).toEqual(['note-keeper']);
});

test.each([
  [['Note'], all, 'usage.component'],
  [['../x'], all, 'usage.component'],
  [['a', '/tmp', 'b'], all, 'usage.words'],
  [['notes'], { ...all, image: 'no image' }, 'usage.option'],
  [['notes'], { ...all, image: 'postgres:latest' }, 'usage.option'],
  [['notes'], { ...all, port: '70000' }, 'usage.option'],
  [['notes'], { ...all, port: '80x' }, 'usage.option'],
  [['notes'], { ...all, 'host-port': '0' }, 'usage.option'],
  [['notes'], { ...all, group: 'office' }, 'usage.option'],
  [['notes'], { ...all, kind: ' ' }, 'usage.option'],
  [['notes'], { ...all, health: 'health' }, 'usage.option'],
  [['notes'], { ...all, volume: ['data'] }, 'usage.option'],
  [['notes'], { ...all, volume: ['/'] }, 'usage.option'],
  [['notes'], { ...all, volume: ['/app/../etc'] }, 'usage.option'],
  [['notes'], { ...all, volume: ['/a:ro'] }, 'usage.option'],
  [['notes'], { ...all, volume: ['none', '/data'] }, 'usage.option'],
  [['notes'], { ...all, volume: ['/data', '/data/'] }, 'usage.option'],
  [['notes'], { ...all, volume: [' '] }, 'usage.option'],
  [['notes'], { ...all, 'time-zone': 'Europe/Berlin' }, 'usage.option'],
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
