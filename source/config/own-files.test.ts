import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { withFileLock } from './file-lock.ts';
import { readLines, readTail, repairLastLine } from './line-file.ts';
import { appendOwnFile, listOwnFolder, readOwnFile, readOwnText, refuseForeignFiles, removeOwnFile, writeOwnFile } from './own-files.ts';

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
    await expect(readOwnFile(join(folder, 'pipe'))).rejects.toMatchObject({ message: expect.stringContaining('not a regular file') });
    // `--report /dev/stdout`, or a file from `<(program)`: the operator chose it, and it is not ours to remove.
    const notOurs = { code: 'refused.ownFile', remedy: 'Use a regular file instead.' };
    await expect(writeOwnFile('/dev/null', '', { chosen: true })).rejects.toMatchObject(notOurs);
    await expect(readOwnText(join(folder, 'pipe'))).rejects.toMatchObject(notOurs);
    await writeOwnFile(join(folder, 'file'), '');
    await expect(writeOwnFile(join(folder, 'file', 'below'), '')).rejects.toMatchObject({ code: 'config.unwritable' });
    await writeOwnFile(join(folder, 'sub', 'file'), '');
    await expect(writeOwnFile(join(folder, 'sub'), 'x')).rejects.toMatchObject({ code: 'config.unwritable' });
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

const foreign: Record<string, (path: string, canary: string) => unknown> = {
  'a symbolic link': (path, canary) => symlink(canary, path),
  'a symbolic link that leads nowhere': (path) => symlink(join(folder, 'outside', 'nothing'), path),
  'a named pipe': (path) => execFileSync('mkfifo', [path]),
};
const uses: Record<string, (path: string) => Promise<unknown>> = {
  written: (path) => writeOwnFile(path, 'new'),
  'appended to': (path) => appendOwnFile(path, 'more\n'),
  read: (path) => readOwnFile(path),
  'read line by line': async (path) => {
    for await (const _ of readLines(path));
  },
  'read from its end': (path) => readTail(path, 10),
  repaired: (path) => repairLastLine(path, () => true),
  'in the state folder': (path) => refuseForeignFiles({ state: join(path, '..'), data: folder, cache: folder }),
};

describe.each(Object.keys(foreign))('%s in place of an own file', (kind) => {
  test.each(Object.keys(uses))('is refused by name when it is %s', async (use) => {
    const canary = join(folder, 'outside', 'canary');
    await mkdir(join(folder, 'outside'));
    await writeFile(canary, 'alive', { mode: 0o644 });
    const path = join(folder, 'state', 'file');
    await mkdir(join(folder, 'state'), { mode: 0o700 });
    await foreign[kind]?.(path, canary);
    await expect(uses[use]?.(path)).rejects.toMatchObject({
      code: 'refused.ownFile',
      message: expect.stringContaining(`${path} is a ${kind.includes('pipe') ? 'named pipe' : 'symbolic link'}`),
      remedy: expect.stringContaining(`rm ${path}`),
    });
    expect(await readFile(canary, 'utf8')).toBe('alive');
    expect(await modeOf(canary)).toBe(0o644);
    expect(await readdir(join(folder, 'outside'))).toEqual(['canary']);
    expect((await lstat(path)).isFile()).toBe(false);
  });
});

test('a socket in place of the configuration is refused by name', async () => {
  const path = join(folder, 'config.yaml');
  const server = createServer().listen(path);
  await once(server, 'listening');
  await expect(readOwnText(path)).rejects.toMatchObject({ code: 'refused.ownFile', message: `${path} is a socket, not a regular file.` });
  server.close();
});

describe('what is no lock of ours in place of a lock', () => {
  test.each<[string, (path: string) => Promise<unknown>, RegExp]>([
    ['a link that leads nowhere', (path) => symlink(join(folder, 'gone'), path), /is not a folder/],
    ['a link to a folder', (path) => symlink(folder, path), /is not a folder/],
    ['a file', (path) => writeFile(path, ''), /is not a folder/],
  ])('%s is refused by name, without waiting', async (_, put, why) => {
    await put(join(folder, 'file.lock'));
    await expect(withFileLock(join(folder, 'file'), async () => 'held')).rejects.toMatchObject({
      code: 'refused.ownFile',
      message: expect.stringMatching(why),
    });
  });

  test('a folder with files in it is reported in words', async () => {
    const path = join(folder, 'file.lock');
    await mkdir(path);
    await writeFile(join(path, 'x'), '');
    await utimes(path, 0, 0);
    await expect(withFileLock(join(folder, 'file'), async () => 'held')).rejects.toMatchObject({
      message: `${path} cannot be written: the folder is not empty.`,
    });
  });
});

describe('links of dotfile managers', () => {
  test('lead to the configuration, which is replaced behind its link', async () => {
    await writeFile(join(folder, 'dotfile'), 'theme: dark');
    await symlink(join(folder, 'dotfile'), join(folder, 'config.yaml'));
    expect(await readOwnText(join(folder, 'config.yaml'))).toBe('theme: dark');
    await writeOwnFile(join(folder, 'config.yaml'), 'theme: light', { chosen: true });
    expect(await readFile(join(folder, 'dotfile'), 'utf8')).toBe('theme: light');
    expect((await lstat(join(folder, 'config.yaml'))).isSymbolicLink()).toBe(true);
  });

  test('may be the folder for all of ours', async () => {
    await mkdir(join(folder, 'elsewhere'), { mode: 0o700 });
    await symlink(join(folder, 'elsewhere'), join(folder, 'quarterdeck'));
    await writeOwnFile(join(folder, 'quarterdeck', 'journal', 'run'), 'text');
    expect(await readFile(join(folder, 'elsewhere', 'journal', 'run'), 'utf8')).toBe('text');
  });
});

test('nothing is written to a folder that other users may write to', async () => {
  await chmod(folder, 0o770);
  for (const write of [writeOwnFile, appendOwnFile])
    await expect(write(join(folder, 'file'), 'x')).rejects.toMatchObject({
      code: 'refused.ownFile',
      remedy: expect.stringContaining(`chmod go-w ${folder}`),
    });
  expect(await readdir(folder)).toEqual([]);
});

// A build as an ordinary user cannot switch to another user.
describe.runIf(process.geteuid?.() === 0)("root with another user's home", () => {
  const other = 65534;
  const asOther = (script: string) => execFileSync('sh', ['-ec', script], { uid: other, gid: other, cwd: folder, stdio: 'pipe' });
  beforeEach(() => chown(folder, other, other));

  test('leaves what this user can change and remove', async () => {
    const path = join(folder, '.local', 'state', 'quarterdeck', 'audit.jsonl');
    await withFileLock(path, () => appendOwnFile(path, 'one\n'));
    await appendOwnFile(path, 'two\n');
    await writeOwnFile(join(path, '..', 'journal', 'run'), 'text');
    asOther('echo three >> .local/state/quarterdeck/audit.jsonl; echo x > .local/state/quarterdeck/journal/run');
    expect(await readOwnFile(path)).toBe('one\ntwo\nthree\n');
    asOther('rm -r .local');
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(['state', 'state/quarterdeck'])('is not led elsewhere by a link of this user: %s', async (link) => {
    const outside = await mkdtemp(join(tmpdir(), 'own-files-outside-'));
    try {
      asOther(`mkdir -p ${join(link, '..')}; ln -s ${outside} ${link}`);
      for (const write of [writeOwnFile, appendOwnFile])
        await expect(write(join(folder, 'state', 'quarterdeck', 'audit.jsonl'), 'x')).rejects.toMatchObject({ code: 'refused.ownFile' });
      expect(await readdir(outside)).toEqual([]);
    } finally {
      await rm(outside, { recursive: true });
    }
  });
});
