import { Fault } from '../../faults/fault.ts';
import type { AgeFor } from '../../secrets/age-file.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import { parseJson } from '../../text/json-value.ts';

export const secretsFile = 'secrets.age';

export async function secretNames(vault: SecretStorage, engineName: string, component: string, signal: AbortSignal): Promise<string[]> {
  const begin = `${engineName}/${component}/`;
  return (await vault.list(signal)).flatMap(({ name }) => (name.startsWith(begin) ? [name.slice(begin.length)] : [])).sort();
}

/** Creates an age file with the newest version of each; `age --decrypt secrets.age` opens it without Quarterdeck. */
export async function sealSecrets(
  vault: SecretStorage,
  of: { engineName: string; component: string; names: readonly string[]; sealWith: AgeFor; signal: AbortSignal },
): Promise<Uint8Array> {
  const { engineName, component, names, sealWith, signal } = of;
  const secrets: Record<string, string> = {};
  for (const name of names) {
    const value = await vault.read(`${engineName}/${component}/${name}`, signal);
    if (value !== undefined) secrets[name] = value;
  }
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if ('passphrase' in sealWith) encrypter.setPassphrase(sealWith.passphrase);
  else {
    try {
      for (const recipient of sealWith.recipients) encrypter.addRecipient(recipient);
    } catch (cause) {
      const message = 'One of the recipients is not a public key of age.';
      throw new Fault('usage.recipient', message, 'It begins with age1; age-keygen creates one and prints it.', { cause });
    }
  }
  return encrypter.encrypt(JSON.stringify({ schema: 1, component, secrets }));
}

export async function openSecrets(sealed: Uint8Array, key: string): Promise<Readonly<Record<string, string>>> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    if (/^AGE-SECRET-KEY-/.test(key)) decrypter.addIdentity(key);
    else decrypter.addPassphrase(key);
    return (parseJson(await decrypter.decrypt(sealed, 'text')) as { secrets: Record<string, string> }).secrets;
  } catch (cause) {
    const remedy = 'Enter the passphrase, or the identity (AGE-SECRET-KEY-…), with which the backup was sealed.';
    throw new Fault('refused.sealed', 'The secrets of this backup do not open with this passphrase.', remedy, { cause });
  }
}
