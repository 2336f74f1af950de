import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { hashOf, listDeployments, readDeployment } from './read-deployment.ts';

let stack = '';
let host: Host;
const { signal } = new AbortController();

beforeEach(async () => {
  stack = await mkdtemp(join(tmpdir(), 'stack-'));
  host = openLocalHost();
});
afterEach(async () => {
  await host.close();
  await rm(stack, { recursive: true });
});

async function put(files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(stack, path)), { recursive: true });
    await writeFile(join(stack, path), text);
  }
}

const record = { schema: 1, component: 'app', run: 'r', at: 't', by: 'me', files: {}, secrets: {}, images: {} };

describe('readDeployment', () => {
  it('reads compose file, values, files below files/ and the record', async () => {
    await put({
      'app/compose.yaml': 'services: {}\n',
      'app/.env': "A='x y' # c\n",
      'app/files/a/b.yaml': 'b',
      'app/files/image.png': Uint8Array.of(137, 0, 1),
      'app/data/other.txt': 'not looked at',
      '.quarterdeck/components/app.json': JSON.stringify(record),
    });
    await symlink('..', join(stack, 'app/files/circle'));
    expect(await readDeployment(host, stack, 'app', signal)).toMatchObject({
      component: 'app',
      folder: `${stack}/app`,
      compose: 'services: {}\n',
      env: { A: 'x y' },
      record,
    });
    expect((await readDeployment(host, stack, 'app', signal))?.files['files/a/b.yaml']).toBe('b');
    expect((await readDeployment(host, stack, 'app', signal))?.files['files/image.png']).toBeUndefined();
  });

  it('names other compose files beside its own, which compose is told to leave out', async () => {
    await put({
      'app/compose.yaml': '',
      'app/compose.override.yaml': '',
      'app/docker-compose.override.yml': '',
      'app/compose.yml': '',
      'app/compose.yaml.old': '',
    });
    expect((await readDeployment(host, stack, 'app', signal))?.skipped).toEqual([
      'compose.override.yaml',
      'compose.yml',
      'docker-compose.override.yml',
    ]);
  });

  it('knows what is not there, and what is not ours', async () => {
    expect(await readDeployment(host, stack, 'app', signal)).toBeUndefined();
    await put({ 'app/compose.yaml': 'services: {}\n' });
    expect(await readDeployment(host, stack, 'app', signal)).toMatchObject({ envText: '', env: {}, files: {}, record: undefined });
  });

  it('leaves what is no text to whoever put it there, but for a file that it wrote itself', async () => {
    await put({
      'app/compose.yaml': '\uFEFFservices: {}\n',
      'app/files/theirs.conf': Buffer.from('größer\n', 'latin1'),
      'app/files/key': Uint8Array.of(0xc3, 0x28, 0xff),
      'app/files/ours.conf': 'größer\n',
      '.quarterdeck/components/app.json': JSON.stringify({ ...record, files: { 'app/files/ours.conf': hashOf('kleiner\n') } }),
    });
    expect(await readDeployment(host, stack, 'app', signal)).toMatchObject({
      compose: 'services: {}\n',
      files: { 'files/ours.conf': 'größer\n' },
    });
    await put({ 'app/files/ours.conf': Buffer.from('eins\ngrößer\n', 'latin1') });
    await expect(readDeployment(host, stack, 'app', signal)).rejects.toMatchObject({
      code: 'config.unreadable',
      where: { file: join(stack, 'app/files/ours.conf'), line: 2, column: 3 },
    });
  });

  it.each([
    ['a damaged record', { '.quarterdeck/components/app.json': '{\n"schema": 1,\n oops' }, 'config.record', 3],
    [
      'a record of something else',
      { '.quarterdeck/components/app.json': JSON.stringify({ ...record, component: 'b' }) },
      'config.record',
      1,
    ],
    ['a record from the future', { '.quarterdeck/components/app.json': '{"schema": 2}' }, 'config.record', 1],
    ['half a record', { '.quarterdeck/components/app.json': '{"schema": 1, "component": "app"}' }, 'config.record', 1],
    ['a damaged .env', { 'app/.env': 'A=1\nB="open\n' }, 'config.env', 2],
    ['a .env in another encoding', { 'app/.env': Buffer.from('A=1\nPASSWORD=Käse\n', 'latin1') }, 'config.unreadable', 2],
    [
      'a compose file in another encoding',
      { 'app/compose.yaml': Buffer.from('# für alle\nservices: {}\n', 'latin1') },
      'config.unreadable',
      1,
    ],
  ])('names file and line of %s', async (_, files, code, line) => {
    await put({ 'app/compose.yaml': 'services: {}\n', ...files });
    const [path = ''] = Object.keys(files);
    await expect(readDeployment(host, stack, 'app', signal)).rejects.toMatchObject({ code, where: { file: join(stack, path), line } });
  });
});

describe('listDeployments', () => {
  it('lists what can be read, and tells of the rest', async () => {
    await put({
      'a/compose.yaml': 'services: {}\n',
      'b/compose.yaml': 'services: {}\n',
      'b/.env': '"\n',
      'notes/readme.txt': '',
      '.quarterdeck/components/a.json': '{',
      'c/compose.yaml': 'services: {}\n',
    });
    const { deployments, problems } = await listDeployments(host, stack, signal);
    expect(deployments.map(({ component }) => component)).toEqual(['c']);
    expect(problems.map(({ code }) => code).sort()).toEqual(['config.env', 'config.record']);
    expect(await listDeployments(host, join(stack, 'nowhere'), signal)).toEqual({ deployments: [], problems: [] });
  });
});

it('hashes as sha256sum does', () => {
  expect(hashOf('a\n')).toBe('87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7');
});
