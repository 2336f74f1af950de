import { once } from 'node:events';
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer as createSocketServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { selfSigned } from '../../test/doubles/self-signed.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { HttpClient, httpEndpointAt, requirePrivate } from './http-client.ts';
import type { HttpEndpoint } from './http-exchange.ts';

const host = openLocalHost();
const { signal } = new AbortController();
const open = { secrets: undefined };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function endpoint(answer: RequestListener, change: Partial<HttpEndpoint> = {}): Promise<HttpEndpoint> {
  const server = change.tls ? createTlsServer(selfSigned, answer) : createPlainServer(answer);
  servers.push(server.listen(0, '127.0.0.1') as Server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { host, address: { host: '127.0.0.1', port, near: true }, tls: false, shown: 'notes', ...change };
}

test.each([
  ['http://127.0.0.1:8200', true],
  ['http://localhost:8200', true],
  ['http://[::1]:8200', true],
  ['https://vault.lan', true],
  ['https://localhost.evil', true],
  ['http://localhost.evil', false],
  ['http://127.0.0.1.evil:8200', false],
  ['http://10.0.0.7:8200', false],
])('a secret may go to %s: %s', (address, allowed) => {
  const found = httpEndpointAt(host, address);
  if (!found) throw new Error('no endpoint');
  const build = () => new HttpClient(found, { secrets: { what: 'the token' } });
  if (allowed) return expect(build).not.toThrow();
  expect(build).toThrow(expect.objectContaining({ code: 'refused.clear', message: expect.stringContaining('the token could be read') }));
  expect(() => requirePrivate(found, { what: 'passwords', remedy: 'Use https.' })).toThrow(
    expect.objectContaining({ remedy: 'Use https.' }),
  );
});

test.each(['ftp://vault.lan', 'http://me:pw@vault.lan', 'http://me@vault.lan', 'vault.lan', ''])(
  '%j is no address of a server',
  (address) => {
    expect(httpEndpointAt(host, address)).toBeUndefined();
  },
);

test('a certificate is checked, except on loopback where no other can answer and nothing is said about it', async () => {
  const own = await endpoint((_, response) => response.end('hello'), { tls: true });
  const remote = { ...own, address: { ...own.address, near: false } };
  const ask = (to: HttpEndpoint) => new HttpClient(to, open).send({ method: 'GET', path: '/' }, signal);
  expect((await ask(own)).text).toBe('hello');
  expect((await ask({ ...remote, trust: { ca: selfSigned.cert, serverName: 'test' } })).text).toBe('hello');
  expect((await ask({ ...remote, trust: { unchecked: true } })).text).toBe('hello');
  for (const to of [remote, { ...own, trust: {} }]) await expect(ask(to)).rejects.toMatchObject({ code: 'unreachable.component' });
});

test('a server that refuses the connection with a TLS alert uses TLS all the same', async () => {
  const alert = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28]);
  const sockets = createSocketServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(alert)));
  await once(sockets.listen(0, '127.0.0.1'), 'listening');
  const { port } = sockets.address() as AddressInfo;
  const to: HttpEndpoint = { host, address: { host: '127.0.0.1', port, near: true }, tls: true, shown: 'notes' };
  await expect(new HttpClient(to, open).send({ method: 'GET', path: '/' }, signal)).rejects.toMatchObject({
    message: 'notes does not respond: the server refused the TLS connection.',
  });
  sockets.close();
});

test('an answer ends at the limit, and half a JSON is none', async () => {
  const to = await endpoint((_, response) => response.end(JSON.stringify({ long: 'x'.repeat(1000) })));
  const http = new HttpClient(to, { ...open, limits: { limitBytes: 100 } });
  const request = { method: 'GET', path: '/' };
  expect(await http.send(request, signal)).toMatchObject({ whole: false, json: undefined, status: 200, body: { length: 100 } });
  expect(await http.send(request, signal, { limitBytes: 2000 })).toMatchObject({ whole: true, json: { long: expect.any(String) } });
  await expect(http.stream(request, 5000, signal, (answer) => answer.all())).rejects.toMatchObject({
    message: 'notes does not respond: the response is too long.',
  });
});

test('a redirect is an answer', async () => {
  const asked: (string | undefined)[] = [];
  const to = await endpoint(({ url }, response) => {
    asked.push(url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  expect(await new HttpClient({ ...to, basePath: '/base' }, open).send({ method: 'GET', path: '/x' }, signal)).toMatchObject({
    status: 302,
    headers: { location: '/elsewhere' },
  });
  expect(asked).toEqual(['/base/x']);
});

test('a server that is silent, or falls silent, is given up with the fault that the product names', async () => {
  const to = await endpoint(({ url }, response) => {
    if (url === '/half') response.writeHead(200).write('half');
  });
  const unreachable = { code: 'unreachable.store', who: 'The store', remedy: 'Start it.' } as const;
  const http = new HttpClient(to, { ...open, unreachable, limits: { limitMs: 100 } });
  const silent = { code: 'unreachable.store', remedy: 'Start it.', message: expect.stringMatching(/^The store does not respond: no/) };
  for (const path of ['/', '/half']) {
    await expect(http.send({ method: 'GET', path }, signal)).rejects.toMatchObject(silent);
    await expect(http.stream({ method: 'GET', path }, 100, signal, (answer) => answer.all())).rejects.toMatchObject(silent);
  }
  const over = AbortSignal.abort(new Error('over'));
  await expect(http.send({ method: 'GET', path: '/' }, over)).rejects.toThrow('over');
  await expect(http.stream({ method: 'GET', path: '/' }, 100, over, (answer) => answer.all())).rejects.toThrow('over');
});
