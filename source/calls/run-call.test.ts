import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { catalogEntry, containerDetail } from '../../test/doubles/container-facts.ts';
import { selfSigned } from '../../test/doubles/self-signed.ts';
import type { CatalogPort } from '../catalog/catalog.ts';
import { type ComponentCall, componentSchema } from '../catalog/schema.ts';
import type { Engine, ExecResult } from '../engine/engine.ts';
import { mintGrant } from '../grants/mint.ts';
import type { Host } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import type { CallTarget } from './call.ts';
import { runCall, stateOf } from './run-call.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

const never = () => new AbortController().signal;

/** Returns a call as component.yaml would declare it, defaults filled in. */
function call(declared: Record<string, unknown>): ComponentCall {
  const component = componentSchema.parse({
    id: 'app',
    group: 'security',
    kind: 'k',
    deploy: 'compose',
    product: { name: 'p' },
    calls: { it: { title: 'Ask', reads: true, limit: '500ms', ...declared } },
  });
  return component.calls['it'] as ComponentCall;
}

const get = (path = '/', more: Record<string, unknown> = {}) => call({ http: { method: 'GET', port: 'web', path, ...more } });

async function listening(server: Server | TcpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

const serve = (listener: RequestListener) => listening(createServer(listener));
const serveRaw = (onSocket: (socket: Socket) => void) => listening(createTcpServer(onSocket));

const port = (more: Partial<CatalogPort> = {}): CatalogPort => ({
  name: 'web',
  service: 'app',
  host: 8180,
  container: 80,
  protocol: 'tcp',
  exposure: 'loopback',
  role: 'page',
  fixed: false,
  web: true,
  tls: false,
  ...more,
});

function target(
  hostPort: number,
  more: { ports?: CatalogPort[]; engine?: Partial<Engine>; execAllowed?: boolean; host?: Host } = {},
): CallTarget {
  const container = containerDetail({
    id: 'c1',
    name: 'app',
    ports: [{ address: '127.0.0.1', hostPort, containerPort: 80, protocol: 'tcp' }],
    startedMs: Date.now() - 60_000,
  });
  return {
    entry: catalogEntry('app', { app: { image: 'team/app', main: true } }, { ports: more.ports ?? [port()] }),
    host: more.host ?? openLocalHost(),
    engine: (more.engine ?? {}) as Engine,
    containers: new Map([['app', container]]),
    execAllowed: more.execAllowed ?? true,
  };
}

const ask = (to: CallTarget, what: ComponentCall, inputs: Record<string, string> = {}) =>
  runCall(to, { name: 'it', call: what, inputs, signal: never() });

describe('an http call', () => {
  it('goes to the port that is really published and brings status, headers, text and JSON back', async () => {
    const seen: IncomingMessage[] = [];
    const web = await serve((request, response) => {
      seen.push(request);
      response.writeHead(200, { 'content-type': 'application/json', 'x-version': '2' }).end('{"sealed": false, "t": 3}');
    });
    const answer = await ask(target(web), get('/v1/sys/seal-status'));
    expect(answer).toMatchObject({ ok: true, status: 200, json: { sealed: false, t: 3 }, text: '{"sealed": false, "t": 3}', failure: '' });
    expect(answer.headers['x-version']).toBe('2');
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/v1/sys/seal-status' });
    expect(seen[0]?.headers).toMatchObject({ host: `127.0.0.1:${web}`, 'user-agent': expect.stringMatching(/^quarterdeck\//) });
  });

  it('builds path, query, headers and each kind of body exactly as declared (R35)', async () => {
    const seen: { line: string; type: string | undefined; header: string | undefined; body: string }[] = [];
    const web = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        seen.push({
          line: `${request.method} ${request.url}`,
          type: request.headers['content-type'],
          header: request.headers['x-api-key'] as string,
          body,
        });
        response.end();
      });
    });
    const inputs = {
      folder: { type: 'string', description: 'folder' },
      key: { type: 'secret-string', description: 'key', secret: true },
      many: { type: 'integer', description: 'n', required: false },
    };
    const values = { folder: 'a b/c&d', key: 'k1' };
    const to = target(web);
    const http = { port: 'web', path: '/rest/<folder>/scan', headers: { 'X-API-Key': '<key>' } };
    await ask(to, call({ inputs, http: { ...http, method: 'GET', query: { folder: '<folder>', limit: '<many>' } } }), values);
    await ask(to, call({ inputs, http: { ...http, method: 'POST', json: { name: '<folder>', many: '<many>', fixed: [true, '<key>'] } } }), {
      ...values,
      many: '7',
    });
    await ask(to, call({ inputs, http: { ...http, method: 'POST', form: { token: '<folder>', none: '<many>' } } }), values);
    await ask(to, call({ inputs, http: { ...http, method: 'PUT', text: '<folder>' } }), values);
    await ask(
      to,
      call({
        inputs: { ...inputs, opml: { type: 'string', description: 'file', file: true } },
        http: { ...http, method: 'POST', multipart: { file: '<opml>', title: '<folder>' } },
      }),
      { ...values, opml: '<opml/>' },
    );

    expect(seen.map(({ line }) => line)).toEqual([
      'GET /rest/a%20b%2Fc%26d/scan?folder=a%20b%2Fc%26d',
      'POST /rest/a%20b%2Fc%26d/scan',
      'POST /rest/a%20b%2Fc%26d/scan',
      'PUT /rest/a%20b%2Fc%26d/scan',
      'POST /rest/a%20b%2Fc%26d/scan',
    ]);
    expect(new Set(seen.map(({ header }) => header))).toEqual(new Set(['k1']));
    expect(seen[1]).toMatchObject({ type: 'application/json', body: '{"name":"a b/c&d","many":7,"fixed":[true,"k1"]}' });
    expect(seen[2]).toMatchObject({ type: 'application/x-www-form-urlencoded', body: 'token=a+b%2Fc%26d' });
    expect(seen[3]).toMatchObject({ type: 'text/plain; charset=utf-8', body: 'a b/c&d' });
    expect(seen[4]?.type).toMatch(/^multipart\/form-data; boundary=/);
    expect(seen[4]?.body).toContain(
      'Content-Disposition: form-data; name="file"; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n<opml/>\r\n',
    );
    expect(seen[4]?.body).toContain('name="title"\r\n\r\na b/c&d\r\n');
  });

  it('refuses to send a login or a secret over plain HTTP to an address of the network', async () => {
    const dialled: string[] = [];
    const host = {
      dial: async ({ host }: { host: string }) => Promise.reject(new Error(`no route ${dialled.push(host)}`)),
    } as unknown as Host;
    const published = (address: string, tls = false): CallTarget => {
      const to = target(8180, { host, ports: [port({ tls })] });
      const ports = [{ address, hostPort: 8180, containerPort: 80, protocol: 'tcp' as const }];
      return { ...to, containers: new Map([['app', containerDetail({ ...to.containers.get('app'), ports })]]) };
    };
    const inputs = { key: { type: 'secret-string', description: 'key', secret: true, required: false } };
    const withKey = call({ inputs, http: { method: 'GET', port: 'web', path: '/', headers: { 'x-api-key': '<key>' } } });
    const withLogin = get('/', { basic: { user: 'me', password: 'x' } });
    for (const refused of [ask(published('192.0.2.7'), withKey, { key: 'k1' }), ask(published('192.0.2.7'), withLogin)])
      await expect(refused).rejects.toMatchObject({
        code: 'refused.clear',
        message: expect.stringMatching(
          /^app \(192\.0\.2\.7:8180\) uses plain HTTP on the network, so the (?:key|login) could be read in transit\.$/,
        ),
        remedy: 'Publish the port on 127.0.0.1, or connect over SSH.',
      });
    expect(dialled).toEqual([]);
    await ask(published('192.0.2.7'), withKey);
    await ask(published('192.0.2.7'), get());
    await ask(published('192.0.2.7', true), withLogin);
    await ask(published('0.0.0.0'), withLogin);
    expect(dialled).toEqual(['192.0.2.7', '192.0.2.7', '192.0.2.7', '127.0.0.1']);
  });

  it('says when the answer is not an expected one, and what 401, 403, 429 and 503 mean (R34)', async () => {
    const web = await serve((request, response) => response.writeHead(Number(request.url?.slice(1))).end('x'));
    const expecting = (status: number) => ask(target(web), get(`/${status}`, { expect: [200] }));
    expect(await expecting(200)).toMatchObject({ ok: true, status: 200 });
    expect(await expecting(403)).toMatchObject({ ok: false, status: 403, failure: 'The component requires a login (status 403).' });
    expect(await expecting(503)).toMatchObject({ ok: false, status: 503, failure: 'The component is busy (status 503).' });
    expect(await expecting(500)).toMatchObject({ ok: false, status: 500, failure: 'The component responded with status 500, not 200.' });
    // Without `expect`, every response counts.
    expect(await ask(target(web), get('/500'))).toMatchObject({ ok: true, status: 500 });
    expect([0, 200, 302, 401, 403, 429, 503, 500].map((status) => stateOf({ status }))).toEqual([
      'silent',
      'up',
      'up',
      'locked',
      'locked',
      'busy',
      'busy',
      'failing',
    ]);
  });

  it('says what the reverse proxy says, where it is declared to come by the public address', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const web = await serve((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    const to = target(web);
    const behind = get('/api/state', { query: { a: 'b' }, publicUrl: 'PORTAL_URL' });
    await ask(to, behind);
    const container = containerDetail({ ...to.containers.get('app'), env: [['PORTAL_URL', 'https://auth.example.org:8443/']] });
    await ask({ ...to, containers: new Map([['app', container]]) }, behind);
    for (const name of ['id.home.lan', 'id.home.lan:8443', 'http://id.home.lan', 'no name']) {
      const named = containerDetail({ ...to.containers.get('app'), env: [['PORTAL_URL', name]] });
      await ask({ ...to, containers: new Map([['app', named]]) }, behind);
    }
    expect(seen.slice(2).map((headers) => [headers['x-forwarded-proto'], headers['x-forwarded-host']])).toEqual([
      ['https', 'id.home.lan'],
      ['https', 'id.home.lan:8443'],
      ['http', 'id.home.lan'],
      [undefined, undefined],
    ]);
    expect(Object.keys(seen[0] ?? {}).filter((name) => name.startsWith('x-'))).toEqual([]);
    expect(seen[1]).toMatchObject({
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'auth.example.org:8443',
      'x-forwarded-method': 'GET',
      'x-forwarded-uri': '/api/state?a=b',
    });
  });

  it('does not follow a redirect', async () => {
    let elsewhere = 0;
    const other = await serve((_, response) => {
      elsewhere++;
      response.end();
    });
    const web = await serve((_, response) => response.writeHead(302, { location: `http://127.0.0.1:${other}/` }).end());
    expect(await ask(target(web), get())).toMatchObject({ ok: true, status: 302, headers: { location: `http://127.0.0.1:${other}/` } });
    expect(elsewhere).toBe(0);
  });

  it('keeps 64 KiB of an endless body and takes half a JSON for none', async () => {
    const web = await serve((_, response) => {
      response.write('[');
      const more = () => {
        while (!response.destroyed && response.write('1,'.repeat(8192)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const answer = await ask(target(web), get());
    expect(answer).toMatchObject({ ok: true, status: 200, json: undefined });
    expect(answer.text).toHaveLength(64 * 1024);
  });

  it('gives up on a server that never answers, never finishes, or drips', async () => {
    const silent = await serveRaw(() => undefined);
    expect(await ask(target(silent), get())).toMatchObject({ ok: false, status: 0, failure: 'No response after 0.5 s.' });
    const half = await serveRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a"'));
    expect(await ask(target(half), get())).toMatchObject({
      ok: false,
      status: 200,
      text: '{"a"',
      failure: 'The response was incomplete after 0.5 s.',
    });
    const dripping = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write('.'), 5);
      socket.on('close', () => clearInterval(timer));
    });
    const answer = await ask(target(dripping), get());
    expect(answer).toMatchObject({ ok: false, status: 200 });
    expect(answer.text).toMatch(/^\.+$/);
    expect(answer.tookMs).toBeLessThan(2000);
  });

  it('gives up on a tunnel whose dialling never ends, even when nobody there listens to the signal', async () => {
    const host = { ...openLocalHost(), dial: () => new Promise<Duplex>(() => undefined) };
    expect(await ask(target(1, { host }), get())).toMatchObject({ ok: false, failure: 'No response after 0.5 s.' });
  });

  it('says what came instead of HTTP', async () => {
    const rubbish = await serveRaw((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n'));
    expect(await ask(target(rubbish), get())).toMatchObject({ ok: false, failure: 'The response is not valid HTTP.' });
    const closing = await serveRaw((socket) => socket.destroy());
    expect(await ask(target(closing), get())).toMatchObject({ ok: false, failure: 'The connection was closed without a response.' });
    const cutting = await serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'));
    expect(await ask(target(cutting), get())).toMatchObject({
      ok: false,
      status: 200,
      text: 'abc',
      failure: 'The connection was closed before the response was complete.',
    });
    const closed = await serve(() => undefined);
    cleanups.pop()?.();
    const refused = await ask(target(closed), get());
    expect(refused).toMatchObject({ ok: false, status: 0 });
    expect(refused.failure).toMatch(/\.$/);
  });

  it('survives a flood of headers and a switch of protocol', async () => {
    const flood = await serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(20_000)}\r\n`));
    expect(await ask(target(flood), get())).toMatchObject({ ok: false, failure: expect.stringContaining('is not valid HTTP') });
    const upgrade = await serveRaw((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
    );
    expect(await ask(target(upgrade), get())).toMatchObject({ ok: false });
  });

  it('works over any stream, as ssh gives one', async () => {
    let written = '';
    const host = {
      ...openLocalHost(),
      dial: async () =>
        new Duplex({
          read() {},
          write(chunk, _, done) {
            written += chunk;
            if (written.includes('\r\n\r\n')) this.push('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
            done();
          },
        }),
    };
    expect(await ask(target(8180, { host }), get())).toMatchObject({ ok: true, status: 200, text: 'ok' });
    expect(written).toMatch(/^GET \/ HTTP\/1\.1\r\n/);
  });

  it('accepts a certificate that the component made itself, on loopback', async () => {
    const web = await listening(
      createTlsServer({ key: selfSigned.key, cert: selfSigned.cert }, (_, response) => response.end('secret garden')),
    );
    expect(await ask(target(web, { ports: [port({ tls: true })] }), get())).toMatchObject({ ok: true, status: 200, text: 'secret garden' });
    const plain = await serve((_, response) => response.end());
    expect(await ask(target(plain, { ports: [port({ tls: true })] }), get())).toMatchObject({
      ok: false,
      failure: expect.stringContaining('TLS'),
    });
  });

  it('ends when the caller walks away', async () => {
    const silent = await serveRaw(() => undefined);
    const caller = new AbortController();
    const asked = runCall(target(silent), { name: 'it', call: get(), signal: caller.signal });
    caller.abort(new DOMException('left', 'AbortError'));
    await expect(asked).rejects.toThrow('left');
    await expect(runCall(target(silent), { name: 'it', call: get(), signal: caller.signal })).rejects.toThrow('left');
  });

  it('says which service is not running or which port is not published', async () => {
    const to = target(1);
    expect(await ask({ ...to, containers: new Map() }, get())).toMatchObject({ ok: false, failure: 'The service app is not running.' });
    expect(await ask(target(1, { ports: [port({ container: 81 })] }), get())).toMatchObject({
      ok: false,
      failure: 'Port 81/tcp of app is not published.',
    });
  });
});

describe('inputs', () => {
  const banning = call({
    reads: false,
    inputs: { ip: { type: 'ip-address', description: 'address to ban' } },
    http: { method: 'POST', port: 'web', path: '/ban/<ip>' },
  });
  const grant = () => mintGrant('ban', 'operate', never());

  it.each([
    [{}, 'requires ip'],
    [{ ip: 'nas' }, 'ip: "nas" must be an IPv4 or IPv6 address.'],
    [{ ip: '1.2.3.4', pi: 'x' }, 'has no input "pi"'],
  ])('%j is refused before anything is sent', async (inputs, message) => {
    let asked = 0;
    const web = await serve((_, response) => {
      asked++;
      response.end();
    });
    await expect(runCall(target(web), { name: 'ban', call: banning, inputs, signal: never(), grant: grant() })).rejects.toMatchObject({
      code: 'usage.input',
      message: expect.stringContaining(message),
    });
    expect(asked).toBe(0);
  });

  it('cannot smuggle a header', async () => {
    const web = await serve((_, response) => response.end());
    const declared = call({
      inputs: { key: { type: 'string', description: 'key' } },
      http: { method: 'GET', port: 'web', path: '/', headers: { 'X-Key': '<key>' } },
    });
    await expect(ask(target(web), declared, { key: 'a\r\nX-Admin: 1' })).rejects.toMatchObject({ code: 'usage.input' });
  });

  it('need a grant where the call does more than read', async () => {
    const web = await serve((_, response) => response.end('done'));
    await expect(ask(target(web), banning, { ip: '1.2.3.4' })).rejects.toMatchObject({ code: 'refused.grant' });
    expect(
      await runCall(target(web), { name: 'ban', call: banning, inputs: { ip: '2001:db8::1' }, signal: never(), grant: grant() }),
    ).toMatchObject({ ok: true, text: 'done' });
  });

  it('end with their grant', async () => {
    const silent = await serveRaw(() => undefined);
    const act = new AbortController();
    const asked = runCall(target(silent), {
      name: 'ban',
      call: banning,
      inputs: { ip: '1.2.3.4' },
      signal: never(),
      grant: mintGrant('ban', 'operate', act.signal),
    });
    act.abort(new Error('act ended'));
    await expect(asked).rejects.toThrow('act ended');
  });
});

describe('an exec call', () => {
  const result = (more: Partial<ExecResult> & { out?: string; err?: string } = {}): ExecResult => ({
    exitCode: 0,
    stdout: Buffer.from(more.out ?? ''),
    stderr: Buffer.from(more.err ?? ''),
    cut: false,
    ...more,
  });
  const list = call({ exec: { service: 'app', argv: ['cscli', 'decisions', 'list', '-o', 'json'] } });

  it('runs the argument list as it is and reads JSON', async () => {
    const ran: unknown[] = [];
    const engine: Partial<Engine> = {
      execReading: async (id, argv) => {
        ran.push([id, ...argv]);
        return result({ out: '[{"id": 1}]' });
      },
    };
    expect(await ask(target(1, { engine }), list)).toMatchObject({ ok: true, status: 0, json: [{ id: 1 }] });
    expect(ran).toEqual([['c1', 'cscli', 'decisions', 'list', '-o', 'json']]);
  });

  it('tells exit codes as status, stderr where stdout is empty, and a missing program as a failure', async () => {
    const answering = (given: ExecResult) => ask(target(1, { engine: { execReading: async () => given } }), list);
    expect(await answering(result({ exitCode: 2, err: 'sealed' }))).toMatchObject({ ok: true, status: 2, text: 'sealed', json: undefined });
    expect(await answering(result({ exitCode: 127 }))).toMatchObject({
      ok: false,
      failure: 'Cannot run cscli in the container of app.',
    });
    expect(await answering(result({ out: '[1]', cut: true }))).toMatchObject({ ok: true, json: undefined });
  });

  it('is not made in read-only mode', async () => {
    expect(await ask(target(1, { execAllowed: false }), list)).toMatchObject({
      ok: false,
      failure: 'Programs in containers cannot be run in read-only mode.',
    });
  });

  it('leaves out options nobody gave, and refuses a value that would be read as one', async () => {
    const ran: (readonly string[])[] = [];
    const engine = {
      writer: () => ({
        exec: async (_: string, argv: readonly string[]) => {
          ran.push(argv);
          return result();
        },
      }),
    } as unknown as Partial<Engine>;
    const ban = call({
      reads: false,
      inputs: { ip: { type: 'ip-address', description: 'address' }, reason: { type: 'string', description: 'why', required: false } },
      exec: { service: 'app', argv: ['cscli', 'decisions', 'add', '--ip', '<ip>', '--reason', '<reason>'] },
    });
    const run = (inputs: Record<string, string>) =>
      runCall(target(1, { engine }), { name: 'ban', call: ban, inputs, signal: never(), grant: mintGrant('ban', 'operate', never()) });
    await run({ ip: '1.2.3.4' });
    await run({ ip: '1.2.3.4', reason: 'too; many $(tries)' });
    expect(ran).toEqual([
      ['cscli', 'decisions', 'add', '--ip', '1.2.3.4'],
      ['cscli', 'decisions', 'add', '--ip', '1.2.3.4', '--reason', 'too; many $(tries)'],
    ]);
    await expect(run({ ip: '1.2.3.4', reason: '--all' })).rejects.toMatchObject({ code: 'usage.input' });
  });

  it('gives secrets on stdin, never in the arguments', async () => {
    const ran: unknown[] = [];
    const engine = {
      writer: () => ({
        exec: async (...given: unknown[]) => {
          ran.push(given);
          return result();
        },
      }),
    } as unknown as Partial<Engine>;
    const inputs = { share: { type: 'secret-string', description: 'key share', secret: true } };
    const withGrant = (declared: ComponentCall) =>
      runCall(target(1, { engine }), {
        name: 'x',
        call: declared,
        inputs: { share: 's3cret' },
        signal: never(),
        grant: mintGrant('x', 'operate', never()),
      });
    await withGrant(call({ reads: false, inputs, exec: { service: 'app', argv: ['unseal', '-'], stdin: '<share>' } }));
    expect(ran).toEqual([['c1', ['unseal', '-'], { limitBytes: 65_536, stdin: Buffer.from('s3cret') }]]);
    expect(await withGrant(call({ reads: false, inputs, exec: { service: 'app', argv: ['unseal', '<share>'] } }))).toMatchObject({
      ok: false,
    });
    expect(ran).toHaveLength(1);
  });
});

describe('tcp, file and engine calls', () => {
  it('tell an open port from one whose forwarder has nobody behind it', async () => {
    const open = await serveRaw(() => undefined);
    expect(await ask(target(open), call({ tcp: { port: 'web' } }))).toMatchObject({ ok: true, failure: '' });
    const greeting = await serveRaw((socket) => socket.end('220 hello\r\n'));
    expect(await ask(target(greeting), call({ tcp: { port: 'web' } }))).toMatchObject({ ok: true });
    const empty = await serveRaw((socket) => socket.destroy());
    expect(await ask(target(empty), call({ tcp: { port: 'web' } }))).toMatchObject({
      ok: false,
      failure: expect.stringContaining('the program in the container may not be listening'),
    });
  });

  it('read files, whole or cut', async () => {
    const reading = (content: string | undefined) =>
      ask(
        target(1, { engine: { readFile: async () => (content === undefined ? undefined : Buffer.from(content)) } }),
        call({ file: { service: 'app', path: '/data/state.json' } }),
      );
    expect(await reading('{"a": 1}')).toMatchObject({ ok: true, json: { a: 1 } });
    expect(await reading(undefined)).toMatchObject({ ok: false, failure: '/data/state.json does not exist in the container of app.' });
    const long = await reading(`"${'x'.repeat(70_000)}"`);
    expect(long).toMatchObject({ ok: true, json: undefined });
    expect(long.text).toHaveLength(64 * 1024);
  });

  it('tell what the engine knows', async () => {
    const detail = containerDetail({
      id: 'c1',
      exitCode: undefined,
      restartCount: 3,
      env: [['TZ', 'UTC']],
      argv: ['serve'],
      startedMs: Date.now() - 5000,
    });
    const answer = await ask(target(1, { engine: { inspect: async () => detail } }), call({ engine: { service: 'app' } }));
    expect(answer).toMatchObject({ ok: true, json: { state: 'running', restarts: 3, env: { TZ: 'UTC' }, argv: ['serve'] } });
    expect((answer.json as { uptime: number }).uptime).toBeGreaterThanOrEqual(4);
    expect(await ask(target(1, { engine: { inspect: async () => undefined } }), call({ engine: { service: 'app' } }))).toMatchObject({
      ok: false,
      failure: 'The container of app no longer exists.',
    });
  });

  it("pass the engine's own fault on as a sentence", async () => {
    const engine: Partial<Engine> = { inspect: async () => Promise.reject(new Error('boom\n    at somewhere')) };
    expect(await ask(target(1, { engine }), call({ engine: { service: 'app' } }))).toMatchObject({ ok: false, failure: 'Boom.' });
  });
});
