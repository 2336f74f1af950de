import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host, PipedProgram } from '../hosts/host.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import { cleanLine } from '../text/clean.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import { type BackupFolder, lastLine, removeFolder } from './backup-files.ts';
import { FolderStore } from './backup-folder-store.ts';
import { type BackupFacts, type BackupManifest, type BackupTarget, msOfStamp, stampOf } from './backup-model.ts';
import { defaultRetention, keepOf, projectsOf, type RetentionPolicy } from './backup-retention.ts';
import { type ReadManifest, readManifest } from './backup-signature.ts';
import type { BackupStore, InterruptedBackup } from './backup-store.ts';

const lookLimitMs = 2 * 60_000;
/** The first backup of a large volume over a slow line. */
const writeLimitMs = 24 * 3_600_000;
const listLimitBytes = 16 * 1024 * 1024;

interface Snapshot {
  id: string;
  time: string;
  tags?: string[] | null;
}

/**
 * Backups as snapshots of a restic repository, one each: `restic restore` gets it back without us. A backup is put together in a folder first, because all of it
 * belongs into one snapshot: that much room is needed on the host for as long as it runs. Password and repository (which may hold one, too) go through the environment.
 */
export class ResticStore implements BackupStore {
  readonly kind = 'restic';
  /** restic packs, and finds again what has not changed: only in what is not packed already. */
  readonly packs = false;
  readonly keys: BackupKeys;
  readonly where: string;
  readonly to: string | undefined;
  readonly #host: Host;
  readonly #env: Readonly<Record<string, string>>;
  readonly #staging: FolderStore;

  constructor(host: Host, { repository, staging, password }: Extract<BackupTarget, { kind: 'restic' }>, keys: BackupKeys) {
    this.#host = host;
    this.keys = keys;
    // Credentials in an address are not for screens.
    this.where = `restic ${cleanLine(repository).replace(/\/\/[^/@]*@/, '//')}`;
    this.to = /\/\/[^/]*@/.test(repository) ? undefined : `restic:${repository}`;
    this.#env = {
      RESTIC_REPOSITORY: repository,
      ...('value' in password ? { RESTIC_PASSWORD: password.value } : { RESTIC_PASSWORD_FILE: password.file }),
      // Nobody sits there to be asked, or to look at a bar.
      RESTIC_PROGRESS_FPS: '0',
      // Days of a backup are those of UTC, as everywhere here.
      TZ: 'UTC',
    };
    this.#staging = new FolderStore(host, staging, keys);
  }

  async #look(args: readonly string[], signal: AbortSignal, limitMs = lookLimitMs): Promise<string> {
    const outcome = await this.#host.exec(['restic', ...args], { signal, limitMs, env: this.#env, limitBytes: listLimitBytes });
    if (outcome.exitCode === 0) return Buffer.from(outcome.stdout).toString('utf8');
    throw this.#fault(Buffer.from(outcome.stderr).toString('utf8'));
  }

  async #change(grant: Grant, args: readonly string[], cwd?: string): Promise<string> {
    const outcome = await this.#host.run(grant, ['restic', ...args], {
      signal: grant.signal,
      limitMs: writeLimitMs,
      env: this.#env,
      limitBytes: listLimitBytes,
      ...(cwd !== undefined && { cwd }),
    });
    if (outcome.exitCode === 0) return Buffer.from(outcome.stdout).toString('utf8');
    throw this.#fault(Buffer.from(outcome.stderr).toString('utf8'));
  }

  #fault(stderr: string): Fault {
    if (/wrong password|no key found/i.test(stderr)) {
      return new Fault({
        code: 'refused.restic',
        message: `${this.where} does not open with this password.`,
        remedy:
          'Name a file with the right one: --password-file FILE. One that is kept is forgotten with quarterdeck secrets remove backup RESTIC_PASSWORD, and asked for again.',
      });
    }
    if (/no space left|disk quota exceeded/i.test(stderr)) {
      return new Fault({
        code: 'failed.diskFull',
        message: `There is no room left in ${this.where}.`,
        remedy: 'Make room there. The earlier backups are untouched.',
      });
    }
    if (/already locked/i.test(stderr)) {
      return new Fault({
        code: 'refused.backupRuns',
        message: `${this.where} is locked by another restic.`,
        remedy: 'Wait until it is done. When none runs any more: restic unlock.',
      });
    }
    return new Fault({
      code: 'failed.restic',
      message: `restic says: ${lastLine(stderr) || 'nothing, and failed'}.`,
      remedy: `Try it by hand on ${this.#host.name}.`,
    });
  }

  /** False where there is no repository yet. */
  async #exists(signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#host.exec(['restic', '--no-lock', 'cat', 'config'], { signal, limitMs: lookLimitMs, env: this.#env });
    if (outcome.exitCode === 0) return true;
    const stderr = Buffer.from(outcome.stderr).toString('utf8');
    // 10 says so from restic 0.17 on; before there are only words.
    if (outcome.exitCode === 10 || /Is there a repository at the following location|repository does not exist/i.test(stderr)) return false;
    throw this.#fault(stderr);
  }

  async list(signal: AbortSignal, component?: string): Promise<readonly BackupFacts[]> {
    if (!(await this.#exists(signal))) return [];
    const text = await this.#look(['--no-lock', 'snapshots', '--json', '--tag', tagsOf(component)], signal);
    const snapshots = this.#snapshotsIn(text);
    const found: BackupFacts[] = [];
    for (const { id, time, tags } of snapshots) {
      const name = tags?.find((tag) => tag.startsWith(componentTag))?.slice(componentTag.length);
      const snapshotMs = Date.parse(time);
      if (name === undefined || Number.isNaN(snapshotMs)) continue;
      const { manifest, unauthenticated, own } = await this.#manifest(id, signal);
      const sizeBytes = manifest ? [...manifest.items, ...manifest.files].reduce((sum, file) => sum + file.sizeBytes, 0) : 0;
      const stamp = manifest?.stamp ?? stampOf(new Date(snapshotMs));
      // Not the snapshot's own time: an old backup that was added again is no newer.
      const atMs = msOfStamp(stamp) ?? snapshotMs;
      found.push({ component: name, stamp, atMs, sizeBytes, manifest, unauthenticated, own, where: id });
    }
    return found.sort((one, other) => other.atMs - one.atMs);
  }

  #snapshotsIn(text: string): Snapshot[] {
    try {
      const read = parseJson(text) as unknown;
      if (read === null) return [];
      if (Array.isArray(read)) return read.filter(isSnapshot);
    } catch {}
    throw new Fault({
      code: 'failed.restic',
      message: `restic on ${this.#host.name} did not print a list of snapshots.`,
      remedy: 'Check which program that is: command -v restic',
    });
  }

  async #manifest(id: string, signal: AbortSignal): Promise<ReadManifest> {
    const outcome = await this.#host.exec(['restic', '--no-lock', 'dump', id, '/manifest.json'], {
      signal,
      limitMs: lookLimitMs,
      env: this.#env,
    });
    return outcome.exitCode === 0 ? await readManifest(outcome.stdout, undefined, this.keys) : { manifest: undefined };
  }

  interrupted(signal: AbortSignal): Promise<readonly InterruptedBackup[]> {
    return this.#staging.interrupted(signal);
  }

  lock(grant: Grant): Promise<{ release(): Promise<void> }> {
    return this.#staging.lock(grant);
  }

  begin(grant: Grant, component: string, stamp: string): Promise<BackupFolder> {
    return this.#staging.begin(grant, component, stamp);
  }

  async complete(grant: Grant, { folder }: BackupFolder, manifest: BackupManifest): Promise<void> {
    if (!(await this.#exists(grant.signal))) await this.#change(grant, ['init']);
    const at = manifest.startedAt.slice(0, 19).replace('T', ' ');
    // In its own folder, so that the snapshot's top is the backup and not the way to it. Its time is the backup's.
    await this.#change(grant, ['backup', '--host', manifest.place, '--tag', tagsOf(manifest.component), '--time', at, '.'], folder);
    await removeFolder(grant, this.#host, folder);
  }

  discard(grant: Grant, folder: string): Promise<void> {
    return removeFolder(grant, this.#host, folder);
  }

  /** restic sums what it stores: a damaged file fails to be read. */
  async verify({ manifest }: BackupFacts): Promise<readonly string[]> {
    return manifest ? [] : ['manifest.json'];
  }

  async open(signal: AbortSignal, backup: BackupFacts, file: string): Promise<PipedProgram> {
    const program = await this.#host.stream(['restic', '--no-lock', 'dump', backup.where, `/${file}`], { signal, env: this.#env });
    program.stdin.end();
    return program;
  }

  async thin(
    grant: Grant,
    component: string,
    policy: RetentionPolicy = defaultRetention,
    also: ReadonlySet<string> = new Set(),
  ): Promise<number> {
    const backups = await this.list(grant.signal, component);
    const before = backups.length;
    if (backups.some(({ stamp }) => also.has(stamp)) || projectsOf(backups).size > 1) {
      // restic keeps by age or by tag, not by name or project: it is told what goes.
      const kept = keepOf(
        backups.map((backup) => ({ ...backup, good: true })),
        policy,
      );
      const stamps = new Set([...[...kept].map(({ stamp }) => stamp), ...also]);
      const gone = backups.filter(({ stamp }) => !stamps.has(stamp)).map(({ where }) => where);
      if (gone.length > 0) await this.#change(grant, ['forget', '--prune', ...gone]);
      return gone.length;
    }
    // All of a component are one group, wherever they were put together. restic itself never lets the last one go.
    await this.#change(grant, [
      'forget',
      ...['--tag', tagsOf(component), '--group-by', 'tags'],
      ...['--keep-daily', String(policy.daily), '--keep-weekly', String(policy.weekly), '--keep-monthly', String(policy.monthly)],
      '--prune',
    ]);
    return before - (await this.list(grant.signal, component)).length;
  }
}

function isSnapshot(read: unknown): read is Snapshot {
  const { id, time, tags = null } = objectOf(read) ?? {};
  const isTags = tags === null || (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string'));
  return typeof id === 'string' && typeof time === 'string' && isTags;
}

const componentTag = 'component=';
/** Joined by a comma restic wants both. */
const tagsOf = (component: string | undefined) => (component === undefined ? 'quarterdeck' : `quarterdeck,${componentTag}${component}`);
