import { posix } from 'node:path';
import type { HttpEndpoint } from '../../../calls/http-exchange.ts';
import type { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, textOf } from '../../../text/json-value.ts';
import { dataOf, numberIn, strangeAnswer, textsIn, type VaultAnswer, VaultApi, vaultFault, vaultRefusal } from './vault-api.ts';

/** A ceremony requires the threshold of shares again on an unsealed server, and its nonce with each of them. */
export type CeremonyStatus = ReturnType<typeof statusOf>;

export type CeremonyStep<Result> =
  | { kind: 'taken'; status: CeremonyStatus }
  | { kind: 'done'; result: Result }
  /** The share is invalid or was entered before. The other shares stay. */
  | { kind: 'refused'; words: string }
  /** The shares together do not open the key: all were dropped, and the ceremony starts again from none. */
  | { kind: 'dropped'; words: string }
  | { kind: 'gone' };

export interface NewShares {
  /** Shares in hex; if they were encrypted with PGP, the ciphertext in hex. */
  shares: readonly string[];
  /** Nonce to verify the new shares; the old shares stay in effect until then. Empty if the new shares are already in effect. */
  verificationNonce: string;
}

/** A ceremony on the family of API calls that the server has: newer calls require a token, older ones do not. */
export abstract class Ceremony<Result> {
  readonly path: string;
  protected readonly api: VaultApi;
  /** Path of the attempt in progress: `sys/rotate/root/init`. */
  readonly attempt: string;
  protected abstract resultOf(data: JsonObject): Result;

  protected constructor({ api, path, attempt }: NonNullable<Awaited<ReturnType<typeof findCalls>>>) {
    this.api = api;
    this.path = path;
    this.attempt = attempt;
  }

  status = async (signal: AbortSignal) => statusOf(await this.api.call('GET', this.attempt, 'read the status of the attempt', signal));

  /** Newer releases require the nonce of the attempt. */
  cancel = (grant: Grant, nonce: string) => this.api.call('DELETE', this.attempt, 'cancel the attempt', grant.signal, { nonce });

  async give(grant: Grant, share: string, nonce: string): Promise<CeremonyStep<Result>> {
    const answer = await this.api.send('PUT', `${this.path}/update`, { key: share, nonce }, grant.signal);
    const { status, words } = answer;
    if (status === 200) {
      const data = dataOf(answer);
      return data['complete'] === true ? { kind: 'done', result: this.resultOf(data) } : { kind: 'taken', status: statusOf(data) };
    }
    if (status === 403 || status === 503) throw vaultRefusal(answer, 'accept the share');
    const now = await this.status(grant.signal);
    if (!now.started || now.nonce !== nonce) return { kind: 'gone' };
    if (/already been provided|valid hex or base64|must be specified|shorter than minimum|longer than maximum/i.test(words))
      return { kind: 'refused', words };
    if (now.progress === 0) return { kind: 'dropped', words };
    throw vaultFault(`The server rejected the share: ${cleanLine(words) || `status ${status}`}.`, 'Check the log of the server.');
  }
}

export class ShareRotation extends Ceremony<NewShares> {
  /** Finds the API calls of this server. Throws `refused.ceremony` if it has none. `recovery` is for a server with auto-unseal. */
  static async open(endpoint: HttpEndpoint, token: string, recovery: boolean, signal: AbortSignal): Promise<ShareRotation> {
    const attempts = recovery ? ['sys/rotate/recovery/init', 'sys/rekey-recovery-key/init'] : ['sys/rotate/root/init', 'sys/rekey/init'];
    const calls = await findCalls(endpoint, token, attempts, 'create new key shares', signal);
    if (!calls) throw noCalls('create new key shares');
    return new ShareRotation(calls);
  }

  /** Starts a rotation: the new shares take effect only when they are verified. */
  async start(grant: Grant, { shares, threshold }: { shares: number; threshold: number }): Promise<CeremonyStatus> {
    const body = { secret_shares: shares, secret_threshold: threshold, require_verification: true };
    // The older calls may answer without a body.
    await this.api.call('PUT', this.attempt, 'start the rotation of the key shares', grant.signal, body);
    return this.status(grant.signal);
  }

  protected override resultOf(data: JsonObject): NewShares {
    const shares = textsIn(data, 'keys');
    if (shares.length > 0) return { shares, verificationNonce: textOf(data['verification_nonce']) };
    throw vaultFault('The server returned no new shares.', 'The old shares are still valid. Cancel the rotation and start again.');
  }

  async prove(grant: Grant, share: string, nonce: string): Promise<boolean> {
    const data = await this.api.call('PUT', `${this.path}/verify`, 'verify the new shares', grant.signal, { key: share, nonce });
    return data['complete'] === true;
  }

  /** Restarts the verification and returns its nonce. */
  async proveAnew(grant: Grant): Promise<string> {
    const path = `${this.path}/verify`;
    await this.api.call('DELETE', path, 'restart the verification of the new shares', grant.signal);
    return textOf((await this.api.call('GET', path, 'read the verification of the new shares', grant.signal))['nonce']);
  }
}

export class RootGeneration extends Ceremony<string> {
  /** Without a token, returns undefined if the server requires one. Older servers do not. */
  static async open(endpoint: HttpEndpoint, token: string | undefined, signal: AbortSignal): Promise<RootGeneration | undefined> {
    const attempts = ['sys/generate-root-token/attempt', 'sys/generate-root/attempt'];
    const calls = await findCalls(endpoint, token, attempts, 'create a root token', signal);
    return calls && new RootGeneration(calls);
  }

  /** @returns the one-time password that will encode the token; the server does not return it again */
  async start(grant: Grant): Promise<{ status: CeremonyStatus; otp: string }> {
    const data = await this.api.call('PUT', this.attempt, 'start the creation of a root token', grant.signal, {});
    const otp = textOf(data['otp']);
    if (otp === '') throw vaultFault('The server returned no one-time password.', 'Cancel the attempt and start again.');
    return { status: statusOf(data), otp };
  }

  /** The second name is the original one of the API. */
  protected override resultOf(data: JsonObject): string {
    return textOf(data['encoded_token']) || textOf(data['encoded_root_token']);
  }
}

/** Returns the token of an attempt whose one-time password is known. Throws `failed.vault` if the two do not match. */
export function decodeRoot(encoded: string, otp: string): string {
  const bytes = Buffer.from(encoded, 'base64');
  const pad = Buffer.from(otp);
  const token = Buffer.from(bytes.map((byte, at) => byte ^ (pad[at] ?? 0))).toString('latin1');
  if (bytes.length === 0 || bytes.length !== pad.length || !/^[\x21-\x7e]+$/.test(token))
    throw vaultFault('The response cannot be decoded with this one-time password.', 'Start again.');
  return token;
}

/** Returns the first family of calls that the server has; undefined if it has none, or requires a token for them and was given none. */
async function findCalls(endpoint: HttpEndpoint, token: string | undefined, attempts: string[], what: string, signal: AbortSignal) {
  const api = new VaultApi(endpoint, token);
  let denied: VaultAnswer | undefined;
  for (const attempt of attempts) {
    const answer = await api.send('GET', attempt, undefined, signal);
    if (answer.status === 200) return { api, path: posix.dirname(attempt), attempt };
    if (answer.status === 503 || answer.status === 429) throw vaultRefusal(answer, what);
    if (answer.status === 403) denied ??= answer;
  }
  if (denied && token !== undefined) throw vaultRefusal(denied, what);
  return undefined;
}

export function noCalls(what: string): Fault {
  const remedy =
    'Newer OpenBao versions require a login. To allow the call without one temporarily, set disable_unauthed_rekey_endpoints or disable_unauthed_generate_root_endpoints to false in the listener. In Vault, set enable_unauthenticated_access.';
  return vaultFault(`This server cannot ${what} over its API. The call is disabled, or the server is too old.`, remedy, 'refused.ceremony');
}

function statusOf(data: JsonObject) {
  if (typeof data['started'] !== 'boolean' && typeof data['progress'] !== 'number') throw strangeAnswer('read the status of the attempt');
  return {
    started: data['started'] === true,
    nonce: cleanLine(textOf(data['nonce'])),
    progress: numberIn(data, 'progress'),
    required: numberIn(data, 'required'),
    /** Numbers of the new shares of a rotation. */
    shares: numberIn(data, 'n'),
    threshold: numberIn(data, 't'),
    /** Not empty if the new shares were handed out and must be verified. */
    verificationNonce: textOf(data['verification_nonce']),
  };
}
