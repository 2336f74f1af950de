import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ComponentCall } from '../catalog/schema.ts';
import { Fault } from '../faults/fault.ts';
import { headersOf, requestOver } from './exchange.ts';
import type { PortAddress } from './find-address.ts';
import type { Inputs } from './inputs.ts';

type HttpDeclaration = NonNullable<ComponentCall['http']>;

/** A request, ready to be sent: exactly what component.yaml declares, filled (R35). */
export interface HttpRequest {
  method: string;
  /** With query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer | undefined;
}

/** What has arrived so far; a call that runs out of time tells it. */
export interface HttpArrival {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The whole body, or was it longer than we keep? */
  whole: boolean;
}

export const bodyLimitBytes = 64 * 1024;

/** Builds the request. Throws `usage.input` for values that cannot be sent. */
export function buildRequest(http: HttpDeclaration, inputs: Inputs): HttpRequest {
  const path = inputs.fill(http.path, encodeURIComponent);
  if (path === undefined) throw unsendable('A part of the path is missing.');
  const query = [...inputs.fillRecord(http.query), ...inputs.fillRecord(http.always ?? {})].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const { body, type } = buildBody(http, inputs);
  const headers: Record<string, string> = {
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': `quarterdeck/${process.env['QUARTERDECK_VERSION'] ?? 'dev'}`,
    ...(type && { 'content-type': type }),
  };
  for (const [name, value] of inputs.fillRecord(http.headers)) {
    if (/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      throw unsendable(`The value for the header ${name} holds characters that no header can.`);
    headers[name.toLowerCase()] = value;
  }
  if (http.basic) {
    const login = [inputs.fill(http.basic.user) ?? '', inputs.fill(http.basic.password) ?? ''];
    if (login[0]?.includes(':')) throw unsendable('A user name may not hold a colon.');
    headers['authorization'] = `Basic ${Buffer.from(login.join(':')).toString('base64')}`;
  }
  return {
    method: http.method,
    path: `${path}${query.length > 0 ? `${path.includes('?') ? '&' : '?'}${query.join('&')}` : ''}`,
    headers,
    body,
  };
}

function buildBody(http: HttpDeclaration, inputs: Inputs): { body: Buffer | undefined; type?: string } {
  if (http.json !== undefined) return { body: Buffer.from(JSON.stringify(inputs.fillJson(http.json))), type: 'application/json' };
  if (http.form) {
    return { body: Buffer.from(new URLSearchParams(inputs.fillRecord(http.form)).toString()), type: 'application/x-www-form-urlencoded' };
  }
  if (http.multipart) return buildMultipart(http.multipart, inputs);
  if (http.text !== undefined) return { body: Buffer.from(inputs.fill(http.text) ?? ''), type: 'text/plain; charset=utf-8' };
  return { body: undefined };
}

function buildMultipart(parts: Readonly<Record<string, string>>, inputs: Inputs): { body: Buffer; type: string } {
  const boundary = `quarterdeck-${randomBytes(16).toString('hex')}`;
  const sections = inputs.fillRecord(parts).map(([name, value]) => {
    const file = inputs.isFile(parts[name] ?? '') ? `; filename="${name}"\r\nContent-Type: application/octet-stream` : '';
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  return { body: Buffer.from(`${sections.join('')}--${boundary}--\r\n`), type: `multipart/form-data; boundary=${boundary}` };
}

/**
 * Sends a request over a connection that is there already and collects the answer, at most 64 KiB of it where no other limit is given. A redirect is an answer, it is
 * not followed. `arrival` is given a way to ask for what has come, as soon as a status has. Rejects with the signal's reason.
 */
export function sendRequest(
  stream: Duplex,
  {
    request,
    address,
    tls,
    signal,
    arrival,
    limitBytes = bodyLimitBytes,
  }: {
    request: HttpRequest;
    address: PortAddress;
    tls: boolean;
    signal: AbortSignal;
    arrival: (soFar: () => HttpArrival) => void;
    limitBytes?: number;
  },
): Promise<HttpArrival> {
  // A component's own certificate on loopback is signed by nobody, and nobody else can answer there.
  const security = tls ? { rejectUnauthorized: !address.near } : undefined;
  const { host, port } = address;
  return requestOver<HttpArrival>(stream, { request, host, port, tls: security, signal }, (response, done, failed) =>
    collect(response, limitBytes, arrival, done, failed),
  ).catch((error: unknown) => {
    throw error instanceof Error && error !== signal.reason ? readable(error, tls) : error;
  });
}

function collect(
  response: IncomingMessage,
  limitBytes: number,
  arrival: (soFar: () => HttpArrival) => void,
  done: (so: HttpArrival) => void,
  failed: (error: Error) => void,
): void {
  const headers = headersOf(response);
  const status = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let size = 0;
  const so = (whole: boolean): HttpArrival => ({ status, headers, body: Buffer.concat(chunks).subarray(0, limitBytes), whole });
  arrival(() => so(false));
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limitBytes) done(so(false));
  });
  response.on('end', () => done(so(true)));
  // Also what a connection that closes in the middle of a body comes to.
  response.on('error', () => failed(new Error('the connection was closed in the middle of the answer')));
}

/** Node's error as half a sentence. */
function readable(error: Error, tls: boolean): Error {
  const code = 'code' in error ? String(error.code) : '';
  if (code.startsWith('HPE_')) return new Error('what answers there does not speak HTTP', { cause: error });
  if (code === 'ECONNRESET' || code === 'EPIPE' || /socket hang up/.test(error.message))
    return new Error('the connection was closed without an answer', { cause: error });
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || (tls && /wrong version number/.test(error.message)))
    return new Error('what answers there does not speak TLS', { cause: error });
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT' || code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' || code === 'SELF_SIGNED_CERT_IN_CHAIN')
    return new Error('its certificate is signed by nobody we trust', { cause: error });
  return error;
}

function unsendable(message: string): Fault {
  return new Fault({ code: 'usage.input', message, remedy: 'Give another value.' });
}
