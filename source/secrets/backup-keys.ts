import { createHash, randomBytes } from 'node:crypto';
import { withFileLock } from '../config/file-lock.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { isKeychainAbsent } from './keychain.ts';
import type { SecretStore } from './secret-store.ts';

export interface BackupKey {
  /** Hash of the key; manifests identify the key by it. */
  id: string;
  key: Buffer;
}

export type BackupKeys = ReturnType<typeof openBackupKeys>;

const name = 'backup-key';
const keyBytes = 32;

/**
 * @param stores best first: the first that answers keeps the key
 * @param lockPath path of the lock under which a key is created, if several processes share the stores
 */
export function openBackupKeys(stores: readonly SecretStore[], lockPath?: string) {
  /** Cache of keys from the keychain, by id: a list of backups reads many manifests, and a key with an id never changes. */
  const trusted = new Map<string, BackupKey>();

  async function keyIn(store: SecretStore): Promise<BackupKey | undefined> {
    const kept = await store.get(name);
    if (kept === undefined) return undefined;
    const key = Buffer.from(kept, 'base64');
    if (key.length === keyBytes) return keyOf(key);
    const message = `The backup signing key in the ${store.kind === 'file' ? 'key file' : 'keychain'} is damaged.`;
    throw new Fault('failed.backupKey', message, 'Restore the key from a backup. Without it, earlier backups cannot be authenticated.');
  }

  async function readOrCreate(): Promise<BackupKey> {
    let refusal: unknown;
    for (const store of stores) {
      try {
        const found = await keyIn(store);
        if (found) return found;
        const created = keyOf(randomBytes(keyBytes));
        await store.set(name, created.key.toString('base64'));
        return created;
      } catch (thrown) {
        refusal = thrown;
      }
    }
    throw refusal;
  }

  return {
    /** Returns the key for new backups; creates it if there is none. Throws if no store accepts one. */
    signing: () => (lockPath === undefined ? readOrCreate() : withFileLock(lockPath, readOrCreate)),
    /** Returns the key, or why there is none, as the end of a sentence. `doubt`: why a signature with this key proves little. */
    // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each store decides how far the key of the next one is trusted
    async find(id: string): Promise<{ key: BackupKey; doubt?: string } | string> {
      const known = trusted.get(id);
      if (known) return { key: known };
      const unavailable: string[] = [];
      let doubt: string | undefined;
      for (const store of stores) {
        try {
          const key = await keyIn(store);
          if (key?.id === id && store.kind === 'keychain') trusted.set(id, key);
          if (key?.id === id) return { key, ...(doubt !== undefined && { doubt }) };
        } catch (thrown) {
          unavailable.push(messageOf(thrown).replace(/\.$/, '').replace(/^The /, 'the '));
          if (isKeychainAbsent(thrown)) continue;
        }
        // Every program of this account can read a key file, or create one.
        if (store.kind === 'keychain') doubt = 'it was signed with the key file, not with the key in the keychain';
      }
      return ['it was signed with an unknown key', ...unavailable].join('; ');
    },
  };
}

function keyOf(key: Buffer): BackupKey {
  return { id: createHash('sha256').update('quarterdeck backup key\n').update(key).digest('hex').slice(0, 16), key };
}
