import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintGrant } from '../grants/mint.ts';
import type { Host } from './host.ts';
import { openPracticeHost } from './practice-host.ts';

const signal = () => AbortSignal.timeout(5_000);
let home: string;
let folder: string;
let host: Host;
const servers: Server[] = [];
let strangers = 0;
let foreignPort = 0;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-host-'));
  folder = join(home, 's');
  await mkdir(join(folder, 'ports'), { recursive: true });
  await writeFile(join(home, 'outside.txt'), 'of the machine');
  await writeFile(join(folder, 'inside.txt'), 'of the practice');
  await symlink(join(home, 'outside.txt'), join(folder, 'link.txt'));
  const listen = (server: Server, where: string | number) =>
    new Promise<void>((fulfil) => (typeof where === 'string' ? server.listen(where, fulfil) : server.listen(where, '127.0.0.1', fulfil)));
  const practice = createServer((socket) => socket.end('practice'));
  const machine = createServer((socket) => {
    strangers++;
    socket.end('machine');
  });
  servers.push(practice, machine);
  await listen(practice, join(folder, 'ports', '8200.sock'));
  await listen(machine, 0);
  foreignPort = (machine.address() as { port: number }).port;
  host = openPracticeHost(folder);
});
afterAll(async () => {
  for (const server of servers) server.close();
  await rm(home, { recursive: true, force: true });
});

describe('the practice machine', () => {
  test('has its ports in its folder, on whichever loopback address', async () => {
    for (const address of ['127.0.0.1', '::1', 'localhost']) {
      const connection = await host.dial({ host: address, port: 8200 }, signal());
      let said = '';
      for await (const chunk of connection) said += String(chunk);
      expect(said).toBe('practice');
    }
  });

  test('never dials the machine that it runs on, nor the network', async () => {
    await expect(host.dial({ host: '127.0.0.1', port: foreignPort }, signal())).rejects.toMatchObject({ code: 'unreachable.port' });
    await expect(host.dial({ host: '192.0.2.1', port: 443 }, signal())).rejects.toMatchObject({
      code: 'unreachable.port',
      message: expect.stringContaining('not part of the practice stack'),
    });
    await expect(host.dial({ socket: '/var/run/docker.sock' }, signal())).rejects.toMatchObject({ code: 'unreachable.socket' });
    await expect(host.dial({ socket: join(folder, '..', 'other.sock') }, signal())).rejects.toMatchObject({ code: 'unreachable.socket' });
    expect(strangers).toBe(0);
  });

  test('keeps its files to its folder, behind links too', async () => {
    const read = async (path: string) => (await host.files.read(path, { signal: signal() }))?.toString();
    expect(await read(join(folder, 'inside.txt'))).toBe('of the practice');
    expect(await read(join(home, 'outside.txt'))).toBeUndefined();
    expect(await read(join(folder, '..', 'outside.txt'))).toBeUndefined();
    expect(await read(join(folder, 'link.txt'))).toBeUndefined();
    expect(await host.files.facts('/etc/passwd', signal())).toBeUndefined();
    expect(await host.files.list('/', signal())).toBeUndefined();
    // A device that cannot be opened.
    expect(await host.files.facts('/dev/net/tun', signal())).toMatchObject({ kind: 'other', modifiedMs: 0 });
    expect(await read('/dev/net/tun')).toBeUndefined();
    const grant = mintGrant('test', 'operate', signal());
    await expect(host.files.write(grant, join(home, 'outside.txt'), Buffer.from('x'), { mode: 0o600 })).rejects.toMatchObject({
      code: 'refused.practice',
    });
    await expect(host.files.write(grant, join(folder, 'link.txt'), Buffer.from('x'), { mode: 0o600 })).rejects.toMatchObject({
      code: 'refused.practice',
    });
    expect(await readFile(join(home, 'outside.txt'), 'utf8')).toBe('of the machine');
  });

  test('has a shell and a compose of its own, and nothing of the operator', async () => {
    await expect(host.exec(['id'], { signal: signal(), limitMs: 1_000 })).rejects.toMatchObject({ code: 'unreachable.program' });
    await mkdir(join(folder, 'home'), { recursive: true });
    const { stdout } = await host.exec(['sh', '-c', 'echo "$HOME:${USER-nobody}:$(pwd)"'], { signal: signal(), limitMs: 5_000 });
    expect(Buffer.from(stdout).toString()).toBe(`${join(folder, 'home')}:nobody:${join(folder, 'home')}\n`);
  });
});
