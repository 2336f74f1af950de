import { Fault, messageOf } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import { checkSecret, type StoredVersion } from './backend.ts';
import type { SecretName } from './secrets.ts';

/** The content of an age file, as JSON. */
export interface SecretBundle {
  schema: 1;
  exportedAt: string;
  secrets: readonly { name: SecretName; versions: readonly StoredVersion[] }[];
}

/** The recipients of an age file: public keys (`age1…`), or a passphrase. */
export type AgeFor = { recipients: readonly string[] } | { passphrase: string };
/** The keys that open an age file: secret keys (`AGE-SECRET-KEY-1…`), or the passphrase. */
export type AgeOpens = { identities: readonly string[] } | { passphrase: string };

/** Returns an armored age file: text, for `age -d` and for this program. Throws `usage.recipient`. */
export async function sealAge(bundle: SecretBundle, to: AgeFor): Promise<string> {
  const { armor } = await import('age-encryption');
  const remedy = 'An age recipient starts with age1. Print yours: age-keygen -y KEYFILE';
  const encrypter = await encrypterFor(to, 'The value is not a valid age recipient.', remedy);
  return armor.encode(await encrypter.encrypt(JSON.stringify(bundle)));
}

/** Throws `usage.recipient` with this message. */
export async function encrypterFor(to: AgeFor, message: string, remedy: string) {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if ('passphrase' in to) encrypter.setPassphrase(to.passphrase);
  else for (const recipient of to.recipients) add(() => encrypter.addRecipient(recipient), message, remedy);
  return encrypter;
}

/** Decrypts an age file, armored or not. Throws `refused.age` for a wrong key, `failed.age` for a file that is not an age file. */
export async function openAge(file: Uint8Array, by: AgeOpens): Promise<SecretBundle> {
  const { Decrypter, armor } = await import('age-encryption');
  const decrypter = new Decrypter();
  const remedy = 'An age identity starts with AGE-SECRET-KEY-1, as in a file created by age-keygen.';
  if ('passphrase' in by) decrypter.addPassphrase(by.passphrase);
  else for (const identity of by.identities) add(() => decrypter.addIdentity(identity), 'The value is not a valid age identity.', remedy);
  let text: string;
  try {
    const written = Buffer.from(file);
    const isArmored = written.toString('latin1').trimStart().startsWith('-----BEGIN AGE');
    text = await decrypter.decrypt(isArmored ? armor.decode(written.toString('utf8')) : file, 'text');
  } catch (cause) {
    if (/no identity matched/i.test(messageOf(cause)))
      throw new Fault('refused.age', 'The age file cannot be decrypted.', 'Use the passphrase or key that it was encrypted with.', {
        cause,
      });
    throw new Fault('failed.age', 'The file is not an age file, or is damaged.', 'Use another copy.', { cause });
  }
  return bundleOf(text);
}

/** Returns whether the file requires a passphrase; undefined if it is not an age file. */
export async function requiresPassphrase(file: Uint8Array): Promise<boolean | undefined> {
  const { armor } = await import('age-encryption');
  try {
    const text = Buffer.from(file).toString('latin1');
    const head = text.trimStart().startsWith('-----BEGIN AGE') ? Buffer.from(armor.decode(text)).toString('latin1') : text;
    return head.startsWith('age-encryption.org/v1\n') ? head.startsWith('age-encryption.org/v1\n-> scrypt ') : undefined;
  } catch {
    return undefined;
  }
}

function bundleOf(text: string): SecretBundle {
  try {
    const bundle = parseJson(text) as SecretBundle;
    if (bundle.schema === 1) {
      for (const { name, versions } of bundle.secrets) {
        if (versions.length === 0) throw new Error('no versions');
        for (const { id, createdMs, origin, value } of versions) {
          checkSecret(name, value);
          if (!/^[a-z0-9]{1,20}$/.test(id) || !/^[a-z]{1,20}$/.test(origin) || !Number.isSafeInteger(createdMs) || createdMs < 0)
            throw new Error('no version');
        }
      }
      return bundle;
    }
  } catch {}
  const remedy = 'Use a file created by "quarterdeck secrets export".';
  throw new Fault('failed.age', 'The age file contains no Quarterdeck secrets.', remedy);
}

function add(use: () => void, message: string, remedy: string): void {
  try {
    use();
  } catch (cause) {
    throw new Fault('usage.recipient', message, remedy, { cause });
  }
}
