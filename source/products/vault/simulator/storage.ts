import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** AES-256-GCM with the nonce in front and the tag at the end. Throws for another key than the one it was encrypted with. */
function decrypt(key: Buffer, text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
}

function encrypt(key: Buffer, plain: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

export const sumOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Encrypted storage. While it is sealed, no key is in memory. */
export class Storage<State> {
  /** The root key, encrypted with the key that the shares combine to, and the state, encrypted with the root key. */
  #disk = { rootKey: '', state: '' };
  #open: { rootKey: Buffer; state: State } | undefined;

  get initialised(): boolean {
    return this.#disk.rootKey !== '';
  }

  get sealed(): boolean {
    return this.#open === undefined;
  }

  get #opened(): { rootKey: Buffer; state: State } {
    if (!this.#open) throw new Error('sealed');
    return this.#open;
  }

  get state(): State {
    return this.#opened.state;
  }

  initialise(key: Buffer, state: State): void {
    this.#open = { rootKey: randomBytes(32), state };
    this.rekey(key);
  }

  rekey(key: Buffer): void {
    this.#disk.rootKey = encrypt(key, this.#opened.rootKey);
  }

  opensWith(key: Buffer): boolean {
    try {
      return decrypt(key, this.#disk.rootKey).length > 0;
    } catch {
      return false;
    }
  }

  unseal(key: Buffer): void {
    this.#load(decrypt(key, this.#disk.rootKey));
  }

  seal(): void {
    this.write();
    this.#open = undefined;
  }

  /** Returns what is on the disk. */
  write(): string {
    if (this.#open) this.#disk.state = encrypt(this.#open.rootKey, Buffer.from(JSON.stringify(this.#open.state)));
    return JSON.stringify(this.#disk);
  }

  /** Returns the storage for a snapshot, with a checksum that requires the same keys. */
  snapshot(): { state: Buffer; sealedSum: string } {
    const state = Buffer.from(this.write());
    return { state, sealedSum: encrypt(this.#opened.rootKey, Buffer.from(sumOf(state))) };
  }

  /** Reports whether a snapshot was taken under the current keys. */
  recognises(state: Buffer, sealedSum: string): boolean {
    try {
      return decrypt(this.#opened.rootKey, sealedSum).toString() === sumOf(state);
    } catch {
      return false;
    }
  }

  /** Replaces everything with a snapshot. Under other keys it is sealed afterwards. */
  restore(state: Buffer, sealedSum: string): void {
    const rootKey = this.recognises(state, sealedSum) ? this.#opened.rootKey : undefined;
    this.#disk = JSON.parse(state.toString());
    if (rootKey) this.#load(rootKey);
    else this.#open = undefined;
  }

  #load(rootKey: Buffer): void {
    this.#open = { rootKey, state: JSON.parse(decrypt(rootKey, this.#disk.state).toString()) };
  }
}
