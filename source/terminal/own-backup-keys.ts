import { join } from 'node:path';
import { type BackupKeys, openBackupKeys } from '../secrets/backup-keys.ts';
import { keychainStore, keyFile } from '../secrets/secret-store.ts';

/** The operator's keys for backups: in the keychain, or where it does not answer in a file of that folder. */
export function openOwnBackupKeys(folder: string, env: Readonly<Record<string, string | undefined>>): BackupKeys {
  return openBackupKeys([keychainStore(env), keyFile(join(folder, 'backup-key.json'), 'backup')], join(folder, 'backup-key'));
}
