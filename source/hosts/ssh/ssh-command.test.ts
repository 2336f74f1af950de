import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { mintGrant } from '../../grants/mint.ts';
import { parseDestination } from './destination.ts';
import { Forwards } from './forwards.ts';
import { changedKey, forgetKey } from './host-keys.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-ssh-'));
  for (const name of ['ssh', 'ssh-keygen']) await writeFile(join(folder, name), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

const { signal } = new AbortController();
const destination = parseDestination('nas');
const programs = () => ({ program: join(folder, 'ssh'), env: { PATH: `${folder}:${process.env.PATH}` } });

async function isEnded(limitMs: number, asking: Promise<unknown>, fault: { code: string; message: string; remedy: RegExp }): Promise<void> {
  const expected = { ...fault, remedy: expect.stringMatching(fault.remedy) };
  const failed = expect(asking).rejects.toMatchObject(expected);
  vi.advanceTimersByTime(limitMs);
  await failed;
}

test('an ssh that hangs while it forwards a socket is ended, and the fault names the socket', async () => {
  const { program, env } = programs();
  const command = { program, destination, control: join(folder, 'c'), log: join(folder, 'l') };
  const forwards = new Forwards({ name: 'nas', command, env, verifyAlive: vi.fn(), listening: vi.fn() }, folder, 'a');
  await isEnded(5_000, forwards.to({ socket: '/run/docker.sock' }, signal), {
    code: 'unreachable.forward',
    message: 'ssh could not forward a connection to /run/docker.sock: the request did not finish within 5 s and was stopped.',
    remedy: /hosts check/,
  });
});

test('an ssh that hangs while it reads the key of a host is ended', async () => {
  await isEnded(15_000, changedKey('nas', destination, programs(), signal), {
    code: 'unreachable.silent',
    message: 'nas sent no host key within 15 s.',
    remedy: /ssh nas/,
  });
});

test('an ssh-keygen that hangs is ended, and the fault names the file', async () => {
  const key = { name: 'nas', file: join(folder, 'known_hosts'), known: [], shown: '' };
  await isEnded(10_000, forgetKey(mintGrant('test', 'operate', signal), key, programs().env), {
    code: 'refused.knownHosts',
    message: `Cannot read ${key.file}: ssh-keygen did not finish within 10 s and was stopped.`,
    remedy: /disk/,
  });
});
