import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from './answers.ts';
import { Barrier } from './barrier.ts';
import { type Dialect, isOpenbaoFrom } from './dialect.ts';
import { checkLength, combineShares, decodeShare, splitKey } from './shares.ts';

/** How many shares there are, and how many of them open it. It lies unencrypted on the real server's disk too. */
export interface SealConfig {
  shares: number;
  threshold: number;
}

export interface UnsealRequest {
  key?: unknown;
  reset?: unknown;
  migrate?: unknown;
}

export type Log = (level: 'INFO' | 'WARN' | 'ERROR', line: string) => void;

const wrongKey = 'failed to decrypt keys from storage: cipher: message authentication failed';

/** The seal: what opens the barrier, and the attempt that is under way. Requests on it come one after another, as the caller sees to. */
export class Core {
  readonly barrier = new Barrier();
  readonly dialect: Dialect;
  config: SealConfig | undefined;
  /** Set at each unsealing, in ISO form. */
  activeSince = '';
  readonly clusterName = `vault-cluster-${randomBytes(4).toString('hex')}`;
  readonly clusterId = randomUUID();
  #given: Buffer[] = [];
  #nonce = '';
  readonly #now: () => number;
  log: Log = () => {};
  /** Runs after each unsealing and before each sealing. */
  whenUnsealed: () => void = () => {};
  whenSealed: () => void = () => {};

  /** Opens it at each start, without anybody: then the shares are for recovery. */
  readonly #ownKey: Buffer | undefined;
  #recoveryKey: Buffer | undefined;

  constructor(dialect: Dialect, now: () => number, autoUnseal = false) {
    this.#ownKey = autoUnseal ? randomBytes(32) : undefined;
    this.dialect = dialect;
    this.#now = now;
  }

  time(): string {
    return new Date(this.#now()).toISOString().replace('Z', '000000Z');
  }

  nowMs(): number {
    return this.#now();
  }

  get sealed(): boolean {
    return this.barrier.sealed;
  }

  status(): Record<string, unknown> {
    const dated = isOpenbaoFrom(this.dialect, 6) ? 'commit_date' : 'build_date';
    return {
      type: this.opensItself ? 'static' : 'shamir',
      initialized: this.barrier.initialised,
      sealed: this.sealed,
      t: this.config?.threshold ?? 0,
      n: this.config?.shares ?? 0,
      progress: this.#given.length,
      nonce: this.#nonce,
      recovery_seal: this.opensItself,
      ...(this.opensItself && isOpenbaoFrom(this.dialect, 6) ? { recovery_seal_type: 'shamir' } : {}),
      version: this.dialect.version,
      [dated]: '2026-08-18T14:05:11Z',
      migration: false,
      ...(this.sealed ? {} : { cluster_name: this.clusterName, cluster_id: this.clusterId }),
      storage_type: 'raft',
      ...(this.dialect.product === 'vault' ? { removed_from_cluster: false } : {}),
    };
  }

  get opensItself(): boolean {
    return this.#ownKey !== undefined;
  }

  /** What a start does where it needs nobody. */
  openItself(): void {
    if (!this.#ownKey || !this.barrier.initialised || !this.sealed) return;
    this.barrier.unseal(this.#ownKey);
    this.activeSince = this.time();
    this.whenUnsealed();
  }

  /** Whether shares make the key that they were split from. */
  isKey(key: Buffer): boolean {
    return this.#ownKey ? this.#recoveryKey?.equals(key) === true : this.barrier.opensWith(key);
  }

  /** From now on other shares are those. */
  rekey(key: Buffer): void {
    if (this.#ownKey) this.#recoveryKey = key;
    else this.barrier.rekey(key);
  }

  /** Makes keys, and leaves it sealed, where shares open it. */
  async initialise(config: SealConfig): Promise<{ shares: Buffer[] }> {
    const key = randomBytes(32);
    const shares = await splitKey(key, config.shares, config.threshold);
    this.config = config;
    if (this.#ownKey) this.#recoveryKey = key;
    this.barrier.initialise(this.#ownKey ?? key, this.time());
    this.log('INFO', `core: security barrier initialized: shares=${config.shares} threshold=${config.threshold}`);
    return { shares };
  }

  async unseal(request: UnsealRequest): Promise<Record<string, unknown>> {
    if (request.reset === true) {
      if (!this.sealed) throw new Refusal(400, 'vault is unsealed');
      this.dropAttempt();
      return this.status();
    }
    if (typeof request.key !== 'string' || request.key === '') {
      throw new Refusal(400, "'key' must be specified in request body as JSON, or 'reset' set to true");
    }
    const share = decodeShare(request.key);
    const { config } = this;
    if (!config) throw new Refusal(400, 'Vault is not initialized');
    if (!this.sealed) return this.status();
    if (request.migrate === true) throw new Refusal(500, "can't perform a seal migration, no migration seal found");
    checkLength(share);
    if (this.#given.some((other) => other.equals(share))) return this.status();
    if (this.#given.length === 0) this.#nonce = randomUUID();
    this.#given.push(share);
    if (this.#given.length < config.threshold) return this.status();
    const given = this.#given;
    this.dropAttempt();
    const key = await combineShares(given);
    if (![16, 24, 32].includes(key.length)) {
      throw new Refusal(400, `invalid key: failed to setup unseal key: crypto/aes: invalid key size ${key.length}`);
    }
    if (!this.isKey(key)) throw this.#wrong();
    this.barrier.unseal(this.#ownKey ?? key);
    this.activeSince = this.time();
    this.whenUnsealed();
    return this.status();
  }

  /** OpenBao calls it the caller's fault from 2.6 on (read from a running 2.6.2); before, and in Vault, it is the server's. */
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
    this.barrier.seal();
    this.dropAttempt();
  }
}
