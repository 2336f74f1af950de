import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { openVault, type VaultOptions } from '../secrets/open-vault.ts';
import { keychainStore, keyFile } from '../secrets/secret-store.ts';
import type { SecretVault } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';

interface Options {
  paths: OwnPaths;
  env: Readonly<Record<string, string | undefined>>;
  /** Whoever is in front when the passphrase is needed is asked for it: the vault outlives the flow that opened it. */
  asking: () => Session;
  practice: boolean;
  /** Versions of a secret that something deployed still names: see VaultOptions. */
  inForce?: VaultOptions['inForce'];
}

/** The installation's vault. Secrets of practice are worth nothing and rest in its own folder, under a key beside them. */
export async function openOwnVault({ paths, env, asking, practice, inForce }: Options): Promise<SecretVault> {
  return openVault({
    ...(practice
      ? await practiceVaultOptions(paths)
      : { env, anchors: [keychainStore(env), keyFile(join(paths.state, 'secrets-anchor.json'), 'secrets')] }),
    paths,
    signal: asking().signal,
    ...(inForce && { inForce }),
    askPassphrase: ({ id, label, help }) => asking().ask.secret({ id, label, ...(help !== undefined && { help }) }),
  });
}

export async function practiceVaultOptions(paths: OwnPaths): Promise<Pick<VaultOptions, 'env'>> {
  return { env: { QUARTERDECK_SECRETS: 'file', QUARTERDECK_SECRETS_KEY_FILE: await practiceKey(paths) } };
}

async function practiceKey(paths: OwnPaths): Promise<string> {
  const file = join(paths.data, 'practice.key');
  if ((await readOwnFile(file)) === undefined) await writeOwnFile(file, `${randomBytes(32).toString('base64')}\n`);
  return file;
}
