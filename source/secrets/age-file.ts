import { Fault, messageOf } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import type { SecretName } from './vault.ts';
import { checkSecret, type StoredVersion } from './vault-place.ts';

/** Secrets as they leave this installation, with their versions: what an age file holds, as JSON. */
export interface SecretBundle {
  schema: 1;
  exportedAt: string;
  secrets: readonly { name: SecretName; versions: readonly StoredVersion[] }[];
}

/** Whom an age file is for: public keys (`age1…`), or whoever knows the passphrase. */
export type AgeFor = { recipients: readonly string[] } | { passphrase: string };
/** What opens one: secret keys (`AGE-SECRET-KEY-1…`), or the passphrase. */
export type AgeOpens = { identities: readonly string[] } | { passphrase: string };

/** An armored age file: text, for `age -d` and for this program. Throws `usage.recipient`. */
export async function sealAge(bundle: SecretBundle, to: AgeFor): Promise<string> {
  const { Encrypter, armor } = await import('age-encryption');
  const encrypter = new Encrypter();
  if ('passphrase' in to) encrypter.setPassphrase(to.passphrase);
  else
    for (const recipient of to.recipients)
      add(() => encrypter.addRecipient(recipient), 'recipient', 'It begins with age1; age-keygen -y prints it.');
  return armor.encode(await encrypter.encrypt(JSON.stringify(bundle)));
}

/** Armored or not. Throws `refused.age` for a wrong key, `failed.age` for what is no such file. */
export async function openAge(file: Uint8Array, by: AgeOpens): Promise<SecretBundle> {
  const { Decrypter, armor } = await import('age-encryption');
  const decrypter = new Decrypter();
  if ('passphrase' in by) decrypter.addPassphrase(by.passphrase);
  else
    for (const identity of by.identities)
      add(() => decrypter.addIdentity(identity), 'identity', 'It begins with AGE-SECRET-KEY-1; age-keygen makes one.');
  let text: string;
  try {
    const content = Buffer.from(file).toString('latin1').trimStart().startsWith('-----BEGIN AGE')
      ? armor.decode(Buffer.from(file).toString('utf8'))
      : file;
    text = await decrypter.decrypt(content, 'text');
  } catch (error) {
    const wrongKey = /no identity matched/i.test(messageOf(error));
    throw new Fault({
      code: wrongKey ? 'refused.age' : 'failed.age',
      message: wrongKey ? 'That does not open the age file.' : 'That is no age file, or it is damaged.',
      remedy: wrongKey ? 'Take the passphrase or the key that it was made for.' : 'Take another copy of it.',
      cause: error,
    });
  }
  return bundleOf(text);
}

/** Does it ask for a passphrase? Undefined for what is no age file. */
export async function asksPassphrase(file: Uint8Array): Promise<boolean | undefined> {
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
  throw new Fault({
    code: 'failed.age',
    message: 'The age file opens, but holds no secrets of Quarterdeck.',
    remedy: 'Take a file that "quarterdeck secrets export" wrote.',
  });
}

function add(use: () => void, what: string, remedy: string): void {
  try {
    use();
  } catch (error) {
    throw new Fault({ code: 'usage.recipient', message: `That is no age ${what}.`, remedy, cause: error });
  }
}
