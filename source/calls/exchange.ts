import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as TlsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

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

export interface ExchangeRequest {
  method: string;
  /** With query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer | undefined;
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

/**
 * One request and its whole answer over a connection that is there already. Rejects with the signal's reason, with node's own errors, whose `code` says what was wrong
 * (certificates, resets), and with an error of code `ERR_TOO_LARGE`.
 */
export function exchange(stream: Duplex, { request, host, port, trust, signal, limitBytes }: ExchangeOptions): Promise<ExchangeAnswer> {
  const headers = {
    host: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    connection: 'close',
    'accept-encoding': 'identity',
    ...(request.body && { 'content-length': String(request.body.length) }),
    ...request.headers,
  };
  const common = { method: request.method, path: request.path, headers, setHost: false };
  return new Promise((resolve, reject) => {
    const sending = trust
      ? requestHttps({
          ...common,
          agent: new TlsAgent({ maxCachedSessions: 0 }),
          ...({ socket: stream } as object),
          host,
          ...(trust.serverName !== undefined && { servername: trust.serverName }),
          ...(trust.ca !== undefined && { ca: trust.ca }),
          ...(trust.cert !== undefined && { cert: trust.cert }),
          ...(trust.key !== undefined && { key: trust.key }),
          rejectUnauthorized: trust.unchecked !== true,
        })
      : requestHttp({ ...common, createConnection: () => stream });
    const onAbort = () => end(() => reject(signal.reason as Error));
    const end = (settle: () => void) => {
      signal.removeEventListener('abort', onAbort);
      settle();
      sending.destroy();
      stream.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    // Late errors of a stream that has been given up are nobody's business.
    stream.on('error', () => undefined);
    sending.on('error', (error) => end(() => reject(error)));
    sending.on('response', (response) => {
      collect(response, limitBytes).then(
        (answer) => end(() => resolve(answer)),
        (error: unknown) => end(() => reject(error as Error)),
      );
    });
    sending.end(request.body);
    if (signal.aborted) onAbort();
  });
}

async function collect(response: IncomingMessage, limitBytes: number): Promise<ExchangeAnswer> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes)
      throw Object.assign(new Error(`more than ${Math.round(limitBytes / 1024 / 1024)} MB came`), { code: 'ERR_TOO_LARGE' });
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks) };
}
