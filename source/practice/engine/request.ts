import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Execs } from './execs.ts';
import type { Machine } from './machine.ts';

/** The newest version of the API that is served, and the oldest: those of Docker 29.0. */
export const apiVersion = '1.52';
export const oldestApiVersion = '1.44';
export const engineVersion = '29.0.1';

/** A request that the engine refuses, with Docker's status and message. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface EngineRequest {
  method: string;
  query: URLSearchParams;
  /** The variable part of the path: a name or an id. */
  name: string;
  raw: IncomingMessage;
  response: ServerResponse;
  machine: Machine;
  execs: Execs;
}

/** If it sends nothing, the answer is 204. */
export type Handler = (request: EngineRequest) => unknown;

/** By method and pattern: `GET /containers/:/json`. */
export type Routes = Readonly<Record<string, Handler>>;

export function sendJson({ response }: Pick<EngineRequest, 'response'>, body: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}

export function sendNothing({ response }: EngineRequest, status = 204): void {
  response.writeHead(status).end();
}

/** `1`, `true`, as Docker reads them. */
export function isSet(value: string | null): boolean {
  return value !== null && !['', '0', 'no', 'false', 'none'].includes(value.toLowerCase().trim());
}

const bodyLimitBytes = 16 * 1024 * 1024;

export async function readBody<Body extends object>(raw: IncomingMessage): Promise<Partial<Body>> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of raw as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > bodyLimitBytes) throw new Refusal(413, 'request body too large');
    chunks.push(chunk);
  }
  return parseBody(Buffer.concat(chunks).toString());
}

function parseBody<Body extends object>(text: string): Partial<Body> {
  try {
    const parsed: unknown = JSON.parse(text.trim() || '{}');
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch (thrown) {
    throw new Refusal(400, `invalid JSON: ${thrown instanceof Error ? thrown.message : ''}`);
  }
}

/** Sends as fast as the other side reads. Returns false once it has gone. */
export async function sendSlowly(response: ServerResponse, bytes: Buffer): Promise<boolean> {
  if (response.closed || response.write(bytes)) return !response.closed;
  await new Promise<void>((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });
  return !response.closed;
}

/** Aborted when the response is complete, the client has gone, or the moment is over. */
export function untilClosed(response: ServerResponse, until?: { ms: number }): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  if (!until) return closed.signal;
  const leftMs = Math.min(Math.max(0, until.ms - Date.now()), 2 ** 31 - 1);
  return AbortSignal.any([closed.signal, AbortSignal.timeout(leftMs)]);
}

/** Reads `{"event":["die"]}`, or `{"event":{"die":true}}` as docker sends it, and refuses filters that are not among these. */
export function readFilters<Name extends string>(text: string | null, known: readonly Name[]): Partial<Record<Name, string[]>> {
  const filters: Partial<Record<string, string[]>> = {};
  for (const [name, values] of Object.entries(parseBody<Record<string, object>>(text ?? ''))) {
    if (!(known as readonly string[]).includes(name)) throw new Refusal(400, `invalid filter '${name}'`);
    filters[name] = Array.isArray(values) ? values.map(String) : Object.keys(values ?? {});
  }
  return filters;
}
