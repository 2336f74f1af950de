import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Execs } from './execs.ts';
import type { Machine } from './machine.ts';
import { Refusal } from './refusal.ts';

/** The newest version of the API that is spoken here, and the oldest: those of Docker 29.0. */
export const apiVersion = '1.52';
export const oldestApiVersion = '1.44';
export const engineVersion = '29.0.1';

/** A request, read as far as its path. */
export interface EngineRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  /** Of the version that is asked for: 51 of `/v1.51/...`. */
  minor: number;
  /** Parts of the path that the route leaves open. */
  parts: readonly string[];
  raw: IncomingMessage;
  response: ServerResponse;
  machine: Machine;
  execs: Execs;
}

export type Handler = (request: EngineRequest) => Promise<void> | void;

/** `GET /containers/:/json` to what answers it. */
export type Routes = Readonly<Record<string, Handler>>;

export function sendJson({ response }: EngineRequest, body: unknown, status = 200): void {
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

export async function readBody(raw: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of raw as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > bodyLimitBytes) throw new Refusal(413, 'request body too large');
    chunks.push(chunk);
  }
  return parseBody(Buffer.concat(chunks).toString('utf8'));
}

export function parseBody(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch (thrown) {
    throw new Refusal(400, `invalid JSON: ${thrown instanceof Error ? thrown.message : ''}`);
  }
}

/** Sends as fast as the other side reads. Answers false when it has gone. */
export function sendSlowly(response: ServerResponse, bytes: Buffer): Promise<boolean> {
  if (response.destroyed || response.closed) return Promise.resolve(false);
  if (response.write(bytes)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const settle = (open: boolean) => () => {
      response.off('drain', drained);
      response.off('close', closed);
      resolve(open);
    };
    const drained = settle(true);
    const closed = settle(false);
    response.once('drain', drained);
    response.once('close', closed);
  });
}
