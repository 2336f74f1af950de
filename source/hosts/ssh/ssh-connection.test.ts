import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseDestination } from './destination.ts';
import { ReconnectingLink } from './reconnecting-link.ts';
import { readSshSettings, SshConnection } from './ssh-connection.ts';

test('an ssh that hangs while it reads its configuration is ended, and the host is tried again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qd-ssh-'));
  const program = join(folder, 'ssh');
  await writeFile(program, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  const options = { name: 'nas', destination: parseDestination('nas'), folder, prefix: 'a', program, env: process.env };
  const link = new ReconnectingLink(async (signal) => {
    const settings = await readSshSettings(options, signal);
    return SshConnection.open({ ...options, settings }, signal);
  });
  onTestFinished(async () => {
    link.close();
    await rm(folder, { recursive: true });
  });
  const fault = { code: 'unreachable.ssh', message: 'ssh -G nas did not finish within 5 s and was stopped.' };
  await expect(link.ready(AbortSignal.timeout(20_000))).rejects.toMatchObject(fault);
  expect(link.view).toMatchObject({ state: 'away', fault, retryAtMs: expect.any(Number) });
});
