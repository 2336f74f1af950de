import { bodyLimitBytes, type HttpArrival, sendRequest } from '../calls/http-call.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';

const limitMs = 10_000;

export interface StoreAccess {
  /** Where the address is dialled from. */
  host: Host;
  /** `http://127.0.0.1:8200`, `https://vault.lan`. */
  address: string;
  token: string;
  /** Of the key-value engine, version 2: `secret`. */
  mount: string;
}

/** One entry of the store: its keys, and the version that a later write is compared with; 0 where there is none. */
export interface StoreEntry {
  values: Readonly<Record<string, string>>;
  version: number;
}

interface Answer {
  status: number;
  json: unknown;
}

/**
 * The key-value engine (version 2) of the path-addressed secrets manager, OpenBao or HashiCorp Vault (reference/openbao-vault.md). The token goes into a header,
 * and never over plain HTTP to another machine. Throws `failed.store` and `unreachable.store`.
 */
export class KeyValueStore {
  readonly #access: StoreAccess;
  readonly #url: URL;

  /** Throws `usage.address` and `refused.clear`. */
  constructor(access: StoreAccess) {
    this.#access = access;
    this.#url = urlOf(access.address);
    if (!/^[\x21-\x7e]+$/.test(access.token)) {
      throw new Fault({
        code: 'usage.token',
        message: 'That is no token: it holds a space or a character that no header can.',
        remedy: 'Copy it again.',
      });
    }
  }

  /** Is the mount what it is taken for? */
  async check(signal: AbortSignal): Promise<void> {
    const { mount } = this.#access;
    const answer = await this.#send('GET', `sys/internal/ui/mounts/${encodePath(mount)}`, undefined, signal);
    if (answer.status !== 200) throw refusal(answer, `look at "${cleanLine(mount)}"`);
    const { data } = answer.json as { data?: { options?: { version?: string } | null } };
    if (data?.options?.version !== '2')
      throw failed(`"${cleanLine(mount)}" is no key-value engine of version 2.`, 'Name another with --mount.');
  }

  async read(path: string, signal: AbortSignal): Promise<StoreEntry> {
    const answer = await this.#send('GET', `${encodePath(this.#access.mount)}/data/${encodePath(path)}`, undefined, signal);
    const data = (answer.json as { data?: { data?: Record<string, unknown> | null; metadata?: { version?: number } } | null } | undefined)
      ?.data;
    // A deleted version is a 404 with a body, and counts in the comparison.
    if (answer.status === 404) return { values: {}, version: data?.metadata?.version ?? 0 };
    if (answer.status !== 200 || !data) throw refusal(answer, `read ${cleanLine(path)}`);
    const values = Object.entries(data.data ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return { values: Object.fromEntries(values), version: data.metadata?.version ?? 0 };
  }

  /** All keys of a path at once; refused over there when somebody wrote since `version` was read. */
  async write(grant: Grant, path: string, values: Readonly<Record<string, string>>, version: number): Promise<void> {
    const body = { data: values, options: { cas: version } };
    const answer = await this.#send('POST', `${encodePath(this.#access.mount)}/data/${encodePath(path)}`, body, grant.signal);
    if (answer.status !== 200 && answer.status !== 204) throw refusal(answer, `write ${cleanLine(path)}`);
  }

  /** All paths below a folder that hold values. */
  async paths(folder: string, signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#send('GET', `${encodePath(this.#access.mount)}/metadata/${encodePath(folder)}?list=true`, undefined, signal);
    if (answer.status === 404) return [];
    const keys = (answer.json as { data?: { keys?: string[] } } | undefined)?.data?.keys;
    if (answer.status !== 200 || !keys) throw refusal(answer, `list ${cleanLine(folder)}`);
    const found: string[] = [];
    for (const key of keys) {
      if (key.endsWith('/')) found.push(...(await this.paths(`${folder}/${key.slice(0, -1)}`, signal)));
      else found.push(`${folder}/${key}`);
    }
    return found;
  }

  async #send(method: 'GET' | 'POST', path: string, json: unknown, signal: AbortSignal): Promise<Answer> {
    const { host, token } = this.#access;
    const tls = this.#url.protocol === 'https:';
    const name = hostnameOf(this.#url);
    const address = { host: name, port: Number(this.#url.port) || (tls ? 443 : 80), near: isNear(name) };
    const request = {
      method,
      path: `${this.#url.pathname.replace(/\/$/, '')}/v1/${path}`,
      headers: { accept: 'application/json', 'content-type': 'application/json', 'x-vault-token': token, 'x-vault-request': 'true' },
      body: json === undefined ? undefined : Buffer.from(JSON.stringify(json)),
    };
    let arrival: HttpArrival;
    try {
      arrival = await limited(signal, limitMs, async (both) => {
        const stream = await host.dial({ host: address.host, port: address.port }, both);
        return sendRequest(stream, { request, address, tls, signal: both, arrival: () => {} });
      });
    } catch (thrown) {
      signal.throwIfAborted();
      throw new Fault({
        code: 'unreachable.store',
        message: `The secrets manager at ${cleanLine(this.#url.origin)} does not answer: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
        remedy: 'Check the address, and that it is running.',
        cause: thrown,
      });
    }
    if (!arrival.whole)
      throw failed(`The secrets manager answered with more than ${bodyLimitBytes / 1024} KiB.`, 'Spread the secrets over several paths.');
    return { status: arrival.status, json: parsed(arrival.body) };
  }
}

function urlOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new Fault({
      code: 'usage.address',
      message: 'That is no address of a secrets manager.',
      remedy: 'For example https://vault.lan or http://127.0.0.1:8200',
    });
  }
  if (url.protocol === 'http:' && !isNear(hostnameOf(url))) {
    throw new Fault({
      code: 'refused.clear',
      message: `${cleanLine(url.origin)} is plain HTTP to another machine: the token and every secret could be read on the way.`,
      remedy: 'Take its https address.',
    });
  }
  return url;
}

function hostnameOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function isNear(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Its own words: `permission denied`, `Vault is sealed`. */
function refusal({ status, json }: Answer, what: string): Fault {
  const errors = (json as { errors?: unknown } | undefined)?.errors;
  const words = Array.isArray(errors)
    ? errors
        .filter((error) => typeof error === 'string')
        .map(cleanLine)
        .join('; ')
    : '';
  if (status === 503) return failed(`The secrets manager cannot ${what}: it is sealed.`, 'Unseal it first.');
  if (status === 403) return failed(`The token may not ${what}.`, 'Take another token, or give its policy that right.');
  if (status === 400 && /check-and-set/.test(words))
    return failed(`It did not ${what}: somebody else wrote there meanwhile.`, 'Run it again.');
  return failed(`The secrets manager did not ${what}: ${words || `it answered with status ${status}`}.`, 'Look at its log.');
}

function failed(message: string, remedy: string): Fault {
  return new Fault({ code: 'failed.store', message, remedy });
}
