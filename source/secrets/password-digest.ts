import { randomBytes, timingSafeEqual } from 'node:crypto';
import { argon2id, isBearable, type KeyCost } from './key-derivation.ts';

export interface DigestCost extends KeyCost {
  keyBytes: number;
  saltBytes: number;
}

/** `$argon2id$v=19$m=65536,t=3,p=4$<salt>$<key>`, base64 without padding. The password is used byte for byte, as the products do. */
export async function makeDigest(password: string, cost: DigestCost, salt: Uint8Array = randomBytes(cost.saltBytes)): Promise<string> {
  const key = await argon2id(Buffer.from(password), salt, cost);
  const { memoryKiB, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(key)}`;
}

export async function matchesDigest(digest: string, password: string): Promise<boolean | undefined> {
  const read = readDigest(digest);
  if (!read || !isBearable(read.cost)) return undefined;
  const key = await argon2id(Buffer.from(password), read.salt, { ...read.cost, keyBytes: read.key.length });
  return timingSafeEqual(key, read.key);
}

/** Parses PHC notation. Other kinds (bcrypt, scrypt, ...) are not parsed, and may still be valid. */
function readDigest(digest: string) {
  const found = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(digest);
  if (!found) return undefined;
  const [memoryKiB = 0, passes = 0, parallelism = 0] = found.slice(1, 4).map(Number);
  const [salt, key] = [Buffer.from(found[4] ?? '', 'base64'), Buffer.from(found[5] ?? '', 'base64')];
  return salt.length < 8 || key.length < 4 ? undefined : { cost: { memoryKiB, passes, parallelism }, salt, key };
}

/** The minimum cost that OWASP states for argon2id: 7 MiB, five iterations. */
const leastWork = 7 * 1024 * 5;

/** Returns the kind for a list: `argon2id`, `weak argon2id`, `bcrypt`; empty for an unknown kind of hash. */
export function digestText(digest: string): string {
  const read = readDigest(digest);
  if (read) return read.cost.memoryKiB * read.cost.passes < leastWork ? 'weak argon2id' : 'argon2id';
  return kinds.find(([pattern]) => pattern.test(digest))?.[1] ?? '';
}

/** Other kinds that the portal accepts (go-crypt): such a digest is kept as it is. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/^\$argon2(?:id|i|d)\$/, 'argon2'],
  [/^\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}$/, 'bcrypt'],
  [/^\$bcrypt-sha256\$/, 'bcrypt'],
  [/^\$(?:scrypt|y|7)\$/, 'scrypt'],
  [/^\$pbkdf2(?:-sha\d+)?\$/, 'pbkdf2'],
  [/^\$[56]\$/, 'sha2crypt'],
];

export const isDigest = (text: string): boolean => digestText(text) !== '';

const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
