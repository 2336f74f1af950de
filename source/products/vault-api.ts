import type { PortAddress } from '../calls/find-address.ts';
import { bodyLimitBytes, type HttpArrival, sendRequest } from '../calls/http-call.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parsedJson } from '../text/json-value.ts';

const limitMs = 10_000;

/** Where a secrets manager answers, and from which machine it is dialled. */
export interface VaultPlace {
  host: Host;
  address: PortAddress;
  tls: boolean;
  /** Before `/v1`, mostly empty. */
  basePath: string;
  /** For sentences. */
  shown: string;
}

export interface VaultAnswer {
  status: number;
  /** Undefined where the body is none. */
  json: unknown;
  /** Its own words, cleaned: `permission denied`. Empty where there are none. */
  words: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface VaultDownload {
  status: number;
  body: Buffer;
  words: string;
}

/**
 * The HTTP API of HashiCorp Vault and OpenBao (reference/openbao-vault.md). A token goes into a header, and neither it nor a key share ever over plain HTTP to another
 * machine. Throws `unreachable.store` and `failed.store`; a status is an answer.
 */
export class VaultApi {
  readonly place: VaultPlace;
  readonly #token: string | undefined;

  /** Throws `usage.token` and `refused.clear`. */
  constructor(place: VaultPlace, token?: string) {
    if (!place.tls && !place.address.near) {
      throw new Fault({
        code: 'refused.clear',
        message: `${place.shown} is plain HTTP to another machine: the token and every secret could be read on the way.`,
        remedy: 'Take its https address.',
      });
    }
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new Fault({
        code: 'usage.token',
        message: 'That is no token: it holds a space or a character that no header can.',
        remedy: 'Copy it again.',
      });
    }
    this.place = place;
    this.#token = token;
  }

  /** `path` is below `/v1/`. `withinMs` is for what takes the server long. */
  async send(method: Method, path: string, json: unknown, signal: AbortSignal, withinMs = limitMs): Promise<VaultAnswer> {
    const arrival = await this.#arrival(method, path, json, signal, { limitMs: withinMs, limitBytes: bodyLimitBytes });
    if (!arrival.whole) {
      throw new Fault({
        code: 'failed.store',
        message: `The secrets manager answered with more than ${bodyLimitBytes / 1024} KiB.`,
        remedy: 'Spread the secrets over several paths.',
      });
    }
    const parsed = parsedJson(arrival.body.toString('utf8'));
    return {
      status: arrival.status,
      json: parsed,
      words: wordsOf(parsed) || cleanLine(parsed === undefined ? arrival.body.toString('utf8').slice(0, 200) : ''),
    };
  }

  /** What is large and no JSON: a snapshot. `words` are those of a refusal, which is JSON. Throws `failed.store` for more than `limitBytes`. */
  async download(path: string, limits: { limitMs: number; limitBytes: number }, signal: AbortSignal): Promise<VaultDownload> {
    const { status, body, whole } = await this.#arrival('GET', path, undefined, signal, limits);
    if (!whole) {
      throw new Fault({
        code: 'failed.store',
        message: `It is larger than ${Math.round(limits.limitBytes / 1024 / 1024)} MB.`,
        remedy: 'Take it on the machine itself, with the command of the server.',
      });
    }
    return { status, body, words: status === 200 ? '' : wordsOf(parsedJson(body.toString('utf8'))) };
  }

  /** Sends what is no JSON: a snapshot. */
  async upload(path: string, bytes: Uint8Array, withinMs: number, signal: AbortSignal): Promise<VaultAnswer> {
    const arrival = await this.#arrival('POST', path, bytes, signal, { limitMs: withinMs, limitBytes: bodyLimitBytes });
    const parsed = parsedJson(arrival.body.toString('utf8'));
    return { status: arrival.status, json: parsed, words: wordsOf(parsed) };
  }

  async #arrival(
    method: Method,
    path: string,
    body: unknown,
    signal: AbortSignal,
    limits: { limitMs: number; limitBytes: number },
  ): Promise<HttpArrival> {
    const { host, address, tls, basePath, shown } = this.place;
    const request = {
      method,
      path: `${basePath}/v1/${path}`,
      headers: {
        accept: 'application/json',
        'content-type': body instanceof Uint8Array ? 'application/octet-stream' : 'application/json',
        'x-vault-request': 'true',
        ...(this.#token !== undefined && { 'x-vault-token': this.#token }),
      },
      body: body === undefined ? undefined : Buffer.from(body instanceof Uint8Array ? body : JSON.stringify(body)),
    };
    try {
      return await limited(signal, limits.limitMs, async (both) => {
        const stream = await host.dial({ host: address.host, port: address.port }, both);
        return sendRequest(stream, { request, address, tls, signal: both, arrival: () => {}, limitBytes: limits.limitBytes });
      });
    } catch (thrown) {
      signal.throwIfAborted();
      throw new Fault({
        code: 'unreachable.store',
        message: `The secrets manager at ${shown} does not answer: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
        remedy: 'Check the address, and that it is running.',
        cause: thrown,
      });
    }
  }
}

/** Of an address that an operator wrote. Throws `usage.address`. */
export function vaultPlaceAt(host: Host, address: string): VaultPlace {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new Fault({
      code: 'usage.address',
      message: 'That is no address of a secrets manager.',
      remedy: 'For example https://vault.lan or http://127.0.0.1:8200',
    });
  }
  const tls = url.protocol === 'https:';
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const near = name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
  return {
    host,
    address: { host: name, port: Number(url.port) || (tls ? 443 : 80), near },
    tls,
    basePath: url.pathname.replace(/\/$/, ''),
    shown: cleanLine(url.origin),
  };
}

function wordsOf(json: unknown): string {
  const errors = (json as { errors?: unknown } | undefined)?.errors;
  if (!Array.isArray(errors)) return '';
  return errors
    .filter((error) => typeof error === 'string')
    .map(cleanLine)
    .join('; ');
}
