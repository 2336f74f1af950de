import { posix } from 'node:path';
import type { Host } from '../../hosts/host.ts';
import { readJournalFile } from '../apply/journal-file.ts';
import { incompleteText, notCoveredBy } from './coverage.ts';
import { type BackupManifest, manifestOf } from './manifest.ts';
import { type BackupChoices, type BackupPlan, msOfStamp, stampOf } from './model.ts';
import { identityProblem } from './verify.ts';

/** Cache time of answers: a watched status is read every other second, but new backups are less frequent. */
const keptMs = 10_000;

/** A year of backups is a few dozen, and older ones are read only if the newest is incomplete. */
const manifestLimitBytes = 4 * 1024 * 1024;

/** What a backup of a component would save now; undefined if that cannot be determined. */
type PlanNow = (component: string, choices: BackupChoices | undefined, signal: AbortSignal) => Promise<BackupPlan | undefined>;

/**
 * The time of each component's last complete backup, by id; undefined if each of its backups omits a current mount. Backups in a restic
 * repository are not included: a query takes seconds, and requires its password.
 */
export class BackupAges {
  /** Manifests by folder of a backup, which never changes once it has its name. */
  readonly #manifests = new Map<string, BackupManifest | undefined>();
  #answer: { atMs: number; ages: Promise<ReadonlyMap<string, number | undefined>> } | undefined;

  constructor(
    private readonly host: Host,
    private readonly folder: string,
    private readonly planNow: PlanNow = async () => undefined,
  ) {}

  read(signal: AbortSignal): Promise<ReadonlyMap<string, number | undefined>> {
    const atMs = Date.now();
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
    for (const component of (await this.host.files.list(this.folder, signal)) ?? []) {
      if (!/^[a-z][a-z0-9-]*$/.test(component)) continue;
      const stamps = (await this.host.files.list(posix.join(this.folder, component), signal)) ?? [];
      const plans = new Map<string, Promise<BackupPlan | undefined>>();
      for (const atMs of stamps.flatMap((stamp) => msOfStamp(stamp) ?? []).sort((one, other) => other - one)) {
        const isComplete = await this.#isComplete(component, stampOf(new Date(atMs)), plans, signal);
        newest.set(component, isComplete ? atMs : undefined);
        if (isComplete) break;
      }
    }
    return newest;
  }

  /** By the rule of `backup` and `backup verify`: it must not lack any current mount. `plans` has the current plans, by choices. */
  async #isComplete(component: string, stamp: string, plans: Map<string, Promise<BackupPlan | undefined>>, signal: AbortSignal) {
    const manifest = await this.#manifest(posix.join(this.folder, component, stamp), signal);
    // The backup may be planted, or a copy of an older one; an earlier version may have filed those of another instance there.
    if (!manifest || identityProblem({ component, stamp, manifest }, Date.now()) !== undefined) return false;
    if (incompleteText(manifest).length > 0) return false;
    const key = JSON.stringify(manifest.choices ?? {});
    const planning =
      plans.get(key) ??
      this.planNow(component, manifest.choices, signal).catch(() => {
        signal.throwIfAborted();
        return undefined;
      });
    plans.set(key, planning);
    const now = await planning;
    return now === undefined || (now.project === manifest.project && notCoveredBy(manifest, now).length === 0);
  }

  async #manifest(folder: string, signal: AbortSignal): Promise<BackupManifest | undefined> {
    if (this.#manifests.has(folder)) return this.#manifests.get(folder);
    const content = await readJournalFile(this.host, posix.join(folder, 'manifest.json'), { signal, limitBytes: manifestLimitBytes });
    const manifest = content && manifestOf(content, undefined);
    this.#manifests.set(folder, manifest);
    return manifest;
  }
}
