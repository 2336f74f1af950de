import { randomBytes, randomUUID } from 'node:crypto';
import { oneError, Refusal } from './answers.ts';
import type { Core, SealConfig } from './core.ts';
import { combineShares, decodeShare, splitKey } from './shares.ts';
import { randomLetters, type Tokens } from './tokens.ts';

interface Rotation {
  nonce: string;
  wanted: SealConfig;
  verify: boolean;
  given: Buffer[];
  /** The new key while its shares wait to be proved. */
  fresh?: { key: Buffer; shares: Buffer[]; nonce: string; given: Buffer[] };
}

interface Generation {
  nonce: string;
  otp: string;
  given: Buffer[];
}

type Body = Record<string, unknown>;

/** What the two dialects of the same ceremony call it. */
export interface Wording {
  progressing: string;
  none: string;
  nonce: string;
  repeated: string;
}

export const rotateWording: Wording = {
  progressing: 'rotation already in progress',
  none: 'no rotation in progress',
  nonce: 'incorrect nonce supplied; nonce for rotation is',
  repeated: 'given key has already been provided during this rotation',
};

export const rekeyWording: Wording = {
  progressing: 'rekey already in progress',
  none: 'no barrier rekey in progress',
  nonce: 'incorrect nonce supplied; nonce for this rekey operation is',
  repeated: 'given key has already been provided during this generation operation',
};

/** Changing the key shares and making a root token: both take the threshold of shares once more, and here the nonce is required. */
export class Ceremonies {
  readonly #core: Core;
  readonly #tokens: Tokens;
  #rotation: Rotation | undefined;
  #generation: Generation | undefined;

  constructor(core: Core, tokens: Tokens) {
    this.#core = core;
    this.#tokens = tokens;
  }

  /** A sealed server has forgotten them. */
  forget(): void {
    this.#rotation = undefined;
    this.#generation = undefined;
  }

  rotationStatus(): Body {
    const required = this.#core.config?.threshold ?? 0;
    const rotation = this.#rotation;
    if (!rotation) return { n: 0, required, started: false, t: 0 };
    return {
      n: rotation.wanted.shares,
      nonce: rotation.nonce,
      progress: rotation.given.length,
      required,
      started: true,
      t: rotation.wanted.threshold,
      verification_nonce: rotation.fresh?.nonce ?? '',
      verification_required: rotation.verify,
    };
  }

  startRotation(body: Body, wording: Wording): Body {
    if (this.#rotation) throw new Refusal(400, wording.progressing);
    const wanted = sealConfigOf(body, 'invalid rotate seal configuration');
    this.#rotation = { nonce: randomUUID(), wanted, verify: body['require_verification'] === true, given: [] };
    this.#core.log(
      'INFO',
      `core: rotation initialized: nonce=${this.#rotation.nonce} shares=${wanted.shares} threshold=${wanted.threshold}`,
    );
    return this.rotationStatus();
  }

  cancelRotation(): void {
    this.#rotation = undefined;
  }

  async updateRotation(body: Body, wording: Wording): Promise<Body> {
    const share = decodeShare(keyOf(body));
    const nonce = nonceOf(body);
    const rotation = this.#rotation;
    if (!rotation) throw new Refusal(400, wording.none);
    if (nonce !== rotation.nonce) throw new Refusal(400, `${wording.nonce} "${rotation.nonce}"`);
    if (rotation.given.some((other) => other.equals(share))) throw new Refusal(400, wording.repeated);
    rotation.given.push(share);
    if (rotation.given.length < (this.#core.config?.threshold ?? 0)) return this.rotationStatus();
    const given = rotation.given;
    rotation.given = [];
    if (!this.#core.isKey(await combineShares(given))) {
      throw new Refusal(400, 'failed to read root key: failed to decrypt keys from storage: cipher: message authentication failed');
    }
    const key = randomBytes(32);
    const shares = await splitKey(key, rotation.wanted.shares, rotation.wanted.threshold);
    const verificationNonce = rotation.verify ? randomUUID() : '';
    if (rotation.verify) {
      rotation.fresh = { key, shares, nonce: verificationNonce, given: [] };
    } else {
      this.#putInForce(key, rotation.wanted);
    }
    return {
      backup: false,
      complete: true,
      keys: shares.map((each) => each.toString('hex')),
      keys_base64: shares.map((each) => each.toString('base64')),
      nonce: rotation.nonce,
      pgp_fingerprints: null,
      verification_nonce: verificationNonce,
      verification_required: rotation.verify,
    };
  }

  verificationStatus(): Body {
    const fresh = this.#fresh();
    const wanted = this.#rotation?.wanted;
    return { n: wanted?.shares, nonce: fresh.nonce, progress: fresh.given.length, started: true, t: wanted?.threshold };
  }

  /** The new shares come back once, to prove that they were written down; until then the old ones stay in force. */
  async verify(body: Body): Promise<Body> {
    const share = decodeShare(keyOf(body));
    const fresh = this.#fresh();
    if (nonceOf(body) !== fresh.nonce) {
      throw new Refusal(400, `incorrect nonce supplied; nonce for this verify operation is "${fresh.nonce}"`);
    }
    if (!fresh.given.some((other) => other.equals(share))) fresh.given.push(share);
    const wanted = this.#rotation?.wanted;
    if (!wanted || fresh.given.length < wanted.threshold) return this.verificationStatus();
    const key = await combineShares(fresh.given);
    const { nonce } = fresh;
    if (!key.equals(fresh.key)) {
      fresh.given = [];
      fresh.nonce = randomUUID();
      throw new Refusal(400, 'failed to verify: rotation verification failed');
    }
    this.#putInForce(fresh.key, wanted);
    return { complete: true, nonce };
  }

  restartVerification(): Body {
    const fresh = this.#fresh();
    fresh.given = [];
    fresh.nonce = randomUUID();
    return this.verificationStatus();
  }

  #fresh(): NonNullable<Rotation['fresh']> {
    if (!this.#rotation?.fresh) throw new Refusal(400, 'no rotation in progress');
    return this.#rotation.fresh;
  }

  #putInForce(key: Buffer, wanted: SealConfig): void {
    this.#core.rekey(key);
    this.#core.config = wanted;
    this.#rotation = undefined;
    this.#core.log('INFO', `core: rotation finished: stored=1 shares=${wanted.shares} threshold=${wanted.threshold}`);
  }

  generationStatus(): Body {
    const required = this.#core.config?.threshold ?? 0;
    const otp_length = this.#otpLength;
    const generation = this.#generation;
    if (!generation) return { complete: false, otp: '', otp_length, progress: 0, required, started: false };
    const { nonce, given } = generation;
    return {
      complete: false,
      encoded_token: '',
      nonce,
      otp: '',
      otp_length,
      pgp_fingerprint: '',
      progress: given.length,
      required,
      started: true,
    };
  }

  startGeneration(body: Body): Body {
    if (this.#generation) throw new Refusal(400, 'root generation already in progress for this namespace');
    const own = body['otp'];
    if (typeof own === 'string' && own !== '' && own.length !== this.#otpLength) {
      throw new Refusal(400, `otp string is wrong length; expected ${this.#otpLength} characters`);
    }
    const otp = typeof own === 'string' && own !== '' ? own : randomLetters(this.#otpLength);
    this.#generation = { nonce: randomUUID(), otp, given: [] };
    this.#core.log('INFO', `core: root generation initialized: nonce=${this.#generation.nonce}`);
    const { encoded_token: _, ...status } = this.generationStatus();
    return { ...status, otp };
  }

  cancelGeneration(): void {
    this.#generation = undefined;
  }

  async updateGeneration(body: Body): Promise<Body> {
    const share = decodeShare(keyOf(body));
    const nonce = nonceOf(body);
    const generation = this.#generation;
    if (!generation) throw new Refusal(500, oneError('no root generation in progress'));
    if (nonce !== generation.nonce) {
      throw new Refusal(500, oneError(`incorrect nonce supplied; nonce for this root generation operation is "${generation.nonce}"`));
    }
    if (generation.given.some((other) => other.equals(share))) {
      throw new Refusal(500, oneError('given key has already been provided during this generation operation'));
    }
    generation.given.push(share);
    const required = this.#core.config?.threshold ?? 0;
    const { otp: _, otp_length: __, ...status } = this.generationStatus();
    if (generation.given.length < required) return status;
    const given = generation.given;
    generation.given = [];
    if (!this.#core.isKey(await combineShares(given))) {
      throw new Refusal(
        500,
        oneError('unable to authenticate: failed to decrypt keys from storage: cipher: message authentication failed'),
      );
    }
    this.#generation = undefined;
    const token = Buffer.from(this.#tokens.root().id);
    const pad = Buffer.from(generation.otp);
    const encoded = Buffer.from(token.map((byte, index) => byte ^ (pad[index] ?? 0)));
    this.#core.log('INFO', `core: root generation finished: nonce=${generation.nonce}`);
    // Unpadded, as the real one writes it.
    return { ...status, complete: true, progress: required, encoded_token: encoded.toString('base64').replace(/=+$/, '') };
  }

  /** As long as a token is. */
  get #otpLength(): number {
    return this.#core.dialect.product === 'openbao' ? 26 : 28;
  }
}

/** @throws Refusal in the server's words for numbers that cannot be */
export function sealConfigOf(body: Body, prefix: string): SealConfig {
  const shares = Number(body['secret_shares'] ?? 0);
  const threshold = Number(body['secret_threshold'] ?? 0);
  const wrong = (reason: string) => new Refusal(400, `${prefix}: ${reason}`);
  if (shares < 1) throw wrong('shares must be at least one');
  if (threshold < 1) throw wrong('threshold must be at least one');
  if (shares > 1 && threshold === 1) throw wrong('threshold must be greater than one for multiple shares');
  if (shares > 255) throw wrong('shares must be less than 256');
  if (threshold > shares) throw wrong('threshold cannot be larger than shares');
  return { shares, threshold };
}

function keyOf(body: Body): string {
  const { key } = body;
  if (typeof key !== 'string' || key === '') throw new Refusal(400, "'key' must be specified in request body as JSON");
  return key;
}

function nonceOf(body: Body): string {
  const { nonce } = body;
  if (typeof nonce !== 'string' || nonce === '') throw new Refusal(400, "missing required field 'nonce'");
  return nonce;
}
