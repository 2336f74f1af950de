import type { CatalogIndex, ContainerGroup } from './grouping.ts';
import { composeLabel } from './grouping.ts';
import type { PlaceWatch } from './place-watch.ts';

interface DeclaredFile {
  /** Modification time and size: what tells whether to read again. */
  stamp: string;
  services: readonly { name: string; image: string; profiles: boolean; dependsOn: readonly string[] }[];
}

export interface CompletedGroup {
  group: ContainerGroup;
  missing: readonly string[];
}

const readEveryMs = 30_000;
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
  /** By place and project. */
  readonly #projects = new Map<string, DeclaredFile>();
  readonly #wanted = new Map<string, { watch: PlaceWatch; file: string }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(watches: readonly PlaceWatch[], stackFolder: string, changed: () => void) {
    this.#watches = watches;
    this.#stackFolder = stackFolder;
    this.#changed = changed;
    // Not on the way to the first frame.
    this.#timer = setTimeout(() => void this.#read(), 300);
  }

  /** The groups of one place with what is missing in them, and one more group for each project of which nothing is there. */
  complete(watch: PlaceWatch, groups: readonly ContainerGroup[], index: CatalogIndex): CompletedGroup[] {
    const completed: { group: ContainerGroup; missing: string[] }[] = groups.map((group) => ({ group, missing: [] }));
    for (const { group } of completed) this.#want(watch, group);
    for (const [key, { services }] of this.#projects) {
      const project = key.slice(watch.name.length + 1);
      if (!key.startsWith(`${watch.name}\0`)) continue;
      const inProject = completed.filter(({ group }) => group.project === project);
      const present = new Set(inProject.flatMap(({ group }) => group.members.map((member) => member.service)));
      for (const service of services) {
        if (present.has(service.name) || service.profiles) continue;
        const owner =
          inProject.find(({ group }) => group.entry?.services.some((known) => known.name === service.name)) ??
          inProject.find(({ group }) => group.members.some((member) => services.find((other) => other.name === member.service)?.dependsOn.includes(service.name)));
        if (owner) owner.missing.push(service.name);
        else {
          const match = index.candidates(service.image).find((candidate) => candidate.service.main);
          const group: ContainerGroup = { project, name: match?.entry.id ?? service.name, entry: match?.entry, members: [] };
          const added = { group, missing: [service.name] };
          completed.push(added);
          inProject.push(added);
        }
      }
    }
    return completed;
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  #want(watch: PlaceWatch, group: ContainerGroup): void {
    const container = group.members[0]?.container;
    const files = container && composeLabel(container, 'project.config_files');
    if (!container || !files || !group.project) return;
    // Several files are merged by compose in ways that are not ours to repeat; podman-compose writes relative names.
    if (files.includes(',')) return;
    const folder = composeLabel(container, 'project.working_dir');
    const file = files.startsWith('/') ? files : folder?.startsWith('/') ? `${folder}/${files}` : undefined;
    if (file) this.#wanted.set(`${watch.name}\0${group.project}`, { watch, file });
  }

  async #read(): Promise<void> {
    let changed = false;
    try {
      for (const watch of this.#watches) changed = (await this.#readStackFolder(watch)) || changed;
      for (const [key, { watch, file }] of this.#wanted) changed = (await this.#readFile(key, watch, file)) || changed;
    } catch {
      // Closed, or the host is away: what was read before stands.
    }
    if (this.#closing.signal.aborted) return;
    if (changed) this.#changed();
    this.#timer = setTimeout(() => void this.#read(), readEveryMs);
  }

  async #readStackFolder(watch: PlaceWatch): Promise<boolean> {
    const { signal } = this.#closing;
    const { home } = await watch.host.facts(signal);
    const folder = this.#stackFolder.replace(/^~(?=\/|$)/, home);
    let changed = false;
    for (const id of (await watch.host.files.list(folder, signal).catch(() => undefined)) ?? []) {
      changed = (await this.#readFile(`${watch.name}\0${id}`, watch, `${folder}/${id}/compose.yaml`)) || changed;
    }
    return changed;
  }

  async #readFile(key: string, watch: PlaceWatch, file: string): Promise<boolean> {
    const { signal } = this.#closing;
    const facts = await watch.host.files.facts(file, signal).catch(() => undefined);
    if (facts?.kind !== 'file') return this.#projects.delete(key);
    const stamp = `${file}:${facts.modifiedMs}:${facts.sizeBytes}`;
    if (this.#projects.get(key)?.stamp === stamp) return false;
    const content = await watch.host.files.read(file, { signal, limitBytes: fileLimitBytes }).catch(() => undefined);
    if (!content) return false;
    this.#projects.set(key, { stamp, services: await declaredServices(new TextDecoder().decode(content)) });
    return true;
  }
}

/** The services of a compose file, as far as they can be read: this is somebody else's file, and no place to complain about it. */
export async function declaredServices(text: string): Promise<DeclaredFile['services']> {
  const { parse } = await import('yaml');
  let document: unknown;
  try {
    document = parse(text, { maxAliasCount: 100 });
  } catch {
    return [];
  }
  const services = asRecord(asRecord(document)?.services);
  return Object.entries(services ?? {}).map(([name, value]) => {
    const service = asRecord(value) ?? {};
    const depends = service.depends_on;
    return {
      name,
      image: typeof service.image === 'string' ? service.image : '',
      profiles: Array.isArray(service.profiles) && service.profiles.length > 0,
      dependsOn: Array.isArray(depends) ? depends.map(String) : Object.keys(asRecord(depends) ?? {}),
    };
  });
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}
