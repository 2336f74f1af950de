import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host, PipedProgram } from '../../hosts/host.ts';
import type { BackupKeys } from '../../secrets/backup-keys.ts';
import { cleanLine } from '../../text/clean.ts';
import { readJournalFile } from '../apply/journal-file.ts';
import { type HeldLock, holdLock, holdScript } from '../apply/lock.ts';
import { type BackupFolder, checkSums, readStream, removeFolder, renameFolder, sumsFile, sumsText } from './files.ts';
import { filesOf, readManifest, sizeOf } from './manifest.ts';
import { type BackupFacts, componentName, msOfStamp, type ReadManifest } from './model.ts';
import { keepOf, type RetentionPolicy } from './retention.ts';
import type { BackupStore } from './store.ts';
import { identityProblem } from './verify.ts';

const partial = '.partial';
/** A year of backups is a few dozen. */
const manifestLimitBytes = 4 * 1024 * 1024;

/** Backups in a folder of the host: `FOLDER/<component>/<stamp>/`, plain files, one folder each; an unfinished one ends in `.partial`. */
export class FolderStore implements BackupStore {
  readonly packs = true;
  readonly where: string;

  constructor(
    private readonly host: Host,
    readonly to: string,
    readonly keys: BackupKeys,
  ) {
    this.where = `${to} on ${host.name}`;
  }

  async list(signal: AbortSignal, component?: string): Promise<readonly BackupFacts[]> {
    const found: BackupFacts[] = [];
    for (const { name, stamps } of await this.#components(signal, component)) {
      for (const stamp of stamps) {
        const atMs = msOfStamp(stamp);
        if (atMs === undefined) continue;
        const where = posix.join(this.to, name, stamp);
        const read = await this.#manifest(where, signal);
        found.push({ component: name, stamp, atMs, sizeBytes: sizeOf(read.manifest), where, ...read });
      }
    }
    return found.sort((one, other) => other.atMs - one.atMs || one.component.localeCompare(other.component, 'en'));
  }

  async #components(signal: AbortSignal, component: string | undefined): Promise<{ name: string; stamps: string[] }[]> {
    const names = component === undefined ? ((await this.host.files.list(this.to, signal)) ?? []) : [component];
    const found = [];
    for (const name of names.filter((each) => componentName.test(each)))
      found.push({ name, stamps: (await this.host.files.list(posix.join(this.to, name), signal)) ?? [] });
    return found;
  }

  /** Undefined if the manifest is missing, or differs from its checksum or signature. Only `verify` reads the data. */
  async #manifest(folder: string, signal: AbortSignal): Promise<ReadManifest> {
    const read = (file: string) => readJournalFile(this.host, posix.join(folder, file), { signal, limitBytes: manifestLimitBytes });
    const [content, sums] = await Promise.all([read('manifest.json'), read(sumsFile)]);
    if (!content || !sums) return { manifest: undefined };
    return await readManifest(content, Buffer.from(sums).toString('utf8'), this.keys);
  }

  async interrupted(signal: AbortSignal) {
    const components = await this.#components(signal, undefined);
    return components.flatMap(({ name, stamps }) =>
      stamps
        .filter((stamp) => stamp.endsWith(partial) && msOfStamp(stamp.slice(0, -partial.length)) !== undefined)
        .map((stamp) => ({ component: name, stamp: stamp.slice(0, -partial.length), folder: posix.join(this.to, name, stamp) })),
    );
  }

  lock(grant: Grant): Promise<HeldLock> {
    return lockFolder(grant, this.host, this.to);
  }

  async begin(grant: Grant, component: string, stamp: string): Promise<BackupFolder> {
    const folder = posix.join(this.to, component, `${stamp}${partial}`);
    if (await this.host.files.facts(posix.join(this.to, component, stamp), grant.signal))
      throw new Fault('refused.backup', `A backup with this timestamp already exists: ${stamp}.`, 'Try again.');
    await this.host.files.makeFolder(grant, folder, { mode: 0o700 });
    return { host: this.host, folder };
  }

  async complete(grant: Grant, { folder }: BackupFolder): Promise<void> {
    await renameFolder(grant, this.host, folder, folder.slice(0, -partial.length));
  }

  async verify(backup: BackupFacts, signal: AbortSignal): Promise<readonly string[]> {
    const where = { host: this.host, folder: backup.where };
    const wrong = await checkSums(where, signal);
    if (wrong.length > 0 || !backup.manifest) return wrong.length > 0 ? wrong : ['manifest.json'];
    // Manifest and checksums are written together: a file that is in the manifest but not among the checksums was not checked.
    const sums = Buffer.from((await this.host.files.read(posix.join(backup.where, sumsFile), { signal })) ?? []).toString('utf8');
    return filesOf(backup.manifest).flatMap((saved) => (sums.includes(sumsText([saved])) ? [] : [saved.file]));
  }

  open(signal: AbortSignal, backup: BackupFacts, file: string): Promise<PipedProgram> {
    return readStream(signal, { host: this.host, folder: backup.where }, file);
  }

  async thin(grant: Grant, component: string, policy: RetentionPolicy, also: ReadonlySet<string> = new Set()): Promise<number> {
    const now = Date.now();
    const backups = (await this.list(grant.signal, component)).map((backup) => ({
      ...backup,
      good: backup.manifest !== undefined && identityProblem(backup, now) === undefined,
    }));
    const kept = keepOf(backups, policy);
    // A damaged backup is kept for inspection until all kept ones are newer.
    const oldest = Math.min(...[...kept].map(({ atMs }) => atMs));
    let gone = 0;
    for (const backup of backups) {
      if (kept.has(backup) || also.has(backup.stamp) || (!backup.good && backup.atMs >= oldest)) continue;
      // Renamed first: a partly deleted backup must not look like a complete one.
      await renameFolder(grant, this.host, backup.where, `${backup.where}${partial}`);
      await removeFolder(grant, this.host, `${backup.where}${partial}`);
      gone += 1;
    }
    return gone;
  }
}

/** Uses the kernel's lock if `flock` exists; small systems (Debian's busybox) have none, and use a lock folder, as a stack does. */
const lockProgram = `umask 077
if command -v flock >/dev/null 2>&1; then
  exec 9>>"$1/.lock" || exit 74
  flock -n 9
  qd_code=$?
  case $qd_code in 0) echo held ;; 1) echo locked; exit 0 ;; *) exit 74 ;; esac
  exec cat >/dev/null
fi
qd_own=$1/.locks qd_run=backup qd_by=backup qd_locked=
mkdir -p "$qd_own" || exit 74
${holdScript}`;

/** Allows one backup at a time into a folder. */
export async function lockFolder(grant: Grant, host: Host, folder: string): Promise<HeldLock> {
  await host.files.makeFolder(grant, folder, { mode: 0o700 });
  const held = await holdLock(grant, host, ['sh', '-c', lockProgram, 'sh', folder]);
  if (typeof held !== 'string') return held;
  if (held === 'locked') {
    const message = `A backup to ${cleanLine(folder)} is already running.`;
    throw new Fault('refused.backupRuns', message, 'Wait until that backup is complete, then try again.');
  }
  const unusable = `${cleanLine(folder)} cannot be used for backups: ${held}.`;
  throw new Fault('failed.backup', unusable, 'Check the permissions of the folder and the free space on its filesystem.');
}
