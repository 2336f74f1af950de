import { execFileSync } from 'node:child_process';
import { link, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asOrdinaryUser } from '../../test/doubles/ordinary-user.ts';
import { mintGrant } from '../grants/mint.ts';
import { localFiles as files } from './local-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);
const signal = new AbortController().signal;
const grant = (limit: AbortSignal = signal) => mintGrant('test', 'operate', limit);
const textOf = async (path: string, limitBytes?: number) =>
  Buffer.from((await files.read(path, { signal, limitBytes })) ?? 'missing').toString();

describe('read', () => {
  test('whole, the first bytes, and what says that it is empty', async () => {
    await writeFile(at('a'), 'hello');
    expect(await textOf(at('a'))).toBe('hello');
    expect(await textOf(at('a'), 2)).toBe('he');
    expect(await textOf('/proc/self/comm')).not.toBe('');
  });

  test('missing is undefined, also below a file', async () => {
    await writeFile(at('a'), '');
    expect(await files.read(at('none'), { signal })).toBeUndefined();
    expect(await files.read(at('a/b'), { signal })).toBeUndefined();
  });

  test('a folder, a pipe and a device are no files: said at once', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    for (const path of [folder, at('pipe'), '/dev/zero'])
      await expect(files.read(path, { signal })).rejects.toMatchObject({ code: 'failed.file', where: { file: path } });
  });

  test('too big to be read whole is said, a part of it can be had', async () => {
    await writeFile(at('big'), Buffer.alloc(17 * 1024 * 1024));
    await expect(files.read(at('big'), { signal })).rejects.toMatchObject({
      code: 'failed.file',
      message: expect.stringContaining('16 MiB'),
    });
    expect((await files.read(at('big'), { signal, limitBytes: 10 }))?.length).toBe(10);
  });

  test('without permission', async () => {
    await writeFile(at('mine'), '', { mode: 0 });
    await asOrdinaryUser(() =>
      expect(files.read(at('mine'), { signal })).rejects.toMatchObject({
        code: 'failed.file',
        message: expect.stringContaining('permission'),
      }),
    );
  });
});

describe('facts', () => {
  test('kinds, size, and one identity behind every link', async () => {
    await writeFile(at('a'), 'hello');
    await symlink(at('a'), at('soft'));
    await link(at('a'), at('hard'));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at('s.sock'), resolve));
    const facts = async (path: string) => files.facts(path, signal);
    expect(await facts(at('a'))).toMatchObject({ kind: 'file', sizeBytes: 5 });
    expect((await facts(folder))?.kind).toBe('folder');
    expect((await facts(at('s.sock')))?.kind).toBe('socket');
    expect((await facts('/dev/null'))?.kind).toBe('other');
    const { device, inode } = (await facts(at('a'))) ?? {};
    for (const path of [at('soft'), at('hard')]) expect(await facts(path)).toMatchObject({ device, inode });
    expect(await facts(at('none'))).toBeUndefined();
    server.close();
  });
});

test('list: ordered; undefined when missing; a file is no folder', async () => {
  await mkdir(at('d'));
  await writeFile(at('d/b'), '');
  await writeFile(at('d/a'), '');
  expect(await files.list(at('d'), signal)).toEqual(['a', 'b']);
  expect(await files.list(at('none'), signal)).toBeUndefined();
  await expect(files.list(at('d/a'), signal)).rejects.toMatchObject({ code: 'failed.file' });
});

describe('write', () => {
  test('with its mode, nothing left beside it', async () => {
    await files.write(grant(), at('.env'), Buffer.from('A=1\n'), { mode: 0o600 });
    expect(await readFile(at('.env'), 'utf8')).toBe('A=1\n');
    expect((await stat(at('.env'))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['.env']);
  });

  test('replaces, so that a reader of the old one keeps the old one whole', async () => {
    await writeFile(at('a'), 'old');
    const before = (await stat(at('a'))).ino;
    await files.write(grant(), at('a'), Buffer.from('new'), { mode: 0o644 });
    expect(await readFile(at('a'), 'utf8')).toBe('new');
    expect((await stat(at('a'))).ino).not.toBe(before);
  });

  test('a link stays a link', async () => {
    await writeFile(at('target'), 'old');
    await symlink(at('target'), at('link'));
    await files.write(grant(), at('link'), Buffer.from('new'), { mode: 0o600 });
    expect((await lstat(at('link'))).isSymbolicLink()).toBe(true);
    expect(await readFile(at('target'), 'utf8')).toBe('new');
  });

  test('not without a folder, not after the act', async () => {
    await expect(files.write(grant(), at('no/such'), Buffer.from(''), { mode: 0o600 })).rejects.toMatchObject({
      code: 'failed.file',
      message: expect.stringContaining('folder'),
    });
    await expect(files.write(grant(AbortSignal.abort()), at('late'), Buffer.from(''), { mode: 0o600 })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('folders and removing', () => {
  const modeOf = async (name: string) => ((await stat(at(name))).mode & 0o777).toString(8);

  test('a folder is made with those above it, for the operator alone where that is asked, and an existing one stays as it is', async () => {
    await files.makeFolder(grant(), at('stack/web/files'), { mode: 0o700 });
    expect([await modeOf('stack'), await modeOf('stack/web'), await modeOf('stack/web/files')]).toEqual(['700', '700', '700']);
    await mkdir(at('open'), { mode: 0o755 });
    await files.makeFolder(grant(), at('open'), { mode: 0o700 });
    expect(await modeOf('open')).toBe('755');
    // Independent of the umask.
    const umask = process.umask(0o077);
    await files.makeFolder(grant(), at('shared'), { mode: 0o755 }).finally(() => process.umask(umask));
    expect(await modeOf('shared')).toBe('755');
  });

  test('a file in its way is said', async () => {
    await writeFile(at('taken'), '');
    for (const path of [at('taken'), at('taken/below')])
      await expect(files.makeFolder(grant(), path, { mode: 0o700 })).rejects.toMatchObject({ code: 'failed.file', where: { file: path } });
  });

  test('a file and an empty folder go, a full one stays, what is not there is fine', async () => {
    await mkdir(at('full'));
    await writeFile(at('full/kept'), 'x');
    await symlink(at('full'), at('link'));
    await mkdir(at('empty'));
    for (const name of ['link', 'empty', 'none', 'full/kept/below']) await files.remove(grant(), at(name));
    await expect(files.remove(grant(), at('full'))).rejects.toMatchObject({
      code: 'failed.file',
      message: expect.stringContaining('not empty'),
    });
    expect(await readdir(folder)).toEqual(['full']);
    await files.remove(grant(), at('full/kept'));
    await files.remove(grant(), at('full'));
    expect(await readdir(folder)).toEqual([]);
  });

  test('a grant that is over opens nothing', async () => {
    const over = grant(AbortSignal.abort(new Error('over')));
    await expect(files.makeFolder(over, at('a'), { mode: 0o700 })).rejects.toThrow('over');
    await expect(files.remove(over, at('a'))).rejects.toThrow('over');
  });
});
