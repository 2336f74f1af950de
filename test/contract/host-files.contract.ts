import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import type { HostUnderTest } from './host-programs.contract.ts';

const soon = () => AbortSignal.timeout(20_000);
const grant = () => mintGrant('test', 'destroy', soon());
const oddNames = [
  'two  words',
  "it's",
  '"quoted"',
  '-n',
  '--',
  'new\nline',
  'é€😀',
  '$HOME',
  '*',
  'back\\slash',
  ' ',
  '.hidden',
  '..x',
  'a;b|c',
];

/** What files, sockets and facts of a host are, whether it is this machine or another one. */
export function fileContract(subject: () => HostUnderTest): void {
  const files = () => subject().host.files;
  const at = (...names: string[]) => join(subject().folder, ...names);
  const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;

  describe('a file', () => {
    test.each(oddNames)('of the name %j is written, read, listed, looked at and removed', async (name) => {
      const folder = at('odd', name);
      await files().makeFolder(grant(), folder, { mode: 0o700 });
      const path = join(folder, name);
      const content = Uint8Array.from(randomBytes(500));
      await files().write(grant(), path, content, { mode: 0o640 });
      expect(Buffer.from((await files().read(path, { signal: soon() })) ?? []).equals(Buffer.from(content))).toBe(true);
      expect(await files().list(folder, soon())).toEqual([name]);
      const there = await stat(path);
      expect(await files().facts(path, soon())).toMatchObject({ kind: 'file', sizeBytes: 500, device: there.dev, inode: there.ino });
      expect(await modeOf(path)).toBe(0o640);
      await files().remove(grant(), path);
      await files().remove(grant(), folder);
      expect(await readdir(at('odd'))).toEqual([]);
    });

    test('that is not there is undefined, whatever of its path is missing', async () => {
      await writeFile(at('plain'), 'x');
      await symlink('nowhere', at('dangling'));
      for (const path of [at('none'), at('none', 'deeper'), at('plain', 'below'), at('dangling')]) {
        expect(await files().read(path, { signal: soon() }), path).toBeUndefined();
        expect(await files().facts(path, soon()), path).toBeUndefined();
        expect(await files().list(path === at('dangling') ? at('none') : path, soon()), path).toBeUndefined();
      }
      await files().remove(grant(), at('none', 'deeper'));
    });

    test('is read up to a limit, and whole only below 16 MiB', async () => {
      await writeFile(at('large'), Buffer.alloc(17 * 1024 * 1024, 'x'));
      expect((await files().read(at('large'), { signal: soon(), limitBytes: 10 }))?.length).toBe(10);
      await expect(files().read(at('large'), { signal: soon() })).rejects.toMatchObject({
        code: 'failed.file',
        message: expect.stringContaining('16 MiB'),
      });
      // Files of the kernel say that they are empty.
      expect((await files().read('/proc/self/status', { signal: soon() }))?.length).toBeGreaterThan(100);
    });

    test('is only read when it is a plain one', async () => {
      await expect(files().read(subject().folder, { signal: soon() })).rejects.toMatchObject({
        message: expect.stringContaining('folder'),
      });
      await expect(files().read('/dev/zero', { signal: soon() })).rejects.toMatchObject({
        message: expect.stringContaining('regular file'),
      });
      await writeFile(at('plain2'), 'x');
      await expect(files().list(at('plain2'), soon())).rejects.toMatchObject({ message: expect.stringContaining('not a folder') });
    });

    test('behind a link is replaced, and the link stays', async () => {
      await mkdir(at('real'), { recursive: true });
      await writeFile(at('real', 'target'), 'old');
      await symlink(join('real', 'target'), at('link'));
      await files().write(grant(), at('link'), Buffer.from('new'), { mode: 0o600 });
      expect(await readlink(at('link'))).toBe(join('real', 'target'));
      expect(await readFile(at('real', 'target'), 'utf8')).toBe('new');
      expect(await files().facts(at('link'), soon())).toMatchObject({ kind: 'file', sizeBytes: 3 });
      await files().remove(grant(), at('link'));
      await expect(lstat(at('link'))).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await readdir(at('real'))).toEqual(['target']);
    });

    test('of several megabytes is written whole, and leaves nothing beside it', async () => {
      const content = randomBytes(4_000_000);
      await files().makeFolder(grant(), at('much'), { mode: 0o755 });
      await files().write(grant(), at('much', 'file'), content, { mode: 0o644 });
      expect((await readFile(at('much', 'file'))).equals(content)).toBe(true);
      await files().write(grant(), at('much', 'file'), new Uint8Array(), { mode: 0o600 });
      expect((await stat(at('much', 'file'))).size).toBe(0);
      expect(await readdir(at('much'))).toEqual(['file']);
    });

    test('that cannot be written says why', async () => {
      await expect(files().write(grant(), at('none', 'file'), Buffer.from('x'), { mode: 0o600 })).rejects.toMatchObject({
        code: 'failed.file',
        message: expect.stringContaining('its folder does not exist'),
      });
      await expect(files().write(grant(), subject().folder, Buffer.from('x'), { mode: 0o600 })).rejects.toMatchObject({
        message: expect.stringMatching(/folder/),
      });
    });
  });

  describe('a folder', () => {
    test('is made with those above it, and an existing one stays as it is', async () => {
      await files().makeFolder(grant(), at('one', 'two', 'three'), { mode: 0o700 });
      expect(await modeOf(at('one', 'two', 'three'))).toBe(0o700);
      expect((await modeOf(at('one'))) & 0o077).toBe(0);
      await mkdir(at('open'), { mode: 0o755 });
      await files().makeFolder(grant(), at('open'), { mode: 0o700 });
      expect(await modeOf(at('open'))).toBe(0o755);
      await writeFile(at('one', 'file'), '');
      await expect(files().makeFolder(grant(), at('one', 'file'), { mode: 0o700 })).rejects.toMatchObject({
        message: expect.stringContaining('a file with that name exists'),
      });
    });

    test('with something in it is not removed', async () => {
      await mkdir(at('full', 'sub'), { recursive: true });
      await expect(files().remove(grant(), at('full'))).rejects.toMatchObject({ message: expect.stringContaining('not empty') });
      expect(await readdir(at('full'))).toEqual(['sub']);
    });

    test('with many entries is listed whole', async () => {
      await mkdir(at('many'));
      const names = Array.from({ length: 1200 }, (_, index) => `entry ${String(index).padStart(4, '0')}`);
      await Promise.all(names.map((name) => writeFile(at('many', name), '')));
      expect(await files().list(at('many'), soon())).toEqual(names);
    });
  });

  describe('a connection', () => {
    test.each(['socket', 'port'] as const)('to a %s brings bytes both ways', async (kind) => {
      const server = createServer((socket) => socket.pipe(socket));
      const path = at(`s-${kind}`);
      await new Promise<void>((resolve) => (kind === 'socket' ? server.listen(path, resolve) : server.listen(0, '127.0.0.1', resolve)));
      try {
        const address = kind === 'socket' ? { socket: path } : { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
        for (const paced of [false, true]) {
          const connection = await subject().host.dial(address, soon(), { paced });
          const sent = randomBytes(300_000);
          connection.end(sent);
          const chunks: Buffer[] = [];
          for await (const chunk of connection) chunks.push(chunk as Buffer);
          expect(Buffer.concat(chunks).equals(sent)).toBe(true);
        }
      } finally {
        server.close();
      }
    });

    test('that is refused says by a code why', async () => {
      const { host } = subject();
      await expect(host.dial({ socket: at('none.sock') }, soon())).rejects.toMatchObject({
        code: 'unreachable.socket',
        message: expect.stringContaining('socket not found'),
        cause: { code: 'ENOENT' },
      });
      await writeFile(at('file.sock'), '');
      await expect(host.dial({ socket: at('file.sock') }, soon())).rejects.toMatchObject({ code: 'unreachable.socket' });
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      await new Promise((resolve) => server.close(resolve));
      await expect(host.dial({ host: '127.0.0.1', port }, soon())).rejects.toMatchObject({
        code: 'unreachable.port',
        message: expect.stringContaining('nothing is listening there'),
        cause: { code: 'ECONNREFUSED' },
      });
    });
  });

  test('listeners are known with their programs', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const found = (await subject().host.listeners(soon())).find((one) => one.port === port);
      expect(found).toMatchObject({ address: '127.0.0.1', protocol: 'tcp', process: { pid: process.pid } });
    } finally {
      server.close();
    }
  });

  test('facts of the machine', async () => {
    const facts = await subject().host.facts(soon());
    expect(facts).toMatchObject({ platform: process.platform, architecture: process.arch });
    expect(facts.cpus).toBeGreaterThan(0);
    expect(facts.memoryBytes).toBeGreaterThan(1024 ** 2);
    expect(facts.addresses).toContain('127.0.0.1');
    expect(facts.home.startsWith('/')).toBe(true);
    expect(
      Math.abs((facts.bootedMs ?? 0) - (Date.now() - Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]) * 1000)),
    ).toBeLessThan(5_000);
  });
}
