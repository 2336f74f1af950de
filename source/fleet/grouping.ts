import type { CatalogEntry, CatalogService } from '../catalog/catalog.ts';
import { parseImage } from '../catalog/images.ts';
import { type ContainerFacts, helperLabel } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { partsOf } from '../text/words.ts';

export interface ContainerGroup {
  project: string;
  /** Unique within engine and project; `componentIds` has the names that operators use. */
  name: string;
  entry: CatalogEntry | undefined;
  members: readonly GroupMember[];
}

export interface GroupMember {
  container: ContainerFacts;
  service: string;
  known: CatalogService | undefined;
  main: boolean;
}

const dockerLabel = 'com.docker.compose.';
const podmanLabel = 'io.podman.compose.';

/** Docker's label has priority, because podman-compose writes both. */
export function composeLabel(container: Pick<ContainerFacts, 'labels'>, name: string): string | undefined {
  return container.labels[dockerLabel + name] ?? container.labels[podmanLabel + name];
}

/** From the label `db:service_healthy:false,redis:service_started:true`. */
export function labelledDependencies(container: ContainerFacts): { name: string; condition: string }[] {
  const written = composeLabel(container, 'depends_on');
  if (!written) return [];
  const parts = partsOf(written).map((part) => part.split(':'));
  return parts.flatMap(([name, condition = '']) => (name ? [{ name, condition }] : []));
}

function serviceOf(container: ContainerFacts): string {
  return cleanLine(composeLabel(container, 'service') ?? container.name) || container.id.slice(0, 12);
}

interface Candidate {
  entry: CatalogEntry;
  service: CatalogService;
}

/** Ignores tags: `caddy:2.8` is the reverse proxy. */
export class CatalogIndex {
  readonly #byRepository: ReadonlyMap<string, readonly Candidate[]>;

  constructor(entries: readonly CatalogEntry[]) {
    const images = entries.flatMap((entry) =>
      entry.services.flatMap((service) => service.repositories.map((repository) => ({ repository, entry, service }))),
    );
    this.#byRepository = Map.groupBy(images, ({ repository }) => repository);
  }

  candidates(image: string): readonly Candidate[] {
    const repository = parseImage(image)?.repository;
    return (repository === undefined ? undefined : this.#byRepository.get(repository)) ?? [];
  }
}

/** Users' projects are grouped the same way as ours: one compose file with twenty services is twenty rows, not one. */
export function groupContainers(containers: readonly ContainerFacts[], index: CatalogIndex): ContainerGroup[] {
  const counted = containers.filter(
    (container) => composeLabel(container, 'oneoff') !== 'True' && container.labels[helperLabel] === undefined,
  );
  const projects = Map.groupBy(counted, (container) => composeLabel(container, 'project') ?? '');
  const lone = (projects.get('') ?? []).map((container) => loneGroup(container, index));
  projects.delete('');
  return withUniqueNames([...lone, ...[...projects].flatMap(([project, members]) => groupProject(cleanLine(project), members, index))]);
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

/** If an image is the main service of several entries, the project's own name decides. */
function mainMatch(container: ContainerFacts, project: string, index: CatalogIndex): Candidate | undefined {
  const candidates = index.candidates(container.image);
  const matches = candidates.filter(({ service }) => service.main);
  const match = matches.find(({ entry }) => entry.id === project) ?? matches[0];
  // A job beside the main service may have the same image: its name in the entry distinguishes them.
  const helps = candidates.some(({ entry, service }) => entry === match?.entry && !service.main && service.name === serviceOf(container));
  return helps ? undefined : match;
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each step assigns owners to services that the previous ones left over
function groupProject(project: string, containers: readonly ContainerFacts[], index: CatalogIndex): ContainerGroup[] {
  const services = Map.groupBy(containers, serviceOf);
  const dependencies = new Map(
    [...services].map(([service, [first]]): [string, string[]] => {
      const names = first ? labelledDependencies(first).map(({ name }) => name) : [];
      return [service, names.filter((name) => services.has(name))];
    }),
  );
  const dependenciesIn = (name: string) => dependencies.get(name) ?? [];

  // The name of the main service that each service belongs to.
  const owners = new Map<string, string>();
  const mains = new Map<string, Candidate>();
  for (const [service, [first]] of services) {
    const match = first && mainMatch(first, project, index);
    if (match) {
      mains.set(service, match);
      owners.set(service, service);
    }
  }

  // Direct and indirect dependencies, nearest first, up to other components; a helper of two components gets its own row.
  const reachable = (main: string) => closure(main, (name) => (name === main || !mains.has(name) ? dependenciesIn(name) : []));
  for (const [main] of mains) {
    for (const service of reachable(main)) {
      if (mains.has(service)) continue;
      const users = [...mains.keys()].filter((other) => reachable(other).has(service));
      if (users.length === 1) owners.set(service, main);
    }
  }
  // Without depends_on labels (podman-compose, old files), the entry defines the supporting services.
  for (const [service, [first]] of services) {
    if (owners.has(service) || !first) continue;
    const helps = index.candidates(first.image).filter((candidate) => !candidate.service.main);
    const claimants = [...mains].filter(([, { entry }]) => helps.some((helper) => helper.entry === entry));
    const [claimant] = claimants;
    if (claimants.length === 1 && claimant) owners.set(service, claimant[0]);
  }
  // The rest: each connected part is named after the service that no other service in it depends on.
  const rest = new Set([...services.keys()].filter((service) => !owners.has(service)));
  for (const service of rest) {
    if (owners.has(service)) continue;
    const part = closure(service, (name) => {
      const users = [...rest].filter((other) => dependenciesIn(other).includes(name));
      return [...dependenciesIn(name), ...users].filter((other) => rest.has(other));
    });
    const roots = [...part].filter((name) => ![...part].some((other) => dependenciesIn(other).includes(name)));
    const root = roots.length === 1 ? roots[0] : undefined;
    for (const name of part) owners.set(name, root ?? name);
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

/** Returns `from` and all that can be reached from it, nearest first. */
function closure(from: string, neighboursOf: (name: string) => readonly string[]): ReadonlySet<string> {
  const seen = new Set([from]);
  for (const name of seen) for (const neighbour of neighboursOf(name)) seen.add(neighbour);
  return seen;
}

/** Two caddy containers started by hand are two rows, each with its container's name: the engine's order changes with every restart. */
function withUniqueNames(groups: ContainerGroup[]): ContainerGroup[] {
  const alike = Map.groupBy(groups, ({ project, name }) => `${project}/${name}`);
  const taken = new Set<string>();
  return groups.map((group) => {
    const { project } = group;
    const main = group.members.find((member) => member.main) ?? group.members[0];
    // In a project, the service with the catalog's name is the main one.
    const isUsual = project !== '' && main?.service === main?.known?.name;
    let name = alike.get(`${project}/${group.name}`)?.length === 1 || isUsual ? group.name : `${group.name}@${main?.service}`;
    for (let number = 2; taken.has(`${project}/${name}`); number++) name = `${group.name}@${number}`;
    taken.add(`${project}/${name}`);
    return name === group.name ? group : { ...group, name };
  });
}

/** The catalog's id or the service's name, with a suffix after `@` where several share it; never for one in the project of its id. */
export function componentIds(groups: readonly ContainerGroup[]): Map<ContainerGroup, string> {
  const alike = Map.groupBy(groups, ({ entry, name }) => entry?.id ?? name);
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
      // Compose allows no `@` in its names; labels can contain any character.
      for (let number = 2; taken.has(free); number++) free = `${id}@${number}`;
      taken.add(free);
      ids.set(group, free);
    }
  }
  return ids;
}
