import type { Grant } from '../../grants/grant.ts';
import type { Host, PipedProgram } from '../../hosts/host.ts';
import type { BackupKeys } from '../../secrets/backup-keys.ts';
import type { HeldLock } from '../apply/lock.ts';
import type { BackupFolder } from './files.ts';
import type { BackupManifest } from './manifest.ts';
import type { BackupFacts, BackupTarget } from './model.ts';
import type { RetentionPolicy } from './retention.ts';

/** A store of backups. Reading requires a signal, everything else a grant. */
export interface BackupStore {
  /** Its location, for sentences: `/srv/backups on nas`. */
  readonly where: string;
  /** Its location as `--to` accepts it; undefined if it contains credentials. */
  readonly to: string | undefined;
  /** Whether dumps are compressed, because the store does not do so itself. */
  readonly packs: boolean;
  readonly keys: BackupKeys;
  list(signal: AbortSignal, component?: string): Promise<readonly BackupFacts[]>;
  /** Returns unfinished backups. Only the holder of the lock knows that no process is working on them. */
  interrupted(signal: AbortSignal): Promise<readonly { component: string; stamp: string; folder: string }[]>;
  /** Excludes other processes until `release`, or until this process ends. Throws `refused.backupRuns`. */
  lock(grant: Grant): Promise<HeldLock>;
  begin(grant: Grant, component: string, stamp: string): Promise<BackupFolder>;
  /** Turns the folder of `begin` into a backup, atomically. */
  complete(grant: Grant, folder: BackupFolder, manifest: BackupManifest): Promise<void>;
  /** Returns files that are missing or differ from their checksum, as far as that is known without reading them here. */
  verify(backup: BackupFacts, signal: AbortSignal): Promise<readonly string[]>;
  /** Opens a file of it, which must be read to its end. */
  open(signal: AbortSignal, backup: BackupFacts, file: string): Promise<PipedProgram>;
  /** Removes backups that neither the policy keeps nor `also` names, by stamp. Returns their number. */
  thin(grant: Grant, component: string, policy: RetentionPolicy, also?: ReadonlySet<string>): Promise<number>;
}

/** The store's methods throw `unreachable.program` if restic is required and not on the host, `refused.restic` for a wrong password. */
export async function openBackupStore(target: BackupTarget, host: Host, keys: BackupKeys): Promise<BackupStore> {
  if (target.kind === 'folder') {
    const { FolderStore } = await import('./folder-store.ts');
    return new FolderStore(host, target.folder, keys);
  }
  const { ResticStore } = await import('./restic-store.ts');
  return new ResticStore(host, target, keys);
}
