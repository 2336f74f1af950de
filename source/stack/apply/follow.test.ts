import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { mintGrant } from '../../grants/mint.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { followRun } from './follow.ts';

vi.mock(import('../../faults/waits.ts'), async (original) => ({ ...(await original()), pauseFor: async () => {} }));

let stackFolder: string;
beforeEach(async () => {
  stackFolder = await mkdtemp(join(tmpdir(), 'qd-follow-'));
  await mkdir(join(stackFolder, '.quarterdeck/runs/run1'), { recursive: true });
  await mkdir(join(stackFolder, '.quarterdeck/lock'));
  const end = JSON.stringify({ at: '2026-11-21T22:15:00Z', step: 'all', state: 'done' });
  await writeFile(join(stackFolder, '.quarterdeck/runs/run1/journal'), `${end}\n`);
});
afterEach(() => rm(stackFolder, { recursive: true, force: true }));

const follow = () => {
  const transaction = transactionOf('run1', [planOf('vault', stackFolder, [])]);
  const grant = mintGrant('apply', 'operate', AbortSignal.timeout(20_000));
  return followRun(grant, openLocalHost(), { transaction, seen: 0, secrets: {} }, () => {});
};

test('a script that ends its journal and keeps its lock is reported with the lock to check', async () => {
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const start = (await readFile('/proc/self/stat', 'utf8')).replace(/^.*\) /s, '').split(' ')[19];
  const owner = { run: 'run1', by: 'ann@nas', since: '2026-11-21T22:15:00Z', pid: process.pid, start, boot };
  const lines = Object.entries(owner).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(stackFolder, '.quarterdeck/lock/owner-run1.1'), lines.join(''));
  await expect(follow()).rejects.toMatchObject({
    code: 'failed.locked',
    message: 'The last step of run run1 has ended, but its script has not released the lock of the stack.',
    remedy: expect.stringContaining(
      `check: quarterdeck recover. If the script never ends, end the process whose pid is in ${stackFolder}/`,
    ),
  });
});

test('a run whose files were deleted while it was followed is a fault with a remedy', async () => {
  await expect(follow()).rejects.toMatchObject({
    code: 'failed.noRun',
    message: 'The run run1 no longer exists on the host.',
    remedy: 'Check the components: quarterdeck status. Then plan the change again.',
  });
});
