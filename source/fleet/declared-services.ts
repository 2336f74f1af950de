import { expandHome } from '../config/paths.ts';
import { cleanLine } from '../text/clean.ts';
import type { DeclaredService } from './compose-services.ts';
import type { CatalogIndex, ContainerGroup } from './grouping.ts';
import { composeLabel } from './grouping.ts';
import type { PlaceWatch } from './place-watch.ts';

interface DeclaredFile {
  project: string;
  /** In our own stack folder: what it declares is wanted also when nothing of it is there. */
  ours: boolean;
  /** Modification time and size: what tells whether to read again. */
  stamp: string;
  services: readonly DeclaredService[];
}

export interface CompletedGroup {
  group: ContainerGroup;
  missing: readonly string[];
  project: ProjectState;
}

/** Whether a project has containers. `created`: it has, and none of them was ever started. */
type ProjectState = 'there' | 'created' | 'gone';

const readEveryMs = 30_000;
const soonMs = 300;
const fileLimitBytes = 1 << 20;

/**
 * Services that compose files declare and that have no container: `missing`. Read are the files that running projects name in their labels,
 * and our own stack folder. Files that cannot be read (a project made in another machine's folder) say nothing.
 */
export class DeclaredServices {
  readonly #watches: readonly PlaceWatch[];
  readonly #stackFolder: string;
  readonly #changed: () => void;
  readonly #closing = new AbortController();
  /** By place and path. */
  readonly #files = new Map<string, DeclaredFile>();
  /** Files that labels name, by place and project. */
  readonly #labelled = new Map<PlaceWatch, ReadonlyMap<string, string>>();
  /** Those of `#labelled` that were read, or could not be. */
  readonly #tried = new Set<string>();
  #reading: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isSoon = false;

  constructor(watches: readonly PlaceWatch[], stackFolder: string, changed: () => void) {
    this.#watches = watches;
    this.#stackFolder = stackFolder;
    this.#changed = changed;
    this.#readSoon();
  }

  /** The groups of one place with what is missing in them, and one more group for each project of which nothing is there. */
  complete(watch: PlaceWatch, groups: readonly ContainerGroup[], index: CatalogIndex): CompletedGroup[] {
    const completed: { group: ContainerGroup; missing: string[]; project: ProjectState }[] = groups.map((group) => ({
      group,
      missing: [],
      project: 'there',
    }));
    const labelled = labelledFiles(groups);
    this.#labelled.set(watch, labelled);
    if ([...labelled.values()].some((file) => !this.#tried.has(fileKey(watch, file)))) this.#readSoon();
    for (const [key, { project, ours, services }] of this.#files) {
      if (!key.startsWith(`${watch.name}\0`)) continue;
      const named = labelled.get(project);
      // A project that was taken down is gone; one that labels place elsewhere is not the one of our folder.
      if (named === undefined ? !ours : key !== fileKey(watch, named)) continue;
      const inProject = completed.filter(({ group }) => group.project === project);
      const present = new Set(inProject.flatMap(({ group }) => group.members.map((member) => member.service)));
      const containers = inProject.flatMap(({ group }) => group.members.map(({ container }) => container));
      const state: ProjectState =
        containers.length === 0 ? 'gone' : containers.every((container) => container.state === 'created') ? 'created' : 'there';
      for (const one of inProject) one.project = state;
      for (const service of services) {
        if (present.has(service.name) || service.profiles) continue;
        const owner =
          inProject.find(({ group }) => group.entry?.services.some((known) => known.name === service.name)) ??
          inProject.find(({ group }) =>
            group.members.some((member) => services.find((other) => other.name === member.service)?.dependsOn.includes(service.name)),
          );
        if (owner) owner.missing.push(service.name);
        else {
          // Several entries may have the same image: then the project's own name decides, as it does for containers.
          const mains = index.candidates(service.image).filter((candidate) => candidate.service.main);
          const match = mains.find(({ entry }) => entry.id === project) ?? mains[0];
          const group: ContainerGroup = { project, name: match?.entry.id ?? service.name, entry: match?.entry, members: [] };
          const added = { group, missing: [service.name], project: state };
          completed.push(added);
          inProject.push(added);
        }
      }
    }
    return completed;
  }

  /** A place that is followed no longer. */
  forget(watch: PlaceWatch): void {
    this.#labelled.delete(watch);
    for (const key of [...this.#files.keys()]) if (key.startsWith(`${watch.name}\0`)) this.#files.delete(key);
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  /** Not on the way to the first frame. */
  #readSoon(): void {
    if (this.#isSoon || this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#isSoon = true;
    this.#timer = setTimeout(() => void this.read(), soonMs);
  }

  /** Reads everything anew, and goes on doing so from time to time. Never rejects. */
  read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isSoon = false;
    // Not beside a reading that began before all projects were known.
    this.#reading = this.#reading.then(() => this.#readAll());
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    let changed = false;
    try {
      for (const watch of this.#watches) changed = (await this.#readStackFolder(watch)) || changed;
      for (const [watch, files] of this.#labelled) {
        for (const [project, file] of files) changed = (await this.#readFile(watch, project, file, false)) || changed;
      }
    } catch {
      // Closed, or the host is away: what was read before stands.
    }
    if (this.#closing.signal.aborted) return;
    if (changed) this.#changed();
    if (this.#isSoon) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.read(), readEveryMs);
  }

  async #readStackFolder(watch: PlaceWatch): Promise<boolean> {
    const { signal } = this.#closing;
    const { home } = await watch.host.facts(signal);
    const folder = expandHome(watch.stackFolder ?? this.#stackFolder, home);
    let changed = false;
    for (const id of (await watch.host.files.list(folder, signal).catch(() => undefined)) ?? []) {
      changed = (await this.#readFile(watch, cleanLine(id), `${folder}/${id}/compose.yaml`, true)) || changed;
    }
    return changed;
  }

  async #readFile(watch: PlaceWatch, project: string, file: string, ours: boolean): Promise<boolean> {
    const { signal } = this.#closing;
    const key = fileKey(watch, file);
    this.#tried.add(key);
    const known = this.#files.get(key);
    const facts = await watch.host.files.facts(file, signal).catch(() => undefined);
    if (facts?.kind !== 'file') return this.#files.delete(key);
    const stamp = `${facts.modifiedMs}:${facts.sizeBytes}`;
    if (known?.stamp === stamp && known.project === project) return false;
    const content = await watch.host.files.read(file, { signal, limitBytes: fileLimitBytes }).catch(() => undefined);
    if (!content) return false;
    const { declaredServices } = await import('./compose-services.ts');
    const services = declaredServices(new TextDecoder().decode(content));
    this.#files.set(key, { project, ours: ours || known?.ours === true, stamp, services });
    return true;
  }
}

function fileKey(watch: PlaceWatch, file: string): string {
  return `${watch.name}\0${file}`;
}

/** The compose file of each project, as far as its containers name one that can be read by itself. */
function labelledFiles(groups: readonly ContainerGroup[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const { project, members } of groups) {
    const container = members[0]?.container;
    const named = container && composeLabel(container, 'project.config_files');
    // Several files are merged by compose in ways that are not ours to repeat; podman-compose writes relative names.
    if (!container || !named || !project || named.includes(',')) continue;
    const folder = composeLabel(container, 'project.working_dir');
    const file = named.startsWith('/') ? named : folder?.startsWith('/') ? `${folder}/${named}` : undefined;
    if (file) files.set(project, file);
  }
  return files;
}
