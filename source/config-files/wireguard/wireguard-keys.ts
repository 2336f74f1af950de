import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';

/** RFC 8410: the prefix of the 32 bytes of a private key for X25519. */
const privatePrefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const keyBytes = 32;

/** Curve25519 keys in WireGuard's format: 32 bytes in base64. */
export function makeKeyPair() {
  const { privateKey } = generateKeyPairSync('x25519');
  const raw = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-keyBytes);
  // As "wg genkey" does; the public key is the same either way (RFC 7748, 5).
  raw[0] = (raw[0] ?? 0) & 248;
  raw[31] = ((raw[31] ?? 0) & 127) | 64;
  const written = raw.toString('base64');
  return { privateKey: written, publicKey: publicKeyOf(written) };
}

export const makePresharedKey = (): string => randomBytes(keyBytes).toString('base64');

export function publicKeyOf(privateKey: string): string {
  const key = createPrivateKey({ key: Buffer.concat([privatePrefix, Buffer.from(privateKey, 'base64')]), format: 'der', type: 'pkcs8' });
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-keyBytes).toString('base64');
}

/** Returns the problem with a key, in words that do not contain it; undefined if it is valid. */
export function keyProblem(text: string): string | undefined {
  const key = text.trim();
  if (key === '') return 'It is empty.';
  if (!/^[A-Za-z0-9+/]*=*$/.test(key)) return 'It contains characters that are not base64.';
  if (key.length !== 44) return `It must have 44 characters, not ${key.length}.`;
  // The last character before "=" carries four bits: WireGuard refuses keys with any other.
  if (!/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(key)) return 'It is not 32 bytes in base64.';
  return /^A{43}=$/.test(key) ? 'It consists of zeros only.' : undefined;
}
