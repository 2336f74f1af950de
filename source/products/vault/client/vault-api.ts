import { bodyLimitBytes, HttpClient, type HttpLimits, type HttpTerms, httpEndpointAt, wantsTls } from '../../../calls/http-client.ts';
import type { HttpAnswer, HttpEndpoint, HttpRequest } from '../../../calls/http-exchange.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, listOf, objectOf } from '../../../text/json-value.ts';
import { dataOf, type VaultAnswer, vaultRefusal } from './vault-refusal.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * The HTTP API of HashiCorp Vault and OpenBao (reference/openbao-vault.md). A token is sent in a header; neither it nor a key share is ever
 * sent over plain HTTP to another machine. Throws `unreachable.store` and `failed.store`; any status is returned.
 */
export class VaultApi {
  readonly endpoint: HttpEndpoint;
  readonly #http: HttpClient;
  readonly #token: string | undefined;

  /** Throws `usage.token` and `refused.clear`. */
  constructor(endpoint: HttpEndpoint, token?: string) {
    this.#http = new HttpClient(endpoint, termsOf(endpoint));
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new Fault('usage.token', 'That is no token: it holds a space or a character that no header can.', 'Copy it again.');
    }
    this.endpoint = endpoint;
    this.#token = token;
  }

  async send(method: Method, path: string, json: unknown, signal: AbortSignal, withinMs?: number): Promise<VaultAnswer> {
    const answer = await this.#ask({ method, path, json }, signal, withinMs === undefined ? {} : { limitMs: withinMs });
    if (!answer.whole) {
      throw new Fault(
        'failed.store',
        `The secrets manager answered with more than ${bodyLimitBytes / 1024} KiB.`,
        'Spread the secrets over several paths.',
      );
    }
    const { status, json: parsed, text } = answer;
    return { status, json: parsed, words: wordsOf(parsed) || cleanLine(parsed === undefined ? text.slice(0, 200) : '') };
  }

  /** Returns the data of the answer. Any status except 200 and 204 is a fault; `what` completes "It did not". */
  async call(method: Method, path: string, what: string, signal: AbortSignal, json?: unknown): Promise<JsonObject> {
    const answer = await this.send(method, path, json, signal);
    if (answer.status !== 200 && answer.status !== 204) throw vaultRefusal(answer, what);
    return dataOf(answer);
  }

  /** Returns undefined for a missing path. */
  async find(path: string, what: string, signal: AbortSignal): Promise<JsonObject | undefined> {
    const answer = await this.send('GET', path, undefined, signal);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, what);
    return dataOf(answer);
  }

  /** Downloads data that is not JSON. Throws `failed.store` for more than `limitBytes`. */
  async download(
    path: string,
    limits: { limitMs: number; limitBytes: number },
    signal: AbortSignal,
  ): Promise<Pick<VaultAnswer, 'status' | 'words'> & { body: Buffer }> {
    const { status, body, whole, json } = await this.#ask({ method: 'GET', path }, signal, limits);
    if (!whole) {
      throw new Fault(
        'failed.store',
        `It is larger than ${Math.round(limits.limitBytes / 1024 / 1024)} MB.`,
        'Take it on the machine itself, with the command of the server.',
      );
    }
    return { status, body, words: status === 200 ? '' : wordsOf(json) };
  }

  /** Uploads data that is not JSON. */
  async upload(path: string, bytes: Uint8Array, withinMs: number, signal: AbortSignal): Promise<VaultAnswer> {
    const headers = { 'content-type': 'application/octet-stream' };
    const { status, json } = await this.#ask({ method: 'POST', path, headers, body: Buffer.from(bytes) }, signal, { limitMs: withinMs });
    return { status, json, words: wordsOf(json) };
  }

  #ask({ path, headers, ...request }: HttpRequest, signal: AbortSignal, limits: HttpLimits): Promise<HttpAnswer> {
    const own = {
      accept: 'application/json',
      'x-vault-request': 'true',
      ...(this.#token !== undefined && { 'x-vault-token': this.#token }),
    };
    return this.#http.send({ ...request, path: `/v1/${path}`, headers: { ...own, ...headers } }, signal, limits);
  }
}

const termsOf = ({ shown }: HttpEndpoint): HttpTerms => ({
  secrets: { what: 'the token and every secret', remedy: 'Take its https address.' },
  unreachable: {
    code: 'unreachable.store',
    who: `The secrets manager at ${shown}`,
    remedy: 'Check the address, and that it is running.',
  },
});

/** Returns the endpoint with the protocol of its port. The first request carries no secret, so it may be sent unencrypted. */
export async function withProtocol(endpoint: HttpEndpoint, signal: AbortSignal): Promise<HttpEndpoint> {
  const http = new HttpClient({ ...endpoint, tls: false }, { ...termsOf(endpoint), secrets: undefined });
  return { ...endpoint, tls: wantsTls(await http.send({ method: 'GET', path: '/v1/sys/seal-status' }, signal)) };
}

/** Throws `usage.address`. */
export function vaultEndpointAt(host: Host, address: string): HttpEndpoint {
  const found = httpEndpointAt(host, address);
  if (!found || found.url.search || found.url.hash) {
    throw new Fault('usage.address', 'That is no address of a secrets manager.', 'For example https://vault.lan or http://127.0.0.1:8200');
  }
  return { ...found, basePath: found.url.pathname.replace(/\/$/, '') };
}

function wordsOf(json: unknown): string {
  return listOf(objectOf(json)?.['errors'])
    .filter((error) => typeof error === 'string')
    .map(cleanLine)
    .join('; ');
}
