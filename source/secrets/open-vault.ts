import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { withFileLock } from '../config/file-lock.ts';
import { removeOwnFile } from '../config/own-files.ts';
import { type OwnPaths, ownPaths } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { type Environment, isKeychainAbsent } from './keychain.ts';
import { keychainPlace } from './keychain-place.ts';
import { copySecrets, removeCopied } from './migrate.ts';
import { type PlaceRecord, readPlaceRecord, writePlaceRecord } from './place-record.ts';
import { type AskPassphrase, SealChanged, sealedPlace } from './sealed-place.ts';
import type { SecretStore } from './secret-store.ts';
import { isLost, missingFault, openSecretsAnchor } from './secrets-anchor.ts';
import type { SecretName, SecretVault, VaultCare } from './vault.ts';
import { checkSecret, type Keeping, keepAll, keptVersions, newVersionId, type VaultPlace } from './vault-place.ts';

export type { AskPassphrase, PassphraseQuestion } from './sealed-place.ts';

export interface VaultOptions {
  /** `QUARTERDECK_SECRETS`, `QUARTERDECK_SECRETS_KEY_FILE`, `QUARTERDECK_KEYCHAIN`. */
  env: Environment;
  paths: Pick<OwnPaths, 'data'>;
  /** Where the version of the sealed file is remembered, best first. Without any, an older file and a missing one go unnoticed. */
  anchors?: readonly SecretStore[];
  /** Asks the operator, masked. Called when a passphrase is first needed, and never while a lock is held. */
  askPassphrase?: AskPassphrase;
  /** Versions of a secret that something still names, by id; they are never let go of. Undefined where nobody can tell: then none is. */
  inForce?: (name: SecretName, signal: AbortSignal) => Promise<ReadonlySet<string> | undefined>;
  signal: AbortSignal;
}

type Kind = SecretVault['kind'];

/**
 * Opens the place where this installation's secrets rest. `QUARTERDECK_SECRETS` names it; `auto`, the default, takes the one that is in use already, and for
 * the first secret the keychain where it answers, otherwise the sealed file. Once one is in use it stays: a keychain that is locked today is a fault, not a
 * reason to begin an empty file. Every operation looks again, so a migration by another process is followed.
 * Throws `usage.secrets`, `failed.keychain`, `refused.sealed`, `failed.secrets`.
 */
export async function openVault({ env, paths, anchors, askPassphrase, inForce, signal }: VaultOptions): Promise<SecretVault> {
  const vault = new Vault(env, paths.data, anchors ?? [], askPassphrase, inForce);
  // It can still be accepted.
  await vault.inForce(signal).catch((thrown: unknown) => {
    if (!isLost(thrown)) throw thrown;
  });
  return vault;
}

class Vault implements SecretVault {
  readonly #wanted: 'auto' | Kind;
  readonly #recordPath: string;
  readonly #lockPath: string;
  readonly #places: { keychain: VaultPlace; file: ReturnType<typeof sealedPlace> };
  /** Why the keychain was passed over. */
  #away: Fault | undefined;
  #current: Kind | undefined;

  readonly #named: VaultOptions['inForce'];

  constructor(
    env: Environment,
    dataFolder: string,
    anchors: readonly SecretStore[],
    askPassphrase: AskPassphrase | undefined,
    named: VaultOptions['inForce'],
  ) {
    this.#named = named;
    this.#wanted = wantedOf(env.QUARTERDECK_SECRETS);
    this.#recordPath = join(dataFolder, 'secrets-place.json');
    this.#lockPath = join(dataFolder, 'secrets');
    const sealedPath = join(dataFolder, 'secrets.sealed');
    this.#places = {
      keychain: keychainPlace(env, serviceOf(env, dataFolder)),
      file: sealedPlace({
        path: sealedPath,
        anchor: anchors.length > 0 ? openSecretsAnchor(anchors, sealedPath) : undefined,
        keyFile: env.QUARTERDECK_SECRETS_KEY_FILE || undefined,
        askPassphrase,
        whyNew: () => this.#away && `${this.#away.message} So they go into a sealed file.`,
      }),
    };
  }

  get kind(): Kind {
    return this.#current ?? 'file';
  }
  get where(): string {
    return this.#places[this.kind].where;
  }
  get passedOver(): string | undefined {
    return this.kind === 'file' && this.#away && !isKeychainAbsent(this.#away) ? this.#away.message : undefined;
  }

  async inForce(signal: AbortSignal): Promise<VaultPlace> {
    this.#current = await this.#choose(signal);
    return this.#places[this.#current];
  }

  async #choose(signal: AbortSignal): Promise<Kind> {
    if (this.#wanted !== 'auto') return this.#wanted;
    const record = await readPlaceRecord(this.#recordPath);
    if (record?.kind === 'file' && !(await this.#places.file.exists())) {
      throw missingFault(this.#places.file.where);
    }
    if (record) return record.kind;
    if (await this.#places.file.exists()) return 'file';
    if (await this.#places.file.isGone()) throw missingFault(this.#places.file.where);
    if (this.#away) return 'file';
    try {
      await this.#places.keychain.list(signal);
      return 'keychain';
    } catch (thrown) {
      // One that is only locked is there: what it holds may be the secrets of this installation.
      if (!(thrown instanceof Fault) || thrown.code !== 'failed.keychain' || /locked\.$/.test(thrown.message)) throw thrown;
      this.#away = thrown;
      return 'file';
    }
  }

  async list(signal: AbortSignal) {
    return this.#reading(signal, (place) => place.list(signal));
  }

  async read(name: SecretName, signal: AbortSignal, version?: string) {
    return this.#reading(signal, (place) => place.read(name, signal, version));
  }

  async write(grant: Parameters<SecretVault['write']>[0], name: SecretName, value: string, origin: string): Promise<string> {
    checkSecret(name, value);
    const { signal } = grant;
    const keep = await this.#keepingOf(name, signal);
    return this.#changing(signal, async (place) => {
      const versions = (await place.list(signal)).find((entry) => entry.name === name)?.versions ?? [];
      const id = newVersionId(versions);
      // The newest is the newest, also where the clock was put back.
      const createdMs = Math.max(Date.now(), versions.at(-1)?.createdMs ?? 0);
      await place.add(name, { id, createdMs, origin: /^[a-z]{1,20}$/.test(origin) ? origin : 'given', value }, keep, signal);
      return id;
    });
  }

  /** Asked before the lock is taken: a host may take its time. */
  async #keepingOf(name: SecretName, signal: AbortSignal): Promise<Keeping> {
    const versions = (await this.list(signal)).find((entry) => entry.name === name)?.versions ?? [];
    if (versions.length < keptVersions || !this.#named) return { most: keptVersions, named: new Set() };
    const named = await this.#named(name, signal);
    return named ? { most: keptVersions, named } : keepAll;
  }

  async remove({ signal }: Parameters<SecretVault['remove']>[0], name: SecretName): Promise<void> {
    await this.#changing(signal, (place) => place.remove(name, signal));
  }

  readonly care: VaultCare = {
    migrate: ({ signal }, to, told) => this.#migrate(to, signal, told),
    reseal: async ({ signal }, opens) => {
      const place = await this.inForce(signal);
      if (place.kind !== 'file') {
        throw new Fault({
          code: 'usage.secrets',
          message: `The secrets rest in ${place.where}, which has a password of its own.`,
          remedy: 'Change it there.',
        });
      }
      await place.open(signal, 'read');
      const key = await this.#places.file.newKey(opens, signal);
      await this.#changing(signal, () => this.#places.file.reseal(key));
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
      const { file } = this.#places;
      if (await file.exists()) await file.open(signal, 'read');
      return withFileLock(this.#lockPath, async () => {
        const found = await file.accept();
        const record = await readPlaceRecord(this.#recordPath);
        if (found === 'none' && record?.kind === 'file') await removeOwnFile(this.#recordPath);
        return found;
      });
    },
    restore: async ({ signal }, name, version) => {
      checkSecret(name, version.value);
      const keep = await this.#keepingOf(name, signal);
      await this.#changing(signal, (place) => place.add(name, version, keep, signal));
    },
    leftIn: async () => {
      const record = await readPlaceRecord(this.#recordPath);
      const other = record?.leaving?.kind ?? record?.movingTo;
      return other && this.#places[other].where;
    },
  };

  async #reading<T>(signal: AbortSignal, use: (place: VaultPlace) => Promise<T>): Promise<T> {
    const result = await this.#settled(signal, 'read', use);
    const { file } = this.#places;
    // What was read counts, also where that cannot be remembered.
    if (this.#current === 'file' && file.isAhead()) await withFileLock(this.#lockPath, () => file.remember()).catch(() => undefined);
    return result;
  }

  /** Opens without a lock, since that may wait for a person; changes under it; and begins again where another process came between. */
  async #changing<T>(signal: AbortSignal, use: (place: VaultPlace) => Promise<T>): Promise<T> {
    return this.#settled(signal, 'write', (place) =>
      withFileLock(this.#lockPath, async () => {
        signal.throwIfAborted();
        if ((await this.inForce(signal)) !== place) throw new SealChanged();
        const result = await use(place);
        if (!(await readPlaceRecord(this.#recordPath))) await writePlaceRecord(this.#recordPath, { kind: place.kind });
        return result;
      }),
    );
  }

  async #settled<T>(signal: AbortSignal, purpose: 'read' | 'write', use: (place: VaultPlace) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const place = await this.inForce(signal);
      await place.open(signal, purpose);
      try {
        return await use(place);
      } catch (thrown) {
        if (!(thrown instanceof SealChanged) || attempt === 3) throw thrown instanceof SealChanged ? busyFault() : thrown;
      }
    }
  }

  async #migrate(to: Kind, signal: AbortSignal, told?: (fraction: number, label: string) => void): Promise<{ moved: number }> {
    if (this.#wanted !== 'auto') {
      throw new Fault({
        code: 'usage.secrets',
        message: `QUARTERDECK_SECRETS says ${this.#wanted}, whatever is moved where.`,
        remedy: 'Take it out of the environment, then migrate: the place in use is remembered.',
      });
    }
    const from: Kind = to === 'file' ? 'keychain' : 'file';
    const [source, target] = [this.#places[from], this.#places[to]];
    await source.open(signal, 'read');
    await target.open(signal, 'write');
    return withFileLock(this.#lockPath, async () => {
      const record = await this.#recordOf(signal);
      if (record.leaving) await this.#leave(record.kind, record.leaving, signal);
      let moved = 0;
      if (record.kind !== to) {
        await writePlaceRecord(this.#recordPath, { kind: from, movingTo: to });
        if (to === 'file' && !(await this.#places.file.exists())) await this.#places.file.begin();
        moved = await copySecrets(source, target, signal, told);
        const leaving = { kind: from, atMs: Date.now() };
        await writePlaceRecord(this.#recordPath, { kind: to, leaving });
        this.#current = to;
        await this.#leave(to, leaving, signal);
      }
      return { moved };
    });
  }

  async #recordOf(signal: AbortSignal): Promise<Omit<PlaceRecord, 'schema'>> {
    return (await readPlaceRecord(this.#recordPath)) ?? { kind: await this.#choose(signal) };
  }

  async #leave(kind: Kind, { kind: old, atMs }: NonNullable<PlaceRecord['leaving']>, signal: AbortSignal): Promise<void> {
    const place = this.#places[old];
    const newer = (await place.list(signal)).some(({ versions }) => versions.some(({ createdMs }) => createdMs > atMs));
    if (old === 'file' && !newer) await this.#places.file.destroy();
    else await removeCopied(place, atMs, signal);
    await writePlaceRecord(this.#recordPath, { kind });
  }
}

function wantedOf(value: string | undefined): 'auto' | Kind {
  if (value === undefined || value === '' || value === 'auto') return 'auto';
  if (value === 'keychain' || value === 'file') return value;
  throw new Fault({
    code: 'usage.secrets',
    message: 'QUARTERDECK_SECRETS is none of auto, keychain and file.',
    remedy: 'Set it to one of them, or not at all.',
  });
}

/** Installations with homes of their own share one keychain. */
function serviceOf(env: Environment, dataFolder: string): string {
  const usual = env.HOME !== undefined && resolve(dataFolder) === ownPaths({}, env.HOME).data;
  return usual
    ? 'quarterdeck-secrets'
    : `quarterdeck-secrets ${createHash('sha256').update(resolve(dataFolder)).digest('hex').slice(0, 12)}`;
}

function busyFault(): Fault {
  return new Fault({
    code: 'failed.secrets',
    message: 'The secrets were sealed anew or moved again and again meanwhile.',
    remedy: 'See whether another Quarterdeck is migrating them, and try again.',
  });
}
