import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { EngineAddress } from '../../source/engine/engine.ts';

/** A request as it reached the engine, without the version in its path. */
export interface EngineRequest {
  method: string;
  /** `1.41`, `4.3.1`; undefined when there was none. */
  version: string | undefined;
  path: string;
  query: URLSearchParams;
  body: string;
}

export type Answer = (request: EngineRequest, response: ServerResponse, raw: IncomingMessage) => void;

export interface Recording {
  /** Headers of every answer. */
  headers: Readonly<Record<string, string>>;
  /** Refuses a version in the path: a status and a body. */
  refuses?: (version: string) => { status: number; body: unknown } | undefined;
  /** `GET /containers/json` to its answer; `*` stands for one part of a path. */
  answers: Readonly<Record<string, Answer | object>>;
  /** `POST /exec/x/start` and the like, when the client asks for an upgrade. */
  upgrades?: Readonly<Record<string, (request: EngineRequest, stream: Duplex) => void>>;
}

export interface RecordedEngine extends AsyncDisposable {
  address: EngineAddress;
  requests: EngineRequest[];
  /** Breaks every connection and stops listening. */
  kill(): Promise<void>;
}

export function json(status: number, body: unknown): Answer {
  return (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`);
  };
}

/** Status 304 and the like. */
export function empty(status: number): Answer {
  return (_, response) => response.writeHead(status).end();
}

/** An engine that says what a real one was recorded saying, over a socket of its own. */
export async function serve(recording: Recording): Promise<RecordedEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-engine-'));
  const path = join(folder, 'engine.sock');
  const requests: EngineRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((raw, response) => {
    void read(raw).then((request) => {
      requests.push(request);
      for (const [name, value] of Object.entries(recording.headers)) response.setHeader(name, value);
      const refused =
        request.version === undefined || request.path.startsWith('/libpod/') ? undefined : recording.refuses?.(request.version);
      if (refused) return json(refused.status, refused.body)(request, response, raw);
      const answer = find(recording.answers, request);
      if (answer === undefined) return json(404, { message: 'page not found' })(request, response, raw);
      if (typeof answer === 'function') return (answer as Answer)(request, response, raw);
      json(200, answer)(request, response, raw);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (raw: IncomingMessage, stream: Duplex) => {
    void read(raw).then((request) => {
      requests.push(request);
      const answer = find(recording.upgrades ?? {}, request);
      if (!answer) return stream.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
      stream.write(
        'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
      );
      answer(request, stream);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const kill = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    address: { url: `unix://${path}`, origin: 'test' },
    requests,
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function read(raw: IncomingMessage): Promise<EngineRequest> {
  const url = new URL(raw.url ?? '/', 'http://engine');
  const [, version, path = url.pathname] = /^(?:\/v(\d+(?:\.\d+)+))?(\/.*)$/.exec(url.pathname) ?? [];
  const chunks: Buffer[] = [];
  // An upgraded request's body is announced as chunked and never ends.
  if (!raw.headers.upgrade) for await (const chunk of raw as AsyncIterable<Buffer>) chunks.push(chunk);
  return { method: raw.method ?? '', version, path, query: url.searchParams, body: Buffer.concat(chunks).toString('latin1') };
}

function find<T>(answers: Readonly<Record<string, T>>, { method, path }: EngineRequest): T | undefined {
  const exact = answers[`${method} ${path}`];
  if (exact !== undefined) return exact;
  const parts = path.split('/');
  return Object.entries(answers).find(([key]) => {
    const [wanted, pattern = ''] = key.split(' ');
    const wantedParts = pattern.split('/');
    return (
      wanted === method && wantedParts.length === parts.length && wantedParts.every((part, index) => part === '*' || part === parts[index])
    );
  })?.[1];
}

/** A frame of a stream that is not a terminal's. */
export function frame(stream: 0 | 1 | 2 | 3, payload: string | Buffer): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}
