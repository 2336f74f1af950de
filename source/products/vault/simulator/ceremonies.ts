import { randomBytes, randomUUID } from 'node:crypto';
import { type Body, done, type Handled, oneError, Refusal, type Request, unsupportedPath } from './answers.ts';
import { type Core, type SealConfig, wrongKey } from './core.ts';
import { combineShares, decodeShare, splitKey } from './shares.ts';
import { createRoot, randomLetters } from './tokens.ts';

type Attempt = { nonce: string; given: Buffer[] };

interface Rotation extends Attempt {
  wanted: SealConfig;
  verify: boolean;
  /** The new key, until its shares are verified. */
  unverified?: Attempt & { key: Buffer };
}

/** Error texts of a ceremony, and their status. */
interface Wording {
  none: string;
  nonce: string;
  repeated: string;
  wrong: string;
  refuse(text: string): Refusal;
}

const badRequest = (text: string) => new Refusal(400, text);
const rotateWording: Wording = {
  none: 'no rotation in progress',
  nonce: 'incorrect nonce supplied; nonce for rotation is',
  repeated: 'given key has already been provided during this rotation',
  wrong: `failed to read root key: ${wrongKey}`,
  refuse: badRequest,
};
const rekeyWording: Wording = {
  ...rotateWording,
  none: 'no barrier rekey in progress',
  nonce: 'incorrect nonce supplied; nonce for this rekey operation is',
  repeated: 'given key has already been provided during this generation operation',
};
const generateWording: Wording = {
  none: 'no root generation in progress',
  nonce: 'incorrect nonce supplied; nonce for this root generation operation is',
  repeated: 'given key has already been provided during this generation operation',
  wrong: `unable to authenticate: ${wrongKey}`,
  refuse: (text) => new Refusal(500, oneError(text)),
};

/** Rotates the key shares and creates root tokens: both require the threshold of shares again, and the nonce with each. */
export class Ceremonies {
  readonly #core: Core;
  #rotation: Rotation | undefined;
  #generation: (Attempt & { otp: string }) | undefined;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Sealing ends all attempts. */
  forget(): void {
    this.#rotation = undefined;
    this.#generation = undefined;
  }

  /** The calls below `rotate/root`, or below `rekey` of old. */
  async answerRotation(step: string, { kind, body }: Request, isRekey = false): Promise<Handled> {
    const wording = isRekey ? rekeyWording : rotateWording;
    switch (`${kind} ${step}`) {
      case 'write init':
        if (this.#rotation) throw badRequest(`${isRekey ? 'rekey' : 'rotation'} already in progress`);
        this.#rotation = {
          ...{ nonce: randomUUID(), given: [], wanted: sealConfigOf(body, 'invalid rotate seal configuration') },
          verify: body['require_verification'] === true,
        };
        this.#core.log(`core: rotation initialized: nonce=${this.#rotation.nonce}`);
        return { data: this.#rotationStatus() };
      case 'read init':
        return { data: this.#rotationStatus() };
      case 'delete init':
        this.#rotation = undefined;
        return done;
      case 'write update':
        return { data: await this.#updateRotation(body, wording) };
      case 'write verify':
        return { data: await this.#verify(body) };
      case 'delete verify':
        Object.assign(this.#unverified(), { given: [], nonce: randomUUID() });
        return { data: this.#verificationStatus() };
      case 'read verify':
        return { data: this.#verificationStatus() };
      default:
        throw unsupportedPath();
    }
  }

  /** The calls below `generate-root-token`, or below `generate-root` of old. */
  async answerGeneration(step: string, { kind, body }: Request): Promise<Handled> {
    switch (`${kind} ${step}`) {
      case 'write attempt': {
        if (this.#generation) throw badRequest('root generation already in progress for this namespace');
        const otp = randomLetters(this.#otpLength);
        this.#generation = { nonce: randomUUID(), otp, given: [] };
        return { data: { ...this.#generationStatus(), otp } };
      }
      case 'read attempt':
        return { data: this.#generationStatus() };
      case 'delete attempt':
        this.#generation = undefined;
        return done;
      case 'write update':
        return { data: await this.#updateGeneration(body) };
      default:
        throw unsupportedPath();
    }
  }

  get #required(): number {
    return this.#core.config?.threshold ?? 0;
  }

  /** Adds a share to an attempt. Returns true with the last one. */
  async #add<Kind extends Attempt>(attempt: Kind | undefined, body: Body, wording: Wording): Promise<Kind | undefined> {
    const share = decodeShare(textIn(body, 'key', "'key' must be specified in request body as JSON"));
    const nonce = textIn(body, 'nonce', "missing required field 'nonce'");
    if (!attempt) throw wording.refuse(wording.none);
    if (nonce !== attempt.nonce) throw wording.refuse(`${wording.nonce} "${attempt.nonce}"`);
    if (attempt.given.some((other) => other.equals(share))) throw wording.refuse(wording.repeated);
    attempt.given.push(share);
    if (attempt.given.length < this.#required) return undefined;
    const given = attempt.given.splice(0);
    if (this.#core.isKey(await combineShares(given))) return attempt;
    throw wording.refuse(wording.wrong);
  }

  #rotationStatus(): Body {
    const rotation = this.#rotation;
    if (!rotation) return { n: 0, required: this.#required, started: false, t: 0 };
    return {
      n: rotation.wanted.shares,
      nonce: rotation.nonce,
      progress: rotation.given.length,
      required: this.#required,
      started: true,
      t: rotation.wanted.threshold,
      verification_nonce: rotation.unverified?.nonce ?? '',
      verification_required: rotation.verify,
    };
  }

  async #updateRotation(body: Body, wording: Wording): Promise<Body> {
    const rotation = await this.#add(this.#rotation, body, wording);
    if (!rotation) return this.#rotationStatus();
    const key = randomBytes(32);
    const shares = await splitKey(key, rotation.wanted.shares, rotation.wanted.threshold);
    if (rotation.verify) rotation.unverified = { key, nonce: randomUUID(), given: [] };
    else this.#putInEffect(key, rotation.wanted);
    return {
      complete: true,
      ...keysOf(shares),
      nonce: rotation.nonce,
      verification_nonce: rotation.unverified?.nonce ?? '',
      verification_required: rotation.verify,
    };
  }

  #unverified(): NonNullable<Rotation['unverified']> {
    if (!this.#rotation?.unverified) throw badRequest('no rotation in progress');
    return this.#rotation.unverified;
  }

  #verificationStatus(): Body {
    const { nonce, given } = this.#unverified();
    return { n: this.#rotation?.wanted.shares, nonce, progress: given.length, started: true, t: this.#rotation?.wanted.threshold };
  }

  /** The old shares stay in effect until the new ones were sent once. */
  async #verify(body: Body): Promise<Body> {
    const share = decodeShare(textIn(body, 'key', "'key' must be specified in request body as JSON"));
    const unverified = this.#unverified();
    const { nonce, given, key } = unverified;
    if (body['nonce'] !== nonce) throw badRequest(`incorrect nonce supplied; nonce for this verify operation is "${nonce}"`);
    if (!given.some((other) => other.equals(share))) given.push(share);
    const wanted = this.#rotation?.wanted;
    if (!wanted || given.length < wanted.threshold) return this.#verificationStatus();
    if (!(await combineShares(given)).equals(key)) {
      Object.assign(unverified, { given: [], nonce: randomUUID() });
      throw badRequest('failed to verify: rotation verification failed');
    }
    this.#putInEffect(key, wanted);
    return { complete: true, nonce };
  }

  #putInEffect(key: Buffer, wanted: SealConfig): void {
    this.#core.rekey(key);
    this.#core.config = wanted;
    this.#rotation = undefined;
    this.#core.log(`core: rotation finished: stored=1 shares=${wanted.shares} threshold=${wanted.threshold}`);
  }

  #generationStatus(): Body {
    return {
      complete: false,
      encoded_token: '',
      nonce: this.#generation?.nonce ?? '',
      otp: '',
      otp_length: this.#otpLength,
      progress: this.#generation?.given.length ?? 0,
      required: this.#required,
      started: this.#generation !== undefined,
    };
  }

  async #updateGeneration(body: Body): Promise<Body> {
    const generation = await this.#add(this.#generation, body, generateWording);
    if (!generation) return this.#generationStatus();
    const status = { ...this.#generationStatus(), complete: true, progress: this.#required };
    this.#generation = undefined;
    const pad = Buffer.from(generation.otp);
    const encoded = Buffer.from(createRoot(this.#core).id).map((byte, at) => byte ^ (pad[at] ?? 0));
    this.#core.log(`core: root generation finished: nonce=${generation.nonce}`);
    // The real server omits the padding.
    return { ...status, encoded_token: Buffer.from(encoded).toString('base64').replace(/=+$/, '') };
  }

  /** The length of a token. */
  get #otpLength(): number {
    return this.#core.dialect.product === 'openbao' ? 26 : 28;
  }
}

export const keysOf = (shares: readonly Buffer[]) => ({
  keys: shares.map((share) => share.toString('hex')),
  keys_base64: shares.map((share) => share.toString('base64')),
});

/** Throws in the server's words for invalid numbers. */
export function sealConfigOf(body: Body, prefix: string): SealConfig {
  const shares = Number(body['secret_shares'] ?? 0);
  const threshold = Number(body['secret_threshold'] ?? 0);
  const wrong = (reason: string) => badRequest(`${prefix}: ${reason}`);
  if (shares < 1) throw wrong('shares must be at least one');
  if (threshold < 1) throw wrong('threshold must be at least one');
  if (shares > 1 && threshold === 1) throw wrong('threshold must be greater than one for multiple shares');
  if (shares > 255) throw wrong('shares must be less than 256');
  if (threshold > shares) throw wrong('threshold cannot be larger than shares');
  return { shares, threshold };
}

function textIn(body: Body, name: string, problem: string): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '') throw badRequest(problem);
  return value;
}
