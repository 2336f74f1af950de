import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { withFileLock } from '../config/file-lock.ts';
import { removeOwnFile } from '../config/own-files.ts';
import { type OwnPaths, ownPaths } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { checkSecret, type Keeping, keepAll, keptVersions, newVersionId, type SecretBackend } from './backend.ts';
import { type Environment, isKeychainAbsent, isKeychainLocked } from './keychain.ts';
import { keychainBackend } from './keychain-backend.ts';
import { type BackendRecord, copySecrets, readBackendRecord, removeCopied, writeBackendRecord } from './migrate.ts';
import { type PromptPassphrase, SealChanged, sealedBackend } from './sealed-backend.ts';
import type { SecretStore } from './secret-store.ts';
import type { SecretName, SecretStorage, SecretStorageCare } from './secrets.ts';
import { isLost, missingFault, openSecretsAnchor } from './secrets-anchor.ts';

export type { PassphraseQuestion, PromptPassphrase } from './sealed-backend.ts';

export interface SecretStorageOptions {
  /** `QUARTERDECK_SECRETS`, `QUARTERDECK_SECRETS_KEY_FILE`, `QUARTERDECK_KEYCHAIN`. */
  env: Environment;
  paths: Pick<OwnPaths, 'data'>;
  /** Remember the version of the sealed file, best first. Without any, an older or missing file is not detected. */
  anchors?: readonly SecretStore[];
  /** Prompts the operator, masked. Called when a passphrase is first needed, and never while a lock is held. */
  askPassphrase?: PromptPassphrase;
  /** Versions that are still referred to, by id, are never dropped. Undefined if that is unknown: then no version is dropped. */
  inForce?: (name: SecretName, signal: AbortSignal) => Promise<ReadonlySet<string> | undefined>;
  signal: AbortSignal;
}

type Kind = SecretStorage['kind'];

/**
 * Opens the backend that stores the secrets of this installation. `QUARTERDECK_SECRETS` selects it; `auto`, the default, uses the one
 * already in use. For the first secret it uses the keychain if it answers, otherwise the sealed file. Once a backend is in use it stays: a
 * locked keychain is a fault, not a reason to start an empty file. Every operation checks the backend again, so a migration by another
 * process is followed. Throws `usage.secrets`, `failed.keychain`, `refused.sealed`, `failed.secrets`.
 */
export async function openSecretStorage(options: SecretStorageOptions): Promise<SecretStorage> {
  const storage = new BackendStorage(options);
  // Whether the file can still be accepted.
  await storage.current(options.signal).catch((thrown: unknown) => {
    if (!isLost(thrown)) throw thrown;
  });
  return storage;
}

/** Returns the backend that holds the secrets of this installation, without opening it; undefined if none were ever stored. */
export async function backendInUse({ env, paths }: Pick<SecretStorageOptions, 'env' | 'paths'>): Promise<Kind | undefined> {
  const record = await readBackendRecord(join(paths.data, 'secrets-place.json'));
  const wanted = wantedOf(env.QUARTERDECK_SECRETS);
  return record && (wanted === 'auto' ? record.kind : wanted);
}

class BackendStorage implements SecretStorage {
  readonly #wanted: 'auto' | Kind;
  readonly #recordPath: string;
  readonly #lockPath: string;
  readonly #backends: { keychain: SecretBackend; file: ReturnType<typeof sealedBackend> };
  #away: Fault | undefined;
  #current: Kind | undefined;

  readonly #named: SecretStorageOptions['inForce'];

  constructor({ env, paths: { data }, anchors = [], askPassphrase, inForce }: SecretStorageOptions) {
    this.#named = inForce;
    this.#wanted = wantedOf(env.QUARTERDECK_SECRETS);
    this.#recordPath = join(data, 'secrets-place.json');
    this.#lockPath = join(data, 'secrets');
    const path = join(data, 'secrets.sealed');
    this.#backends = {
      keychain: keychainBackend(env, serviceOf(env, data)),
      file: sealedBackend({
        path,
        anchor: anchors.length > 0 ? openSecretsAnchor(anchors, path) : undefined,
        keyFile: env.QUARTERDECK_SECRETS_KEY_FILE || undefined,
        askPassphrase,
        whyNew: () => this.#away && `${this.#away.message} The secrets are stored in a sealed file instead.`,
      }),
    };
  }

  get kind(): Kind {
    return this.#current ?? 'file';
  }
  get where(): string {
    return this.#backends[this.kind].where;
  }
  get passedOver(): string | undefined {
    return this.kind === 'file' && this.#away && !isKeychainAbsent(this.#away) ? this.#away.message : undefined;
  }

  async current(signal: AbortSignal): Promise<SecretBackend> {
    this.#current = await this.#choose(signal);
    return this.#backends[this.#current];
  }

  async #choose(signal: AbortSignal): Promise<Kind> {
    if (this.#wanted !== 'auto') return this.#wanted;
    const { file } = this.#backends;
    const record = await readBackendRecord(this.#recordPath);
    if (record?.kind === 'file' && !(await file.exists())) throw missingFault(file.where);
    if (record) return record.kind;
    if (await file.exists()) return 'file';
    if (await file.isGone()) throw missingFault(file.where);
    if (this.#away) return 'file';
    try {
      await this.#backends.keychain.list(signal);
      return 'keychain';
    } catch (thrown) {
      // A locked keychain exists: it may hold the secrets of this installation.
      if (!(thrown instanceof Fault) || thrown.code !== 'failed.keychain' || isKeychainLocked(thrown)) throw thrown;
      this.#away = thrown;
      return 'file';
    }
  }

  async list(signal: AbortSignal) {
    return this.#reading(signal, (backend) => backend.list(signal));
  }

  async read(name: SecretName, signal: AbortSignal, version?: string) {
    return this.#reading(signal, (backend) => backend.read(name, signal, version));
  }

  async write(grant: Parameters<SecretStorage['write']>[0], name: SecretName, value: string, origin: string): Promise<string> {
    checkSecret(name, value);
    const { signal } = grant;
    const keep = await this.#keepingOf(name, signal);
    return this.#changing(signal, async (backend) => {
      const versions = (await backend.list(signal)).find((entry) => entry.name === name)?.versions ?? [];
      const id = newVersionId(versions);
      // The version that was added last is the newest, even if the clock was set back.
      const createdMs = Math.max(Date.now(), versions.at(-1)?.createdMs ?? 0);
      await backend.add(name, { id, createdMs, origin: /^[a-z]{1,20}$/.test(origin) ? origin : 'given', value }, keep, signal);
      return id;
    });
  }

  /** Queried before the lock is taken: a host may be slow to answer. */
  async #keepingOf(name: SecretName, signal: AbortSignal): Promise<Keeping> {
    const versions = (await this.list(signal)).find((entry) => entry.name === name)?.versions ?? [];
    if (versions.length < keptVersions || !this.#named) return { most: keptVersions, named: new Set() };
    const named = await this.#named(name, signal);
    return named ? { most: keptVersions, named } : keepAll;
  }

  async remove({ signal }: Parameters<SecretStorage['remove']>[0], name: SecretName): Promise<void> {
    await this.#changing(signal, (backend) => backend.remove(name, signal));
  }

  readonly care: SecretStorageCare = {
    migrate: ({ signal }, to, reported) => this.#migrate(to, signal, reported),
    reseal: async ({ signal }, opens) => {
      const backend = await this.current(signal);
      if (backend.kind !== 'file') {
        const message = `The secrets are stored in ${backend.where}, which has its own password.`;
        throw new Fault('usage.secrets', message, 'Change the password of that backend instead.');
      }
      await backend.open(signal, 'read');
      const key = await this.#backends.file.newKey(opens, signal);
      await this.#changing(signal, () => this.#backends.file.reseal(key));
    },
    lost: async (signal) => {
      try {
        await this.list(signal);
        return undefined;
      } catch (thrown) {
        if (isLost(thrown)) return thrown;
        throw thrown;
      }
    },
    accept: async ({ signal }) => {
      const { file } = this.#backends;
      if (await file.exists()) await file.open(signal, 'read');
      return withFileLock(this.#lockPath, async () => {
        const found = await file.accept();
        const record = await readBackendRecord(this.#recordPath);
        if (found === 'none' && record?.kind === 'file') await removeOwnFile(this.#recordPath);
        return found;
      });
    },
    restore: async ({ signal }, name, version) => {
      checkSecret(name, version.value);
      const keep = await this.#keepingOf(name, signal);
      await this.#changing(signal, (backend) => backend.add(name, version, keep, signal));
    },
    leftIn: async () => {
      const record = await readBackendRecord(this.#recordPath);
      const other = record?.leaving?.kind ?? record?.movingTo;
      return other && this.#backends[other].where;
    },
  };

  async #reading<T>(signal: AbortSignal, use: (backend: SecretBackend) => Promise<T>): Promise<T> {
    const result = await this.#settled(signal, 'read', use);
    const { file } = this.#backends;
    // The value that was read is valid, even if the anchor cannot be stored.
    if (this.#current === 'file' && file.isAhead()) await withFileLock(this.#lockPath, () => file.remember()).catch(() => undefined);
    return result;
  }

  /** Opens without a lock, since that may wait for a person; changes under the lock; and starts over if another process intervened. */
  async #changing<T>(signal: AbortSignal, use: (backend: SecretBackend) => Promise<T>): Promise<T> {
    return this.#settled(signal, 'write', (backend) =>
      withFileLock(this.#lockPath, async () => {
        signal.throwIfAborted();
        if ((await this.current(signal)) !== backend) throw new SealChanged();
        const record = await readBackendRecord(this.#recordPath);
        const result = await use(backend);
        if (!record) await writeBackendRecord(this.#recordPath, { kind: backend.kind });
        return result;
      }),
    );
  }

  async #settled<T>(signal: AbortSignal, purpose: 'read' | 'write', use: (backend: SecretBackend) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const backend = await this.current(signal);
      await backend.open(signal, purpose);
      try {
        return await use(backend);
      } catch (thrown) {
        if (!(thrown instanceof SealChanged)) throw thrown;
        const message = 'The secrets are being resealed or moved repeatedly.';
        const remedy = 'Check whether another Quarterdeck process is migrating the secrets, wait until it finishes, then try again.';
        if (attempt === 3) throw new Fault('failed.secrets', message, remedy);
      }
    }
  }

  async #migrate(to: Kind, signal: AbortSignal, reported?: (fraction: number, label: string) => void): Promise<{ moved: number }> {
    if (this.#wanted !== 'auto') {
      const message = `QUARTERDECK_SECRETS is set to ${this.#wanted}, so the secrets cannot be migrated.`;
      throw new Fault('usage.secrets', message, 'Unset the variable, then migrate: Quarterdeck remembers the backend in use.');
    }
    const from: Kind = to === 'file' ? 'keychain' : 'file';
    const [source, target] = [this.#backends[from], this.#backends[to]];
    await source.open(signal, 'read');
    await target.open(signal, 'write');
    return withFileLock(this.#lockPath, async () => {
      const record = (await readBackendRecord(this.#recordPath)) ?? { kind: await this.#choose(signal), leaving: undefined };
      if (record.leaving) await this.#leave(record.kind, record.leaving, signal);
      let moved = 0;
      if (record.kind !== to) {
        await writeBackendRecord(this.#recordPath, { kind: from, movingTo: to });
        if (to === 'file' && !(await this.#backends.file.exists())) await this.#backends.file.begin();
        moved = await copySecrets(source, target, signal, reported);
        const leaving = { kind: from, atMs: Date.now() };
        await writeBackendRecord(this.#recordPath, { kind: to, leaving });
        this.#current = to;
        await this.#leave(to, leaving, signal);
      }
      return { moved };
    });
  }

  async #leave(kind: Kind, { kind: old, atMs }: NonNullable<BackendRecord['leaving']>, signal: AbortSignal): Promise<void> {
    const backend = this.#backends[old];
    const newer = (await backend.list(signal)).some(({ versions }) => versions.some(({ createdMs }) => createdMs > atMs));
    if (old === 'file' && !newer) await this.#backends.file.destroy();
    else await removeCopied(backend, atMs, signal);
    await writeBackendRecord(this.#recordPath, { kind });
  }
}

function wantedOf(value: string | undefined): 'auto' | Kind {
  if (value === undefined || value === '' || value === 'auto') return 'auto';
  if (value === 'keychain' || value === 'file') return value;
  throw new Fault('usage.secrets', 'QUARTERDECK_SECRETS must be auto, keychain or file.', 'Set one of these, or unset the variable.');
}

/** Installations with separate home directories share one keychain. */
function serviceOf(env: Environment, dataFolder: string): string {
  if (env.HOME !== undefined && resolve(dataFolder) === ownPaths({}, env.HOME).data) return 'quarterdeck-secrets';
  return `quarterdeck-secrets ${createHash('sha256').update(resolve(dataFolder)).digest('hex').slice(0, 12)}`;
}
