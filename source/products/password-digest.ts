import { randomBytes, timingSafeEqual } from 'node:crypto';
import { argon2id, isBearable, type KeyCost } from '../secrets/key-derivation.ts';

export interface DigestCost extends KeyCost {
  keyBytes: number;
  saltBytes: number;
}

/** A password hash in PHC notation, as far as we can read it. Others (bcrypt, scrypt, ...) are none of ours, and may be right all the same. */
interface Digest {
  cost: KeyCost;
  salt: Buffer;
  key: Buffer;
}

/** `$argon2id$v=19$m=65536,t=3,p=4$<salt>$<key>`, base64 without padding. The password is taken byte for byte, as products do. */
export async function makeDigest(password: string, cost: DigestCost, salt: Uint8Array = randomBytes(cost.saltBytes)): Promise<string> {
  const key = await argon2id(Buffer.from(password), salt, cost);
  const { memoryKiB, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(key)}`;
}

/** Undefined where the hash is of another kind, or would cost more than is bearable. */
export async function matchesDigest(digest: string, password: string): Promise<boolean | undefined> {
  const read = readDigest(digest);
  if (!read || !isBearable(read.cost)) return undefined;
  const key = await argon2id(Buffer.from(password), read.salt, { ...read.cost, keyBytes: read.key.length });
  return timingSafeEqual(key, read.key);
}

function readDigest(digest: string): Digest | undefined {
  const found = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(digest);
  if (!found) return undefined;
  const [, memoryKiB, passes, parallelism, salt = '', key = ''] = found;
  const bytes = { salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
  if (bytes.salt.length < 8 || bytes.key.length < 4) return undefined;
  return { cost: { memoryKiB: Number(memoryKiB), passes: Number(passes), parallelism: Number(parallelism) }, ...bytes };
}

/** The least work that OWASP names for argon2id: 7 MiB, five times. */
const leastWork = 7 * 1024 * 5;

/** For a list: `argon2id`, `weak argon2id`, `bcrypt`; empty where it is no hash that is known. */
export function digestText(digest: string): string {
  const read = readDigest(digest);
  if (read) return read.cost.memoryKiB * read.cost.passes < leastWork ? 'weak argon2id' : 'argon2id';
  const kind = kinds.find(([pattern]) => pattern.test(digest));
  return kind?.[1] ?? '';
}

/** What the portal takes besides (go-crypt): a digest of another kind is left as it is. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/^\$argon2(?:id|i|d)\$/, 'argon2'],
  [/^\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}$/, 'bcrypt'],
  [/^\$bcrypt-sha256\$/, 'bcrypt'],
  [/^\$(?:scrypt|y|7)\$/, 'scrypt'],
  [/^\$pbkdf2(?:-sha\d+)?\$/, 'pbkdf2'],
  [/^\$[56]\$/, 'sha2crypt'],
];

/** Is it a hash at all? A password in clear is none. */
export function isDigest(text: string): boolean {
  return digestText(text) !== '';
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
