import { readOwnFile, writeOwnFile } from '../config/own-files.ts';

const kept = 500;

/**
 * When containers were stopped from here, also by another process of ours. Podman before 5 keeps no trace of who stopped a container, and no engine's
 * events reach back for ever (R5). Best effort: without the file a stop is told by what the engine knows.
 */
export class StopMemory {
  readonly #path: string | undefined;
  #stops = new Map<string, number>();
  #ready: Promise<void>;

  /** Without a path it lasts as long as the process. */
  constructor(path?: string) {
    this.#path = path;
    this.#ready = this.#read();
  }

  at(containerId: string): number | undefined {
    return this.#stops.get(containerId);
  }

  /** Resolves when what was written before is known. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** Notes the stop before it is made, as the container's end is seen before the engine says that it is done; takes it back when it fails. */
  async around<T>(containerId: string, stop: () => Promise<T>): Promise<T> {
    const before = this.#stops.get(containerId);
    await this.note(containerId, Date.now());
    try {
      return await stop();
    } catch (thrown) {
      await this.note(containerId, before ?? 0);
      throw thrown;
    }
  }

  async note(containerId: string, atMs: number): Promise<void> {
    this.#stops.set(containerId, atMs);
    if (this.#path === undefined) return;
    try {
      // Another console may have written meanwhile.
      await this.#read(containerId);
      const newest = [...this.#stops]
        .filter(([, at]) => at > 0)
        .sort(([, one], [, other]) => other - one)
        .slice(0, kept);
      await writeOwnFile(this.#path, `${JSON.stringify(Object.fromEntries(newest))}\n`);
    } catch {
      // It lasts as long as the process then.
    }
  }

  /** `except`: what was noted here is newer than what was written. */
  async #read(except?: string): Promise<void> {
    if (this.#path === undefined) return;
    try {
      const stored: unknown = JSON.parse((await readOwnFile(this.#path)) ?? '{}');
      for (const [id, atMs] of Object.entries(stored ?? {})) {
        if (id !== except && typeof atMs === 'number' && atMs > (this.#stops.get(id) ?? 0)) this.#stops.set(id, atMs);
      }
    } catch {
      // Damaged: the next stop writes it anew.
    }
  }
}
