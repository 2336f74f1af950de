import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { VaultApi, type VaultPlace } from './vault-api.ts';
import { dataOf, encodePath, isRecord, numberIn, strangeAnswer, textIn, textsIn, vaultFault, vaultRefusal } from './vault-refusal.ts';

/** A key-value engine. */
export interface Engine {
  /** With a slash at its end: `secret/`. */
  mount: string;
  version: 1 | 2;
  description: string;
}

/** What stands at a path. */
export interface PathEntry {
  values: Readonly<Record<string, unknown>>;
  /** Of version 2: which one this is, 0 where there is none yet. Missing in version 1, which keeps no others. */
  version?: number;
  createdAt?: string;
  /** Of version 2: the values are gone for now, or for good. */
  gone?: 'deleted' | 'destroyed';
}

/** One of those that an engine of version 2 keeps of a path. */
export interface PathVersion {
  version: number;
  createdAt: string;
  /** `deleted` can be brought back, `destroyed` cannot. */
  state: 'there' | 'deleted' | 'destroyed';
  /** When it was deleted, or will be; empty where it is not. */
  deletedAt: string;
}

/** Reads and writes `secret/apps/x` in key-value engines of either version. Throws what `VaultApi` does, and `failed.vault`. */
export class VaultPaths {
  readonly #api: VaultApi;

  constructor(place: VaultPlace, token: string) {
    this.#api = new VaultApi(place, token);
  }

  /** Key-value engines that the token may look at. */
  async engines(signal: AbortSignal): Promise<readonly Engine[]> {
    const answer = await this.#api.send('GET', 'sys/internal/ui/mounts', undefined, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'list its engines');
    const secret = dataOf(answer)['secret'];
    return Object.entries(typeof secret === 'object' && secret !== null ? secret : {})
      .filter(([, about]) => isKeyValue(about))
      .map(([mount, about]) => engineOf(mount, about as Record<string, unknown>))
      .sort((one, other) => (one.mount < other.mount ? -1 : 1));
  }

  /** The engine behind a path. */
  async engineOf(path: string, signal: AbortSignal): Promise<Engine> {
    const answer = await this.#api.send('GET', `sys/internal/ui/mounts/${encodePath(path)}`, undefined, signal);
    const shown = cleanLine(path);
    if (answer.status === 403 && /preflight capability check/i.test(answer.words))
      throw vaultFault(`There is nothing at ${shown}, or the token may not see it.`, 'Its first part is the engine: secret/...');
    if (answer.status !== 200) throw vaultRefusal(answer, `look at ${shown}`);
    const data = dataOf(answer);
    const mount = textIn(data, 'path');
    if (!isKeyValue(data) || mount === '')
      throw vaultFault(
        `${shown} is in no key-value engine (${cleanLine(textIn(data, 'type')) || 'unknown'}).`,
        'Name a path in one that is.',
      );
    return engineOf(mount, data);
  }

  /** Undefined where nothing ever was there. `version` is for engines of version 2. */
  async read(engine: Engine, path: string, signal: AbortSignal, version?: number): Promise<PathEntry | undefined> {
    const inside = insideOf(engine, path);
    const shown = cleanLine(path);
    if (engine.version === 1) {
      const answer = await this.#api.send('GET', encodePath(engine.mount + inside), undefined, signal);
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw vaultRefusal(answer, `read ${shown}`);
      const data = isRecord(answer.json) ? answer.json['data'] : undefined;
      if (!isRecord(data)) throw strangeAnswer(`read ${shown}`);
      return { values: data };
    }
    const query = version === undefined ? '' : `?version=${version}`;
    const answer = await this.#api.send('GET', `${encodePath(`${engine.mount}data/${inside}`)}${query}`, undefined, signal);
    if (answer.status !== 200 && answer.status !== 404) throw vaultRefusal(answer, `read ${shown}`);
    const { data, metadata } = dataOf(answer) as { data?: unknown; metadata?: Record<string, unknown> | null };
    // A version that was deleted answers 404 as well, and tells of itself.
    if (!metadata && answer.status === 404) return undefined;
    if (!metadata) throw strangeAnswer(`read ${shown}`);
    const values = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
    const gone = metadata['destroyed'] === true ? 'destroyed' : answer.status === 404 ? 'deleted' : undefined;
    return {
      values,
      version: numberIn(metadata, 'version'),
      createdAt: cleanLine(textIn(metadata, 'created_time')),
      ...(gone && { gone }),
    };
  }

  /** Of an engine of version 2, the newest first; empty where nothing ever was there. Throws `refused.versions` for one of version 1. */
  async versions(engine: Engine, path: string, signal: AbortSignal): Promise<readonly PathVersion[]> {
    const answer = await this.#api.send('GET', this.#versioned(engine, 'metadata', path), undefined, signal);
    if (answer.status === 404) return [];
    if (answer.status !== 200) throw vaultRefusal(answer, `list the versions of ${cleanLine(path)}`);
    const { versions } = dataOf(answer);
    if (!isRecord(versions)) throw strangeAnswer(`list the versions of ${cleanLine(path)}`);
    return Object.entries(versions)
      .flatMap(([number, about]) => (isRecord(about) ? [versionOf(Number(number), about)] : []))
      .sort((one, other) => other.version - one.version);
  }

  /** They can be brought back. */
  deleteVersions(grant: Grant, engine: Engine, path: string, versions: readonly number[]): Promise<void> {
    return this.#change(grant, engine, 'delete', path, versions);
  }

  undeleteVersions(grant: Grant, engine: Engine, path: string, versions: readonly number[]): Promise<void> {
    return this.#change(grant, engine, 'undelete', path, versions);
  }

  /** They are gone for good. */
  destroyVersions(grant: Grant, engine: Engine, path: string, versions: readonly number[]): Promise<void> {
    return this.#change(grant, engine, 'destroy', path, versions);
  }

  /** All of it, for good: in version 2 with every version. */
  async remove(grant: Grant, engine: Engine, path: string): Promise<void> {
    const at = engine.version === 1 ? encodePath(engine.mount + insideOf(engine, path)) : this.#versioned(engine, 'metadata', path);
    const answer = await this.#api.send('DELETE', at, undefined, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, `remove ${cleanLine(path)}`);
  }

  async #change(
    grant: Grant,
    engine: Engine,
    call: 'delete' | 'undelete' | 'destroy',
    path: string,
    versions: readonly number[],
  ): Promise<void> {
    const answer = await this.#api.send('POST', this.#versioned(engine, call, path), { versions }, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, `${call} versions of ${cleanLine(path)}`);
  }

  #versioned(engine: Engine, call: string, path: string): string {
    if (engine.version === 1)
      throw vaultFault(
        `${cleanLine(engine.mount)} keeps no versions: what was written there is gone with the next write.`,
        'Look at what is there: quarterdeck vault read COMPONENT.',
        'refused.versions',
      );
    return encodePath(`${engine.mount}${call}/${insideOf(engine, path)}`);
  }

  /** Names below a folder; those of folders end with a slash. */
  async list(engine: Engine, folder: string, signal: AbortSignal): Promise<readonly string[]> {
    const inside = insideOf(engine, folder);
    const at = engine.version === 1 ? engine.mount + inside : `${engine.mount}metadata/${inside}`;
    const answer = await this.#api.send('GET', `${encodePath(at.replace(/\/$/, ''))}?list=true`, undefined, signal);
    if (answer.status === 404) return [];
    if (answer.status !== 200) throw vaultRefusal(answer, `list ${cleanLine(folder)}`);
    return textsIn(dataOf(answer), 'keys');
  }

  /**
   * All keys of a path at once. In version 2 it is refused over there when somebody wrote since `version` was read (`failed.changed`); version 1 cannot tell.
   * @returns the version that this made
   */
  async write(
    grant: Grant,
    engine: Engine,
    path: string,
    { values, version }: Pick<PathEntry, 'values' | 'version'>,
  ): Promise<number | undefined> {
    const inside = insideOf(engine, path);
    const [at, body] =
      engine.version === 1
        ? [engine.mount + inside, values]
        : [`${engine.mount}data/${inside}`, { data: values, options: { cas: version ?? 0 } }];
    const answer = await this.#api.send('PUT', encodePath(at), body, grant.signal);
    if (answer.status === 400 && /check-and-set/i.test(answer.words)) {
      throw vaultFault(
        `${cleanLine(path)} was not written: somebody else wrote there meanwhile.`,
        'Nothing was lost. Look at it, and run it again.',
        'failed.changed',
      );
    }
    if (answer.status !== 200 && answer.status !== 204) throw vaultRefusal(answer, `write ${cleanLine(path)}`);
    return engine.version === 2 ? numberIn(dataOf(answer), 'version') : undefined;
  }
}

function versionOf(version: number, about: Record<string, unknown>): PathVersion {
  const deletedAt = cleanLine(textIn(about, 'deletion_time'));
  // A version may be due to be deleted at a time to come.
  const isDeleted = deletedAt !== '' && Date.parse(deletedAt) <= Date.now();
  const state = about['destroyed'] === true ? 'destroyed' : isDeleted ? 'deleted' : 'there';
  return { version, createdAt: cleanLine(textIn(about, 'created_time')), state, deletedAt };
}

function isKeyValue(about: unknown): boolean {
  return typeof about === 'object' && about !== null && ['kv', 'generic'].includes((about as { type?: string }).type ?? '');
}

function engineOf(mount: string, about: Record<string, unknown>): Engine {
  const options = about['options'] as { version?: unknown } | null | undefined;
  return { mount, version: options?.version === '2' ? 2 : 1, description: cleanLine(textIn(about, 'description')) };
}

function insideOf({ mount }: Engine, path: string): string {
  return `${path}/`.startsWith(mount) ? path.slice(mount.length) : path;
}
