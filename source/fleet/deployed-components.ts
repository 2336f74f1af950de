import { cleanLine } from '../text/clean.ts';
import { mapOf, objectsOf, parsedJson } from '../text/json-value.ts';
import { type EngineWatch, stackFolderOf } from './engine-watch.ts';
import type { BackupView } from './model.ts';
import { RepeatedRead } from './repeated-read.ts';

export interface Deployed {
  setupTasks: Readonly<Record<string, string>>;
  /** Name of its site at the reverse proxy; empty for none. */
  site: string;
  /** Inode, modification time and size of the record's file: show whether it must be read again. */
  stamp: string;
}

/**
 * Epoch milliseconds of the last complete backup by component; undefined if all of them omit data. `pretended`: all data is simulated.
 * `no-destination`: the settings have none for the host, and other backups are unknown.
 */
export type BackupAgesSeen = ReadonlyMap<string, number | undefined> | 'pretended' | 'no-destination';
export type ReadBackupAges = (watch: EngineWatch, signal: AbortSignal) => Promise<BackupAgesSeen | undefined>;

export interface HaltedFor {
  flow: string;
  by: string;
}

const recordLimitBytes = 1 << 20;

/** Refreshed rarely: it lists a folder, reads the times of a few files, and reads a file only when it has changed. */
export class DeployedComponents extends RepeatedRead<EngineWatch> {
  #records = new Map<EngineWatch, ReadonlyMap<string, Deployed>>();
  #halted = new Map<EngineWatch, ReadonlyMap<string, HaltedFor>>();
  readonly #ages = new Map<EngineWatch, BackupAgesSeen>();

  constructor(
    private readonly watches: readonly EngineWatch[],
    private readonly stackFolder: string,
    changed: (watch: EngineWatch) => void,
    private readonly readAges?: ReadBackupAges,
  ) {
    super(changed);
  }

  get(watch: EngineWatch, id: string): Deployed | undefined {
    return this.#records.get(watch)?.get(id);
  }

  haltedFor(watch: EngineWatch, containerId: string): HaltedFor | undefined {
    return this.#halted.get(watch)?.get(containerId);
  }

  /** Undefined if unknown; without a time if there is no backup. */
  backup(watch: EngineWatch, id: string): BackupView | undefined {
    const ages = this.#ages.get(watch);
    if (ages === 'pretended') return { atMs: undefined, pretended: true };
    if (ages === 'no-destination') return { atMs: undefined, noDestination: true };
    return ages && { atMs: ages.get(id), ...(ages.has(id) && ages.get(id) === undefined && { incomplete: true }) };
  }

  forget(watch: EngineWatch): void {
    this.#records.delete(watch);
    this.#halted.delete(watch);
    this.#ages.delete(watch);
  }

  protected async readAll(): Promise<void> {
    for (const watch of this.watches) {
      // If a file cannot be read now, the previous value is kept.
      const records = await this.#readRecords(watch).catch(() => false);
      const halted = await this.#readHalted(watch).catch(() => false);
      const backups = await this.#readBackups(watch).catch(() => false);
      if (records || halted || backups) this.changed(watch);
    }
  }

  async #readRecords(watch: EngineWatch): Promise<boolean> {
    const { signal } = this.closing;
    const { files } = watch.host;
    const folder = `${await stackFolderOf(watch, this.stackFolder, signal)}/.quarterdeck/components`;
    const before = this.#records.get(watch);
    const now = new Map<string, Deployed>();
    for (const name of (await files.list(folder, signal)) ?? []) {
      if (!name.endsWith('.json')) continue;
      const id = name.slice(0, -'.json'.length);
      const facts = await files.facts(`${folder}/${name}`, signal);
      if (facts?.kind !== 'file') continue;
      const stamp = `${facts.inode}:${facts.modifiedMs}:${facts.sizeBytes}`;
      const known = before?.get(id);
      if (known?.stamp === stamp) {
        now.set(id, known);
        continue;
      }
      const bytes = await files.read(`${folder}/${name}`, { signal, limitBytes: recordLimitBytes });
      if (bytes) now.set(id, { stamp, ...recordIn(new TextDecoder().decode(bytes)) });
    }
    this.#records.set(watch, now);
    return now.size !== (before?.size ?? 0) || [...now].some(([id, deployed]) => before?.get(id) !== deployed);
  }

  async #readHalted(watch: EngineWatch): Promise<boolean> {
    const { signal } = this.closing;
    const { files } = watch.host;
    const own = `${await stackFolderOf(watch, this.stackFolder, signal)}/.quarterdeck`;
    const halted = ((await files.list(`${own}/halted`, signal)) ?? []).map((name) => `${own}/halted/${name}`);
    const restores = ((await files.list(`${own}/restores`, signal)) ?? []).map((run) => `${own}/restores/${run}/restore.json`);
    const now = new Map<string, HaltedFor>();
    for (const path of [...halted, ...restores]) {
      // A named pipe in place of a record must not hide the other records.
      if ((await files.facts(path, signal))?.kind !== 'file') continue;
      const bytes = await files.read(path, { signal, limitBytes: recordLimitBytes });
      for (const [id, halted] of haltedIn(bytes ? new TextDecoder().decode(bytes) : '')) now.set(id, halted);
    }
    const before = this.#halted.get(watch);
    this.#halted.set(watch, now);
    return [...now.keys()].join() !== [...(before?.keys() ?? [])].join();
  }

  async #readBackups(watch: EngineWatch): Promise<boolean> {
    // Read only if Quarterdeck deployed something there.
    if (!this.readAges || !this.#records.get(watch)?.size) return false;
    const ages = await this.readAges(watch, this.closing.signal);
    const before = this.#ages.get(watch);
    if (ages === before || (ages && before && sameAges(ages, before))) return false;
    if (ages) this.#ages.set(watch, ages);
    else this.#ages.delete(watch);
    return true;
  }
}

function sameAges(one: BackupAgesSeen, other: BackupAgesSeen): boolean {
  if (typeof one === 'string' || typeof other === 'string') return one === other;
  return one.size === other.size && [...one].every(([id, atMs]) => other.has(id) && other.get(id) === atMs);
}

/** A damaged record is reported when the component is changed: here it only confirms no tasks. */
function recordIn(text: string): Pick<Deployed, 'setupTasks' | 'site'> {
  const { setupTasks, site } = mapOf(parsedJson(text));
  const confirmed = Object.entries(mapOf(setupTasks)).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { setupTasks: Object.fromEntries(confirmed), site: typeof site === 'string' ? site : '' };
}

function haltedIn(text: string): [string, HaltedFor][] {
  const read = mapOf(parsedJson(text));
  // A restore records the containers that it stopped in its own journal.
  const { flow = 'restore', by, containers = read['halted'] } = read;
  if (typeof flow !== 'string' || typeof by !== 'string') return [];
  const ids = objectsOf(containers).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  return ids.map((id) => [id, { flow: cleanLine(flow), by: cleanLine(by) }]);
}
