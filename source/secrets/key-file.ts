import { randomBytes } from 'node:crypto';
import { isOwnFilePrivate, readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';

const leastCharacters = 16;
const howTo = (path: string) =>
  `Make one: (umask 077; head -c 32 /dev/urandom | base64 > ${path}) and keep a copy where the secrets are not.`;

/** What the key file of `QUARTERDECK_SECRETS_KEY_FILE` holds. Throws `refused.sealed` for one that is missing, readable for others or too short. */
export async function readKeyFile(path: string): Promise<string> {
  const refused = (message: string, remedy: string) => new Fault({ code: 'refused.sealed', message, remedy, where: { file: path } });
  // Container engines and Kubernetes mount secrets as links.
  const text = await readOwnFile(path, { followsLinks: true });
  if (text === undefined) throw refused(`The key file ${path} is missing.`, `Bring it back. Where there is none yet: ${howTo(path)}`);
  if (!(await isOwnFilePrivate(path))) throw refused(`The key file ${path} can be read by others.`, `chmod 600 ${path}`);
  const key = text.trim();
  // Bytes that are no text would all become the same replacement character.
  if (key.includes('\uFFFD')) throw refused(`The key file ${path} is no text.`, howTo(path));
  if (key.length < leastCharacters) {
    throw refused(`The key file ${path} is too short: at least ${leastCharacters} characters are needed.`, howTo(path));
  }
  return key;
}

/** Makes a key file where there is none; answers its path. */
export async function makeKeyFile(path: string): Promise<string> {
  if ((await readOwnFile(path)) === undefined) await writeOwnFile(path, `${randomBytes(32).toString('base64')}\n`);
  return path;
}
