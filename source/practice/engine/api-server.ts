import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { containerRoutes } from './container-routes.ts';
import { Execs } from './execs.ts';
import { imageRoutes } from './image-routes.ts';
import type { Machine } from './machine.ts';
import { apiVersion, type EngineRequest, engineVersion, type Handler, Refusal, type Routes, sendJson, sendNothing } from './request.ts';
import { listenAt } from './socket-server.ts';
import { systemRoutes } from './system-routes.ts';

type FindRequest = (raw: IncomingMessage, response: ServerResponse) => EngineRequest & { handler: Handler };

/** Serves the Docker Engine API on a unix socket, as Docker 29.0 does. Returns a function that closes it. */
export function serveApi(machine: Machine, { socket, more }: { socket: string; more: Routes }): Promise<() => Promise<void>> {
  const execs = new Execs(machine);
  const routes = Object.entries({ ...containerRoutes, ...imageRoutes, ...systemRoutes, ...more }).map(([key, handler]) => {
    // `:` is one part of a path, `::` several: names of images have slashes.
    const pattern = key.replaceAll('::', '(.+)').replaceAll('/:', '/([^/]+)');
    return { pattern: new RegExp(`^${pattern}$`), handler };
  });
  const find: FindRequest = (raw, response) => {
    const { pathname, searchParams: query } = new URL(raw.url ?? '/', 'http://engine');
    const [, version, path = pathname] = /^(?:\/v(\d+(?:\.\d+)+))?(\/.*)$/.exec(pathname) ?? [];
    refuseVersion(version);
    const { method = 'GET' } = raw;
    for (const { pattern, handler } of routes) {
      const match = pattern.exec(`${method} ${path}`);
      if (match) return { method, query, name: decodeURIComponent(match[1] ?? ''), raw, response, machine, execs, handler };
    }
    throw new Refusal(404, 'page not found');
  };
  const server = createServer({ keepAliveTimeout: 5_000 }, (raw, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    void answer(raw, response, find);
  });
  server.on('upgrade', (raw: IncomingMessage, stream: Duplex, head: Buffer) => void takeOver(raw, stream, head, find));
  return listenAt(server, socket);
}

const headers = {
  'Api-Version': apiVersion,
  'Docker-Experimental': 'false',
  Ostype: 'linux',
  Server: `Docker/${engineVersion} (linux)`,
} as const;

function refuseVersion(version = apiVersion): void {
  if (version.localeCompare(apiVersion, 'en', { numeric: true }) > 0)
    throw new Refusal(400, `client version ${version} is too new. Maximum supported API version is ${apiVersion}`);
}

async function answer(raw: IncomingMessage, response: ServerResponse, find: FindRequest): Promise<void> {
  response.on('error', () => undefined);
  try {
    const request = find(raw, response);
    await request.handler(request);
    if (!response.headersSent) sendNothing(request);
  } catch (thrown) {
    if (response.headersSent) return void response.destroy();
    raw.resume();
    const { status, message } = refusalOf(thrown);
    sendJson({ response }, { message }, status);
  }
}

function refusalOf(thrown: unknown): Refusal {
  return thrown instanceof Refusal ? thrown : new Refusal(500, thrown instanceof Error ? thrown.message : String(thrown));
}

/** An exec takes over its connection. The request's body is in the first bytes: Node leaves it there. */
async function takeOver(raw: IncomingMessage, stream: Duplex, head: Buffer, find: FindRequest): Promise<void> {
  stream.on('error', () => stream.destroy());
  const send = (status: string, fields: object, body = '') => {
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    stream.write(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
  };
  try {
    const { name, execs } = find(raw, new ServerResponse(raw));
    const rest = await behindBody(raw, stream, head);
    const instance = execs.findNew(name);
    const type = `application/vnd.docker.${instance.tty ? 'raw' : 'multiplexed'}-stream`;
    send('101 UPGRADED', { 'Content-Type': type, Connection: 'Upgrade', Upgrade: 'tcp', 'Api-Version': apiVersion });
    if (rest.length > 0) stream.unshift(rest);
    await execs.run(instance, { output: stream, input: stream });
  } catch (thrown) {
    const { status, message } = refusalOf(thrown);
    const body = `${JSON.stringify({ message })}\n`;
    const length = Buffer.byteLength(body);
    send(`${status} Refused`, { 'Content-Type': 'application/json', 'Content-Length': length, Connection: 'close' }, body);
    stream.end();
  }
}

const bodyLimitBytes = 1024 * 1024;

/** Skips the body in front of an upgraded stream: it has nothing that counts here. Returns what was read behind it. */
async function behindBody(raw: IncomingMessage, stream: Duplex, head: Buffer): Promise<Buffer> {
  const length = Number(raw.headers['content-length'] ?? 0);
  if (length > bodyLimitBytes) throw new Refusal(413, 'request body too large');
  let bytes = head;
  while (bytes.length < length) {
    const more = await nextBytes(stream);
    if (!more) throw new Refusal(400, 'the request has no end');
    bytes = Buffer.concat([bytes, more]);
  }
  return bytes.subarray(length);
}

function nextBytes(stream: Duplex): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const settle = (bytes?: Buffer) => {
      // At once: what was read already and comes next is not ours.
      stream.off('data', settle).off('close', settle).pause();
      resolve(Buffer.isBuffer(bytes) ? bytes : undefined);
    };
    stream.on('data', settle).once('close', settle).resume();
  });
}
