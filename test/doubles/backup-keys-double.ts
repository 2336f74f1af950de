import { type BackupKeys, openBackupKeys } from '../../source/secrets/backup-keys.ts';

/** An operator's keys for backups, kept for as long as the test has them. */
export function backupKeysDouble(): BackupKeys {
  const kept = new Map<string, string>();
  return openBackupKeys([
    { kind: 'keychain', get: async (name) => kept.get(name), set: async (name, value) => void kept.set(name, value) },
  ]);
}
