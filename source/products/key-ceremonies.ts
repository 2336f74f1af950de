import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { type VaultAnswer, VaultApi, type VaultPlace } from './vault-api.ts';
import { dataOf, numberIn, strangeAnswer, textIn, textsIn, vaultFault, vaultRefusal } from './vault-refusal.ts';

/** What takes the threshold of shares once more, on a server that is open. Its nonce goes with each share: what belongs to another attempt is refused. */
export interface CeremonyStatus {
  started: boolean;
  nonce: string;
  /** Shares that it holds, and how many it wants. */
  progress: number;
  required: number;
}

/** What came of a share. */
export type CeremonyStep<Result> =
  | { kind: 'taken'; status: CeremonyStatus }
  | { kind: 'done'; result: Result }
  /** It is no share, or was given before. Nothing was dropped. */
  | { kind: 'refused'; words: string }
  /** Together they open nothing: all were dropped, the ceremony goes on from none. */
  | { kind: 'dropped'; words: string }
  /** Somebody cancelled it, or began another. */
  | { kind: 'gone' };

export interface Ceremony<Result> {
  /** The calls in use, for sentences: `sys/rotate/root`. */
  readonly path: string;
  status(signal: AbortSignal): Promise<CeremonyStatus>;
  give(grant: Grant, share: string, nonce: string): Promise<CeremonyStep<Result>>;
  cancel(grant: Grant, nonce: string): Promise<void>;
}

export interface NewShares {
  /** Hex, or where they were sealed with PGP the sealed bytes of it. */
  shares: readonly string[];
  /** With it the new shares are proved; the old ones are in force until then. Empty where they are in force already. */
  verificationNonce: string;
}

export interface RotationStatus extends CeremonyStatus {
  /** Of the new shares. */
  shares: number;
  threshold: number;
  /** Not empty: the new shares were handed out, and wait to be proved. */
  verificationNonce: string;
}

/** Which family of calls this server has: newer ones want a token, older ones want none. */
interface Calls {
  api: VaultApi;
  path: string;
  attempt: 'init' | 'attempt';
}

/** Makes new key shares. */
export class ShareRotation implements Ceremony<NewShares> {
  readonly #calls: Calls;

  private constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Finds the calls that this server has. Throws `refused.ceremony` where it has none. `recovery`: of a seal that opens by itself. */
  static async open(
    place: VaultPlace,
    { token, recovery }: { token: string; recovery: boolean },
    signal: AbortSignal,
  ): Promise<ShareRotation> {
    const families = [
      { path: recovery ? 'sys/rotate/recovery' : 'sys/rotate/root', attempt: 'init' },
      { path: recovery ? 'sys/rekey-recovery-key' : 'sys/rekey', attempt: 'init' },
    ] as const;
    return new ShareRotation(await callsOf(place, token, families, 'make new key shares', signal));
  }

  get path(): string {
    return this.#calls.path;
  }

  async status(signal: AbortSignal): Promise<RotationStatus> {
    const answer = await this.#calls.api.send('GET', `${this.path}/init`, undefined, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'tell of a rotation');
    const data = dataOf(answer);
    return {
      ...statusOf(data),
      shares: numberIn(data, 'n'),
      threshold: numberIn(data, 't'),
      verificationNonce: textIn(data, 'verification_nonce'),
    };
  }

  /** The new shares are in force only when they were proved. */
  async start(grant: Grant, { shares, threshold }: { shares: number; threshold: number }): Promise<RotationStatus> {
    const body = { secret_shares: shares, secret_threshold: threshold, require_verification: true };
    const answer = await this.#calls.api.send('PUT', `${this.path}/init`, body, grant.signal);
    // The calls of old may answer without a body.
    if (answer.status !== 200 && answer.status !== 204) throw vaultRefusal(answer, 'begin to rotate its key shares');
    return this.status(grant.signal);
  }

  async give(grant: Grant, share: string, nonce: string): Promise<CeremonyStep<NewShares>> {
    const answer = await this.#calls.api.send('PUT', `${this.path}/update`, { key: share, nonce }, grant.signal);
    const step = await stepOf(this, answer, nonce, grant.signal);
    if (step) return step;
    const data = dataOf(answer);
    const made = textsIn(data, 'keys');
    if (made.length === 0)
      throw vaultFault(
        'It took the last share, and answered without new ones.',
        'The old ones are still in force: cancel it, and begin anew.',
      );
    return { kind: 'done', result: { shares: made, verificationNonce: textIn(data, 'verification_nonce') } };
  }

  /** Proves a new share. True with the last one: from then on the new ones are in force. */
  async prove(grant: Grant, share: string, nonce: string): Promise<boolean> {
    const answer = await this.#calls.api.send('PUT', `${this.path}/verify`, { key: share, nonce }, grant.signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'take the new shares as proved');
    return dataOf(answer)['complete'] === true;
  }

  /** Begins the proof anew, with none of the new shares given. @returns its nonce */
  async proveAnew(grant: Grant): Promise<string> {
    const path = `${this.path}/verify`;
    const answer = await this.#calls.api.send('DELETE', path, undefined, grant.signal);
    if (answer.status !== 200 && answer.status !== 204) throw vaultRefusal(answer, 'begin the proof of the new shares anew');
    const now = await this.#calls.api.send('GET', path, undefined, grant.signal);
    if (now.status !== 200) throw vaultRefusal(now, 'tell of the proof of the new shares');
    return textIn(dataOf(now), 'nonce');
  }

  async cancel(grant: Grant, nonce: string): Promise<void> {
    // Newer releases want to know which one.
    const answer = await this.#calls.api.send('DELETE', `${this.path}/init`, { nonce }, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, 'cancel the rotation');
  }
}

/** Makes one more root token. Those that exist stay. */
export class RootGeneration implements Ceremony<string> {
  readonly #calls: Calls;

  private constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Finds the calls that this server has. Throws `refused.ceremony` where it has none. */
  static async open(place: VaultPlace, token: string | undefined, signal: AbortSignal): Promise<RootGeneration> {
    const families = [
      { path: 'sys/generate-root-token', attempt: 'attempt' },
      { path: 'sys/generate-root', attempt: 'attempt' },
    ] as const;
    return new RootGeneration(await callsOf(place, token, families, 'make a root token', signal));
  }

  get path(): string {
    return this.#calls.path;
  }

  async status(signal: AbortSignal): Promise<CeremonyStatus> {
    const answer = await this.#calls.api.send('GET', `${this.path}/attempt`, undefined, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'tell of an attempt');
    return statusOf(dataOf(answer));
  }

  /** @returns the password that the token will be hidden with; nobody is told it again */
  async start(grant: Grant): Promise<{ status: CeremonyStatus; otp: string }> {
    const answer = await this.#calls.api.send('PUT', `${this.path}/attempt`, {}, grant.signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'begin to make a root token');
    const data = dataOf(answer);
    const otp = textIn(data, 'otp');
    if (otp === '') throw vaultFault('It began, and told no one-time password.', 'Cancel it, and begin anew.');
    return { status: statusOf(data), otp };
  }

  /** The result is hidden with the one-time password: see `decodeRoot`. */
  async give(grant: Grant, share: string, nonce: string): Promise<CeremonyStep<string>> {
    const answer = await this.#calls.api.send('PUT', `${this.path}/update`, { key: share, nonce }, grant.signal);
    const step = await stepOf(this, answer, nonce, grant.signal);
    if (step) return step;
    const data = dataOf(answer);
    // Its first name, before it was encoded.
    return { kind: 'done', result: textIn(data, 'encoded_token') || textIn(data, 'encoded_root_token') };
  }

  async cancel(grant: Grant, nonce: string): Promise<void> {
    const answer = await this.#calls.api.send('DELETE', `${this.path}/attempt`, { nonce }, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, 'cancel the attempt');
  }
}

/** The token of an attempt whose one-time password is known. Throws `failed.vault` where one does not belong to the other. */
export function decodeRoot(encoded: string, otp: string): string {
  const bytes = Buffer.from(encoded, 'base64');
  const pad = Buffer.from(otp);
  const token = Buffer.from(bytes.map((byte, at) => byte ^ (pad[at] ?? 0))).toString('latin1');
  if (bytes.length === 0 || bytes.length !== pad.length || !/^[\x21-\x7e]+$/.test(token))
    throw vaultFault('What it made is no token under this one-time password.', 'Begin anew.');
  return token;
}

async function callsOf(
  place: VaultPlace,
  token: string | undefined,
  families: readonly Pick<Calls, 'path' | 'attempt'>[],
  what: string,
  signal: AbortSignal,
): Promise<Calls> {
  const api = new VaultApi(place, token);
  let denied: VaultAnswer | undefined;
  for (const family of families) {
    const answer = await api.send('GET', `${family.path}/${family.attempt}`, undefined, signal);
    if (answer.status === 200) return { api, ...family };
    if (answer.status === 503 || answer.status === 429) throw vaultRefusal(answer, what);
    if (answer.status === 403) denied ??= answer;
  }
  if (denied && token !== undefined) throw vaultRefusal(denied, what);
  throw vaultFault(
    denied ? `It does not ${what} without a token.` : `This server does not ${what} over its API: that is switched off, or it is too old.`,
    denied
      ? 'Give one that has sudo there.'
      : 'OpenBao: a newer release has it behind a login; disable_unauthed_* = false in its listener brings the old way back for as long as it is needed. Vault: enable_unauthenticated_access.',
    'refused.ceremony',
  );
}

/** Undefined where it is complete. */
async function stepOf<Result>(
  ceremony: Ceremony<Result>,
  answer: VaultAnswer,
  nonce: string,
  signal: AbortSignal,
): Promise<CeremonyStep<Result> | undefined> {
  const { status, words } = answer;
  if (status === 200) {
    const data = dataOf(answer);
    return data['complete'] === true ? undefined : { kind: 'taken', status: statusOf(data) };
  }
  if (status === 403 || status === 503) throw vaultRefusal(answer, 'take the share');
  const now = await ceremony.status(signal);
  if (!now.started || now.nonce !== nonce) return { kind: 'gone' };
  if (/already been provided|valid hex or base64|must be specified|shorter than minimum|longer than maximum/i.test(words))
    return { kind: 'refused', words };
  if (now.progress === 0) return { kind: 'dropped', words };
  throw vaultFault(`It did not take the share: ${cleanLine(words) || `status ${status}`}.`, 'Look at its log.');
}

function statusOf(data: Record<string, unknown>): CeremonyStatus {
  if (typeof data['started'] !== 'boolean' && typeof data['progress'] !== 'number') throw strangeAnswer('tell of an attempt');
  return {
    started: data['started'] === true,
    nonce: cleanLine(textIn(data, 'nonce')),
    progress: numberIn(data, 'progress'),
    required: numberIn(data, 'required'),
  };
}
