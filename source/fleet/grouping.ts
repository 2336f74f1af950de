import type { CatalogEntry, CatalogService } from '../catalog/catalog.ts';
import { parseImage } from '../catalog/images.ts';
import { type ContainerFacts, helperLabel } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';

/** Containers that belong together, matched with the catalog. One of these becomes one row. */
export interface ContainerGroup {
  project: string;
  /** Unique within engine and project; `componentIds` has the names that operators use. */
  name: string;
  entry: CatalogEntry | undefined;
  members: readonly GroupMember[];
}

export interface GroupMember {
  container: ContainerFacts;
  /** Service name as compose knows it, or the container's name. */
  service: string;
  /** The catalog's service that this is, where it matched. */
  known: CatalogService | undefined;
  main: boolean;
}

const dockerLabel = 'com.docker.compose.';
const podmanLabel = 'io.podman.compose.';

/** A compose label, of either family; Docker's wins, as podman-compose writes both. */
export function composeLabel(container: Pick<ContainerFacts, 'labels'>, name: string): string | undefined {
  return container.labels[dockerLabel + name] ?? container.labels[podmanLabel + name];
}

/** Services named by the `depends_on` label: `db:service_healthy:false,redis:service_started:true`. */
export function dependenciesOf(container: ContainerFacts): string[] {
  const label = composeLabel(container, 'depends_on') ?? '';
  return label
    .split(',')
    .map((part) => part.split(':', 1)[0] ?? '')
    .filter(Boolean);
}

function serviceOf(container: ContainerFacts): string {
  return cleanLine(composeLabel(container, 'service') ?? container.name) || container.id.slice(0, 12);
}

interface Candidate {
  entry: CatalogEntry;
  service: CatalogService;
}

/** Looks images up by repository, tags aside: whoever runs `caddy:2.8` runs the reverse proxy. */
export class CatalogIndex {
  readonly #byRepository = new Map<string, Candidate[]>();

  constructor(entries: readonly CatalogEntry[]) {
    for (const entry of entries) {
      for (const service of entry.services) {
        for (const repository of service.repositories) {
          const candidates = this.#byRepository.get(repository) ?? [];
          candidates.push({ entry, service });
          this.#byRepository.set(repository, candidates);
        }
      }
    }
  }

  candidates(image: string): readonly Candidate[] {
    const repository = parseImage(image)?.repository;
    return (repository === undefined ? undefined : this.#byRepository.get(repository)) ?? [];
  }
}

/**
 * Puts containers of one engine into groups. The main service of a catalog entry makes a component; what serves it joins it: by `depends_on`, or because
 * the entry names that image and nobody else in the project could mean it. Of the rest, what depends on each other stays together, and a lone container
 * is a row of its own. Projects of other people are read the same way as ours: one compose file with twenty services is twenty rows, not one.
 */
export function groupContainers(containers: readonly ContainerFacts[], index: CatalogIndex): ContainerGroup[] {
  const projects = new Map<string, ContainerFacts[]>();
  const groups: ContainerGroup[] = [];
  for (const container of containers) {
    if (composeLabel(container, 'oneoff') === 'True' || container.labels[helperLabel] !== undefined) continue;
    const project = composeLabel(container, 'project');
    if (project === undefined || project === '') groups.push(loneGroup(container, index));
    else projects.set(project, [...(projects.get(project) ?? []), container]);
  }
  for (const [project, members] of projects) groups.push(...groupProject(cleanLine(project), members, index));
  return withUniqueNames(groups);
}

function loneGroup(container: ContainerFacts, index: CatalogIndex): ContainerGroup {
  const match = index.candidates(container.image).find(({ service }) => service.main);
  return {
    project: '',
    name: match?.entry.id ?? serviceOf(container),
    entry: match?.entry,
    members: [{ container, service: serviceOf(container), known: match?.service, main: true }],
  };
}

/** Where an image is the main service of several entries, the project's own name decides. */
function mainMatch(container: ContainerFacts, project: string, index: CatalogIndex): Candidate | undefined {
  const candidates = index.candidates(container.image);
  const matches = candidates.filter(({ service }) => service.main);
  const match = matches.find(({ entry }) => entry.id === project) ?? matches[0];
  // A job beside the main service may have the same image: what the entry calls it tells them apart.
  const helps = candidates.some(({ entry, service }) => entry === match?.entry && !service.main && service.name === serviceOf(container));
  return helps ? undefined : match;
}

function groupProject(project: string, containers: readonly ContainerFacts[], index: CatalogIndex): ContainerGroup[] {
  const services = new Map<string, ContainerFacts[]>();
  for (const container of containers) services.set(serviceOf(container), [...(services.get(serviceOf(container)) ?? []), container]);
  const dependencies = new Map<string, string[]>();
  for (const [service, [first]] of services)
    dependencies.set(service, first ? dependenciesOf(first).filter((name) => services.has(name)) : []);

  // Owner of each service: the name of the main service that it belongs to.
  const owners = new Map<string, string>();
  const mains = new Map<string, Candidate>();
  for (const [service, [first]] of services) {
    const match = first && mainMatch(first, project, index);
    if (match) {
      mains.set(service, match);
      owners.set(service, service);
    }
  }

  // Helpers that a catalog component reaches by depends_on, nearest first; a helper of two components stays on its own.
  for (const [main] of mains) {
    for (const service of reachable(main, dependencies, mains)) {
      if (mains.has(service)) continue;
      const users = [...mains.keys()].filter((other) => reachable(other, dependencies, mains).has(service));
      if (users.length === 1) owners.set(service, main);
    }
  }
  // Without depends_on labels (podman-compose, old files): the entry knows what serves it.
  for (const [service, [first]] of services) {
    if (owners.has(service) || !first) continue;
    const helps = index.candidates(first.image).filter((candidate) => !candidate.service.main);
    const claimants = [...mains].filter(([, { entry }]) => helps.some((helper) => helper.entry === entry));
    const claimant = claimants[0];
    if (claimants.length === 1 && claimant) owners.set(service, claimant[0]);
  }
  // The rest: each connected part is named after the service that nobody in it depends on.
  const rest = new Set([...services.keys()].filter((service) => !owners.has(service)));
  for (const service of rest) {
    if (owners.has(service)) continue;
    const part = connected(service, dependencies, rest);
    const roots = [...part].filter((name) => ![...part].some((other) => dependencies.get(other)?.includes(name)));
    const root = roots[0];
    if (roots.length === 1 && root !== undefined) for (const name of part) owners.set(name, root);
    else for (const name of part) owners.set(name, name);
  }

  return [...new Set(owners.values())].map((owner) => {
    const match = mains.get(owner);
    const members = [...services].flatMap(([service, instances]) => {
      if (owners.get(service) !== owner) return [];
      return instances.map((container, position): GroupMember => {
        const known = match && knownService({ container, service, main: service === owner }, match.entry, index);
        const shown =
          instances.length > 1 && position > 0 ? `${service}-${composeLabel(container, 'container-number') ?? position + 1}` : service;
        return { container, service: shown, known, main: service === owner && position === 0 };
      });
    });
    return { project, name: match?.entry.id ?? owner, entry: match?.entry, members };
  });
}

function knownService(
  { container, service, main }: Omit<GroupMember, 'known'>,
  entry: CatalogEntry,
  index: CatalogIndex,
): CatalogService | undefined {
  const matches = index.candidates(container.image).filter((candidate) => candidate.entry === entry);
  return (matches.find((match) => match.service.name === service) ?? matches.find((match) => match.service.main === main) ?? matches[0])
    ?.service;
}

/** What a service depends on, directly or not, without going on behind another component. */
function reachable(from: string, edges: ReadonlyMap<string, readonly string[]>, components: ReadonlyMap<string, unknown>): Set<string> {
  const seen = new Set<string>();
  const queue = [...(edges.get(from) ?? [])];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (seen.has(name) || name === from) continue;
    seen.add(name);
    if (!components.has(name)) queue.push(...(edges.get(name) ?? []));
  }
  return seen;
}

function connected(from: string, edges: ReadonlyMap<string, readonly string[]>, within: ReadonlySet<string>): Set<string> {
  const part = new Set<string>([from]);
  const queue = [from];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const neighbours = [...(edges.get(name) ?? []), ...[...within].filter((other) => edges.get(other)?.includes(name ?? ''))];
    for (const neighbour of neighbours) {
      if (!within.has(neighbour) || part.has(neighbour)) continue;
      part.add(neighbour);
      queue.push(neighbour);
    }
  }
  return part;
}

/** Two caddies by hand are two rows, each with its container's name: which one the engine lists first changes with every restart. */
function withUniqueNames(groups: ContainerGroup[]): ContainerGroup[] {
  const counts = new Map<string, number>();
  for (const { project, name } of groups) counts.set(`${project}/${name}`, (counts.get(`${project}/${name}`) ?? 0) + 1);
  const taken = new Set<string>();
  return groups.map((group) => {
    const { project } = group;
    const main = group.members.find((member) => member.main) ?? group.members[0];
    // In a project, the service that the catalog calls so is the one that is meant.
    const isUsual = project !== '' && main?.service === main?.known?.name;
    let name = counts.get(`${project}/${group.name}`) === 1 || isUsual ? group.name : `${group.name}@${main?.service}`;
    for (let number = 2; taken.has(`${project}/${name}`); number++) name = `${group.name}@${number}`;
    taken.add(`${project}/${name}`);
    return name === group.name ? group : { ...group, name };
  });
}

/**
 * What the components of one engine are called, a name each: the catalog's id or the service's name, and with `@` what tells it from others of that name. What was
 * deployed from here, in the project of its id, has the plain name.
 */
export function componentIds(groups: readonly ContainerGroup[]): Map<ContainerGroup, string> {
  const alike = new Map<string, ContainerGroup[]>();
  for (const group of groups) {
    const name = group.entry?.id ?? group.name;
    alike.set(name, [...(alike.get(name) ?? []), group]);
  }
  const ids = new Map<ContainerGroup, string>();
  const taken = new Set<string>();
  for (const [name, same] of alike) {
    const others = same.length === 1 ? [] : same.filter((group) => group.project !== name || group.name !== name);
    const container = ({ members }: ContainerGroup) => (members.find(({ main }) => main) ?? members[0])?.container.name ?? '';
    const marks: ((group: ContainerGroup) => string)[] = [(group) => group.project || container(group), container];
    const isTelling = (mark: (group: ContainerGroup) => string) => new Set(others.map(mark)).size === others.length;
    const mark = marks.find(isTelling) ?? ((group: ContainerGroup) => `${group.project}/${group.name}`);
    for (const group of same) {
      const id = cleanLine(others.includes(group) ? `${name}@${mark(group)}` : name);
      let free = id;
      // Compose allows no `@` in its names; labels can hold anything.
      for (let number = 2; taken.has(free); number++) free = `${id}@${number}`;
      taken.add(free);
      ids.set(group, free);
    }
  }
  return ids;
}
