import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { appendOwnFile, listOwnFolder, readOwnFile, removeOwnFile, writeOwnFile } from './own-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'own-files-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe('own files', () => {
  it('are written for the operator alone, folders included', async () => {
    const path = join(folder, 'state', 'deep', 'audit.jsonl');
    await writeOwnFile(path, 'one');
    expect(await modeOf(path)).toBe(0o600);
    expect(await modeOf(join(folder, 'state'))).toBe(0o700);
    expect(await modeOf(join(folder, 'state', 'deep'))).toBe(0o700);
    expect(await readOwnFile(path)).toBe('one');
  });

  it('tighten a file that was too open, and leave no temporary file behind', async () => {
    const path = join(folder, 'journal');
    await writeFile(path, 'old');
    await chmod(path, 0o644);
    await writeOwnFile(path, 'new');
    expect(await modeOf(path)).toBe(0o600);
    expect(await readdir(folder)).toEqual(['journal']);
  });

  it('append whole lines', async () => {
    const path = join(folder, 'log');
    await Promise.all(Array.from({ length: 20 }, (_, index) => appendOwnFile(path, `line ${index}\n`)));
    const lines = (await readOwnFile(path))?.trimEnd().split('\n');
    expect(lines?.sort()).toEqual(Array.from({ length: 20 }, (_, index) => `line ${index}`).sort());
    expect(await modeOf(path)).toBe(0o600);
  });

  it('answer undefined for what is not there, also below a file', async () => {
    await writeOwnFile(join(folder, 'file'), '');
    expect(await readOwnFile(join(folder, 'nothing'))).toBeUndefined();
    expect(await readOwnFile(join(folder, 'file', 'below'))).toBeUndefined();
    expect(await listOwnFolder(join(folder, 'nothing'))).toBeUndefined();
    await removeOwnFile(join(folder, 'nothing'));
  });

  it('say what is wrong with a path that cannot be read or written', async () => {
    await expect(readOwnFile(folder)).rejects.toMatchObject({
      code: 'config.unreadable',
      message: expect.stringContaining('it is a folder'),
      where: { file: folder },
    });
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    await expect(readOwnFile(join(folder, 'pipe'))).rejects.toMatchObject({ message: expect.stringContaining('not a plain file') });
    await writeOwnFile(join(folder, 'file'), '');
    await expect(writeOwnFile(join(folder, 'file', 'below'), '')).rejects.toMatchObject({ code: 'config.unwritable' });
    await expect(writeOwnFile(folder, 'x')).rejects.toMatchObject({ code: 'config.unwritable' });
  });

  it('list folders by name, links as what they point at', async () => {
    await writeOwnFile(join(folder, 'b'), '');
    await writeOwnFile(join(folder, 'a', 'x'), '');
    await symlink(join(folder, 'a'), join(folder, 'c'));
    await symlink(join(folder, 'gone'), join(folder, 'd'));
    expect(await listOwnFolder(folder)).toEqual([
      { name: 'a', kind: 'folder' },
      { name: 'b', kind: 'file' },
      { name: 'c', kind: 'folder' },
      { name: 'd', kind: 'other' },
    ]);
  });
});
