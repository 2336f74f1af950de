import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

interface Keyring {
  term: number;
  installed: string;
  keys: Record<string, string>;
}

/** What a snapshot carries and a restart keeps: nothing in here can be read without the key shares. */
export interface Disk {
  /** The root key, encrypted with the key that the shares make. */
  rootKey: string;
  /** The keys that data is encrypted with, encrypted with the root key. */
  keyring: string;
  entries: Record<string, string>;
}

/** AES-256-GCM with the nonce in front and the tag at the end. @throws when the key is not the one it was encrypted with */
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

/** Encrypted storage. Sealed, it holds no key in memory, so that nothing can be read, by whatever way. */
export class Barrier {
  #disk: Disk | undefined;
  #rootKey: Buffer | undefined;
  #keyring: Keyring | undefined;

  get initialised(): boolean {
    return this.#disk !== undefined;
  }

  get sealed(): boolean {
    return this.#rootKey === undefined;
  }

  get term(): { term: number; installed: string } {
    const keyring = this.#open();
    return { term: keyring.term, installed: keyring.installed };
  }

  /** Begins a new storage under a key, and leaves it open. */
  initialise(key: Buffer, time: string): void {
    this.#rootKey = randomBytes(32);
    this.#keyring = { term: 0, installed: time, keys: {} };
    this.#disk = { rootKey: encrypt(key, this.#rootKey), keyring: '', entries: {} };
    this.rotateKeyring(time);
  }

  /** Opens it. @throws when the key is wrong: the tag of the encrypted root key does not fit */
  unseal(key: Buffer): void {
    if (!this.#disk) throw new Error('nothing to unseal');
    const rootKey = decrypt(key, this.#disk.rootKey);
    this.#keyring = JSON.parse(decrypt(rootKey, this.#disk.keyring).toString()) as Keyring;
    this.#rootKey = rootKey;
  }

  /** Whether this is the key that opens it, without opening it. */
  opensWith(key: Buffer): boolean {
    if (!this.#disk || key.length !== 32) return false;
    try {
      decrypt(key, this.#disk.rootKey);
      return true;
    } catch {
      return false;
    }
  }

  seal(): void {
    this.#rootKey?.fill(0);
    this.#rootKey = undefined;
    this.#keyring = undefined;
  }

  /** From now on another key opens it: what a rotation of the shares ends with. */
  rekey(key: Buffer): void {
    if (!this.#disk || !this.#rootKey) throw new Error('sealed');
    this.#disk.rootKey = encrypt(key, this.#rootKey);
  }

  rotateKeyring(time: string): void {
    const keyring = this.#open();
    keyring.term += 1;
    keyring.installed = time;
    keyring.keys[keyring.term] = randomBytes(32).toString('hex');
    if (this.#disk && this.#rootKey) this.#disk.keyring = encrypt(this.#rootKey, Buffer.from(JSON.stringify(keyring)));
  }

  get<Value>(path: string): Value | undefined {
    const keyring = this.#open();
    const stored = this.#disk?.entries[path];
    if (stored === undefined) return undefined;
    const [term = '', text = ''] = stored.split(':');
    return JSON.parse(decrypt(Buffer.from(keyring.keys[term] ?? '', 'hex'), text).toString()) as Value;
  }

  put(path: string, value: unknown): void {
    const keyring = this.#open();
    const key = Buffer.from(keyring.keys[keyring.term] ?? '', 'hex');
    if (this.#disk) this.#disk.entries[path] = `${keyring.term}:${encrypt(key, Buffer.from(JSON.stringify(value)))}`;
  }

  delete(path: string): void {
    this.#open();
    if (this.#disk) delete this.#disk.entries[path];
  }

  /** The paths below a prefix, without it, sorted. */
  list(prefix: string): string[] {
    this.#open();
    return Object.keys(this.#disk?.entries ?? {})
      .filter((path) => path.startsWith(prefix))
      .map((path) => path.slice(prefix.length))
      .sort();
  }

  /** Storage as a snapshot carries it, with a sum that only who holds the same keys can have written. */
  snapshot(): { state: Buffer; sum: string; sealedSum: string } {
    const state = Buffer.from(JSON.stringify(this.#disk));
    const sum = createHash('sha256').update(state).digest('hex');
    if (!this.#rootKey) throw new Error('sealed');
    return { state, sum, sealedSum: encrypt(this.#rootKey, Buffer.from(sum)) };
  }

  /** Whether a snapshot was taken under the keys that are in force. */
  recognises(state: Buffer, sealedSum: string): boolean {
    if (!this.#rootKey) return false;
    try {
      return decrypt(this.#rootKey, sealedSum).toString() === createHash('sha256').update(state).digest('hex');
    } catch {
      return false;
    }
  }

  /** Puts a snapshot in place of everything. Where its keys are others, it is sealed afterwards. */
  restore(state: Buffer): void {
    this.#disk = JSON.parse(state.toString()) as Disk;
    try {
      if (this.#rootKey) this.#keyring = JSON.parse(decrypt(this.#rootKey, this.#disk.keyring).toString()) as Keyring;
    } catch {
      this.seal();
    }
  }

  /** The bytes as they lie on the disk: for tests that look for a secret in them. */
  get bytes(): string {
    return JSON.stringify(this.#disk ?? {});
  }

  #open(): Keyring {
    if (!this.#keyring) throw new Error('sealed');
    return this.#keyring;
  }
}
