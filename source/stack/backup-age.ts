import { posix } from 'node:path';
import type { Host } from '../hosts/host.ts';
import { msOfStamp } from './backup-model.ts';

/** Whoever waits for something asks every other second; backups do not come as fast. */
const keptMs = 10_000;

/**
 * When each component was last backed up, for the list of components: epoch milliseconds by component id. Names of folders alone, no file is read; answers are kept
 * for some seconds. Backups in a restic repository are not seen here: asking one takes seconds, and its password.
 */
export class BackupAges {
  readonly #host: Host;
  readonly #folder: string;
  readonly #now: () => number;
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
      const last = Math.max(...stamps.map((stamp) => msOfStamp(stamp) ?? 0));
      if (last > 0) newest.set(component, last);
    }
    return newest;
  }
}
