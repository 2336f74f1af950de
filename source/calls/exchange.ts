import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps, Agent as TlsAgent } from 'node:https';
import type { Duplex, Readable } from 'node:stream';

/** How the other side of TLS is known, and who we are to it. */
export interface Trust {
  /** PEM. Missing: the authorities that everybody trusts. */
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  /** The name in its certificate, where it is another than the one that was dialled. */
  serverName?: string | undefined;
  /** The operator said that it is not to be looked at. */
  unchecked?: boolean | undefined;
}

/** How the other side's certificate is looked at, as node calls it. */
export type TlsOptions = Pick<RequestOptions, 'servername' | 'ca' | 'cert' | 'key' | 'rejectUnauthorized'>;

export interface ExchangeRequest {
  method: string;
  /** With query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer | undefined;
  /** Instead of a body in memory, with its length among the headers: opened when the other side has said that it takes it. */
  source?: (() => Readable) | undefined;
}

export interface ExchangeAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface ExchangeOptions {
  request: ExchangeRequest;
  host: string;
  port: number;
  /** Plain HTTP where it is missing. */
  trust?: Trust | undefined;
  signal: AbortSignal;
  limitBytes: number;
}

/** Of an answer, with several of one name joined. */
export function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/**
 * Sends one request over a connection that is there already, and has `take` read the answer; the connection ends with that. Plain HTTP without `tls`. Rejects with the
 * signal's reason, with node's own errors, and with what `take` says has failed.
 */
export function requestOver<T>(
  stream: Duplex,
  { request, host, port, tls, signal }: Pick<ExchangeOptions, 'request' | 'host' | 'port' | 'signal'> & { tls: TlsOptions | undefined },
  take: (response: IncomingMessage, done: (answer: T) => void, failed: (error: Error) => void) => void,
): Promise<T> {
  const headers = {
    host: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    connection: 'close',
    ...(request.body && { 'content-length': String(request.body.length) }),
    ...(request.source && { expect: '100-continue' }),
    ...request.headers,
  };
  const common = { method: request.method, path: request.path, headers, setHost: false };
  return new Promise((resolve, reject) => {
    const sending = tls
      ? requestHttps({ ...common, agent: new TlsAgent({ maxCachedSessions: 0 }), ...({ socket: stream } as object), host, ...tls })
      : requestHttp({ ...common, createConnection: () => stream });
    const onAbort = () => end(() => reject(signal.reason as Error));
    const end = (settle: () => void) => {
      signal.removeEventListener('abort', onAbort);
      settle();
      sending.destroy();
      stream.destroy();
    };
    const failed = (error: Error) => end(() => reject(error));
    signal.addEventListener('abort', onAbort, { once: true });
    // Late errors of a stream that has been given up are nobody's business.
    stream.on('error', () => undefined);
    sending.on('error', failed);
    sending.on('response', (response) => take(response, (answer) => end(() => resolve(answer)), failed));
    if (request.source) sendWhenWanted(sending, request.source, failed);
    else sending.end(request.body);
    if (signal.aborted) onAbort();
  });
}

/** Who refuses says so before all of it is under way. One that does not know the question gets it a second later. */
const wantedLimitMs = 1000;

function sendWhenWanted(sending: ClientRequest, open: () => Readable, failed: (error: Error) => void): void {
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
  const timer = setTimeout(begin, wantedLimitMs);
  sending.once('continue', begin);
  sending.once('close', () => clearTimeout(timer));
  sending.once('response', () => clearTimeout(timer));
  sending.flushHeaders();
}

/**
 * One request and its whole answer over a connection that is there already. Rejects with the signal's reason, with node's own errors, whose `code` says what was wrong
 * (certificates, resets), and with an error of code `ERR_TOO_LARGE`.
 */
export function exchange(stream: Duplex, { request, host, port, trust, signal, limitBytes }: ExchangeOptions): Promise<ExchangeAnswer> {
  const plain = { ...request, headers: { 'accept-encoding': 'identity', ...request.headers } };
  const tls = trust && {
    ...(trust.serverName !== undefined && { servername: trust.serverName }),
    ...(trust.ca !== undefined && { ca: trust.ca }),
    ...(trust.cert !== undefined && { cert: trust.cert }),
    ...(trust.key !== undefined && { key: trust.key }),
    rejectUnauthorized: trust.unchecked !== true,
  };
  return requestOver(stream, { request: plain, host, port, tls, signal }, (response, done, failed) => {
    collect(response, limitBytes).then(done, failed);
  });
}

async function collect(response: IncomingMessage, limitBytes: number): Promise<ExchangeAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes)
      throw Object.assign(new Error(`more than ${Math.round(limitBytes / 1024 / 1024)} MB came`), { code: 'ERR_TOO_LARGE' });
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers: headersOf(response), body: Buffer.concat(chunks) };
}
