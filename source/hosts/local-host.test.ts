import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mintGrant } from '../grants/mint.ts';
import { openLocalHost } from './local-host.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-host-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const signal = () => AbortSignal.timeout(10_000);

test('facts of this machine, with the environment it was given', async () => {
  const facts = await openLocalHost({ env: { HOME: '/home/me', XDG_RUNTIME_DIR: '', A: 'b' } }).facts(signal());
  expect(facts).toMatchObject({
    home: '/home/me',
    runtimeDir: undefined,
    env: { A: 'b' },
    uid: process.getuid?.(),
    platform: process.platform,
  });
  expect(facts.addresses).toContain('127.0.0.1');
  expect(facts.cpus).toBeGreaterThan(0);
  expect(facts.memoryBytes).toBeGreaterThan(1024 ** 2);
});

describe('dial', () => {
  const host = openLocalHost();

  test('a socket and a port', async () => {
    for (const kind of ['socket', 'port'] as const) {
      const server = createServer((socket) => socket.end('hello'));
      await new Promise<void>((resolve) =>
        kind === 'socket' ? server.listen(join(folder, 's'), resolve) : server.listen(0, '127.0.0.1', resolve),
      );
      const connection = await host.dial(
        kind === 'socket' ? { socket: join(folder, 's') } : { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
        signal(),
      );
      let seen = '';
      for await (const chunk of connection) seen += chunk;
      expect(seen).toBe('hello');
      server.close();
    }
  });

  test("what cannot be reached says why, with the system's error behind", async () => {
    await expect(host.dial({ socket: join(folder, 'none') }, signal())).rejects.toMatchObject({
      code: 'unreachable.socket',
      message: expect.stringContaining('socket not found'),
      cause: { code: 'ENOENT' },
    });
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await expect(host.dial({ host: '127.0.0.1', port }, signal())).rejects.toMatchObject({
      code: 'unreachable.port',
      message: expect.stringContaining(`127.0.0.1:${port}`),
      cause: { code: 'ECONNREFUSED' },
    });
  });

  test('leaving ends it', async () => {
    // An address of the block reserved for documentation: connections time out or are refused at once.
    const leaving = new AbortController();
    const dialling = host.dial({ host: '192.0.2.77', port: 9 }, leaving.signal);
    leaving.abort();
    await expect(dialling).rejects.toBe(leaving.signal.reason);
    await expect(host.dial({ socket: join(folder, 's') }, AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('run', () => {
  const host = openLocalHost();
  const options = () => ({ signal: signal(), limitMs: 5_000 });

  test('a secret reaches the program through its input or environment, never its arguments', async () => {
    const argv = ['sh', '-c', 'read -r given; echo "$given $SECRET"; tr "\\0" " " </proc/$$/cmdline'];
    const { exitCode, stdout } = await host.run(mintGrant('test', 'operate', signal()), argv, {
      ...options(),
      stdin: 'over-stdin\n',
      env: { SECRET: 'in-environment' },
    });
    const [said, argued] = Buffer.from(stdout).toString().split('\n');
    expect({ exitCode, said }).toEqual({ exitCode: 0, said: 'over-stdin in-environment' });
    expect(argued).not.toMatch(/over-stdin|in-environment/);
  });

  test('ends with the grant, and with the signal', async () => {
    const over = new AbortController();
    const running = host.run(mintGrant('test', 'operate', over.signal), ['sleep', '30'], options());
    over.abort(new Error('the act is over'));
    await expect(running).rejects.toThrow('the act is over');
    await expect(host.run(mintGrant('test', 'operate', over.signal), ['true'], options())).rejects.toThrow('the act is over');
    const given = new AbortController();
    const asked = host.run(mintGrant('test', 'operate', signal()), ['sleep', '30'], { ...options(), signal: given.signal });
    given.abort(new Error('stopped'));
    await expect(asked).rejects.toThrow('stopped');
  });
});
