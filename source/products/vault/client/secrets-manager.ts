import type { HttpEndpoint } from '../../../calls/http-exchange.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, textOf } from '../../../text/json-value.ts';
import { numberIn, reasonOf, textsIn, type VaultAnswer, VaultApi } from './vault-api.ts';

/** With the last share the server loads all its data before it answers; the keys in a lost answer to `sys/init` are lost for good. */
const patientMs = 110_000;

export type SealStatus = ReturnType<typeof sealStatusOf>;

/** The result of a share. The server cannot tell a right share from a wrong one before the threshold. */
export type ShareOutcome =
  | { kind: 'taken'; status: SealStatus }
  /** The shares together do not open the seal: all were dropped, and the server does not report which one was wrong. */
  | { kind: 'dropped'; words: string }
  | { kind: 'refused'; words: string };

/**
 * Seal and keys of a path-addressed secrets manager, OpenBao or HashiCorp Vault (reference/openbao-vault.md). Throws the faults of
 * `VaultApi`, and `failed.seal`.
 */
export class SecretsManager extends VaultApi {
  seal = async (signal: AbortSignal) => sealStatusOf(await this.send('GET', 'sys/seal-status', undefined, signal), this.endpoint);

  /** Sends one share. The request has no nonce: another operator's attempt can only be noticed, not refused. */
  async give(grant: Grant, share: string): Promise<ShareOutcome> {
    const answer = await this.send('PUT', 'sys/unseal', { key: share }, grant.signal, patientMs);
    if (answer.status === 200) return { kind: 'taken', status: sealStatusOf(answer, this.endpoint) };
    // Only the message shows that the shares were combined: an invalid share is refused before it is counted.
    const isCounted = /retrieve stored keys|unseal failed|compute combined key|setup unseal key|verify recovery key/i.test(answer.words);
    if (isCounted && /setup unseal key/i.test(answer.words)) {
      const message = 'A restored snapshot changed the number of shares, but the server has not loaded the change yet.';
      throw failed(message, 'Restart the server, then unseal it with the shares of the snapshot.');
    }
    if (isCounted) return { kind: 'dropped', words: answer.words };
    if (answer.status === 400 && /invalid key|valid hex or base64|must be specified/i.test(answer.words))
      return { kind: 'refused', words: answer.words };
    throw refusedSeal(answer, 'accept the share');
  }

  async reset(grant: Grant): Promise<void> {
    const answer = await this.send('PUT', 'sys/unseal', { reset: true }, grant.signal);
    if (answer.status === 200 || (answer.status === 400 && /vault is unsealed/i.test(answer.words))) return;
    throw refusedSeal(answer, 'discard the shares');
  }

  /**
   * Throws `failed.initialise`; `refused.initialised` if it was initialised meanwhile. Faults never contain a key. `recovery`: the server
   * has auto-unseal, and the shares are for recovery. `pgpKeys`: base64, one for each share, which is encrypted with it.
   */
  async initialise(
    grant: Grant,
    { shares, threshold, recovery, pgpKeys }: { shares: number; threshold: number; recovery: boolean; pgpKeys?: readonly string[] },
  ) {
    const names = recovery
      ? { shares: 'recovery_shares', threshold: 'recovery_threshold', pgpKeys: 'recovery_pgp_keys', made: 'recovery_keys' }
      : { shares: 'secret_shares', threshold: 'secret_threshold', pgpKeys: 'pgp_keys', made: 'keys' };
    const counts = { [names.shares]: shares, [names.threshold]: threshold, ...(pgpKeys && { [names.pgpKeys]: pgpKeys }) };
    const answer = await this.send('PUT', 'sys/init', counts, grant.signal, patientMs);
    if (answer.status !== 200 && /already initialized/i.test(answer.words)) {
      const remedy = 'Its keys were returned to that request. If they are lost, remove the data of the server and start again.';
      throw new Fault('refused.initialised', 'The server was initialised by another request in the meantime.', remedy);
    }
    if (answer.status !== 200)
      throw new Fault('failed.initialise', `The server was not initialised: ${reasonOf(answer)}.`, 'Check the log of the server.');
    const body = objectOf(answer.json) ?? {};
    const made = textsIn(body, names.made);
    const rootToken = textOf(body['root_token']);
    if (made.length === shares && rootToken !== '') return { shares: made, rootToken };
    const message = 'The server was initialised, but did not return the requested keys.';
    throw new Fault('failed.initialise', message, 'The keys are lost. Remove the data of the server and start again.');
  }

  async close(grant: Grant, token: string): Promise<void> {
    const answer = await new VaultApi(this.endpoint, token).send('PUT', 'sys/seal', undefined, grant.signal, patientMs);
    if (answer.status === 204 || answer.status === 200) return;
    if (/standby/i.test(answer.words))
      throw failed('This is a standby node; only the active node can be sealed.', 'Restart this node, or seal the active one.');
    if (answer.status === 403)
      throw failed('The token is not permitted to seal the server, or is not valid.', 'Use a token with update and sudo on sys/seal.');
    throw refusedSeal(answer, 'seal itself');
  }
}

function sealStatusOf({ status, json, words }: VaultAnswer, { shown }: HttpEndpoint) {
  const body = objectOf(json) ?? {};
  const { sealed, initialized } = body;
  if (status !== 200 || typeof sealed !== 'boolean' || typeof initialized !== 'boolean') {
    const message = `The response from ${shown} is not from a secrets manager: ${words || `status ${status}`}.`;
    throw failed(message, 'Check the port and the protocol.');
  }
  return {
    initialized,
    sealed,
    threshold: numberIn(body, 't'),
    shares: numberIn(body, 'n'),
    progress: numberIn(body, 'progress'),
    /** Nonce of the attempt in progress, empty without one. Another nonce means that another operator dropped or completed the attempt. */
    nonce: cleanLine(textOf(body['nonce'])),
    version: cleanLine(textOf(body['version'])),
    /** `shamir`, or the type of auto-unseal: `awskms`. */
    type: cleanLine(textOf(body['type'])),
    recoverySeal: body['recovery_seal'] === true,
    /** The shares migrate the server to another seal. */
    migration: body['migration'] === true,
  };
}

function refusedSeal({ status, words }: VaultAnswer, what: string): Fault {
  if (/not initialized/i.test(words)) return failed('The server is not initialised and has no shares yet.', 'Initialise the server first.');
  return failed(`The server did not ${what}: ${reasonOf({ status, words })}.`, 'Check the log of the server.');
}

const failed = (message: string, remedy: string) => new Fault('failed.seal', message, remedy);
