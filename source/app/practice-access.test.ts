import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type OwnPaths, ownPaths } from '../config/paths.ts';
import { findServed, openOwn } from './practice-access.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-access-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true, force: true });
});

const pathsIn = (folder: string): OwnPaths => ownPaths({ QUARTERDECK_HOME: folder }, folder);

test('sockets find room where all usual folders have long names', async () => {
  const long = join(home, 'x'.repeat(120));
  await mkdir(long);
  vi.stubEnv('TMPDIR', long);
  const access = await openOwn(pathsIn(long));
  try {
    expect(access.folder.length).toBeLessThan(85);
    expect((await stat(access.folder)).mode & 0o777).toBe(0o700);
    await access.publish();
    expect(await findServed(pathsIn(long), AbortSignal.timeout(5_000))).toMatchObject({ folder: access.folder });
  } finally {
    await access.close();
  }
  await expect(stat(access.folder)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('what a dead one left behind goes, and nothing else, whatever its notes say', async () => {
  const { pid } = spawnSync('true');
  const dead = join(home, 'run', `practice-${pid}`);
  const precious = join(home, 'precious');
  await mkdir(dead, { recursive: true, mode: 0o700 });
  await mkdir(precious);
  await writeFile(join(dead, 'facts.json'), JSON.stringify({ schema: 1, engine: `unix://${precious}/engine.sock` }), { mode: 0o600 });
  expect(await findServed(pathsIn(home), AbortSignal.timeout(5_000))).toBeUndefined();
  await expect(stat(dead)).rejects.toMatchObject({ code: 'ENOENT' });
  expect((await stat(precious)).isDirectory()).toBe(true);
});
