import { randomBytes, randomUUID } from 'node:crypto';
import { type Body, Refusal } from './answers.ts';
import type { Mount, MountKind } from './mounts.ts';
import { checkLength, combineShares, decodeShare, splitKey } from './shares.ts';
import { Storage } from './storage.ts';
import type { Token } from './tokens.ts';

/** The simulated server: one family, with differences that a console notices. */
export interface Dialect {
  product: 'openbao' | 'vault';
  /** As the server reports it, without a `v`. */
  version: string;
  /** The ceremonies without a login, rekey and generate-root, which are off by default in newer releases of both. */
  openCeremonies: boolean;
}

export const openbao: Dialect = { product: 'openbao', version: '2.6.2', openCeremonies: false };
export const vault: Dialect = { product: 'vault', version: '1.21.4', openCeremonies: true };

/** Reports whether this is OpenBao from 2.`minor` on. */
export function isOpenbaoFrom({ product, version }: Dialect, minor: number): boolean {
  return product === 'openbao' && Number(version.split('.')[1]) >= minor;
}

export const productName = ({ product }: Dialect) => (product === 'openbao' ? 'OpenBao' : 'Vault');

export type SealConfig = { shares: number; threshold: number };

/** Everything that is locked away while the server is sealed. */
export interface State {
  mounts: Record<MountKind, Record<string, Mount>>;
  policies: Record<string, string>;
  tokens: Record<string, Token>;
}

export const wrongKey = 'failed to decrypt keys from storage: cipher: message authentication failed';

/** The seal: the storage, and the attempt to unseal it. The caller sends it one request at a time. */
export class Core {
  readonly storage = new Storage<State>();
  readonly dialect: Dialect;
  config: SealConfig | undefined;
  /** Time of the last unsealing, in ISO form. */
  activeSince = '';
  log: (line: string) => void = () => {};
  whenSealed: () => void = () => {};
  #given: Buffer[] = [];
  #nonce = '';
  /** Auto-unseal: this key unseals the server at each start, and the shares are for recovery. */
  readonly #ownKey: Buffer | undefined;
  #recoveryKey: Buffer | undefined;
  readonly #cluster = { cluster_name: `vault-cluster-${randomBytes(4).toString('hex')}`, cluster_id: randomUUID() };

  constructor(dialect: Dialect, autoUnseal = false) {
    this.#ownKey = autoUnseal ? randomBytes(32) : undefined;
    this.dialect = dialect;
  }

  time(): string {
    return new Date().toISOString().replace('Z', '000000Z');
  }

  get sealed(): boolean {
    return this.storage.sealed;
  }

  get cluster(): Body {
    return this.sealed ? {} : this.#cluster;
  }

  status(): Body {
    const isNew = isOpenbaoFrom(this.dialect, 6);
    return {
      type: this.opensItself ? 'static' : 'shamir',
      initialized: this.storage.initialised,
      sealed: this.sealed,
      t: this.config?.threshold ?? 0,
      n: this.config?.shares ?? 0,
      progress: this.#given.length,
      nonce: this.#nonce,
      recovery_seal: this.opensItself,
      version: this.dialect.version,
      [isNew ? 'commit_date' : 'build_date']: '2026-08-18T14:05:11Z',
      migration: false,
      ...this.cluster,
      storage_type: 'raft',
      ...(this.dialect.product === 'vault' && { removed_from_cluster: false }),
    };
  }

  get opensItself(): boolean {
    return this.#ownKey !== undefined;
  }

  /** Unseals at a start, with auto-unseal. */
  openItself(): void {
    if (this.#ownKey && this.storage.initialised && this.sealed) this.#open(this.#ownKey);
  }

  #open(key: Buffer): void {
    this.storage.unseal(key);
    this.activeSince = this.time();
    this.log('core: vault is unsealed');
  }

  /** Reports whether this is the key that the shares were split from. */
  isKey(key: Buffer): boolean {
    return this.#ownKey ? this.#recoveryKey?.equals(key) === true : this.storage.opensWith(key);
  }

  rekey(key: Buffer): void {
    if (this.#ownKey) this.#recoveryKey = key;
    else this.storage.rekey(key);
  }

  /** Creates the keys and leaves the storage open. */
  async initialise(config: SealConfig, state: State): Promise<Buffer[]> {
    const key = randomBytes(32);
    this.config = config;
    this.#recoveryKey = key;
    this.storage.initialise(this.#ownKey ?? key, state);
    this.log(`core: security barrier initialized: shares=${config.shares} threshold=${config.threshold}`);
    return splitKey(key, config.shares, config.threshold);
  }

  async unseal(request: Body): Promise<Body> {
    if (request['reset'] === true) {
      if (!this.sealed) throw new Refusal(400, 'vault is unsealed');
      this.dropAttempt();
      return this.status();
    }
    if (typeof request['key'] !== 'string' || request['key'] === '')
      throw new Refusal(400, "'key' must be specified in request body as JSON, or 'reset' set to true");
    const share = decodeShare(request['key']);
    if (!this.config) throw new Refusal(400, 'Vault is not initialized');
    if (!this.sealed) return this.status();
    if (request['migrate'] === true) throw new Refusal(500, "can't perform a seal migration, no migration seal found");
    checkLength(share);
    if (this.#given.some((other) => other.equals(share))) return this.status();
    if (this.#given.length === 0) this.#nonce = randomUUID();
    this.#given.push(share);
    if (this.#given.length < this.config.threshold) return this.status();
    const given = this.#given;
    this.dropAttempt();
    const key = await combineShares(given);
    if (![16, 24, 32].includes(key.length))
      throw new Refusal(400, `invalid key: failed to setup unseal key: crypto/aes: invalid key size ${key.length}`);
    if (!this.isKey(key)) throw this.#wrong();
    this.#open(this.#ownKey ?? key);
    return this.status();
  }

  /** From 2.6 on OpenBao answers with 400 (read from a running 2.6.2); before, and in Vault, it is a 500. */
  #wrong(): Refusal {
    if (this.#ownKey) return new Refusal(400, 'invalid key: failed to verify recovery key: recovery key does not match submitted values');
    return isOpenbaoFrom(this.dialect, 6)
      ? new Refusal(400, `unable to retrieve stored keys: invalid key: ${wrongKey}`)
      : new Refusal(500, `unable to retrieve stored keys: ${wrongKey}`);
  }

  dropAttempt(): void {
    this.#given = [];
    this.#nonce = '';
  }

  seal(): void {
    if (this.sealed) return;
    this.whenSealed();
    this.log('core: vault is sealed');
    this.storage.seal();
    this.dropAttempt();
  }
}
