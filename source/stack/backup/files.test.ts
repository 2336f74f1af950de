import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLocalHost } from '../../hosts/local-host.ts';
import { checkSums, finished, readStream } from './files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backup-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a named pipe in the place of an archive is damage, and holds nobody', async () => {
  const { signal } = new AbortController();
  const host = openLocalHost();
  for (const name of ['data.tar', 'odd name.tar']) await writeFile(join(folder, name), name);
  await writeFile(join(folder, 'SHA256SUMS'), execFileSync('sha256sum', ['data.tar', 'odd name.tar'], { cwd: folder }));
  expect(await checkSums({ host, folder }, signal)).toEqual([]);
  await rm(join(folder, 'odd name.tar'));
  execFileSync('mkfifo', [join(folder, 'odd name.tar')]);
  expect(await checkSums({ host, folder }, signal)).toEqual(['odd name.tar']);
  const program = await readStream(signal, { host, folder }, 'odd name.tar');
  expect(await text(program.stdout)).toBe('');
  await expect(finished(program, 'odd name.tar')).rejects.toMatchObject({ message: expect.stringContaining('it is not a regular file') });
});
