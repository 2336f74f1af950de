import { expandHome } from '../config/paths.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import type { BackupView } from './model.ts';
import type { PlaceWatch } from './place-watch.ts';

/** What is known of a component that was deployed from here, beyond its containers. */
export interface Deployed {
  /** First-run duties that were confirmed by hand: id to time. */
  duties: Readonly<Record<string, string>>;
  /** Name of its site at the reverse proxy; empty for none. */
  site: string;
  /** Of the record's file: tells whether to read again. */
  stamp: string;
}

/** When each component of a place was last backed up completely, epoch milliseconds by component id: undefined where all of its backups omit data. `pretended` where all data are made up. */
export type BackupAgesSeen = ReadonlyMap<string, number | undefined> | 'pretended';
/** Undefined where that cannot be told. */
export type ReadBackupAges = (watch: PlaceWatch, signal: AbortSignal) => Promise<BackupAgesSeen | undefined>;

/** What a container was stopped for by a flow that starts it again itself, as its journal on the host says. */
export interface HaltedFor {
  /** `backup`, `route`. */
  flow: string;
  by: string;
}

const readEveryMs = 30_000;
const firstReadMs = 300;
const recordLimitBytes = 1 << 20;

/**
 * Which components were deployed from here, and what is written down of them: confirmed duties in the stack's folder, and the age of their backups. Asked rarely: the
 * names in a folder and the times of a few files, and a file itself only when it has changed.
 */
export class DeployedComponents {
  readonly #watches: readonly PlaceWatch[];
  readonly #stackFolder: string;
  readonly #changed: () => void;
  readonly #readAges: ReadBackupAges | undefined;
  readonly #closing = new AbortController();
  #records = new Map<PlaceWatch, ReadonlyMap<string, Deployed>>();
  #halted = new Map<PlaceWatch, ReadonlyMap<string, HaltedFor>>();
  readonly #ages = new Map<PlaceWatch, BackupAgesSeen>();
  #reading: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(watches: readonly PlaceWatch[], stackFolder: string, changed: () => void, readAges?: ReadBackupAges) {
    this.#watches = watches;
    this.#stackFolder = stackFolder;
    this.#changed = changed;
    this.#readAges = readAges;
    // Not on the way to the first frame.
    this.#timer = setTimeout(() => void this.read(), firstReadMs);
  }

  get(watch: PlaceWatch, id: string): Deployed | undefined {
    return this.#records.get(watch)?.get(id);
  }

  /** What the container of this id was stopped for by a flow; undefined for all others. */
  haltedFor(watch: PlaceWatch, containerId: string): HaltedFor | undefined {
    return this.#halted.get(watch)?.get(containerId);
  }

  /** Undefined where nobody can tell; without a time where there is no backup. */
  backup(watch: PlaceWatch, id: string): BackupView | undefined {
    const ages = this.#ages.get(watch);
    return ages === 'pretended'
      ? { atMs: undefined, pretended: true }
      : ages && { atMs: ages.get(id), ...(ages.has(id) && ages.get(id) === undefined && { incomplete: true }) };
  }

  /** Looks anew, and goes on doing so from time to time. Who asks while it is looking is answered by another look. Never rejects. */
  read(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#reading) {
      this.#again = true;
      return this.#reading;
    }
    this.#reading = this.#readAll().finally(() => {
      this.#reading = undefined;
      if (!this.#closing.signal.aborted) this.#timer = setTimeout(() => void this.read(), readEveryMs);
    });
    return this.#reading;
  }

  /** A place that is followed no longer. */
  forget(watch: PlaceWatch): void {
    this.#records.delete(watch);
    this.#halted.delete(watch);
    this.#ages.delete(watch);
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  async #readAll(): Promise<void> {
    do {
      this.#again = false;
      let changed = false;
      for (const watch of this.#watches) {
        // What cannot be read now stands as it was read before.
        changed = (await this.#readRecords(watch).catch(() => false)) || changed;
        changed = (await this.#readHalted(watch).catch(() => false)) || changed;
        changed = (await this.#readBackups(watch).catch(() => false)) || changed;
      }
      if (changed && !this.#closing.signal.aborted) this.#changed();
    } while (this.#again && !this.#closing.signal.aborted);
  }

  async #readRecords(watch: PlaceWatch): Promise<boolean> {
    const { signal } = this.#closing;
    const { files } = watch.host;
    const { home } = await watch.host.facts(signal);
    const folder = `${expandHome(watch.stackFolder ?? this.#stackFolder, home)}/.quarterdeck/components`;
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

  async #readHalted(watch: PlaceWatch): Promise<boolean> {
    const { signal } = this.#closing;
    const { files } = watch.host;
    const { home } = await watch.host.facts(signal);
    const own = `${expandHome(watch.stackFolder ?? this.#stackFolder, home)}/.quarterdeck`;
    const halted = ((await files.list(`${own}/halted`, signal)) ?? []).map((name) => `${own}/halted/${name}`);
    const restores = ((await files.list(`${own}/restores`, signal)) ?? []).map((run) => `${own}/restores/${run}/restore.json`);
    const now = new Map<string, HaltedFor>();
    for (const path of [...halted, ...restores]) {
      // A named pipe in the place of one must not hide the others.
      if ((await files.facts(path, signal))?.kind !== 'file') continue;
      const bytes = await files.read(path, { signal, limitBytes: recordLimitBytes });
      for (const [id, halted] of haltedIn(bytes ? new TextDecoder().decode(bytes) : '')) now.set(id, halted);
    }
    const before = this.#halted.get(watch);
    this.#halted.set(watch, now);
    return [...now.keys()].join() !== [...(before?.keys() ?? [])].join();
  }

  async #readBackups(watch: PlaceWatch): Promise<boolean> {
    // Asked only where something was deployed from here.
    if (!this.#readAges || !this.#records.get(watch)?.size) return false;
    const ages = await this.#readAges(watch, this.#closing.signal);
    const before = this.#ages.get(watch);
    if (ages === before || (ages && before && sameAges(ages, before))) return false;
    if (ages) this.#ages.set(watch, ages);
    else this.#ages.delete(watch);
    return true;
  }
}

function sameAges(one: BackupAgesSeen, other: BackupAgesSeen): boolean {
  if (one === 'pretended' || other === 'pretended') return one === other;
  return one.size === other.size && [...one].every(([id, atMs]) => other.has(id) && other.get(id) === atMs);
}

/** A record that is damaged is a matter of whoever changes the component: here it only confirms nothing. */
function recordIn(text: string): Pick<Deployed, 'duties' | 'site'> {
  try {
    const { duties, site } = parseJson(text) as { duties?: unknown; site?: unknown };
    const confirmed = Object.entries(duties === null || typeof duties !== 'object' ? {} : duties);
    return {
      duties: Object.fromEntries(confirmed.filter((entry): entry is [string, string] => typeof entry[1] === 'string')),
      site: typeof site === 'string' ? site : '',
    };
  } catch {
    return { duties: {}, site: '' };
  }
}

function haltedIn(text: string): [string, HaltedFor][] {
  try {
    const read = parseJson(text) as Record<'flow' | 'by' | 'containers' | 'halted', unknown>;
    // A restore keeps what it stopped in a journal of its own.
    const { flow = 'restore', by, containers = read.halted } = read;
    if (typeof flow !== 'string' || typeof by !== 'string' || !Array.isArray(containers)) return [];
    const ids = containers.flatMap((one: { id?: unknown } | null) => (typeof one?.id === 'string' ? [one.id] : []));
    return ids.map((id) => [id, { flow: cleanLine(flow), by: cleanLine(by) }]);
  } catch {
    return [];
  }
}
