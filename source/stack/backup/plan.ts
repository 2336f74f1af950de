import { posix } from 'node:path';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { BackupItem } from '../../catalog/schema.ts';
import type { Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView, ServiceView } from '../../fleet/model.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { recordPath } from '../read-deployment.ts';
import {
  isNamed,
  isOfMissingOptional,
  mountedAt,
  mountName,
  mountsOf,
  noChoices,
  plannedMount,
  reasonWithoutData,
  type SeenContainer,
  type SeenMount,
  serviceOf,
} from './coverage.ts';
import { type BackupChoices, type BackupPlan, componentName, type PlannedItem, type SkippedMount, type UncoveredMount } from './model.ts';

interface Planning {
  entry: CatalogEntry | undefined;
  component: Pick<ComponentView, 'id' | 'host' | 'project'> & {
    services: readonly Pick<ServiceView, 'name' | 'containerId' | 'declared'>[];
  };
  engine: Pick<Engine, 'inspect'>;
  host: Host;
  stackFolder: string;
  choices?: BackupChoices;
  signal: AbortSignal;
}

const refused = (message: string, remedy: string) => new Fault('refused.backup', message, remedy);

/**
 * Every volume and bind mount of the containers, as they are mounted now, is an item, skipped with a reason, or uncovered. Only reads.
 * @throws Fault `refused.backup` if no backup is defined, or if there is no container to read the data through.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each fact is read only if those before it allow a backup
export async function planBackup(planning: Planning): Promise<BackupPlan> {
  const { entry, component, engine, host, stackFolder, choices = noChoices, signal } = planning;
  if (!entry || entry.backup.length === 0) {
    const own = entry ? 'Add "backup"' : 'Add the component to your catalog folder, with "backup"';
    const remedy = entry && !entry.own ? 'According to the catalog, it has no data to save.' : `${own} in its component.yaml.`;
    throw refused(`No backup is defined for ${component.id}.`, remedy);
  }
  if (!componentName.test(component.id)) {
    const message = `The name ${component.id} cannot be used for backups.`;
    throw refused(message, 'Rename the compose project or container. Use only letters, digits, dots, dashes and underscores.');
  }
  const seen: SeenContainer[] = [];
  /** Services without a container, for which the entry does not list mounts. */
  const gone: string[] = [];
  for (const { name, containerId, declared } of component.services) {
    const detail = containerId === undefined ? undefined : await engine.inspect(containerId, signal);
    if (!detail) {
      if (!entry.services.some((service) => service.name === (declared ?? name))) gone.push(name);
      continue;
    }
    const { id, imageId, image, state } = detail;
    const running = state === 'running';
    const container = { id, name: cleanLine(detail.name), service: name, declared, imageId, image: cleanLine(image), running };
    seen.push({ detail, container });
  }
  if (seen.length === 0) {
    const message = `${component.id} has no container to read its data from.`;
    throw refused(message, 'Deploy the component first; a stopped container is sufficient.');
  }
  // Another instance of the product is in a project of its own, to which none of the stack's files belong.
  const present = async (path: string) =>
    component.project === entry.id && (await host.files.facts(path, signal)) !== undefined ? path : undefined;
  const compose = await present(posix.join(stackFolder, entry.id, 'compose.yaml'));
  const folder = compose && posix.dirname(compose);
  const mounts: SeenMount[] = [];
  for (const { container, detail } of seen) {
    for (const mount of detail.mounts.filter(({ kind }) => kind !== 'tmpfs')) {
      const kind = mount.kind === 'bind' ? (await host.files.facts(mount.source, signal))?.kind : undefined;
      mounts.push({ container, detail, mount, isFile: kind === 'file', isSpecial: kind === 'socket' || kind === 'other' });
    }
  }
  const { items, ...others } = coverAll({ entry, seen, mounts, gone, choices, folder });
  return {
    component: component.id,
    engineName: component.host,
    project: component.project,
    folder,
    record: await present(recordPath(stackFolder, entry.id)),
    containers: seen.map(({ container }) => container),
    items: items.sort((one, other) => order.indexOf(one.method) - order.indexOf(other.method)),
    choices,
    ...others,
  };
}

const excludedByOperator = 'excluded by the operator';

interface Seen extends Pick<BackupPlan, 'choices' | 'folder'> {
  entry: CatalogEntry;
  seen: readonly SeenContainer[];
  mounts: readonly SeenMount[];
  gone: readonly string[];
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the rules for a mount apply in this order, each to what those before left
function coverAll({ entry, seen, mounts, gone, choices: { include, exclude }, folder }: Seen) {
  const items: PlannedItem[] = [];
  const skipped: SkippedMount[] = [];
  const uncovered: UncoveredMount[] = [];
  /** Covered mounts by their source: the same volume in two containers counts once. */
  const covered = new Set<string>();
  for (const item of entry.backup) {
    const { volume, method } = item;
    const there = mountsOf(entry, item, mounts);
    const excluded = exclude.includes(volume) || (there.length > 0 && there.every((mount) => isNamed(exclude, mount)));
    // A mount that the entry skips but the operator includes is handled like one that the entry does not know.
    if (method === 'skip' && !excluded && (include.includes(volume) || there.some((mount) => isNamed(include, mount)))) {
      const [first] = there;
      if (first) items.push(plannedMount(first, mounts, 'included by the operator'));
    } else if (method === 'skip') skipped.push({ volume, why: item.why ?? '' });
    else if (excluded) skipped.push({ volume, why: excludedByOperator });
    else {
      const planned = planItem(item, method, there, seen);
      if (planned) items.push(planned);
      else if (isOfMissingOptional(entry, item, seen)) skipped.push({ volume, why: 'its service is optional and has no container here' });
      else uncovered.push({ name: volume, why: 'not mounted by any container', mounted: false });
    }
    // If several volumes have one target, the item covers one of them: the others still have to be covered.
    const saved = items.at(-1)?.source;
    for (const { mount } of there) if (method === 'skip' || excluded || mount.source === saved) covered.add(mount.source);
  }
  for (const seenMount of mounts) {
    const { mount } = seenMount;
    if (covered.has(mount.source)) continue;
    covered.add(mount.source);
    const name = mountName(seenMount);
    const without = reasonWithoutData(seenMount, folder);
    if (isNamed(exclude, seenMount)) skipped.push({ volume: name, why: excludedByOperator });
    else if (isNamed(include, seenMount)) items.push(plannedMount(seenMount, mounts, 'included by the operator'));
    else if (without !== undefined) skipped.push({ volume: name, why: without });
    else if (mount.kind === 'volume') items.push(plannedMount(seenMount, mounts, 'not in the catalog entry'));
    else
      uncovered.push({ name, why: `${cleanLine(mount.source)} is mounted at this path, but is not in the catalog entry`, mounted: true });
  }
  for (const name of gone) {
    if (exclude.includes(name)) skipped.push({ volume: name, why: excludedByOperator });
    else uncovered.push({ name, why: 'its container is missing, so its mounts are unknown', mounted: false });
  }
  const names = new Set([...entry.backup.map(({ volume }) => volume), ...gone]);
  const unmatched = [...include, ...exclude].filter((name) => !names.has(name) && !mounts.some((mount) => isNamed([name], mount)));
  return { items: withDistinctIds(items), skipped, uncovered, unmatched };
}

/** Files are named after the mounts: `/a-b` and `/a/b` need different names. */
function withDistinctIds(items: readonly PlannedItem[]): PlannedItem[] {
  const taken = new Set<string>();
  return items.map((item) => {
    let { id } = item;
    for (let number = 2; taken.has(id); number++) id = `${item.id}-${number}`;
    taken.add(id);
    return { ...item, id };
  });
}

/** A file that is added after the dump is merely unreferenced; one in the dump that is deleted before the copy would be missing. */
const order: readonly PlannedItem['method'][] = ['dump', 'copy', 'pause', 'stop'];

function planItem(item: BackupItem, method: PlannedItem['method'], there: readonly SeenMount[], seen: readonly SeenContainer[]) {
  const mounted =
    there.find(({ container }) => item.service === serviceOf(container)) ??
    (method === 'dump' ? undefined : there.find(({ container }) => container.running)) ??
    there[0];
  if (!mounted) return undefined;
  const { id, volume, dump, restore, why } = item;
  const users = seen.filter(
    ({ container, detail }) =>
      item.with.includes(serviceOf(container)) || detail.mounts.some(({ source }) => source === mounted.mount.source),
  );
  const still = method === 'pause' || method === 'stop' ? users.map(({ container }) => container) : [];
  return { id, volume, method, ...mountedAt(mounted, item.exclude), dump, restore, still, why };
}
