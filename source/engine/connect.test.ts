import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asOrdinaryUser } from '../../test/doubles/ordinary-user.ts';
import { selfSigned } from '../../test/doubles/self-signed.ts';
import { json, serve } from '../../test/engine/recorded-engine.ts';
import { docker20, docker29, podman4 } from '../../test/engine/recordings.ts';
import { Fault } from '../faults/fault.ts';
import { mintGrant } from '../grants/mint.ts';
import type { DialAddress, HostLink } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { openEngine } from './dockerode-engine.ts';
import { atLeast } from './negotiate.ts';

const host = openLocalHost();
const signal = () => AbortSignal.timeout(10_000);

describe('negotiation', () => {
  test('Docker 20.10: its own 1.41, because it refuses newer ones', async () => {
    await using recorded = await serve(docker20());
    const engine = openEngine(recorded.address, host);
    expect(await engine.connect(signal())).toEqual({
      kind: 'docker',
      version: '20.10.24+dfsg1',
      apiVersion: '1.41',
      rootless: false,
      operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
    });
    expect(recorded.requests[0]).toMatchObject({ path: '/_ping', version: undefined });
    await engine.list(signal());
    expect(new Set(recorded.requests.slice(1).map(({ version }) => version))).toEqual(new Set(['1.41']));
    engine.close();
  });

  test('Docker 29: 1.52, rootless', async () => {
    await using recorded = await serve(docker29());
    const engine = openEngine(recorded.address, host);
    expect(await engine.connect(signal())).toMatchObject({
      kind: 'docker',
      version: '29.0.1',
      apiVersion: '1.52',
      rootless: true,
    });
    engine.close();
  });

  test('a newer engine than we know: our newest', async () => {
    const newer = docker29();
    await using recorded = await serve({ ...newer, headers: { ...newer.headers, 'Api-Version': '1.60' }, refuses: undefined });
    const engine = openEngine(recorded.address, host);
    expect(await engine.connect(signal())).toMatchObject({ apiVersion: '1.52' });
    engine.close();
  });

  test('one that no longer speaks ours: says to update this console', async () => {
    const newer = docker29();
    const message = 'client version 1.52 is too old. Minimum supported API version is 1.54, please upgrade your client to a newer version';
    await using recorded = await serve({
      ...newer,
      headers: { ...newer.headers, 'Api-Version': '1.60' },
      refuses: () => ({ status: 400, body: { message } }),
    });
    const engine = openEngine(recorded.address, host);
    await expect(engine.connect(signal())).rejects.toMatchObject({
      code: 'unreachable.engine',
      message: expect.stringContaining('too old'),
      remedy: expect.stringContaining('update Quarterdeck'),
    });
    engine.close();
  });

  test('Podman: its own version, rootless by its own API', async () => {
    await using recorded = await serve(podman4());
    const engine = openEngine(recorded.address, host);
    expect(await engine.connect(signal())).toEqual({
      kind: 'podman',
      version: '4.3.1',
      apiVersion: '1.41',
      rootless: true,
      operatingSystem: 'debian 12',
    });
    // Each answer about the system takes Podman a quarter of a second and more.
    expect(recorded.requests.map(({ path, version }) => [path, version])).toEqual([
      ['/_ping', undefined],
      ['/libpod/info', '4.3.1'],
    ]);
    engine.close();
  });

  test('a socket proxy that hides /info is no reason to give up', async () => {
    await using recorded = await serve(docker20({ 'GET /info': json(403, '<html><body><h1>403 Forbidden</h1></body></html>') }));
    const engine = openEngine(recorded.address, host);
    expect(await engine.connect(signal())).toMatchObject({ kind: 'docker', version: '20.10.24+dfsg1', rootless: false });
    engine.close();
  });

  test('versions count, they are no words', () => {
    expect(atLeast('1.9', '1.41')).toBe(false);
    expect(atLeast('1.52', '1.41')).toBe(true);
    expect(atLeast('1.100', '1.52')).toBe(true);
    expect(atLeast('2.0', '1.52')).toBe(true);
  });

  test('wrong DOCKER_HOST in our own environment does not matter to an engine that is opened by address', async () => {
    const before = process.env.DOCKER_HOST;
    process.env.DOCKER_HOST = 'tcp://:::bad';
    try {
      await using recorded = await serve(docker20());
      const engine = openEngine(recorded.address, host);
      expect(await engine.connect(signal())).toMatchObject({ kind: 'docker' });
      expect(process.env.DOCKER_HOST).toBe('tcp://:::bad');
      engine.close();
    } finally {
      if (before === undefined) delete process.env.DOCKER_HOST;
      else process.env.DOCKER_HOST = before;
    }
  });
});

describe('an engine that cannot be reached says why, and what to do', () => {
  let folder: string;
  const closing: (() => void)[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-dead-'));
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) close();
    await rm(folder, { recursive: true, force: true });
  });

  const connect = (path: string) => openEngine({ url: `unix://${path}`, origin: 'DOCKER_HOST' }, host).connect(signal());
  const fault = (message: RegExp, remedy: RegExp) => ({
    code: 'unreachable.engine',
    message: expect.stringMatching(message),
    remedy: expect.stringMatching(remedy),
  });

  async function listen(server: Server): Promise<string> {
    const sockets = new Set<Socket>();
    server.on('connection', (socket) => sockets.add(socket));
    const path = join(folder, 'engine.sock');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return path;
  }

  test('no socket', async () => {
    await expect(connect(join(folder, 'none.sock'))).rejects.toMatchObject(
      fault(/none\.sock \(DOCKER_HOST\): socket not found/, /systemctl start docker/),
    );
  });

  test('a dead socket', async () => {
    const path = join(folder, 'dead.sock');
    // Left behind by a killed program.
    const made = spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]);
    expect(made.signal).toBe('SIGKILL');
    await expect(connect(path)).rejects.toMatchObject(fault(/socket exists, but nothing is listening/, /systemctl start docker/));
  });

  test('a usual socket says how its own engine is started', async () => {
    const engine = openEngine({ url: `unix://${join(folder, 'none.sock')}`, origin: 'Colima' }, host);
    await expect(engine.connect(signal())).rejects.toMatchObject({ remedy: expect.stringMatching(/^Start it: colima start\./) });
  });

  test('a plain file', async () => {
    const path = join(folder, 'file.sock');
    await writeFile(path, '');
    await expect(connect(path)).rejects.toMatchObject({ code: 'unreachable.engine' });
  });

  test('no permission', async () => {
    await expect(connect(join(folder, 'loads-what-is-needed'))).rejects.toThrow();
    const path = await listen(createServer());
    await chmod(path, 0);
    await asOrdinaryUser(() => expect(connect(path)).rejects.toMatchObject(fault(/Permission denied/, /group|rootless/)));
  });

  test('no permission, as the system words it', async () => {
    const denied = { ...host, dial: async () => Promise.reject(Object.assign(new Error('connect EACCES'), { code: 'EACCES' })) };
    await expect(
      openEngine({ url: 'unix:///var/run/docker.sock', origin: 'default Docker socket' }, denied).connect(signal()),
    ).rejects.toMatchObject(fault(/Permission denied/, /usermod -aG docker .*podman\.socket/));
  });

  test('it takes the connection and hangs: given up after three seconds', async () => {
    const path = await listen(createServer(() => undefined));
    const started = performance.now();
    await expect(connect(path)).rejects.toMatchObject(fault(/did not respond within 3 s/, /log|restart/));
    expect(performance.now() - started).toBeLessThan(6_000);
  });

  test('it hangs, and the operator leaves', async () => {
    const path = await listen(createServer(() => undefined));
    const leaving = new AbortController();
    const connecting = openEngine({ url: `unix://${path}`, origin: 'x' }, host).connect(leaving.signal);
    leaving.abort();
    await expect(connecting).rejects.toBe(leaving.signal.reason);
  });

  test('it hangs up', async () => {
    const path = await listen(createServer((socket) => socket.on('data', () => socket.destroy())));
    await expect(connect(path)).rejects.toMatchObject(fault(/connection .* was lost/, /still running/));
  });

  test('on another machine: the way to it is the reason where that is gone, and the machine has its name otherwise', async () => {
    const path = await listen(createServer((socket) => socket.on('data', () => socket.destroy())));
    const lost = new Fault('unreachable.silent', 'nas no longer responds.', 'Check the cable.');
    const troubles: (Fault | undefined)[] = [undefined, lost];
    const link = {
      view: { state: 'connected', sinceMs: 0 },
      subscribe: () => () => {},
      ready: async () => {},
      retry: () => {},
      trouble: async () => troubles.shift(),
    } satisfies HostLink;
    const remote = { ...host, name: 'nas', link };
    const address = { url: `unix://${path}`, origin: 'usual socket' };
    await expect(openEngine(address, remote).connect(signal())).rejects.toMatchObject({
      code: 'unreachable.engine',
      message: `The connection to the engine at ${path} on nas (usual socket) was lost.`,
    });
    await expect(openEngine(address, remote).connect(signal())).rejects.toBe(lost);
  });

  test('it breaks off in the middle of an answer', async () => {
    const path = await listen(
      createServer((socket) =>
        socket.on('data', () =>
          socket.write('HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 200\r\n\r\nOK', () => socket.destroy()),
        ),
      ),
    );
    const started = performance.now();
    await expect(connect(path)).rejects.toMatchObject(fault(/connection .* was lost/, /still running/));
    expect(performance.now() - started).toBeLessThan(2_500);
  });

  test('it is no HTTP', async () => {
    const path = await listen(createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')));
    await expect(connect(path)).rejects.toMatchObject(fault(/not a container engine: its response is not HTTP/, /DOCKER_HOST/));
  });

  test('it is a web server', async () => {
    const path = await listen(createHttpServer((_, response) => response.writeHead(404).end('<html>nginx</html>')));
    await expect(connect(path)).rejects.toMatchObject(fault(/not a container engine: it does not support/, /Check the address/));
    const polite = await listen2(createHttpServer((_, response) => response.end('<html>Welcome</html>')));
    await expect(connect(polite)).rejects.toMatchObject(fault(/not a container engine/, /Check the address/));
  });

  async function listen2(server: Server): Promise<string> {
    const path = join(folder, 'second.sock');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    closing.push(() => server.close());
    return path;
  }

  test('its JSON is none', async () => {
    await using recorded = await serve(docker20({ 'GET /containers/json': json(200, '[{"Id":') }));
    const engine = openEngine(recorded.address, host);
    await expect(engine.list(signal())).rejects.toMatchObject(fault(/not a response of an engine/, /address/));
    engine.close();
  });

  test('a hostile sentence of it moves no cursor', async () => {
    await using recorded = await serve(docker20({ 'GET /_ping': json(500, { message: '\x1b[2J\x1b]0;owned\x07no\nroom' }) }));
    const engine = openEngine(recorded.address, host);
    const thrown = (await engine.connect(signal()).catch((error: unknown) => error)) as Error;
    expect(thrown.message).toContain('no room');
    expect(thrown.message).not.toMatch(/[\x00-\x1f]/);
  });
});

describe('TCP and TLS', () => {
  const closing: (() => void)[] = [];
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-tls-'));
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) close();
    await rm(folder, { recursive: true, force: true });
  });

  const ping = (_: unknown, response: import('node:http').ServerResponse) =>
    response.writeHead(200, { 'Api-Version': '1.41', Server: 'Docker/20.10.24 (linux)' }).end('{}');
  async function listen(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    return (server.address() as { port: number }).port;
  }

  test('plain TCP', async () => {
    const port = await listen(createHttpServer(ping));
    const engine = openEngine({ url: `tcp://127.0.0.1:${port}`, origin: 'DOCKER_HOST' }, host);
    expect(await engine.connect(signal())).toMatchObject({ apiVersion: '1.41' });
    engine.close();
  });

  test('TLS with the authority of the folder; refused without it, and under another name', async () => {
    const port = await listen(createTlsServer(selfSigned, ping) as unknown as Server);
    await writeFile(join(folder, 'ca.pem'), selfSigned.cert);
    const none = join(folder, 'none');
    // The certificate is for the name "test".
    const knowsTest = {
      ...host,
      dial: (address: DialAddress, limit: AbortSignal) =>
        host.dial('host' in address && address.host === 'test' ? { ...address, host: '127.0.0.1' } : address, limit),
    };
    const connect = async (name: string, tls: { folder: string; verify: boolean }) => {
      const engine = openEngine({ url: `tcp://${name}:${port}`, origin: 'DOCKER_HOST', tls }, knowsTest);
      try {
        return await engine.connect(signal());
      } finally {
        engine.close();
      }
    };
    expect(await connect('test', { folder, verify: true })).toMatchObject({ apiVersion: '1.41' });
    expect(await connect('127.0.0.1', { folder: none, verify: false })).toMatchObject({ apiVersion: '1.41' });
    const refused = (message: string) => ({ code: 'unreachable.engine', message: expect.stringContaining(message) });
    await expect(connect('test', { folder: none, verify: true })).rejects.toMatchObject(refused('not signed by the authority in ca.pem'));
    await expect(connect('127.0.0.1', { folder, verify: true })).rejects.toMatchObject(refused('for another name'));
  });

  test('TLS to a port that speaks none', async () => {
    const port = await listen(createHttpServer(ping));
    await expect(
      openEngine({ url: `tcp://127.0.0.1:${port}`, origin: 'DOCKER_HOST', tls: { folder, verify: true } }, host).connect(signal()),
    ).rejects.toMatchObject({
      code: 'unreachable.engine',
      message: expect.stringContaining('does not use TLS'),
    });
  });

  test('refused', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    closing.length = 0;
    await expect(openEngine({ url: `tcp://127.0.0.1:${port}`, origin: 'DOCKER_HOST' }, host).connect(signal())).rejects.toMatchObject({
      message: expect.stringContaining('connection refused'),
    });
  });
});

describe('an error of an engine with a body that nobody expects', () => {
  const deep = `${'['.repeat(300_000)}${']'.repeat(300_000)}`;
  const bodies: [string, string][] = [
    ['nested without end', `{"message": ${deep}}`],
    ['nested without end, and no object', deep],
    ['of null', 'null'],
    ['of no JSON', '<html>'],
    ['without an end', `{"message": "${'x'.repeat(3_000_000)}`],
  ];
  test.each(bodies)('%s is a fault, of what is read and of what is changed', async (_, body) => {
    const failing = json(500, body);
    await using recorded = await serve(docker20({ 'GET /containers/json': failing, 'POST /containers/x/stop': failing }));
    const engine = openEngine(recorded.address, host);
    await engine.connect(signal());
    const changes = engine.writer(mintGrant('test', 'operate', signal()));
    for (const asked of [engine.list(signal()), changes.stop('x')]) {
      const thrown = await asked.catch((reason: unknown) => reason);
      expect(thrown).toBeInstanceOf(Fault);
      expect((thrown as Fault).message.length).toBeLessThan(1_000);
    }
    engine.close();
  });
});
