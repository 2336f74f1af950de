import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import { objectOf, parsedJson } from '../text/json-value.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import { damagedFault } from './backend.ts';
import { isBearable, type KeyCost } from './key-derivation.ts';

/**
 * The sealed file is text of four lines: the name and version of the format, a header in JSON (the kind of key, argon2id's salt and cost,
 * the nonce), the ciphertext in base64 with its tag, and a SHA-256 of these three. The first two are bound to the third as additional data.
 * The checksum distinguishes an accident (a full disk, a bad copy) from a wrong passphrase before anyone is prompted for one; only the tag
 * protects from intentional changes.
 */

const magic = 'quarterdeck-secrets';
const format = 1;
const cipher = 'chacha20-poly1305';
const tagBytes = 16;

export interface SealHeader extends KeyCost {
  opens: 'passphrase' | 'key-file';
  /** Base64. Stays the same as long as the passphrase does, so that a key in memory stays valid. */
  salt: string;
}

export function seal(plain: string, key: Uint8Array, { opens, salt, memoryKiB, passes, parallelism }: SealHeader): string {
  const nonce = randomBytes(12);
  const kdf = { kdf: 'argon2id', salt, memoryKiB, passes, parallelism };
  const header = JSON.stringify({ opens, ...kdf, cipher, nonce: nonce.toString('base64') });
  const bound = `${magic} ${format}\n${header}\n`;
  const cipherer = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  cipherer.setAAD(Buffer.from(bound), { plaintextLength: Buffer.byteLength(plain) });
  const sealed = Buffer.concat([cipherer.update(plain, 'utf8'), cipherer.final(), cipherer.getAuthTag()]);
  const body = `${bound}${sealed.toString('base64')}\n`;
  return `${body}${sumOf(body)}\n`;
}

/** Throws `failed.secrets` for a file that is truncated, damaged or of a newer format. */
export function readSealed(text: string, path: string) {
  const first = /^quarterdeck-secrets (\d{1,9})\n/.exec(text);
  if (!first) throw damagedFault(path, text === '' ? 'is empty' : 'is not a sealed secrets file, or its header is damaged');
  if (Number(first[1]) > format) {
    const message = `${path} was written by a newer version of Quarterdeck (format ${first[1]}; this version supports ${format}).`;
    throw new Fault('failed.secrets', message, 'Update Quarterdeck. The file was not changed.');
  }
  const lines = text.split('\n');
  const body = `${lines.slice(0, 3).join('\n')}\n`;
  if (lines.length < 5) throw damagedFault(path, 'is truncated');
  if (lines.length > 5 || lines[4] !== '' || lines[3] !== sumOf(body)) throw damagedFault(path, 'is damaged');
  const header = headerOf(lines[1] ?? '');
  const sealed = Buffer.from(lines[2] ?? '', 'base64');
  if (!header || sealed.length < tagBytes || sealed.toString('base64') !== lines[2]) throw damagedFault(path, 'is damaged');
  const bound = Buffer.from(`${lines[0]}\n${lines[1]}\n`);
  return {
    header,
    /** Returns undefined if the key does not match, or if the text was changed. */
    open(key: Uint8Array): string | undefined {
      const decipherer = createDecipheriv(cipher, key, Buffer.from(header.nonce, 'base64'), { authTagLength: tagBytes });
      const content = sealed.subarray(0, -tagBytes);
      decipherer.setAAD(bound, { plaintextLength: content.length });
      decipherer.setAuthTag(sealed.subarray(-tagBytes));
      return unlessThrown(() => Buffer.concat([decipherer.update(content), decipherer.final()]).toString('utf8'), undefined);
    },
  };
}

const sumOf = (body: string): string => createHash('sha256').update(body).digest('hex');

function headerOf(line: string): (SealHeader & { nonce: string }) | undefined {
  const { kdf, cipher: named, opens, salt, nonce, ...raw } = objectOf(parsedJson(line)) ?? {};
  if (kdf !== 'argon2id' || named !== cipher) return undefined;
  const cost = { memoryKiB: Number(raw['memoryKiB']), passes: Number(raw['passes']), parallelism: Number(raw['parallelism']) };
  if ((opens !== 'passphrase' && opens !== 'key-file') || !isBearable(cost)) return undefined;
  if (typeof salt !== 'string' || typeof nonce !== 'string') return undefined;
  if (Buffer.from(salt, 'base64').length < 16 || Buffer.from(nonce, 'base64').length !== 12) return undefined;
  return { opens, salt, nonce, ...cost };
}
