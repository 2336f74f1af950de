import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mintGrant } from '../../grants/mint.ts';
import type { Host } from '../../hosts/host.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { lockFolder } from './folder-store.ts';

const whereIs = (program: string) => execFileSync('/bin/sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();

/** This machine, with only these programs in its PATH. */
async function hostWith(programs: readonly string[]): Promise<{ host: Host; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-lock-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  await mkdir(bin);
  for (const program of programs) await symlink(whereIs(program), join(bin, program));
  const host = openLocalHost();
  return { host: { ...host, pipe: (grant, argv, options) => host.pipe(grant, argv, { ...options, env: { PATH: bin } }) }, folder };
}

const common = ['sh', 'cat', 'mkdir', 'rmdir', 'mv', 'rm', 'date', 'ps'];
const grant = () => mintGrant('test', 'operate', AbortSignal.timeout(20_000));

describe.each([
  ['with flock', [...common, 'flock']],
  ['without flock', common],
])('a folder of backups on a machine %s', (_, programs) => {
  test('is one backup’s at a time, and free again when that is done, or has died', async () => {
    const { host, folder } = await hostWith(programs);
    const first = await lockFolder(grant(), host, folder);
    await expect(lockFolder(grant(), host, folder)).rejects.toMatchObject({ code: 'refused.backupRuns' });
    await first.release();
    const ending = new AbortController();
    await lockFolder(mintGrant('test', 'operate', ending.signal), host, folder);
    ending.abort(new Error('killed'));
    await expect
      .poll(
        async () => {
          const held = await lockFolder(grant(), host, folder).catch(() => undefined);
          await held?.release();
          return held !== undefined;
        },
        { timeout: 15_000 },
      )
      .toBe(true);
  });

  test('that cannot take the lock says why, and not that somebody is at it', async () => {
    const { host, folder } = await hostWith(programs);
    await mkdir(join(folder, '.lock'));
    await writeFile(join(folder, '.locks'), '');
    await expect(lockFolder(grant(), host, folder)).rejects.toMatchObject({
      code: 'failed.backup',
      message: expect.stringMatching(/Is a directory|File exists/i),
    });
  });
});
