import { addAbortListener } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps, Agent as TlsAgent } from 'node:https';
import type { Duplex, Readable } from 'node:stream';
import type { Host } from '../hosts/host.ts';
import { authority } from '../text/authority.ts';
import { parsedJson } from '../text/json-value.ts';
import type { PortAddress } from './find-address.ts';

/** How the server of a TLS connection is authenticated, and how we authenticate to it. All PEM. */
interface Trust {
  /** By default the public authorities. */
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  /** The name in its certificate, if it differs from the one that was dialled. */
  serverName?: string | undefined;
  unchecked?: boolean | undefined;
}

/** `host` is the machine from which the server is dialled. */
export interface HttpEndpoint {
  host: Host;
  address: PortAddress;
  /** Dialled instead of the address. */
  socket?: string;
  tls: boolean;
  /** By default the public authorities, on loopback none: a component's certificate has no authority, and no other machine answers there. */
  trust?: Trust;
  basePath?: string;
  shown: string;
}

export interface HttpRequest {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent as the body, with its type. */
  json?: unknown;
  body?: Buffer | undefined;
  /** Replaces a body in memory, with its length among the headers: opened when the server has accepted the request. */
  source?: (() => Readable) | undefined;
}

/** A response, or the part that has arrived. A redirect is a response too: none is followed. */
export class HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** False if the body was longer than the limit, or is still arriving. */
  readonly whole: boolean;

  constructor(response: Pick<IncomingMessage, 'statusCode' | 'headers'>, body: Buffer, whole: boolean) {
    this.status = response.statusCode ?? 0;
    this.headers = headersOf(response);
    this.body = body;
    this.whole = whole;
  }

  get text(): string {
    return this.body.toString('utf8');
  }

  /** Undefined if the body is not JSON, or is incomplete. */
  get json(): unknown {
    return this.whole ? parsedJson(this.text) : undefined;
  }
}

export function headersOf({ headers }: Pick<IncomingMessage, 'headers'>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

export const userAgent = `quarterdeck/${process.env['QUARTERDECK_VERSION'] ?? 'dev'}`;

/** The connection ends with `take`. Rejects with the signal's reason, dialling's fault, the error of `take`, or Node's as half a sentence. */
export async function exchange<T>(
  { host, address, socket, tls, trust, basePath = '' }: HttpEndpoint,
  { method, path, headers, json, source, ...request }: HttpRequest,
  signal: AbortSignal,
  take: (response: IncomingMessage) => Promise<T>,
  dialled: (stream: Duplex) => void = () => undefined,
): Promise<T> {
  const stream = await host.dial(socket === undefined ? { host: address.host, port: address.port } : { socket }, signal);
  dialled(stream);
  const body = json === undefined ? request.body : Buffer.from(JSON.stringify(json));
  const options = {
    method,
    path: `${basePath}${path}`,
    headers: {
      host: authority(address),
      connection: 'close',
      'accept-encoding': 'identity',
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...(body && { 'content-length': String(body.length) }),
      ...(source && { expect: '100-continue' }),
      ...headers,
    },
    setHost: false,
  };
  return new Promise((resolve, reject) => {
    const sending = tls
      ? requestHttps({
          ...options,
          ...{ agent: new TlsAgent({ maxCachedSessions: 0 }), host: address.host, ...tlsOptions(trust ?? { unchecked: address.near }) },
          ...({ socket: stream } as object),
        })
      : requestHttp({ ...options, createConnection: () => stream });
    const stopping = addAbortListener(signal, () => end(() => reject(signal.reason as Error)));
    const end = (settle: () => void) => {
      stopping[Symbol.dispose]();
      settle();
      sending.destroy();
      stream.destroy();
    };
    const failed = (error: Error) => end(() => reject(error));
    // Late errors of an abandoned stream are ignored.
    stream.on('error', () => undefined);
    sending.on('error', (error) => failed(readable(error, tls)));
    sending.on('response', (response) => take(response).then((answer) => end(() => resolve(answer)), failed));
    if (source) sendWhenAccepted(sending, source, failed);
    else sending.end(body);
  });
}

function tlsOptions({ serverName, unchecked, ...material }: Trust): RequestOptions {
  return { ...material, servername: serverName, rejectUnauthorized: unchecked !== true };
}

/** A server that does not support 100-continue gets the body after this time. */
const acceptLimitMs = 1000;

function sendWhenAccepted(sending: ClientRequest, open: () => Readable, failed: (error: Error) => void): void {
  let begun = false;
  const begin = () => {
    clearTimeout(timer);
    if (begun || sending.destroyed) return;
    begun = true;
    const source = open();
    source.on('error', failed);
    sending.once('close', () => source.destroy());
    source.pipe(sending);
  };
  const timer = setTimeout(begin, acceptLimitMs);
  sending.once('continue', begin);
  sending.once('close', () => clearTimeout(timer));
  sending.once('response', () => clearTimeout(timer));
  sending.flushHeaders();
}

/** Collects a response up to the limit. `arrival` receives a function that returns the part that has arrived. */
export function collect(response: IncomingMessage, limitBytes: number, arrival?: (soFar: () => HttpAnswer) => void): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const soFar = (whole: boolean) => new HttpAnswer(response, Buffer.concat(chunks).subarray(0, limitBytes), whole);
  arrival?.(() => soFar(false));
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limitBytes) resolve(soFar(false));
    });
    response.on('end', () => resolve(soFar(true)));
    // Also for a connection that closes in the middle of a body.
    response.on('error', () => reject(new Error('the connection was closed before the response was complete')));
  });
}

function readable(error: Error, tls: boolean): Error {
  const code = 'code' in error ? String(error.code) : '';
  const said = (message: string) => Object.assign(new Error(message, { cause: error }), { code });
  if (code.startsWith('HPE_')) return said('the response is not valid HTTP');
  if (code === 'ECONNRESET' || code === 'EPIPE' || /socket hang up/.test(error.message))
    return said('the connection was closed without a response');
  const isAlert = /^(?:EPROTO|ERR_SSL)/.test(code) && /alert/i.test(code + error.message);
  if (isAlert) return said('the server refused the TLS connection');
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || (tls && /wrong version number/.test(error.message)))
    return said('the server does not use TLS');
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT' || code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' || code === 'SELF_SIGNED_CERT_IN_CHAIN')
    return said('the certificate is not signed by a trusted CA');
  return error;
}
