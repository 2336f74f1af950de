import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { type VaultAnswer, VaultApi, type VaultPlace } from './vault-api.ts';

/** With the last share it loads all that it stores, and answers then; an answer to `sys/init` that nobody waits for is lost for good. */
const patientMs = 110_000;

/** What `sys/seal-status` says. */
export interface SealStatus {
  initialized: boolean;
  sealed: boolean;
  /** How many shares open it, and how many there are; 0 where it is not initialised. */
  threshold: number;
  shares: number;
  /** Shares that it holds. */
  progress: number;
  /** Of the attempt under way; empty where none is. Another one means that somebody else dropped it, or completed it. */
  nonce: string;
  version: string;
  /** `shamir`, or what opens it by itself: `awskms`. */
  type: string;
  /** It opens by itself: shares are for recovery alone. */
  recoverySeal: boolean;
  /** Shares given now carry it over to another seal. */
  migration: boolean;
}

/** What initialising makes. It is told once, and kept nowhere by the server. */
export interface NewKeys {
  /** Hex. Of a seal that opens by itself they are for recovery. */
  shares: readonly string[];
  rootToken: string;
}

/** What came of a share that was given. The server cannot tell a right share from a wrong one before the threshold. */
export type ShareOutcome =
  | { kind: 'taken'; status: SealStatus }
  /** Together with the others it opens nothing: all were dropped, and it cannot say whose was wrong. */
  | { kind: 'dropped'; words: string }
  /** It is no share at all. Nothing was dropped. */
  | { kind: 'refused'; words: string };

/** Seal and keys of a path-addressed secrets manager, OpenBao or HashiCorp Vault (reference/openbao-vault.md). Throws what `VaultApi` does, and `failed.seal`. */
export class SecretsManager {
  readonly #place: VaultPlace;
  readonly #api: VaultApi;

  constructor(place: VaultPlace) {
    this.#place = place;
    this.#api = new VaultApi(place);
  }

  async seal(signal: AbortSignal): Promise<SealStatus> {
    const answer = await this.#api.send('GET', 'sys/seal-status', undefined, signal);
    return sealStatusOf(answer, this.#place);
  }

  /** Gives one share. There is no nonce in the request: somebody else's attempt cannot be refused, only noticed. */
  async give(grant: Grant, share: string): Promise<ShareOutcome> {
    const answer = await this.#api.send('PUT', 'sys/unseal', { key: share }, grant.signal, patientMs);
    if (answer.status === 200) return { kind: 'taken', status: sealStatusOf(answer, this.#place) };
    // Which of them were put together shows in the words alone: a share that is no share is refused before it is counted.
    const isCounted = /retrieve stored keys|unseal failed|compute combined key|setup unseal key|verify recovery key/i.test(answer.words);
    if (isCounted && /setup unseal key/i.test(answer.words)) {
      throw failed(
        'Its number of shares was changed by a restored snapshot, and this process does not know it yet.',
        'Restart it, then unseal it with the shares of the snapshot.',
      );
    }
    if (isCounted) return { kind: 'dropped', words: answer.words };
    if (answer.status === 400 && /invalid key|valid hex or base64|must be specified/i.test(answer.words))
      return { kind: 'refused', words: answer.words };
    throw refusedSeal(answer, 'take the share');
  }

  /** Drops the shares that were given so far, whoever gave them. */
  async reset(grant: Grant): Promise<void> {
    const answer = await this.#api.send('PUT', 'sys/unseal', { reset: true }, grant.signal);
    if (answer.status === 200 || (answer.status === 400 && /vault is unsealed/i.test(answer.words))) return;
    throw refusedSeal(answer, 'drop the shares');
  }

  /**
   * Makes the keys. Throws `failed.initialise`; `refused.initialised` where somebody was faster. What is thrown holds no key.
   * @param recovery the seal opens by itself, and the shares are for recovery
   * @param pgpKeys one for each share, base64: the shares that are answered are sealed with them
   */
  async initialise(
    grant: Grant,
    { shares, threshold, recovery, pgpKeys }: { shares: number; threshold: number; recovery: boolean; pgpKeys?: readonly string[] },
  ): Promise<NewKeys> {
    const counts = recovery
      ? { recovery_shares: shares, recovery_threshold: threshold, ...(pgpKeys && { recovery_pgp_keys: pgpKeys }) }
      : { secret_shares: shares, secret_threshold: threshold, ...(pgpKeys && { pgp_keys: pgpKeys }) };
    const answer = await this.#api.send('PUT', 'sys/init', counts, grant.signal, patientMs);
    const body = (answer.json ?? {}) as Record<string, unknown>;
    if (answer.status !== 200) {
      const isThere = /already initialized/i.test(answer.words);
      throw new Fault({
        code: isThere ? 'refused.initialised' : 'failed.initialise',
        message: isThere
          ? 'It was initialised already, by somebody else: the keys are theirs.'
          : `It was not initialised: ${answer.words || `it answered with status ${answer.status}`}.`,
        remedy: isThere ? 'If nobody has them, remove its data and begin anew.' : 'Look at its log.',
      });
    }
    const made = (recovery ? body['recovery_keys'] : body['keys']) as unknown;
    const rootToken = body['root_token'];
    if (!Array.isArray(made) || made.length !== shares || !made.every((one) => typeof one === 'string') || typeof rootToken !== 'string') {
      throw new Fault({
        code: 'failed.initialise',
        message: 'It was initialised, but its answer holds other keys than were asked for.',
        remedy: 'Remove its data and begin anew: nobody has the keys of this one.',
      });
    }
    return { shares: made, rootToken };
  }

  /** Seals it: nobody reads a secret until it is unsealed again. */
  async close(grant: Grant, token: string): Promise<void> {
    const answer = await new VaultApi(this.#place, token).send('PUT', 'sys/seal', undefined, grant.signal, patientMs);
    if (answer.status === 204 || answer.status === 200) return;
    if (/standby/i.test(answer.words))
      throw failed('This node stands by, and only the one that leads can be sealed.', 'Restart this one, or seal the one that leads.');
    throw refusedSeal(answer, 'seal itself');
  }
}

function sealStatusOf({ status, json, words }: VaultAnswer, { shown }: VaultPlace): SealStatus {
  const body = (json ?? {}) as Record<string, unknown>;
  if (status !== 200 || typeof body['sealed'] !== 'boolean' || typeof body['initialized'] !== 'boolean') {
    throw failed(
      `${shown} does not answer like a secrets manager: ${words || `status ${status}`}.`,
      'Look whether its port is the right one, and whether it speaks TLS itself.',
    );
  }
  const number = (name: string) => (typeof body[name] === 'number' ? body[name] : 0);
  const text = (name: string) => (typeof body[name] === 'string' ? cleanLine(body[name]) : '');
  return {
    initialized: body['initialized'],
    sealed: body['sealed'],
    threshold: number('t'),
    shares: number('n'),
    progress: number('progress'),
    nonce: text('nonce'),
    version: text('version'),
    type: text('type'),
    recoverySeal: body['recovery_seal'] === true,
    migration: body['migration'] === true,
  };
}

function refusedSeal({ status, words }: VaultAnswer, what: string): Fault {
  if (status === 403) return failed(`The token may not have it ${what}.`, 'Take a token whose policy has sudo on sys/seal.');
  if (/not initialized/i.test(words)) return failed('It is not initialised: there are no shares yet.', 'Initialise it first.');
  return failed(`It did not ${what}: ${words || `it answered with status ${status}`}.`, 'Look at its log.');
}

function failed(message: string, remedy: string): Fault {
  return new Fault({ code: 'failed.seal', message, remedy });
}
