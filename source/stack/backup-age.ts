import { posix } from 'node:path';
import type { Host } from '../hosts/host.ts';
import { incompleteText } from './backup-coverage.ts';
import { manifestOf } from './backup-manifest.ts';
import { msOfStamp, stampOf } from './backup-model.ts';

/** Whoever waits for something asks every other second; backups do not come as fast. */
const keptMs = 10_000;

/** A year of backups is a few dozen, and all but the newest are read only where that one is incomplete. */
const manifestLimitBytes = 4 * 1024 * 1024;

/**
 * When each component was last backed up completely, for the list of components: epoch milliseconds by component id. The manifest of the newest backup is read once;
 * answers are kept for some seconds. Backups in a restic repository are not seen here: asking one takes seconds, and its password.
 */
export class BackupAges {
  readonly #host: Host;
  readonly #folder: string;
  readonly #now: () => number;
  /** By folder of a backup, which never changes once it has its name. */
  readonly #complete = new Map<string, boolean>();
  #answer: { atMs: number; ages: Promise<ReadonlyMap<string, number>> } | undefined;

  constructor(host: Host, folder: string, now: () => number = Date.now) {
    this.#host = host;
    this.#folder = folder;
    this.#now = now;
  }

  read(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
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

  async #read(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const newest = new Map<string, number>();
    for (const component of (await this.#host.files.list(this.#folder, signal)) ?? []) {
      if (!/^[a-z][a-z0-9-]*$/.test(component)) continue;
      const stamps = (await this.#host.files.list(posix.join(this.#folder, component), signal)) ?? [];
      const dated = stamps.flatMap((stamp) => msOfStamp(stamp) ?? []).sort((one, other) => other - one);
      for (const atMs of dated) {
        if (!(await this.#isComplete(posix.join(this.#folder, component, stampOf(new Date(atMs))), signal))) continue;
        newest.set(component, atMs);
        break;
      }
    }
    return newest;
  }

  async #isComplete(folder: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#complete.get(folder);
    if (known !== undefined) return known;
    const content = await this.#host.files.read(posix.join(folder, 'manifest.json'), { signal, limitBytes: manifestLimitBytes });
    const manifest = content && manifestOf(content, undefined);
    const complete = manifest !== undefined && incompleteText(manifest).length === 0;
    this.#complete.set(folder, complete);
    return complete;
  }
}
