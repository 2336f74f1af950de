import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { containerRoutes } from './container-routes.ts';
import { Execs } from './execs.ts';
import { imageRoutes } from './image-routes.ts';
import { sendLive } from './log-answer.ts';
import type { Machine } from './machine.ts';
import { Refusal } from './refusal.ts';
import {
  apiVersion,
  type EngineRequest,
  engineVersion,
  type Handler,
  oldestApiVersion,
  parseBody,
  type Routes,
  sendJson,
} from './request.ts';
import { systemRoutes } from './system-routes.ts';

/** The Docker Engine API over a unix socket, as Docker 29.0 answers it. */
export interface ApiServer {
  close(): Promise<void>;
}

interface Route {
  method: string;
  pattern: RegExp;
  handler: Handler;
}

export async function serveApi(machine: Machine, { socket, more = {} }: { socket: string; more?: Routes }): Promise<ApiServer> {
  const execs = new Execs(machine);
  const routes = Object.entries({ ...containerRoutes, ...imageRoutes, ...systemRoutes, ...more }).map(([key, handler]) =>
    routeOf(key, handler),
  );
  const sockets = new Set<Socket>();
  const server = createServer({ keepAliveTimeout: 5_000 }, (raw, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    void answer(raw, response, { machine, execs, routes });
  });
  server.on('connection', (one: Socket) => {
    sockets.add(one);
    one.on('close', () => sockets.delete(one));
    one.on('error', () => undefined);
  });
  server.on(
    'upgrade',
    (raw: IncomingMessage, stream: Duplex, head: Buffer) => void takeOver(raw, stream, head, { machine, execs, routes }),
  );
  rmSync(socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, () => resolve());
  });
  return {
    close: async () => {
      for (const one of sockets) one.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const headers = {
  'Api-Version': apiVersion,
  'Docker-Experimental': 'false',
  Ostype: 'linux',
  Server: `Docker/${engineVersion} (linux)`,
} as const;

interface Serving {
  machine: Machine;
  execs: Execs;
  routes: readonly Route[];
}

/** `:` stands for one part of a path, `::` for several: names of images have slashes. */
function routeOf(key: string, handler: Handler): Route {
  const [method = '', path = ''] = key.split(' ');
  const pattern = path.replace(/[.]/g, '\\.').replace(/::/g, '(.+)').replace(/\/:/g, '/([^/]+)');
  return { method, pattern: new RegExp(`^${pattern}$`), handler };
}

function requestOf(
  raw: IncomingMessage,
  response: ServerResponse,
  { machine, execs, routes }: Serving,
): EngineRequest & { handler: Handler } {
  const url = new URL(raw.url ?? '/', 'http://engine');
  const [, version, path = url.pathname] = /^(?:\/v(\d+(?:\.\d+)+))?(\/.*)$/.exec(url.pathname) ?? [];
  const [oldest, newest] = [minorOf(oldestApiVersion), minorOf(apiVersion)];
  const minor = version === undefined ? newest : minorOf(version);
  if (minor < oldest) {
    throw new Refusal(
      400,
      `client version ${version} is too old. Minimum supported API version is ${oldestApiVersion}, please upgrade your client to a newer version`,
    );
  }
  if (minor > newest) throw new Refusal(400, `client version ${version} is too new. Maximum supported API version is ${apiVersion}`);
  const method = raw.method ?? 'GET';
  for (const { method: wanted, pattern, handler } of routes) {
    const match = wanted === method ? pattern.exec(path) : null;
    if (!match) continue;
    const parts = match.slice(1).map((part) => decodeURIComponent(part));
    return { method, path, query: url.searchParams, minor, parts, raw, response, machine, execs, handler };
  }
  throw new Refusal(404, 'page not found');
}

function minorOf(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 1 ? minor : major < 1 ? 0 : 1000;
}

async function answer(raw: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  response.on('error', () => undefined);
  try {
    const { handler, ...request } = requestOf(raw, response, serving);
    await handler(request);
  } catch (thrown) {
    refuse(raw, response, thrown);
  }
}

function refuse(raw: IncomingMessage, response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) return void response.destroy();
  raw.resume();
  const { status, message } =
    thrown instanceof Refusal ? thrown : { status: 500, message: thrown instanceof Error ? thrown.message : String(thrown) };
  sendJson({ response } as EngineRequest, { message }, status);
}

/** A connection that becomes an exec's or a container's own. The request's body stands in the first bytes: Node leaves it there. */
async function takeOver(raw: IncomingMessage, stream: Duplex, head: Buffer, serving: Serving): Promise<void> {
  stream.on('error', () => stream.destroy());
  try {
    const { path, name } = upgradeOf(raw, serving);
    const { body, rest } = await bodyBefore(raw, stream, head);
    if (path === 'attach') {
      const container = serving.machine.container(name);
      greet(stream, container.spec.tty);
      await sendLive(container, stream);
      return;
    }
    const instance = serving.execs.find(name);
    serving.execs.check(instance);
    if (parseBody(body)['Detach'] === true) throw new Refusal(400, 'a detached exec has no connection');
    greet(stream, instance.request.tty);
    if (rest.length > 0) stream.unshift(rest);
    await serving.execs.run(instance, { output: { write: (bytes) => stream.write(bytes), end: () => stream.end() }, input: stream });
  } catch (thrown) {
    const { status, message } = thrown instanceof Refusal ? thrown : { status: 500, message: String(thrown) };
    const body = `${JSON.stringify({ message })}\n`;
    stream.end(
      `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
}

function upgradeOf(raw: IncomingMessage, serving: Serving): { path: 'exec' | 'attach'; name: string } {
  const { path, parts } = requestOf(raw, new ServerResponse(raw), serving);
  const name = parts[0] ?? '';
  if (/^\/exec\/[^/]+\/start$/.test(path)) return { path: 'exec', name };
  if (/^\/containers\/[^/]+\/attach$/.test(path)) return { path: 'attach', name };
  throw new Refusal(400, 'this cannot be upgraded');
}

function greet(stream: Duplex, tty: boolean): void {
  const type = tty ? 'raw' : 'multiplexed';
  stream.write(
    `HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.${type}-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nApi-Version: ${apiVersion}\r\n\r\n`,
  );
}

const bodyLimitBytes = 1024 * 1024;

/** The body in front of an upgraded stream, by its length or as one chunk, and what follows it. */
async function bodyBefore(raw: IncomingMessage, stream: Duplex, head: Buffer): Promise<{ body: string; rest: Buffer }> {
  let bytes = head;
  const chunked = /chunked/i.test(String(raw.headers['transfer-encoding'] ?? ''));
  const length = Number(raw.headers['content-length'] ?? 0);
  for (;;) {
    if (!chunked && bytes.length >= length) return { body: bytes.subarray(0, length).toString('utf8'), rest: bytes.subarray(length) };
    if (chunked) {
      const [, size, after = ''] = /^([0-9a-f]+)[^\r]*(\r\n)/i.exec(bytes.toString('latin1', 0, 64)) ?? [];
      const from = size === undefined ? 0 : bytes.indexOf(after) + 2;
      const sizeBytes = Number.parseInt(size ?? '', 16);
      if (size !== undefined && bytes.length >= from + sizeBytes + 2) {
        const rest = bytes.subarray(from + sizeBytes + 2);
        return {
          body: bytes.subarray(from, from + sizeBytes).toString('utf8'),
          rest: rest.toString('latin1', 0, 5) === '0\r\n\r\n' ? rest.subarray(5) : rest,
        };
      }
    }
    if (bytes.length > bodyLimitBytes) throw new Refusal(413, 'request body too large');
    const more = await nextBytes(stream);
    if (!more) throw new Refusal(400, 'the request has no end');
    bytes = Buffer.concat([bytes, more]);
  }
}

function nextBytes(stream: Duplex): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const settle = (bytes: Buffer | undefined) => {
      stream.off('data', onData);
      stream.off('close', onClose);
      stream.pause();
      resolve(bytes);
    };
    const onData = (bytes: Buffer) => settle(bytes);
    const onClose = () => settle(undefined);
    stream.on('data', onData);
    stream.once('close', onClose);
    stream.resume();
  });
}
