import { Fault } from '../faults/fault.ts';
import type { SecretVault } from '../secrets/vault.ts';
import { parseJson } from '../text/json-value.ts';

/** How the secrets of a backup are sealed: a passphrase, or public keys of age (`age1…`), of which one suffices to open it. */
export type SealWith = { passphrase: string } | { recipients: readonly string[] };

export const secretsFile = 'secrets.age';

interface SealedSecrets {
  schema: 1;
  component: string;
  secrets: Record<string, string>;
}

/** Variables of the component that the vault knows, without their values. */
export async function secretNames(vault: SecretVault, place: string, component: string, signal: AbortSignal): Promise<string[]> {
  const begin = `${place}/${component}/`;
  return (await vault.list(signal)).flatMap(({ name }) => (name.startsWith(begin) ? [name.slice(begin.length)] : [])).sort();
}

/** An age file with the newest version of each; `age --decrypt secrets.age` opens it without us. */
export async function sealSecrets(
  vault: SecretVault,
  {
    place,
    component,
    names,
    sealWith,
    signal,
  }: { place: string; component: string; names: readonly string[]; sealWith: SealWith; signal: AbortSignal },
): Promise<Uint8Array> {
  const secrets: Record<string, string> = {};
  for (const name of names) {
    const value = await vault.read(`${place}/${component}/${name}`, signal);
    if (value !== undefined) secrets[name] = value;
  }
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if ('passphrase' in sealWith) encrypter.setPassphrase(sealWith.passphrase);
  else {
    try {
      for (const recipient of sealWith.recipients) encrypter.addRecipient(recipient);
    } catch (cause) {
      throw new Fault({
        code: 'usage.recipient',
        message: 'One of the recipients is no public key of age.',
        remedy: 'It begins with age1; age-keygen makes one and prints it.',
        cause,
      });
    }
  }
  const content: SealedSecrets = { schema: 1, component, secrets };
  return encrypter.encrypt(JSON.stringify(content));
}

/** The secrets of a backup by variable. Throws `refused.sealed` for a wrong passphrase or identity. */
export async function openSecrets(sealed: Uint8Array, key: string): Promise<Readonly<Record<string, string>>> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    if (/^AGE-SECRET-KEY-/.test(key)) decrypter.addIdentity(key);
    else decrypter.addPassphrase(key);
    const content = parseJson(await decrypter.decrypt(sealed, 'text')) as SealedSecrets;
    return content.secrets;
  } catch (cause) {
    throw new Fault({
      code: 'refused.sealed',
      message: 'The secrets of this backup do not open with this passphrase.',
      remedy: 'Give the passphrase, or the identity (AGE-SECRET-KEY-…), with which the backup was sealed.',
      cause,
    });
  }
}
