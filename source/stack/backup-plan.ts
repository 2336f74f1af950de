import { posix } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { BackupItem } from '../catalog/schema.ts';
import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView, ServiceView } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import {
  isNamed,
  isOfMissingOptional,
  mountName,
  mountsBelow,
  mountsOf,
  noChoices,
  plannedMount,
  reasonWithoutData,
  type SeenContainer,
  type SeenMount,
  serviceOf,
} from './backup-coverage.ts';
import {
  type BackupChoices,
  type BackupPlan,
  componentName,
  type PlannedItem,
  type SkippedMount,
  type UncoveredMount,
} from './backup-model.ts';

export type BackedUpComponent = Pick<ComponentView, 'id' | 'host' | 'project'> & {
  services: readonly Pick<ServiceView, 'name' | 'containerId' | 'declared'>[];
};

/**
 * What a backup of this component would save, and how: every volume and bind mount of its containers as they are mounted now is an item, skipped with a reason, or
 * uncovered. Reads only.
 * @throws Fault `refused.backup` where no backup is defined, or no container is there to read the data through.
 */
export async function planBackup({
  entry,
  component,
  engine,
  host,
  stackFolder,
  choices = noChoices,
  signal,
}: {
  entry: CatalogEntry | undefined;
  component: BackedUpComponent;
  engine: Pick<Engine, 'inspect'>;
  host: Host;
  stackFolder: string;
  choices?: BackupChoices;
  signal: AbortSignal;
}): Promise<BackupPlan> {
  if (!entry || entry.backup.length === 0) {
    throw new Fault({
      code: 'refused.backup',
      message: `No backup is defined for ${component.id}.`,
      remedy: entry ? 'Add "backup" to its component.yaml.' : 'Add it to your catalog folder, with "backup" in its component.yaml.',
    });
  }
  if (!componentName.test(component.id)) {
    throw new Fault({
      code: 'refused.backup',
      message: `Backups of ${component.id} cannot be filed under that name.`,
      remedy: 'Give its compose project or container a name of letters, digits, dots, dashes and underscores.',
    });
  }
  const seen: SeenContainer[] = [];
  /** Services without a container of which the entry does not tell what they mount. */
  const gone: string[] = [];
  for (const { name, containerId, declared } of component.services) {
    const detail = containerId === undefined ? undefined : await engine.inspect(containerId, signal);
    if (!detail) {
      if (!entry.services.some((service) => service.name === (declared ?? name))) gone.push(name);
      continue;
    }
    const { id, imageId, image, state } = detail;
    const running = state === 'running';
    seen.push({
      detail,
      container: { id, name: cleanLine(detail.name), service: name, declared, imageId, image: cleanLine(image), running },
    });
  }
  if (seen.length === 0) {
    throw new Fault({
      code: 'refused.backup',
      message: `${component.id} has no container through which its data can be read.`,
      remedy: 'Deploy it first; a stopped container will do.',
    });
  }
  // Another instance of the product is in a project of its own, and none of the stack's files are about it.
  const isDeployed = component.project === entry.id;
  const own = posix.join(stackFolder, entry.id);
  const record = posix.join(stackFolder, '.quarterdeck', 'components', `${entry.id}.json`);
  const folder = (isDeployed && (await host.files.facts(posix.join(own, 'compose.yaml'), signal)) && own) || undefined;
  const mounts: SeenMount[] = [];
  for (const { container, detail } of seen) {
    for (const mount of detail.mounts.filter(({ kind }) => kind !== 'tmpfs')) {
      const kind = mount.kind === 'bind' ? (await host.files.facts(mount.source, signal))?.kind : undefined;
      mounts.push({ container, detail, mount, isFile: kind === 'file', isSpecial: kind === 'socket' || kind === 'other' });
    }
  }
  const { items, skipped, uncovered, unmatched } = coverAll({ entry, seen, mounts, gone, choices, folder });
  return {
    component: component.id,
    place: component.host,
    project: component.project,
    folder,
    record: (isDeployed && (await host.files.facts(record, signal)) && record) || undefined,
    containers: seen.map(({ container }) => container),
    items: items.sort((one, other) => order.indexOf(one.way) - order.indexOf(other.way)),
    skipped,
    uncovered,
    choices,
    unmatched,
  };
}

const excludedByOperator = 'excluded by the operator';

function coverAll({
  entry,
  seen,
  mounts,
  gone,
  choices: { include, exclude },
  folder,
}: {
  entry: CatalogEntry;
  seen: readonly SeenContainer[];
  mounts: readonly SeenMount[];
  gone: readonly string[];
  choices: BackupChoices;
  folder: string | undefined;
}): { items: PlannedItem[]; skipped: SkippedMount[]; uncovered: UncoveredMount[]; unmatched: string[] } {
  const items: PlannedItem[] = [];
  const skipped: SkippedMount[] = [];
  const uncovered: UncoveredMount[] = [];
  /** What is mounted, by its source: the same volume in two containers is one. */
  const covered = new Set<string>();
  for (const item of entry.backup) {
    const { volume, way } = item;
    const there = mountsOf(entry, item, mounts);
    const excluded = exclude.includes(volume) || (there.length > 0 && there.every((mount) => isNamed(exclude, mount)));
    // What the entry skips and the operator wants is a mount like those that the entry does not know.
    if (way === 'skip' && !excluded && (include.includes(volume) || there.some((mount) => isNamed(include, mount)))) {
      const [first] = there;
      if (first) items.push(plannedMount(first, mounts, 'included by the operator'));
    } else if (way === 'skip') skipped.push({ volume, why: item.why ?? '' });
    else if (excluded) skipped.push({ volume, why: excludedByOperator });
    else {
      const planned = planItem(item, way, there, seen);
      if (planned) items.push(planned);
      else if (isOfMissingOptional(entry, item, seen)) skipped.push({ volume, why: 'its service is optional and has no container here' });
      else uncovered.push({ name: volume, why: 'a volume of the catalog that no container mounts', mounted: false });
    }
    // Of several volumes at one target the item is about one: the others are still to be covered.
    const saved = items.at(-1)?.source;
    for (const { mount } of there) if (way === 'skip' || excluded || mount.source === saved) covered.add(mount.source);
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
      uncovered.push({ name, why: `${cleanLine(mount.source)} is mounted there, and the catalog entry does not know it`, mounted: true });
  }
  for (const name of gone) {
    if (exclude.includes(name)) skipped.push({ volume: name, why: excludedByOperator });
    else uncovered.push({ name, why: 'its container is missing, so that what it mounts is unknown', mounted: false });
  }
  const names = new Set([...entry.backup.map(({ volume }) => volume), ...gone]);
  const unmatched = [...include, ...exclude].filter((name) => !names.has(name) && !mounts.some((mount) => isNamed([name], mount)));
  return { items: withDistinctIds(items), skipped, uncovered, unmatched };
}

/** Files are named after them: `/a-b` and `/a/b` are two. */
function withDistinctIds(items: readonly PlannedItem[]): PlannedItem[] {
  const taken = new Set<string>();
  return items.map((item) => {
    let { id } = item;
    for (let number = 2; taken.has(id); number++) id = `${item.id}-${number}`;
    taken.add(id);
    return { ...item, id };
  });
}

/** A file that came after the dump is one too many; one that was in the dump and went is missed. So databases come first, and what stands still comes last. */
const order: readonly PlannedItem['way'][] = ['dump', 'copy', 'pause', 'stop'];

function planItem(
  item: BackupItem,
  way: PlannedItem['way'],
  there: readonly SeenMount[],
  seen: readonly SeenContainer[],
): PlannedItem | undefined {
  const place =
    there.find(({ container }) => item.service === serviceOf(container)) ??
    (way === 'dump' ? undefined : (there.find(({ container }) => container.running) ?? there[0])) ??
    there[0];
  if (!place) return undefined;
  const still = seen.filter(
    ({ container, detail }) =>
      item.with.includes(serviceOf(container)) || detail.mounts.some(({ source }) => source === place.mount.source),
  );
  const inside = posix.resolve('/', place.mount.target);
  return {
    id: item.id,
    volume: item.volume,
    way,
    container: place.container,
    target: inside,
    source: place.mount.source,
    exclude: [...item.exclude, ...mountsBelow(place.detail, inside)],
    mountedBelow: mountsBelow(place.detail, inside),
    isFile: place.isFile,
    dump: item.dump,
    restore: item.restore,
    still: way === 'pause' || way === 'stop' ? still.map(({ container }) => container) : [],
    why: item.why,
  };
}
