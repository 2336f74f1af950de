import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, objectOf, textOf } from '../../../text/json-value.ts';
import { dataOf, encodePath, numberIn, strangeAnswer, textsIn, VaultApi, vaultFault, vaultRefusal } from './vault-api.ts';

export interface Engine {
  /** Path with a slash at its end: `secret/`. */
  mount: string;
  version: 1 | 2;
  description: string;
}

export interface PathEntry {
  values: Readonly<Record<string, unknown>>;
  /** Version of the values in engines of version 2, 0 if there is none yet. Missing for engines of version 1, which have no versions. */
  version?: number;
  createdAt?: string;
  /** Engines of version 2: the values can be restored, or not. */
  gone?: 'deleted' | 'destroyed';
}

export type PathVersion = NonNullable<ReturnType<typeof versionOf>>;

/** Reads and writes `secret/apps/x` in key-value engines of either version. Throws the faults of `VaultApi`, and `failed.vault`. */
export class VaultPaths extends VaultApi {
  async engines(signal: AbortSignal): Promise<readonly Engine[]> {
    const data = await this.call('GET', 'sys/internal/ui/mounts', 'list the engines', signal);
    return Object.entries(objectOf(data['secret']) ?? {})
      .flatMap(([mount, reported]) => engineAt(mount, objectOf(reported)) ?? [])
      .sort((one, other) => (one.mount < other.mount ? -1 : 1));
  }

  async engineOf(path: string, signal: AbortSignal): Promise<Engine> {
    const answer = await this.send('GET', `sys/internal/ui/mounts/${encodePath(path)}`, undefined, signal);
    const shown = cleanLine(path);
    if (answer.status === 403 && /preflight capability check/i.test(answer.words))
      throw vaultFault(`Nothing found at ${shown}, or the token cannot access it.`, 'Start the path with its engine, such as secret/apps.');
    if (answer.status !== 200) throw vaultRefusal(answer, `read ${shown}`);
    const data = dataOf(answer);
    const engine = engineAt(textOf(data['path']), data);
    if (engine && engine.mount !== '') return engine;
    const message = `${shown} is not in a key-value engine (engine type: ${cleanLine(textOf(data['type'])) || 'unknown'}).`;
    throw vaultFault(message, 'Use a path in a key-value engine.');
  }

  /** Returns undefined if the path never had values. `version` is for engines of version 2. */
  async read(engine: Engine, path: string, signal: AbortSignal, version?: number): Promise<PathEntry | undefined> {
    if (version !== undefined) throwIfUnversioned(engine);
    const what = `read ${cleanLine(path)}`;
    const query = version === undefined ? '' : `?version=${version}`;
    const answer = await this.send('GET', `${encodePath(pathIn(engine, 'data', path))}${query}`, undefined, signal);
    if (answer.status !== 200 && answer.status !== 404) throw vaultRefusal(answer, what);
    const data = objectOf(objectOf(answer.json)?.['data']);
    const metadata = objectOf(data?.['metadata']);
    // A deleted version also answers 404, but with its metadata.
    if (answer.status === 404 && (engine.version === 1 || !metadata)) return undefined;
    if (!data) throw strangeAnswer(what);
    if (engine.version === 1) return { values: data };
    if (!metadata) throw strangeAnswer(what);
    const gone = metadata['destroyed'] === true ? 'destroyed' : answer.status === 404 ? 'deleted' : undefined;
    return {
      values: objectOf(data['data']) ?? {},
      version: numberIn(metadata, 'version'),
      createdAt: cleanLine(textOf(metadata['created_time'])),
      ...(gone && { gone }),
    };
  }

  /** Returns the newest version first. Throws `refused.versions` for an engine of version 1. */
  async versions(engine: Engine, path: string, signal: AbortSignal): Promise<readonly PathVersion[]> {
    throwIfUnversioned(engine);
    const what = `list the versions of ${cleanLine(path)}`;
    const data = await this.find(encodePath(pathIn(engine, 'metadata', path)), what, signal);
    if (!data) return [];
    const versions = objectOf(data['versions']);
    if (!versions) throw strangeAnswer(what);
    return Object.entries(versions)
      .flatMap(([number, reported]) => versionOf(Number(number), objectOf(reported)) ?? [])
      .sort((one, other) => other.version - one.version);
  }

  async changeVersions(grant: Grant, engine: Engine, call: VersionCall, path: string, versions: readonly number[]): Promise<void> {
    throwIfUnversioned(engine);
    await this.call('POST', encodePath(pathIn(engine, call, path)), `${call} versions of ${cleanLine(path)}`, grant.signal, { versions });
  }

  remove = (grant: Grant, engine: Engine, path: string) =>
    this.call('DELETE', encodePath(pathIn(engine, 'metadata', path)), `remove ${cleanLine(path)}`, grant.signal);

  /** The names of folders end with a slash. */
  async list(engine: Engine, folder: string, signal: AbortSignal): Promise<readonly string[]> {
    const at = encodePath(pathIn(engine, 'metadata', folder)).replace(/\/$/, '');
    return textsIn((await this.find(`${at}?list=true`, `list ${cleanLine(folder)}`, signal)) ?? {}, 'keys');
  }

  /** Version 2 refuses the write if the path was written since `version` was read (`failed.changed`), and has a new version. */
  async write(grant: Grant, engine: Engine, path: string, { values, version }: Pick<PathEntry, 'values' | 'version'>) {
    const body = engine.version === 1 ? values : { data: values, options: { cas: version ?? 0 } };
    const answer = await this.send('PUT', encodePath(pathIn(engine, 'data', path)), body, grant.signal);
    if (answer.status === 400 && /check-and-set/i.test(answer.words)) {
      const message = `${cleanLine(path)} was not written, because it was changed in the meantime.`;
      throw vaultFault(message, 'Nothing was lost. Check the path, and run the command again.', 'failed.changed');
    }
    if (answer.status !== 200 && answer.status !== 204) throw vaultRefusal(answer, `write ${cleanLine(path)}`);
    return engine.version === 2 ? numberIn(dataOf(answer), 'version') : undefined;
  }
}

export type VersionCall = 'delete' | 'undelete' | 'destroy';

function versionOf(version: number, reported: JsonObject | undefined) {
  if (!reported) return undefined;
  const deletedAt = cleanLine(textOf(reported['deletion_time']));
  // A version may be scheduled to be deleted in the future.
  const isDeleted = deletedAt !== '' && Date.parse(deletedAt) <= Date.now();
  const state = reported['destroyed'] === true ? 'destroyed' : isDeleted ? 'deleted' : 'there';
  return { version, createdAt: cleanLine(textOf(reported['created_time'])), state, deletedAt } as const;
}

function engineAt(mount: string, reported: JsonObject | undefined): Engine | undefined {
  if (!reported || !['kv', 'generic'].includes(textOf(reported['type']))) return undefined;
  const version = objectOf(reported['options'])?.['version'] === '2' ? 2 : 1;
  return { mount, version, description: cleanLine(textOf(reported['description'])) };
}

/** Returns the path of a request: in an engine of version 2 the call follows the mount. */
export function pathIn({ mount, version }: Engine, call: 'data' | 'metadata' | VersionCall, path: string): string {
  const inside = `${path}/`.startsWith(mount) ? path.slice(mount.length) : path;
  return version === 1 ? mount + inside : `${mount}${call}/${inside}`;
}

function throwIfUnversioned({ mount, version }: Engine): void {
  if (version === 2) return;
  const message = `${cleanLine(mount)} keeps no versions; each write replaces the previous values.`;
  throw vaultFault(message, 'To show the current values: quarterdeck vault read COMPONENT', 'refused.versions');
}
