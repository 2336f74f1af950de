import type { PortAddress } from '../calls/find-address.ts';
import { type HttpArrival, sendRequest } from '../calls/http-call.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { parsedJson } from '../text/json-value.ts';

const limitMs = 15_000;
/** A node takes about a kilobyte. */
const limitBytes = 16 * 1024 * 1024;
/** Of an answer that is no JSON, for a sentence. */
const quotedCharacters = 200;

/** Where a mesh control server answers, and from which machine it is dialled. */
export interface MeshPlace {
  host: Host;
  address: PortAddress;
  tls: boolean;
  /** For sentences. */
  shown: string;
}

export interface MeshAnswer {
  status: number;
  /** Undefined where the body is none. */
  json: unknown;
  /** What it says went wrong, a line each, cleaned. */
  lines: readonly string[];
  /** The same in one line; empty where there is nothing. */
  words: string;
}

export interface MeshRequest {
  query?: Readonly<Record<string, string>>;
  json?: unknown;
}

export type MeshMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * The HTTP API of Headscale (reference/headscale.md). The API key goes into a header, and never over plain HTTP to another machine. Throws `unreachable.mesh`, `failed.mesh`
 * and, where the key is not taken, `refused.apiKey`; every other status is an answer.
 */
export class HeadscaleApi {
  readonly place: MeshPlace;
  readonly #key: string | undefined;

  /** Throws `usage.apiKey` and `refused.clear`. */
  constructor(place: MeshPlace, key?: string) {
    if (!place.tls && !place.address.near) {
      throw new Fault({
        code: 'refused.clear',
        message: `${place.shown} is plain HTTP to another machine: the API key and every pre-auth key could be read on the way.`,
        remedy: 'Publish its port on 127.0.0.1, and reach it from others over https.',
      });
    }
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
      throw new Fault({
        code: 'usage.apiKey',
        message: 'That is no API key: it holds a space or a character that no header can.',
        remedy: 'Copy it again.',
      });
    }
    this.place = place;
    this.#key = key;
  }

  /** `path` begins with a slash. */
  async send(method: MeshMethod, path: string, { query = {}, json }: MeshRequest, signal: AbortSignal): Promise<MeshAnswer> {
    const search = new URLSearchParams(query).toString();
    const { status, body, whole } = await this.#arrival(method, `${path}${search === '' ? '' : `?${search}`}`, json, signal);
    if (!whole) {
      throw new Fault({
        code: 'failed.mesh',
        message: `The control server answered with more than ${limitBytes / 1024 / 1024} MB.`,
        remedy: 'Ask it with its own command instead: headscale.',
      });
    }
    const parsed = parsedJson(body.toString('utf8'));
    const lines = status < 400 ? [] : linesOf(parsed, body);
    if (status === 401 || (status >= 400 && /^unauthori[sz]ed$/i.test(lines.join('')))) throw notTaken(this.#key !== undefined);
    return { status, json: parsed, lines, words: lines.join('; ') };
  }

  async #arrival(method: MeshMethod, path: string, json: unknown, signal: AbortSignal): Promise<HttpArrival> {
    const { host, address, tls, shown } = this.place;
    const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    const headers = {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
    };
    try {
      return await limited(signal, limitMs, async (both) => {
        const stream = await host.dial({ host: address.host, port: address.port }, both);
        const request = { method, path, headers, body };
        return sendRequest(stream, { request, address, tls, signal: both, arrival: () => {}, limitBytes });
      });
    } catch (thrown) {
      signal.throwIfAborted();
      throw new Fault({
        code: 'unreachable.mesh',
        message: `The control server ${shown} does not answer: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
        remedy: 'Look whether it is running. Connected nodes keep their connections meanwhile.',
        cause: thrown,
      });
    }
  }
}

/** The place with the protocol that its port speaks, and the version, raw, that the server tells without a login (from 0.26 on). Throws what `HeadscaleApi` does. */
export async function greet(place: MeshPlace, signal: AbortSignal): Promise<{ place: MeshPlace; version: string | undefined }> {
  // What is asked first carries no secret, so that it may go in the clear.
  const open: MeshPlace = { ...place, address: { ...place.address, near: true } };
  let answer = await new HeadscaleApi(open).send('GET', '/version', {}, signal);
  const tls = place.tls || (answer.status === 400 && /https server/i.test(answer.words));
  if (tls && !place.tls) answer = await new HeadscaleApi({ ...open, tls }).send('GET', '/version', {}, signal);
  const version = (answer.json as { version?: unknown } | undefined)?.version;
  return { place: { ...place, tls }, version: typeof version === 'string' ? version : undefined };
}

/** Up to 0.29 `{code, message, details}`, from 0.30 on `{title, status, detail, errors: [{message}]}`. */
function linesOf(json: unknown, body: Buffer): readonly string[] {
  const { message, detail, title, errors } = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  const texts = [
    message ?? detail ?? title,
    ...(Array.isArray(errors) ? errors.map((error) => (error as { message?: unknown } | null)?.message) : []),
  ];
  const said = texts.filter((text): text is string => typeof text === 'string' && text !== '');
  const all = said.length > 0 ? said : json === undefined ? [body.toString('utf8').slice(0, quotedCharacters)] : [];
  const lines = all.flatMap(cleanLines).map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

function notTaken(given: boolean): Fault {
  return new Fault({
    code: 'refused.apiKey',
    message: given
      ? 'The control server does not take the API key of this console: it has expired, was removed, or belongs to another server.'
      : 'The control server wants an API key.',
    remedy: 'Make a new one: quarterdeck mesh access COMPONENT',
  });
}
