import { HttpClient, type HttpTerms, requiresTls } from '../../../calls/http-client.ts';
import type { HttpAnswer, HttpEndpoint, HttpRequest } from '../../../calls/http-exchange.ts';
import { Fault } from '../../../faults/fault.ts';
import { cleanLines } from '../../../text/clean.ts';
import { objectOf, objectsOf, textOf } from '../../../text/json-value.ts';

const limitMs = 15_000;
/** A node is about one kilobyte. */
const limitBytes = 16 * 1024 * 1024;
const quotedCharacters = 200;

export type MeshAnswer = Awaited<ReturnType<HeadscaleApi['send']>>;
export type MeshRequest = Pick<HttpRequest, 'json'> & { query?: Readonly<Record<string, string>> };

export type MeshMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * The HTTP API of Headscale (reference/headscale.md). The API key is sent in a header, and never over plain HTTP to another machine. Throws
 * `unreachable.mesh`, `failed.mesh` and, if the key is refused, `refused.apiKey`; every other status is returned.
 */
export class HeadscaleApi {
  readonly endpoint: HttpEndpoint;
  readonly #http: HttpClient;
  readonly #key: string | undefined;

  /** Throws `usage.apiKey` and `refused.clear`. */
  constructor(endpoint: HttpEndpoint, key?: string) {
    this.#http = new HttpClient(endpoint, termsOf(endpoint));
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
      const message = 'The API key contains a space or a character that is not allowed in HTTP headers.';
      throw new Fault('usage.apiKey', message, 'Copy the key again.');
    }
    this.endpoint = endpoint;
    this.#key = key;
  }

  /** `json` is undefined if the body is not JSON; `lines` are the error messages of the server, cleaned. */
  async send(method: MeshMethod, path: string, { query = {}, json }: MeshRequest, signal: AbortSignal) {
    const search = new URLSearchParams(query).toString();
    const headers = { accept: 'application/json', ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }) };
    const answer = await this.#http.send({ method, path: `${path}${search === '' ? '' : `?${search}`}`, headers, json }, signal);
    const { status, whole, json: parsed } = answer;
    if (!whole) {
      const message = `The control server returned more than ${limitBytes / 1024 / 1024} MB.`;
      throw new Fault('failed.mesh', message, 'Use the headscale command in the container instead.');
    }
    const lines = status < 400 ? [] : linesOf(answer);
    if (status === 401 || (status >= 400 && /^unauthori[sz]ed$/i.test(lines.join('')))) throw notTaken(this.#key !== undefined);
    return { status, json: parsed, lines, words: lines.join('; ') };
  }
}

const termsOf = ({ shown }: HttpEndpoint): HttpTerms => ({
  secrets: {
    what: 'the API key and every pre-auth key',
    remedy: 'Publish the port on 127.0.0.1 only, and use https from other machines.',
  },
  unreachable: {
    code: 'unreachable.mesh',
    who: `The control server ${shown}`,
    remedy: 'Check that the control server is running. Connected nodes keep their connections.',
  },
  limits: { limitMs, limitBytes },
});

/**
 * Returns the endpoint with the protocol of its port, and the version, which the server reports without a login from 0.26 on. The request
 * carries no secret, so it may be sent unencrypted and to a server that is not yet trusted.
 */
export async function greet(endpoint: HttpEndpoint, signal: AbortSignal): Promise<{ endpoint: HttpEndpoint; version: string | undefined }> {
  const ask = (tls: boolean) =>
    new HttpClient({ ...endpoint, tls, trust: { unchecked: true } }, { ...termsOf(endpoint), secrets: undefined }).send(
      { method: 'GET', path: '/version', headers: { accept: 'application/json' } },
      signal,
    );
  let answer = await ask(endpoint.tls);
  const tls = endpoint.tls || requiresTls(answer);
  if (tls && !endpoint.tls) answer = await ask(tls);
  const version = objectOf(answer.json)?.['version'];
  return { endpoint: { ...endpoint, tls }, version: typeof version === 'string' ? version : undefined };
}

/** Reads `{code, message, details}` up to 0.29, and `{title, status, detail, errors: [{message}]}` in 0.30 and later. */
function linesOf({ json, text: written }: HttpAnswer): readonly string[] {
  const { message, detail, title, errors } = objectOf(json) ?? {};
  const texts = [message ?? detail ?? title, ...objectsOf(errors).map((error) => error['message'])].map(textOf).filter(Boolean);
  const all = texts.length > 0 ? texts : json === undefined ? [written.slice(0, quotedCharacters)] : [];
  const lines = all.flatMap(cleanLines).map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

function notTaken(given: boolean): Fault {
  const message = given
    ? 'The control server rejects the API key of this console, because the key expired, was removed, or belongs to another server.'
    : 'The control server requires an API key.';
  return new Fault('refused.apiKey', message, 'Create a new API key: quarterdeck mesh access COMPONENT');
}
