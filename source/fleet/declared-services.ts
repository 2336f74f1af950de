import { cleanLine } from '../text/clean.ts';
import type { DeclaredService } from './compose-services.ts';
import { type EngineWatch, stackFolderOf } from './engine-watch.ts';
import { type CatalogIndex, type ContainerGroup, composeLabel } from './grouping.ts';
import { RepeatedRead } from './repeated-read.ts';

interface DeclaredFile {
  project: string;
  /** True in our own stack folder: its services are expected even if none of them exists. */
  ours: boolean;
  /** Modification time and size: show whether the file must be read again. */
  stamp: string;
  services: readonly DeclaredService[];
}

export interface CompletedGroup {
  group: ContainerGroup;
  missing: string[];
  /** Its project has containers, and none of them was ever started. */
  isPartlyCreated: boolean;
}

const fileLimitBytes = 1 << 20;

/** Reads the files that labels of running projects name, and our own stack folder. Files that cannot be read are ignored. */
export class DeclaredServices extends RepeatedRead<EngineWatch> {
  readonly #files = new Map<string, DeclaredFile>();
  readonly #labelled = new Map<EngineWatch, ReadonlyMap<string, string>>();
  readonly #tried = new Set<string>();

  constructor(
    private readonly watches: readonly EngineWatch[],
    private readonly stackFolder: string,
    changed: (watch: EngineWatch) => void,
  ) {
    super(changed);
  }

  /** Returns the groups of one engine with their missing services, plus one group for each project without any containers. */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: projects, files and services are nested, and share one list
  complete(watch: EngineWatch, groups: readonly ContainerGroup[], index: CatalogIndex): CompletedGroup[] {
    const completed = groups.map((group): CompletedGroup => ({ group, missing: [], isPartlyCreated: false }));
    const labelled = labelledFiles(groups);
    this.#labelled.set(watch, labelled);
    if ([...labelled.values()].some((file) => !this.#tried.has(fileKey(watch, file)))) this.readSoon();
    for (const [key, { project, ours, services }] of this.#files) {
      if (!key.startsWith(`${watch.name}\0`)) continue;
      const named = labelled.get(project);
      // A project that was taken down is removed; one whose labels name another path is not the project of our folder.
      if (named === undefined ? !ours : key !== fileKey(watch, named)) continue;
      const inProject = completed.filter(({ group }) => group.project === project);
      const present = new Set(inProject.flatMap(({ group }) => group.members.map((member) => member.service)));
      const containers = inProject.flatMap(({ group }) => group.members.map(({ container }) => container));
      const isPartlyCreated = containers.length > 0 && containers.every((container) => container.state === 'created');
      for (const other of inProject) other.isPartlyCreated = isPartlyCreated;
      for (const service of services) {
        if (present.has(service.name) || service.profiles) continue;
        const owner =
          inProject.find(({ group }) => group.entry?.services.some((known) => known.name === service.name)) ??
          inProject.find(({ group }) =>
            group.members.some((member) => services.find((other) => other.name === member.service)?.dependsOn.includes(service.name)),
          );
        if (owner) owner.missing.push(service.name);
        else {
          // Several entries may use the same image: then the project's own name decides, as it does for containers.
          const mains = index.candidates(service.image).filter((candidate) => candidate.service.main);
          const match = mains.find(({ entry }) => entry.id === project) ?? mains[0];
          const group: ContainerGroup = { project, name: match?.entry.id ?? service.name, entry: match?.entry, members: [] };
          const added: CompletedGroup = { group, missing: [service.name], isPartlyCreated };
          completed.push(added);
          inProject.push(added);
        }
      }
    }
    return completed;
  }

  forget(watch: EngineWatch): void {
    this.#labelled.delete(watch);
    for (const key of [...this.#files.keys()]) if (key.startsWith(`${watch.name}\0`)) this.#files.delete(key);
  }

  protected async readAll(): Promise<void> {
    for (const watch of this.watches) {
      let isNew = false;
      try {
        isNew = await this.#readStackFolder(watch);
        for (const [project, file] of this.#labelled.get(watch) ?? []) isNew = (await this.#readFile(watch, project, file, false)) || isNew;
      } catch {
        // Closed, or the host is unreachable: keep the previous result.
      }
      if (isNew) this.changed(watch);
    }
  }

  async #readStackFolder(watch: EngineWatch): Promise<boolean> {
    const { signal } = this.closing;
    const folder = await stackFolderOf(watch, this.stackFolder, signal);
    let changed = false;
    for (const id of (await watch.host.files.list(folder, signal).catch(() => undefined)) ?? []) {
      changed = (await this.#readFile(watch, cleanLine(id), `${folder}/${id}/compose.yaml`, true)) || changed;
    }
    return changed;
  }

  async #readFile(watch: EngineWatch, project: string, file: string, ours: boolean): Promise<boolean> {
    const { signal } = this.closing;
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

const fileKey = (watch: EngineWatch, file: string): string => `${watch.name}\0${file}`;

function labelledFiles(groups: readonly ContainerGroup[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const { project, members } of groups) {
    const container = members[0]?.container;
    const named = container && composeLabel(container, 'project.config_files');
    // Compose merges several files in ways that we do not reproduce; podman-compose writes relative names.
    if (!container || !named || !project || named.includes(',')) continue;
    const folder = composeLabel(container, 'project.working_dir');
    const file = named.startsWith('/') ? named : folder?.startsWith('/') ? `${folder}/${named}` : undefined;
    if (file) files.set(project, file);
  }
  return files;
}
