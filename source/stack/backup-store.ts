import type { Grant } from '../grants/grant.ts';
import type { Host, PipedProgram } from '../hosts/host.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import type { BackupFolder } from './backup-files.ts';
import type { BackupFacts, BackupManifest, BackupTarget } from './backup-model.ts';
import type { RetentionPolicy } from './backup-retention.ts';

/** A backup that was begun and never finished: its process died, or the machine did. */
export interface InterruptedBackup {
  component: string;
  stamp: string;
  folder: string;
}

/** Where backups are kept. Reading asks for a signal, everything else for a grant. */
export interface BackupStore {
  readonly kind: BackupTarget['kind'];
  /** For sentences: `/srv/backups on nas`. */
  readonly where: string;
  /** As `--to` takes it; undefined where it holds credentials. */
  readonly to: string | undefined;
  /** Dumps are packed where the store does not do so itself. */
  readonly packs: boolean;
  /** Sign new backups, and authenticate the others. */
  readonly keys: BackupKeys;
  /** All good and damaged backups, newest first. */
  list(signal: AbortSignal, component?: string): Promise<readonly BackupFacts[]>;
  /** Backups that were begun and not finished. Only who holds the lock knows that nobody is at work on them. */
  interrupted(signal: AbortSignal): Promise<readonly InterruptedBackup[]>;
  /** Keeps others out until `release`, or until this process ends. Throws `refused.backupRuns`. */
  lock(grant: Grant): Promise<{ release(): Promise<void> }>;
  /** A folder on the host into which the files go. */
  begin(grant: Grant, component: string, stamp: string): Promise<BackupFolder>;
  /** Makes what `begin` gave a backup, at once. */
  complete(grant: Grant, folder: BackupFolder, manifest: BackupManifest): Promise<void>;
  /** Takes away what `begin` gave. */
  discard(grant: Grant, folder: string): Promise<void>;
  /** Names of files that are missing or differ from their checksum, as far as that is known without reading them here; empty when it is whole. */
  verify(backup: BackupFacts, signal: AbortSignal): Promise<readonly string[]>;
  /** A file of it, to be read to its end. */
  open(signal: AbortSignal, backup: BackupFacts, file: string): Promise<PipedProgram>;
  /** Lets go of what neither the policy keeps nor `also` names, by stamp. Answers how many went. */
  thin(grant: Grant, component: string, policy: RetentionPolicy, also?: ReadonlySet<string>): Promise<number>;
}

/** @throws Fault `unreachable.program` where restic is wanted and is not on the host, `refused.restic` for a wrong password. */
export async function openBackupStore(target: BackupTarget, host: Host, keys: BackupKeys): Promise<BackupStore> {
  if (target.kind === 'folder') {
    const { FolderStore } = await import('./backup-folder-store.ts');
    return new FolderStore(host, target.folder, keys);
  }
  const { ResticStore } = await import('./backup-restic-store.ts');
  return new ResticStore(host, target, keys);
}
