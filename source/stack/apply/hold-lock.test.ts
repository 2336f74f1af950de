import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mintGrant } from '../../grants/mint.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { holdStackLock, readLock } from './lock.ts';

const signal = () => AbortSignal.timeout(10_000);
const grant = (ends: AbortSignal = signal()) => mintGrant('test', 'operate', ends);
const host = openLocalHost();

let stackFolder: string;
beforeEach(async () => {
  stackFolder = await mkdtemp(join(tmpdir(), 'qd-hold-'));
  await mkdir(join(stackFolder, '.quarterdeck'));
});
afterEach(() => rm(stackFolder, { recursive: true, force: true }));

const hold = (what: 'backup' | 'restore', component: string, ends?: AbortSignal) =>
  holdStackLock(grant(ends), host, { stackFolder, what, component, by: 'ada@nas' });
const free = () => expect.poll(async () => (await readLock(host, stackFolder, signal()))?.alive ?? false, { timeout: 5_000 }).toBe(false);

test('whoever backs up has the lock of the stack, and others are told who', async () => {
  const held = await hold('backup', 'vault');
  expect(await readLock(host, stackFolder, signal())).toMatchObject({ run: 'backup-vault', by: 'ada@nas', alive: true });
  await expect(hold('restore', 'feeds')).rejects.toMatchObject({
    code: 'refused.locked',
    message: expect.stringMatching(/^ada@nas has been backing up vault since \d{4}-\d\d-\d\dT/),
  });
  await held.release();
  expect(await readLock(host, stackFolder, signal())).toBeUndefined();
  const next = await hold('restore', 'feeds');
  await expect(hold('backup', 'vault')).rejects.toMatchObject({ message: expect.stringContaining('has been restoring feeds') });
  await next.release();
});

test('the lock is free again when its holder ends in any other way', async () => {
  const ending = new AbortController();
  await hold('backup', 'vault', ending.signal);
  ending.abort(new Error('over'));
  await free();
  const next = await hold('backup', 'vault');
  await next.release();
  expect(await readdir(join(stackFolder, '.quarterdeck')).then((names) => names.filter((name) => name.startsWith('lock.')))).toEqual([]);
});

test('where nothing of ours stands nothing is made', async () => {
  await rm(join(stackFolder, '.quarterdeck'), { recursive: true });
  await (await hold('backup', 'vault')).release();
  expect(await readdir(stackFolder)).toEqual([]);
});
