import { z } from 'zod';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { ExecOutcome, Host, PipedProgram } from '../../hosts/host.ts';
import type { BackupKeys } from '../../secrets/backup-keys.ts';
import { cleanLine } from '../../text/clean.ts';
import { parsedJson } from '../../text/json-value.ts';
import { type BackupFolder, lastLine, removeFolder } from './files.ts';
import { FolderStore } from './folder-store.ts';
import { type BackupManifest, readManifest, sizeOf } from './manifest.ts';
import { type BackupFacts, type BackupTarget, msOfStamp, type ReadManifest, stampOf } from './model.ts';
import { keepOf, type RetentionPolicy } from './retention.ts';
import type { BackupStore } from './store.ts';

const queryLimitMs = 2 * 60_000;
/** Limit for the first backup of a large volume over a slow connection. */
const writeLimitMs = 24 * 3_600_000;
const listLimitBytes = 16 * 1024 * 1024;

const snapshot = z.object({ id: z.string(), time: z.string(), tags: z.array(z.string()).nullish() });

/**
 * Backups as snapshots of a restic repository, one each: `restic restore` can read them without Quarterdeck. A backup is first prepared in
 * a folder, because all of it must be in one snapshot: it needs that much space on the host meanwhile. Password and repository (whose
 * address may contain one, too) are passed in the environment.
 */
export class ResticStore implements BackupStore {
  /** restic compresses, and deduplicates unchanged data: only in data that are not compressed already. */
  readonly packs = false;
  readonly where: string;
  readonly to: string | undefined;
  readonly #env: Readonly<Record<string, string>>;
  readonly interrupted: BackupStore['interrupted'];
  readonly lock: BackupStore['lock'];
  readonly begin: BackupStore['begin'];

  constructor(
    private readonly host: Host,
    { repository, staging, password }: Extract<BackupTarget, { kind: 'restic' }>,
    readonly keys: BackupKeys,
  ) {
    // Credentials in an address must not be shown on screens.
    this.where = `restic ${cleanLine(repository).replace(/\/\/[^/@]*@/, '//')}`;
    this.to = /\/\/[^/]*@/.test(repository) ? undefined : `restic:${repository}`;
    this.#env = {
      RESTIC_REPOSITORY: repository,
      ...('value' in password ? { RESTIC_PASSWORD: password.value } : { RESTIC_PASSWORD_FILE: password.file }),
      // Runs unattended: no prompts and no progress bar.
      RESTIC_PROGRESS_FPS: '0',
      // The dates of backups are in UTC, as everywhere in this program.
      TZ: 'UTC',
    };
    const prepared = new FolderStore(host, staging, keys);
    this.interrupted = (signal) => prepared.interrupted(signal);
    this.lock = (grant) => prepared.lock(grant);
    this.begin = (grant, component, stamp) => prepared.begin(grant, component, stamp);
  }

  #query(args: readonly string[], signal: AbortSignal): Promise<ExecOutcome> {
    const options = { signal, limitMs: queryLimitMs, env: this.#env, limitBytes: listLimitBytes };
    return this.host.exec(['restic', '--no-lock', ...args], options);
  }

  async #change(grant: Grant, args: readonly string[], cwd?: string): Promise<void> {
    const options = { signal: grant.signal, limitMs: writeLimitMs, env: this.#env, limitBytes: listLimitBytes, cwd };
    const { exitCode, stderr } = await this.host.run(grant, ['restic', ...args], options);
    if (exitCode !== 0) throw this.#fault(Buffer.from(stderr).toString('utf8'));
  }

  #fault(stderr: string): Fault {
    if (/wrong password|no key found/i.test(stderr)) {
      const remedy =
        'Pass a file with the correct password: --password-file FILE. To be prompted again, remove the stored password: quarterdeck secrets remove backup RESTIC_PASSWORD';
      return new Fault('refused.restic', `${this.where} cannot be opened with this password.`, remedy);
    }
    if (/no space left|disk quota exceeded/i.test(stderr)) {
      const message = `No space left in ${this.where}.`;
      return new Fault('failed.diskFull', message, 'Free disk space there, then try again. Earlier backups are not affected.');
    }
    if (/already locked/i.test(stderr)) {
      const remedy = 'Wait until the other process has finished. If no other restic process is running, run: restic -r REPOSITORY unlock';
      return new Fault('refused.backupRuns', `${this.where} is locked by another restic process.`, remedy);
    }
    const message = `restic failed${lastLine(stderr).replace(/^(?=.)/, ': ') || ' without an error message'}.`;
    return new Fault('failed.restic', message, `For details, run restic manually on ${this.host.name}.`);
  }

  async #exists(signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#query(['cat', 'config'], signal);
    if (outcome.exitCode === 0) return true;
    const stderr = Buffer.from(outcome.stderr).toString('utf8');
    // Exit code 10 means that since restic 0.17; older versions only print a message.
    if (outcome.exitCode === 10 || /Is there a repository at the following location|repository does not exist/i.test(stderr)) return false;
    throw this.#fault(stderr);
  }

  async list(signal: AbortSignal, component?: string): Promise<readonly BackupFacts[]> {
    if (!(await this.#exists(signal))) return [];
    const { exitCode, stdout, stderr } = await this.#query(['snapshots', '--json', '--tag', tagsOf(component)], signal);
    if (exitCode !== 0) throw this.#fault(Buffer.from(stderr).toString('utf8'));
    const found: BackupFacts[] = [];
    for (const { id, time, tags } of this.#snapshotsIn(Buffer.from(stdout).toString('utf8'))) {
      const name = tags?.find((tag) => tag.startsWith(componentTag))?.slice(componentTag.length);
      const snapshotMs = Date.parse(time);
      if (name === undefined || Number.isNaN(snapshotMs)) continue;
      const read = await this.#manifest(id, signal);
      const stamp = read.manifest?.stamp ?? stampOf(new Date(snapshotMs));
      // Not the snapshot's own time: an old backup that was added again is not newer.
      const atMs = msOfStamp(stamp) ?? snapshotMs;
      found.push({ component: name, stamp, atMs, sizeBytes: sizeOf(read.manifest), where: id, ...read });
    }
    return found.sort((one, other) => other.atMs - one.atMs);
  }

  #snapshotsIn(text: string): z.infer<typeof snapshot>[] {
    const read = parsedJson(text);
    if (read === null) return [];
    if (Array.isArray(read)) return read.flatMap((one) => snapshot.safeParse(one).data ?? []);
    const message = `restic on ${this.host.name} did not print a list of snapshots.`;
    throw new Fault('failed.restic', message, 'Check which restic is installed: command -v restic');
  }

  async #manifest(id: string, signal: AbortSignal): Promise<ReadManifest> {
    const outcome = await this.#query(['dump', id, '/manifest.json'], signal);
    return outcome.exitCode === 0 ? await readManifest(outcome.stdout, undefined, this.keys) : { manifest: undefined };
  }

  async complete(grant: Grant, { folder }: BackupFolder, manifest: BackupManifest): Promise<void> {
    if (!(await this.#exists(grant.signal))) await this.#change(grant, ['init']);
    const at = manifest.startedAt.slice(0, 19).replace('T', ' ');
    // Runs in the backup's folder, so that the backup is at the top of the snapshot, without its path. The snapshot has the backup's time.
    await this.#change(grant, ['backup', '--host', manifest.engineName, '--tag', tagsOf(manifest.component), '--time', at, '.'], folder);
    await removeFolder(grant, this.host, folder);
  }

  /** restic checks its own checksums: a damaged file cannot be read. */
  async verify({ manifest }: BackupFacts): Promise<readonly string[]> {
    return manifest ? [] : ['manifest.json'];
  }

  async open(signal: AbortSignal, backup: BackupFacts, file: string): Promise<PipedProgram> {
    const program = await this.host.stream(['restic', '--no-lock', 'dump', backup.where, `/${file}`], { signal, env: this.#env });
    program.stdin.end();
    return program;
  }

  /** restic selects by age or by tag, not by name or project: the snapshots to remove are passed by id. */
  async thin(grant: Grant, component: string, policy: RetentionPolicy, also: ReadonlySet<string> = new Set()): Promise<number> {
    const backups = (await this.list(grant.signal, component)).map((backup) => ({ ...backup, good: true }));
    const kept = keepOf(backups, policy);
    const gone = backups.filter((backup) => !kept.has(backup) && !also.has(backup.stamp)).map(({ where }) => where);
    if (gone.length > 0) await this.#change(grant, ['forget', '--prune', ...gone]);
    return gone.length;
  }
}

const componentTag = 'component=';
/** Tags joined by a comma must all match. */
const tagsOf = (component: string | undefined) => (component === undefined ? 'quarterdeck' : `quarterdeck,${componentTag}${component}`);
