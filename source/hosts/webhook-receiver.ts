import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { listenAt, whyNotListening } from './server-port.ts';

/** Senders of notifications send a few kilobytes; larger bodies are refused (413). */
const mostBytes = 1_048_576;
/** For a whole request, from its first byte to its last. */
const requestLimitMs = 10_000;
/** Each request may hold a body in memory before its signature is checked. */
const mostConnections = 64;
/** A signature over the body alone never expires. The oldest received entries are dropped first. */
const rememberedSignatures = 50_000;
/** Limit of deliveries that have not been reported yet. Further ones are refused (503), so that the sender retries later. */
const mostWaiting = 1_000;

interface WebhookWanted {
  /** An IP address of this machine, or a wildcard address. */
  address: string;
  port?: number;
  secret: string;
}

export interface Delivery {
  receivedMs: number;
  from: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface RejectedRequest {
  from: string;
  path: string;
  reason: 'no signature' | 'wrong signature' | 'too large' | 'no POST' | 'too many';
}

export interface WebhookListener {
  delivered(delivery: Delivery): void;
  /** The same signed body arrived again: its sender retried, or a third party replayed it. Not passed to `delivered`. */
  repeated(delivery: Delivery, firstMs: number): void;
  turnedAway(refusal: RejectedRequest): void;
}

export class WebhookReceiver {
  readonly url: string;
  readonly #closing = new AbortController();
  readonly closed = this.#closing.signal;
  readonly #listeners = new Set<WebhookListener>();
  readonly #connections = new Map<Socket, string>();
  /** Signatures of accepted bodies, with their times. Oldest first. */
  readonly #accepted = new Map<string, number>();
  #waiting = 0;

  private constructor(
    private readonly server: Server,
    private readonly secret: string,
  ) {
    const { address, family, port } = server.address() as AddressInfo;
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
    server.on('connection', (socket: Socket) => this.#admit(socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#take(request, response));
  }

  /** Listens until it is closed; the grant covers the opening. Throws `refused.port` if the address and port are not available. */
  static async open(grant: Grant, { address, port = 0, secret }: WebhookWanted): Promise<WebhookReceiver> {
    grant.signal.throwIfAborted();
    if (secret === '') throw new Error('a receiver without a secret would accept any request');
    const server = createServer({ requestTimeout: requestLimitMs, headersTimeout: requestLimitMs, connectionsCheckingInterval: 1_000 });
    await listenAt(server, address, port).catch((cause: NodeJS.ErrnoException) => {
      const message = `Cannot listen on ${address}${port === 0 ? '' : `, port ${port}`}: ${whyNotListening(cause)}.`;
      throw new Fault('refused.port', message, 'Set another port with --port, or an address of this machine with --address.', { cause });
    });
    return new WebhookReceiver(server, secret);
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.server.close();
    this.server.closeAllConnections();
  }

  listen(listener: WebhookListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Above the limit, the address with the most connections loses its oldest one. `maxConnections` would refuse the newest one instead. */
  #admit(socket: Socket): void {
    this.#connections.set(socket, socket.remoteAddress ?? '');
    socket.once('close', () => this.#connections.delete(socket));
    if (this.#connections.size <= mostConnections) return;
    const perAddress = Map.groupBy(this.#connections, ([, address]) => address);
    const [oldest] = [...perAddress.values()].reduce((most, some) => (some.length > most.length ? some : most));
    if (!oldest) return;
    this.#connections.delete(oldest[0]);
    oldest[0].destroy();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const from = request.socket.remoteAddress ?? '';
    const path = request.url ?? '/';
    const refuse = (status: number, reason: RejectedRequest['reason'], headers: Record<string, string> = {}) => {
      // Data still arriving is not awaited.
      response.writeHead(status, { ...headers, Connection: 'close' }).end(() => request.destroy());
      this.#tell((listener) => listener.turnedAway({ from, path, reason }));
    };
    response.on('error', () => undefined);
    if (request.method !== 'POST') return refuse(405, 'no POST', { Allow: 'POST' });
    if (this.#waiting >= mostWaiting) return refuse(503, 'too many', { 'Retry-After': '10' });
    const body = await bodyOf(request).catch(() => undefined);
    if (body === undefined) return;
    if (body === 'too large') return refuse(413, 'too large');
    const signed = checkSignature(request.headers, body, this.secret);
    if (signed !== 'right') return refuse(401, signed === 'missing' ? 'no signature' : 'wrong signature');
    const delivery: Delivery = { receivedMs: Date.now(), from, path, headers: request.headers, body };
    const firstMs = this.#remember(delivery);
    this.#waiting += 1;
    // Acknowledged first: the sender does not wait for the processing (R52).
    response.writeHead(200).end();
    response.once('close', () => {
      this.#waiting -= 1;
      this.#tell((listener) => (firstMs === undefined ? listener.delivered(delivery) : listener.repeated(delivery, firstMs)));
    });
  }

  /** @returns when the same body was first accepted, if it was. Its path and headers are not signed, so they make no difference. */
  #remember({ body, receivedMs }: Delivery): number | undefined {
    const signature = signatureOf(body, this.secret).toString('base64');
    const firstMs = this.#accepted.get(signature);
    if (firstMs !== undefined) return firstMs;
    this.#accepted.set(signature, receivedMs);
    const [oldest] = this.#accepted.keys();
    if (oldest !== undefined && this.#accepted.size > rememberedSignatures) this.#accepted.delete(oldest);
    return undefined;
  }

  #tell(what: (listener: WebhookListener) => void): void {
    if (this.#closing.signal.aborted) return;
    for (const listener of [...this.#listeners]) what(listener);
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | 'too large'> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) return 'too large';
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > mostBytes) return 'too large';
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const signatureOf = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest();

const signatureHeader = /^x-[a-z0-9]+(?:-[a-z0-9]+)*-signature(?:-256)?$/;
const digestText = /^(?:sha256=)?([0-9a-f]{64})$/i;

/**
 * Checks for a header X-<vendor>-Signature or X-<vendor>-Signature-256 with the HMAC-SHA256 of the body, in hex (R46). One of several is
 * enough: some senders also send an older kind. Compared in constant time for any input.
 */
export function checkSignature(headers: IncomingHttpHeaders, body: Buffer, secret: string): 'right' | 'wrong' | 'missing' {
  const right = signatureOf(body, secret);
  let checked: 'right' | 'wrong' | 'missing' = 'missing';
  for (const [name, value] of Object.entries(headers)) {
    if (!signatureHeader.test(name)) continue;
    const hex = typeof value === 'string' ? digestText.exec(value.trim())?.[1] : undefined;
    if (hex !== undefined && timingSafeEqual(Buffer.from(hex, 'hex'), right)) return 'right';
    checked = 'wrong';
  }
  return checked;
}
