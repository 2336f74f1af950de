import { posix } from 'node:path';
import type { Host } from '../hosts/host.ts';
import { incompleteText, notCoveredBy } from './backup-coverage.ts';
import { manifestOf } from './backup-manifest.ts';
import { type BackupChoices, type BackupManifest, type BackupPlan, msOfStamp, stampOf } from './backup-model.ts';
import { identityProblem } from './backup-verify.ts';
import { readJournalFile } from './journal-file.ts';

/** Whoever waits for something asks every other second; backups do not come as fast. */
const keptMs = 10_000;

/** A year of backups is a few dozen, and all but the newest are read only where that one is incomplete. */
const manifestLimitBytes = 4 * 1024 * 1024;

/** What a backup of a component would save now; undefined where that cannot be told. */
export type PlanNow = (component: string, choices: BackupChoices | undefined, signal: AbortSignal) => Promise<BackupPlan | undefined>;

/**
 * When each component was last backed up completely, for the list of components: epoch milliseconds by component id, undefined where each of its backups omits something
 * that is mounted now. The manifest of the newest backup is read once; answers are kept for some seconds. Backups in a restic repository are not seen here: asking one takes seconds, and its password.
 */
export class BackupAges {
  readonly #host: Host;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #planNow: PlanNow;
  /** By folder of a backup, which never changes once it has its name. */
  readonly #manifests = new Map<string, BackupManifest | undefined>();
  #answer: { atMs: number; ages: Promise<ReadonlyMap<string, number | undefined>> } | undefined;

  constructor(host: Host, folder: string, planNow: PlanNow = async () => undefined, now: () => number = Date.now) {
    this.#host = host;
    this.#planNow = planNow;
    this.#folder = folder;
    this.#now = now;
  }

  read(signal: AbortSignal): Promise<ReadonlyMap<string, number | undefined>> {
    const atMs = this.#now();
    if (!this.#answer || atMs - this.#answer.atMs > keptMs) {
      const ages = this.#read(signal).catch((thrown: unknown) => {
        this.#answer = undefined;
        throw thrown;
      });
      this.#answer = { atMs, ages };
    }
    return this.#answer.ages;
  }

  async #read(signal: AbortSignal): Promise<ReadonlyMap<string, number | undefined>> {
    const newest = new Map<string, number | undefined>();
    for (const component of (await this.#host.files.list(this.#folder, signal)) ?? []) {
      if (!/^[a-z][a-z0-9-]*$/.test(component)) continue;
      const stamps = (await this.#host.files.list(posix.join(this.#folder, component), signal)) ?? [];
      const planOf = this.#planOnce(component, signal);
      const dated = stamps.flatMap((stamp) => msOfStamp(stamp) ?? []).sort((one, other) => other - one);
      for (const atMs of dated) {
        newest.set(component, undefined);
        if (!(await this.#isComplete(component, stampOf(new Date(atMs)), planOf, signal))) continue;
        newest.set(component, atMs);
        break;
      }
    }
    return newest;
  }

  /** What would be saved now, asked once for all backups with the same choices. */
  #planOnce(component: string, signal: AbortSignal): (choices: BackupChoices | undefined) => Promise<BackupPlan | undefined> {
    const plans = new Map<string, Promise<BackupPlan | undefined>>();
    return (choices) => {
      const key = JSON.stringify(choices ?? {});
      const known = plans.get(key);
      if (known) return known;
      const plan = this.#planNow(component, choices, signal).catch(() => {
        signal.throwIfAborted();
        return undefined;
      });
      plans.set(key, plan);
      return plan;
    };
  }

  /** By the rule of `backup` and `backup verify`: nothing that is mounted now may be missing in it. */
  async #isComplete(
    component: string,
    stamp: string,
    planOf: (choices: BackupChoices | undefined) => Promise<BackupPlan | undefined>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const manifest = await this.#manifest(posix.join(this.#folder, component, stamp), signal);
    // Someone may have planted it, or copied an older one; those of another instance may be filed there by an earlier version.
    if (!manifest || identityProblem({ component, stamp, manifest }, this.#now()) !== undefined) return false;
    if (incompleteText(manifest).length > 0) return false;
    const now = await planOf(manifest.choices);
    return now === undefined || (now.project === manifest.project && notCoveredBy(manifest, now).length === 0);
  }

  async #manifest(folder: string, signal: AbortSignal): Promise<BackupManifest | undefined> {
    if (this.#manifests.has(folder)) return this.#manifests.get(folder);
    const content = await readJournalFile(this.#host, posix.join(folder, 'manifest.json'), { signal, limitBytes: manifestLimitBytes });
    const manifest = content ? manifestOf(content, undefined) : undefined;
    this.#manifests.set(folder, manifest);
    return manifest;
  }
}
