import { spawnSync } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSocketFolder } from './private-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the folder for sockets', () => {
  test('is closed to everybody else, also where it stood open', async () => {
    const base = join(folder, 'run');
    await mkdir(base);
    await chmod(base, 0o755);
    const made = await createSocketFolder(base);
    expect((await lstat(base)).mode & 0o777).toBe(0o700);
    expect((await lstat(made)).mode & 0o777).toBe(0o700);
  });

  test('loses what processes left that are gone, and nothing of those that live', async () => {
    const gone = spawnSync('true').pid;
    await mkdir(join(folder, String(gone)));
    await writeFile(join(folder, String(gone), 'c'), '');
    await mkdir(join(folder, String(process.ppid)));
    await mkdir(join(folder, 'practice-7'));
    await createSocketFolder(folder);
    expect((await readdir(folder)).sort()).toEqual([String(process.pid), String(process.ppid), 'practice-7'].sort());
  });

  test('has room for the names of sockets', async () => {
    const made = await createSocketFolder(join(folder, 'x'.repeat(90)));
    expect(Buffer.byteLength(join(made, '123456789012')) + 17).toBeLessThanOrEqual(107);
    await rm(made, { recursive: true });
  });

  test('is not taken from somebody else: a link under its name is refused', async () => {
    await mkdir(join(folder, 'theirs'));
    await symlink(join(folder, 'theirs'), join(folder, 'run'));
    await expect(createSocketFolder(join(folder, 'run'))).rejects.toMatchObject({ code: 'refused.socketFolder' });
  });

  // A build as an ordinary user cannot switch to another user.
  test.runIf(process.geteuid?.() === 0)("is root's own when root uses another user's home", async () => {
    await chown(folder, 65534, 65534);
    const made = await createSocketFolder(join(folder, 'run'));
    expect(await readdir(folder)).toEqual([]);
    expect((await lstat(join(made, '..'))).uid).toBe(0);
    await rm(made, { recursive: true });
  });
});
