import { bodyLimitBytes, HttpClient, type HttpLimits, type HttpTerms, httpEndpointAt, requiresTls } from '../../../calls/http-client.ts';
import type { HttpAnswer, HttpEndpoint, HttpRequest } from '../../../calls/http-exchange.ts';
import { Fault, type FaultCode } from '../../../faults/fault.ts';
import type { Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, listOf, objectOf } from '../../../text/json-value.ts';

export type VaultAnswer = Awaited<ReturnType<VaultApi['send']>>;

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
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      throw new Fault('usage.token', 'Not a token: it contains a space or a character not allowed in headers.', 'Copy the token again.');
    this.endpoint = endpoint;
    this.#token = token;
  }

  /** Sends JSON, or bytes as they are. `words` is the server's message, cleaned: `permission denied`. Empty if there is none. */
  async send(method: Method, path: string, data: unknown, signal: AbortSignal, withinMs?: number) {
    const content =
      data instanceof Uint8Array ? { headers: { 'content-type': 'application/octet-stream' }, body: Buffer.from(data) } : { json: data };
    const answer = await this.#ask({ method, path, ...content }, signal, withinMs === undefined ? {} : { limitMs: withinMs });
    if (!answer.whole) {
      const message = `The secrets manager returned more than ${bodyLimitBytes / 1024} KiB.`;
      throw new Fault('failed.store', message, "Spread large values over several paths, or use the server's own command.");
    }
    const { status, json: parsed, text } = answer;
    return { status, json: parsed, words: wordsOf(parsed) || cleanLine(parsed === undefined ? text.slice(0, 200) : '') };
  }

  /** Returns the data of the answer. Any status except 200 and 204 is a fault; `what` completes "The server did not". */
  async call(method: Method, path: string, what: string, signal: AbortSignal, json?: unknown): Promise<JsonObject> {
    const answer = await this.send(method, path, json, signal);
    if (answer.status !== 200 && answer.status !== 204) throw vaultRefusal(answer, what);
    return dataOf(answer);
  }

  /** Returns undefined for a missing path: status 404, or one of `missing`. With a body it is a POST. */
  async find(path: string, what: string, signal: AbortSignal, { body, missing = [404] }: { body?: object; missing?: number[] } = {}) {
    const answer = await this.send(body ? 'POST' : 'GET', path, body, signal);
    if (missing.includes(answer.status)) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, what);
    return dataOf(answer);
  }

  /** Downloads data that is not JSON. Throws `failed.store` for more than `limitBytes`. */
  async download(path: string, limits: Required<HttpLimits>, signal: AbortSignal) {
    const { status, body, whole, json } = await this.#ask({ method: 'GET', path }, signal, limits);
    if (!whole) {
      const message = `The download is larger than ${Math.round(limits.limitBytes / 1024 / 1024)} MB.`;
      throw new Fault('failed.store', message, "Download it on the host, with the server's own command.");
    }
    return { status, body, words: status === 200 ? '' : wordsOf(json) };
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
  secrets: { what: 'the token and every secret', remedy: 'Use the https address of the server.' },
  unreachable: {
    code: 'unreachable.store',
    who: `The secrets manager at ${shown}`,
    remedy: 'Check the address, and that the server is running.',
  },
});

/** Returns the endpoint with the protocol of its port. The first request carries no secret, so it may be sent unencrypted. */
export async function withProtocol(endpoint: HttpEndpoint, signal: AbortSignal): Promise<HttpEndpoint> {
  const http = new HttpClient({ ...endpoint, tls: false }, { ...termsOf(endpoint), secrets: undefined });
  return { ...endpoint, tls: requiresTls(await http.send({ method: 'GET', path: '/v1/sys/seal-status' }, signal)) };
}

/** Throws `usage.address`. */
export function vaultEndpointAt(host: Host, address: string): HttpEndpoint {
  const found = httpEndpointAt(host, address);
  if (!found || found.url.search || found.url.hash)
    throw new Fault('usage.address', 'The address must be an http or https URL.', 'For example: https://vault.lan');
  return { ...found, basePath: found.url.pathname.replace(/\/$/, '') };
}

const wordsOf = (json: unknown) =>
  textsIn(objectOf(json) ?? {}, 'errors')
    .map(cleanLine)
    .join('; ');

/** Returns a refusal as a sentence. `what` completes "The server did not": `read secret/apps/x`. */
export function vaultRefusal({ status, words }: Pick<VaultAnswer, 'status' | 'words'>, what: string): Fault {
  if (status === 503 && /sealed/i.test(words)) return vaultFault(`The server cannot ${what}: it is sealed.`, 'Unseal the server first.');
  if (status === 403 && /invalid token|bad token/i.test(words))
    return vaultFault('The server rejects the token.', 'Log in again, or use another token.');
  if (status === 403) {
    const remedy = 'To check the token: quarterdeck vault token COMPONENT. Or use another token.';
    return vaultFault(`The token is not permitted to ${what}, or is not valid.`, remedy);
  }
  if (status === 429) return vaultFault(`The server did not ${what}: too many requests (status 429).`, 'Try again in a moment.');
  if (/standby/i.test(words)) return vaultFault(`The server did not ${what}, because it is a standby node.`, 'Use the active node.');
  return vaultFault(`The server did not ${what}: ${reasonOf({ status, words })}.`, 'Check the log of the server.');
}

export const reasonOf = ({ status, words }: Pick<VaultAnswer, 'status' | 'words'>) => words || `it responded with status ${status}`;

export const vaultFault = (message: string, remedy: string, code: FaultCode = 'failed.vault') => new Fault(code, message, remedy);

/** The fault for an answer that is not from a secrets manager, such as a proxy's page: nothing may be concluded from it. */
export function strangeAnswer(what: string): Fault {
  return vaultFault(`Cannot ${what}: the response is not from a secrets manager.`, 'Check the server log, and any proxy in front of it.');
}

export const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/');

/** Returns the object under `data`, or the whole answer of old calls without an envelope. */
export function dataOf({ json }: Pick<VaultAnswer, 'json'>): JsonObject {
  const body = objectOf(json) ?? {};
  return objectOf(body['data']) ?? body;
}

export const numberIn = (data: JsonObject, name: string): number => {
  const value = data[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
};
export const textsIn = (data: JsonObject, name: string): string[] => listOf(data[name]).filter((one) => typeof one === 'string');
