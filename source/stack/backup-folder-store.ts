import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host, PipedProgram } from '../hosts/host.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import { type BackupFolder, checkSums, readStream, removeFolder, renameFolder, sumsFile } from './backup-files.ts';
import { lockFolder } from './backup-lock.ts';
import { type BackupFacts, componentName, msOfStamp } from './backup-model.ts';
import { keepOf, type RetentionPolicy } from './backup-retention.ts';
import { type ReadManifest, readManifest } from './backup-signature.ts';
import type { BackupStore, InterruptedBackup } from './backup-store.ts';
import { identityProblem } from './backup-verify.ts';
import { readJournalFile } from './journal-file.ts';

const partial = '.partial';
/** A year of backups is a few dozen. */
const manifestLimitBytes = 4 * 1024 * 1024;

/** Backups in a folder of the host: `FOLDER/<component>/<stamp>/`, plain files, one folder each; one that is being made ends in `.partial`. */
export class FolderStore implements BackupStore {
  readonly kind = 'folder';
  readonly packs = true;
  readonly keys: BackupKeys;
  readonly where: string;
  readonly to: string;
  readonly #host: Host;
  readonly #folder: string;

  constructor(host: Host, folder: string, keys: BackupKeys) {
    this.keys = keys;
    this.#host = host;
    this.#folder = folder;
    this.to = folder;
    this.where = `${folder} on ${host.name}`;
  }

  async list(signal: AbortSignal, component?: string): Promise<readonly BackupFacts[]> {
    const found: BackupFacts[] = [];
    for (const { name, stamps } of await this.#components(signal, component)) {
      for (const stamp of stamps) {
        const atMs = msOfStamp(stamp);
        if (atMs === undefined) continue;
        const where = posix.join(this.#folder, name, stamp);
        const { manifest, unauthenticated, own } = await this.#manifest(where, signal);
        const sizeBytes = manifest ? [...manifest.items, ...manifest.files].reduce((sum, file) => sum + file.sizeBytes, 0) : 0;
        found.push({ component: name, stamp, atMs, sizeBytes, manifest, unauthenticated, own, where });
      }
    }
    return found.sort((one, other) => other.atMs - one.atMs || one.component.localeCompare(other.component, 'en'));
  }

  async #components(signal: AbortSignal, component: string | undefined): Promise<{ name: string; stamps: string[] }[]> {
    const names = component === undefined ? ((await this.#host.files.list(this.#folder, signal)) ?? []) : [component];
    const found = [];
    for (const name of names) {
      if (!componentName.test(name)) continue;
      found.push({ name, stamps: (await this.#host.files.list(posix.join(this.#folder, name), signal)) ?? [] });
    }
    return found;
  }

  /** As it was written: undefined where it is missing, or differs from its checksum or signature. The data itself is read by `verify` alone. */
  async #manifest(folder: string, signal: AbortSignal): Promise<ReadManifest> {
    const read = (file: string) => readJournalFile(this.#host, posix.join(folder, file), { signal, limitBytes: manifestLimitBytes });
    const [content, sums] = await Promise.all([read('manifest.json'), read(sumsFile)]);
    if (!content || !sums) return { manifest: undefined };
    return await readManifest(content, Buffer.from(sums).toString('utf8'), this.keys);
  }

  async interrupted(signal: AbortSignal): Promise<readonly InterruptedBackup[]> {
    const components = await this.#components(signal, undefined);
    return components.flatMap(({ name, stamps }) =>
      stamps
        .filter((stamp) => stamp.endsWith(partial) && msOfStamp(stamp.slice(0, -partial.length)) !== undefined)
        .map((stamp) => ({ component: name, stamp: stamp.slice(0, -partial.length), folder: posix.join(this.#folder, name, stamp) })),
    );
  }

  lock(grant: Grant): Promise<{ release(): Promise<void> }> {
    return lockFolder(grant, this.#host, this.#folder);
  }

  async begin(grant: Grant, component: string, stamp: string): Promise<BackupFolder> {
    const folder = posix.join(this.#folder, component, `${stamp}${partial}`);
    if (await this.#host.files.facts(posix.join(this.#folder, component, stamp), grant.signal)) {
      throw new Fault({ code: 'refused.backup', message: `There is a backup of this second already: ${stamp}.`, remedy: 'Try again.' });
    }
    await this.#host.files.makeFolder(grant, folder, { mode: 0o700 });
    return { host: this.#host, folder };
  }

  async complete(grant: Grant, { folder }: BackupFolder): Promise<void> {
    await renameFolder(grant, this.#host, folder, folder.slice(0, -partial.length));
  }

  discard(grant: Grant, folder: string): Promise<void> {
    return removeFolder(grant, this.#host, folder);
  }

  async verify(backup: BackupFacts, signal: AbortSignal): Promise<readonly string[]> {
    const where = { host: this.#host, folder: backup.where };
    const wrong = await checkSums(where, signal);
    if (wrong.length > 0 || !backup.manifest) return wrong.length > 0 ? wrong : ['manifest.json'];
    // Both lists come from the same hand: a file that the manifest names and the sums do not is one that nobody checked.
    const sums = Buffer.from((await this.#host.files.read(posix.join(backup.where, sumsFile), { signal })) ?? []).toString('utf8');
    return [...backup.manifest.items, ...backup.manifest.files]
      .filter(({ file, sha256 }) => !sums.includes(`${sha256}  ${file}\n`))
      .map(({ file }) => file);
  }

  open(signal: AbortSignal, backup: BackupFacts, file: string): Promise<PipedProgram> {
    return readStream(signal, { host: this.#host, folder: backup.where }, file);
  }

  async thin(grant: Grant, component: string, policy: RetentionPolicy, also: ReadonlySet<string> = new Set()): Promise<number> {
    const now = Date.now();
    const backups = (await this.list(grant.signal, component)).map((backup) => ({
      ...backup,
      good: backup.manifest !== undefined && identityProblem(backup, now) === undefined,
    }));
    const kept = keepOf(backups, policy);
    // A damaged one stays for whoever wants to look at it, until all that are kept are younger.
    const oldest = Math.min(...[...kept].map(({ atMs }) => atMs));
    let gone = 0;
    for (const backup of backups) {
      if (kept.has(backup) || also.has(backup.stamp) || (!backup.good && backup.atMs >= oldest)) continue;
      // Under another name first: half of a backup must not look like one.
      await renameFolder(grant, this.#host, backup.where, `${backup.where}${partial}`);
      await removeFolder(grant, this.#host, `${backup.where}${partial}`);
      gone += 1;
    }
    return gone;
  }
}
