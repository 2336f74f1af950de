import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { runProgram } from '../hosts/program.ts';
import { keychainAbsence } from '../secrets/keychain.ts';
import { backendInUse, openSecretStorage, type SecretStorageOptions } from '../secrets/open-secrets.ts';
import { keychainStore, keyFile } from '../secrets/secret-store.ts';
import type { SecretStorage } from '../secrets/secrets.ts';
import type { Session } from '../session/session.ts';

interface Options {
  paths: OwnPaths;
  env: Readonly<Record<string, string | undefined>>;
  /** The session that prompts for the passphrase when it is required. The storage outlives the flow that opened it. */
  asking: () => Pick<Session, 'signal'> & { ask: Pick<Session['ask'], 'secret'> };
  practice: boolean;
  inForce?: SecretStorageOptions['inForce'];
}

/** Secrets of practice are worthless: they are stored in its own folder, with the key beside them. */
export async function openOwnSecretStorage({ paths, env, asking, practice, inForce }: Options): Promise<SecretStorage> {
  return openSecretStorage({
    ...(practice
      ? await practiceSecretOptions(paths)
      : { env, anchors: [keychainStore(env), keyFile(join(paths.state, 'secrets-anchor.json'), 'secrets')] }),
    paths,
    signal: asking().signal,
    ...(inForce && { inForce }),
    askPassphrase: ({ id, label, help }) => asking().ask.secret({ id, label, ...(help !== undefined && { help }) }),
  });
}

/** For work without an operator in front: a storage that requires a passphrase stays closed. */
export function unattended(signal: AbortSignal): ReturnType<Options['asking']> {
  const remedy = 'Use a keychain, or a key file (QUARTERDECK_SECRETS_KEY_FILE), for notification tokens.';
  const secret = () => Promise.reject(new Fault('refused.sealed', 'The sealed secrets require a passphrase.', remedy));
  return { signal, ask: { secret } };
}

export async function practiceSecretOptions(paths: OwnPaths): Promise<Pick<SecretStorageOptions, 'env'>> {
  const file = join(paths.data, 'practice.key');
  if ((await readOwnFile(file)) === undefined) await writeOwnFile(file, `${randomBytes(32).toString('base64')}\n`);
  return { env: { QUARTERDECK_SECRETS: 'file', QUARTERDECK_SECRETS_KEY_FILE: file } };
}

/** Opens the storage only if that cannot prompt: there are secrets, in an unlocked keychain or in a file that a key file opens. */
export async function openSecretStorageQuietly({ paths, env }: Pick<Options, 'paths' | 'env'>): Promise<SecretStorage | undefined> {
  const kind = await backendInUse({ paths, env });
  if (kind === undefined) return undefined;
  if (kind === 'keychain' ? !(await isKeychainUnlocked(env)) : !env.QUARTERDECK_SECRETS_KEY_FILE) return undefined;
  return openSecretStorage({ env, paths, signal: AbortSignal.timeout(keychainLimitMs) });
}

const keychainLimitMs = 5_000;

/** keytar itself prompts to unlock a keychain. macOS also prompts after an update of this program, and cannot be queried about it. */
async function isKeychainUnlocked(env: Options['env']): Promise<boolean> {
  if (process.platform !== 'linux') return process.platform === 'win32';
  if (keychainAbsence(env) !== undefined) return false;
  const collection = ['--dest=org.freedesktop.secrets', '/org/freedesktop/secrets/aliases/default'];
  const property = ['org.freedesktop.DBus.Properties.Get', 'string:org.freedesktop.Secret.Collection', 'string:Locked'];
  const limit = { limitMs: keychainLimitMs, signal: AbortSignal.timeout(keychainLimitMs) };
  const answer = await runProgram(['dbus-send', '--session', '--print-reply=literal', ...collection, ...property], limit).catch(
    () => undefined,
  );
  return answer?.exitCode === 0 && Buffer.from(answer.stdout).toString().includes('boolean false');
}
