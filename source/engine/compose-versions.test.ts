import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import type { EngineFacts } from './engine.ts';
import { findComposeTool } from './find-compose.ts';

const signal = () => AbortSignal.timeout(10_000);
const facts: EngineFacts = {
  kind: 'docker',
  version: '20.10.24',
  apiVersion: '1.41',
  rootless: false,
  operatingSystem: 'Debian',
};
const address = { url: 'unix:///run/docker.sock', origin: 'test' };

let folder: string;
let asked: string[];
let prints: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-versions-'));
  await mkdir(join(folder, 'bin'));
  asked = [];
  prints = '1.29.2';
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** This machine with its own folder of programs; their output is set here, and their calls are recorded. */
function machine(): Host {
  const local = openLocalHost({ env: { HOME: folder } });
  return {
    ...local,
    exec: async (argv, options) => {
      if (argv[0] === 'sh') return local.exec(argv, { ...options, env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` } });
      asked.push(argv.join(' '));
      if (prints === '') throw new Fault('failed.limit', 'It hangs.', 'Wait.');
      return { exitCode: 0, stdout: Buffer.from(`${prints}\n`), stderr: new Uint8Array(), cut: false };
    },
  };
}

async function program(text: string, atS = 1_700_000_000): Promise<void> {
  const path = join(folder, 'bin', 'docker-compose');
  await writeFile(path, text);
  await chmod(path, 0o755);
  await utimes(path, atS, atS);
}

const python = '#!/usr/bin/python3\nimport compose\n';
const look = async () => {
  asked = [];
  const tool = await findComposeTool(machine(), { facts, address, versionsFile: join(folder, 'cache', 'versions.json') }, signal());
  return { tool, own: asked.filter((line) => line.startsWith('docker-compose')) };
};

test('a program is asked for its version once, and again when it was replaced', async () => {
  await program(python);
  expect(await look()).toMatchObject({ tool: { generation: 1, version: '1.29.2' }, own: ['docker-compose version --short'] });
  expect(await look()).toMatchObject({ tool: { generation: 1, version: '1.29.2' }, own: [] });
  prints = '2.40.3';
  await program(`${python}# another one\n`, 1_700_000_100);
  expect(await look()).toMatchObject({ tool: { generation: 2, version: '2.40.3' }, own: ['docker-compose version --short'] });
});

test('a shell script may call anything: it is asked each time', async () => {
  await program('#!/usr/bin/env bash\nexec something-else "$@"\n');
  await look();
  prints = '2.40.3';
  expect(await look()).toMatchObject({ tool: { version: '2.40.3' }, own: ['docker-compose version --short'] });
});

test('one that hung is asked again, and so it is where the notes are damaged', async () => {
  await program(python);
  prints = '';
  expect((await look()).tool).toBeUndefined();
  prints = '1.29.2';
  expect((await look()).tool?.version).toBe('1.29.2');
  await writeFile(join(folder, 'cache', 'versions.json'), '{"schema":1,"kept":');
  expect(await look()).toMatchObject({ tool: { version: '1.29.2' }, own: ['docker-compose version --short'] });
});

test('a plugin that was installed since is found', async () => {
  await program(python);
  await writeFile(join(folder, 'bin', 'docker'), '\u007fELF');
  await chmod(join(folder, 'bin', 'docker'), 0o755);
  prints = 'Usage: docker';
  expect((await look()).tool).toBeUndefined();
  expect(asked).toEqual(['docker compose version --short', 'docker-compose version --short']);
  await look();
  expect(asked).toEqual([]);
  prints = '2.40.3';
  await mkdir(join(folder, '.docker', 'cli-plugins'), { recursive: true });
  await writeFile(join(folder, '.docker', 'cli-plugins', 'docker-compose'), '\u007fELF');
  expect((await look()).tool).toMatchObject({ argv: ['docker', 'compose'], version: '2.40.3' });
});
