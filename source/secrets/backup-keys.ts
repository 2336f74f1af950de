import { createHash, randomBytes } from 'node:crypto';
import { messageOf } from '../faults/fault.ts';
import type { SecretStore } from './secret-store.ts';

/** A key that signs the manifests of backups (HMAC-SHA-256). */
export interface BackupKey {
  /** Of the key, and says nothing about it: manifests name theirs by this. */
  id: string;
  key: Buffer;
}

export interface BackupKeys {
  /** The one that new backups are signed with; made where there is none. Throws where no store takes one. */
  signing(): Promise<BackupKey>;
  /** One of this operator's; where there is none of that id, why, as the end of a sentence. */
  find(id: string): Promise<BackupKey | string>;
}

const name = 'backup-key';

/** @param stores best first: the first that answers keeps the key */
export function openBackupKeys(stores: readonly SecretStore[]): BackupKeys {
  // A key never changes; one that was not there may come.
  const known = new Map<string, BackupKey>();

  async function keyIn(store: SecretStore): Promise<BackupKey | undefined> {
    const kept = await store.get(name);
    if (kept === undefined) return undefined;
    const found = keyOf(Buffer.from(kept, 'base64'));
    known.set(found.id, found);
    return found;
  }

  return {
    async signing() {
      let refusal: unknown;
      for (const store of stores) {
        try {
          const found = await keyIn(store);
          if (found) return found;
          const made = keyOf(randomBytes(32));
          await store.set(name, made.key.toString('base64'));
          return made;
        } catch (thrown) {
          refusal = thrown;
        }
      }
      throw refusal;
    },
    async find(id) {
      const before = known.get(id);
      if (before) return before;
      const away: string[] = [];
      for (const store of stores) {
        try {
          const found = await keyIn(store);
          if (found?.id === id) return found;
        } catch (thrown) {
          away.push(messageOf(thrown).replace(/\.$/, ''));
        }
      }
      return ['it was signed with a key that is not here', ...away].join('; ');
    },
  };
}

function keyOf(key: Buffer): BackupKey {
  return { id: createHash('sha256').update('quarterdeck backup key\n').update(key).digest('hex').slice(0, 16), key };
}
