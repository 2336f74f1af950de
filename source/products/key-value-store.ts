import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { type VaultAnswer, VaultApi, vaultPlaceAt } from './vault-api.ts';

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

/**
 * The key-value engine (version 2) of the path-addressed secrets manager, OpenBao or HashiCorp Vault (reference/openbao-vault.md). The token goes into a header,
 * and never over plain HTTP to another machine. Throws `failed.store` and `unreachable.store`.
 */
export class KeyValueStore {
  readonly #mount: string;
  readonly #api: VaultApi;

  /** Throws `usage.address`, `usage.token` and `refused.clear`. */
  constructor({ host, address, token, mount }: StoreAccess) {
    this.#mount = mount;
    this.#api = new VaultApi(vaultPlaceAt(host, address), token);
  }

  /** Is the mount what it is taken for? */
  async check(signal: AbortSignal): Promise<void> {
    const mount = this.#mount;
    const answer = await this.#api.send('GET', `sys/internal/ui/mounts/${encodePath(mount)}`, undefined, signal);
    if (answer.status !== 200) throw refusal(answer, `look at "${cleanLine(mount)}"`);
    const { data } = answer.json as { data?: { options?: { version?: string } | null } };
    if (data?.options?.version !== '2')
      throw failed(`"${cleanLine(mount)}" is no key-value engine of version 2.`, 'Name another with --mount.');
  }

  async read(path: string, signal: AbortSignal): Promise<StoreEntry> {
    const answer = await this.#api.send('GET', `${encodePath(this.#mount)}/data/${encodePath(path)}`, undefined, signal);
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
    const answer = await this.#api.send('POST', `${encodePath(this.#mount)}/data/${encodePath(path)}`, body, grant.signal);
    if (answer.status !== 200 && answer.status !== 204) throw refusal(answer, `write ${cleanLine(path)}`);
  }

  /** All paths below a folder that hold values. */
  async paths(folder: string, signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#api.send('GET', `${encodePath(this.#mount)}/metadata/${encodePath(folder)}?list=true`, undefined, signal);
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
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function refusal({ status, words }: VaultAnswer, what: string): Fault {
  if (status === 503) return failed(`The secrets manager cannot ${what}: it is sealed.`, 'Unseal it first.');
  if (status === 403) return failed(`The token may not ${what}.`, 'Take another token, or give its policy that right.');
  if (status === 400 && /check-and-set/.test(words))
    return failed(`It did not ${what}: somebody else wrote there meanwhile.`, 'Run it again.');
  return failed(`The secrets manager did not ${what}: ${words || `it answered with status ${status}`}.`, 'Look at its log.');
}

function failed(message: string, remedy: string): Fault {
  return new Fault({ code: 'failed.store', message, remedy });
}
