import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { Host } from '../hosts/host.ts';
import { type ExchangeRequest, headersOf, requestOver } from './exchange.ts';
import type { PortAddress } from './find-address.ts';

/** An answer whose body is still on its way. */
export interface StreamedAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Readable;
}

export interface WholeAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** Reads the answer as it comes, or `all` of it where it is short. */
export type TakeAnswer<T> = (answer: StreamedAnswer, all: () => Promise<WholeAnswer>) => Promise<T>;

interface Options {
  request: ExchangeRequest;
  address: PortAddress;
  tls: boolean;
  signal: AbortSignal;
  /** So long nothing at all may come or go. */
  stillMs: number;
  /** Of an answer that is read as a whole. */
  answerLimitBytes: number;
}

/** One request on a connection of its own, whose body and answer may be larger than memory: it has no limit in time while something moves. */
export async function streamedExchange<T>(
  host: Host,
  { request, address, tls, signal, stillMs, answerLimitBytes }: Options,
  take: TakeAnswer<T>,
): Promise<T> {
  const still = new AbortController();
  const timer = setTimeout(() => still.abort(new Error(`nothing came or went for ${Math.round(stillMs / 1000)} s`)), stillMs);
  const both = AbortSignal.any([signal, still.signal]);
  let isOver = false;
  try {
    const stream = await host.dial({ host: address.host, port: address.port }, both);
    tellMoves(stream, () => isOver || timer.refresh());
    // A component's own certificate on loopback is signed by nobody, and nobody else can answer there.
    const security = tls ? { rejectUnauthorized: !address.near } : undefined;
    return await requestOver<T>(
      stream,
      { request, host: address.host, port: address.port, tls: security, signal: both },
      (response, done, failed) => {
        const answer = { status: response.statusCode ?? 0, headers: headersOf(response), body: response };
        take(answer, () => wholeOf(response, answerLimitBytes)).then(done, failed);
      },
    );
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Tells of whatever goes in or out, without reading any of it. */
function tellMoves(stream: Duplex, told: () => unknown): void {
  for (const way of ['push', 'write'] as const) {
    const plain = stream[way].bind(stream) as (...args: unknown[]) => boolean;
    stream[way] = ((...args: unknown[]) => {
      told();
      return plain(...args);
    }) as never;
  }
}

async function wholeOf(response: IncomingMessage, limitBytes: number): Promise<WholeAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw new Error('its answer is too long');
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers: headersOf(response), text: Buffer.concat(chunks).toString() };
}
