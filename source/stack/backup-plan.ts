import { posix } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { BackupItem } from '../catalog/schema.ts';
import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
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
} from './backup-coverage.ts';
import type { BackupChoices, BackupPlan, PlannedItem, SkippedMount, UncoveredMount } from './backup-model.ts';

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
  component: ComponentView;
  engine: Engine;
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
  const seen: SeenContainer[] = [];
  for (const { name, containerId } of component.services) {
    const detail = containerId === undefined ? undefined : await engine.inspect(containerId, signal);
    if (!detail) continue;
    const { id, imageId, image, state } = detail;
    const running = state === 'running';
    seen.push({ detail, container: { id, name: cleanLine(detail.name), service: name, imageId, image: cleanLine(image), running } });
  }
  if (seen.length === 0) {
    throw new Fault({
      code: 'refused.backup',
      message: `${component.id} has no container through which its data can be read.`,
      remedy: 'Deploy it first; a stopped container will do.',
    });
  }
  const own = posix.join(stackFolder, entry.id);
  const record = posix.join(stackFolder, '.quarterdeck', 'components', `${entry.id}.json`);
  const folder = (await host.files.facts(posix.join(own, 'compose.yaml'), signal)) && own;
  const mounts: SeenMount[] = [];
  for (const { container, detail } of seen) {
    for (const mount of detail.mounts.filter(({ kind }) => kind !== 'tmpfs')) {
      const kind = mount.kind === 'bind' ? (await host.files.facts(mount.source, signal))?.kind : undefined;
      mounts.push({ container, detail, mount, isFile: kind === 'file', isSpecial: kind === 'socket' || kind === 'other' });
    }
  }
  const { items, skipped, uncovered } = coverAll({ entry, seen, mounts, choices, folder, stackFolder });
  return {
    component: entry.id,
    place: component.host,
    project: component.project,
    folder,
    record: (await host.files.facts(record, signal)) && record,
    containers: seen.map(({ container }) => container),
    items: items.sort((one, other) => order.indexOf(one.way) - order.indexOf(other.way)),
    skipped,
    uncovered,
    choices,
  };
}

const excludedByOperator = 'excluded by the operator';

function coverAll({
  entry,
  seen,
  mounts,
  choices: { include, exclude },
  folder,
  stackFolder,
}: {
  entry: CatalogEntry;
  seen: readonly SeenContainer[];
  mounts: readonly SeenMount[];
  choices: BackupChoices;
  folder: string | undefined;
  stackFolder: string;
}): { items: PlannedItem[]; skipped: SkippedMount[]; uncovered: UncoveredMount[] } {
  const items: PlannedItem[] = [];
  const skipped: SkippedMount[] = [];
  const uncovered: UncoveredMount[] = [];
  /** What is mounted, by its source: the same volume in two containers is one. */
  const covered = new Set<string>();
  for (const item of entry.backup) {
    const { volume, way } = item;
    const there = mountsOf(entry, item, mounts);
    const excluded = exclude.includes(volume) || (there.length > 0 && there.every((mount) => isNamed(exclude, mount)));
    if (way === 'skip') skipped.push({ volume, why: item.why ?? '' });
    else if (excluded) skipped.push({ volume, why: excludedByOperator });
    else {
      const planned = planItem(item, way, there, seen);
      if (planned) items.push(planned);
      else if (isOfMissingOptional(entry, item, seen)) skipped.push({ volume, why: 'its service is optional and has no container here' });
      else uncovered.push({ name: volume, why: 'a volume of the catalog that no container mounts', mounted: false });
    }
    for (const { mount } of there) covered.add(mount.source);
  }
  for (const seenMount of mounts) {
    const { mount } = seenMount;
    if (covered.has(mount.source)) continue;
    covered.add(mount.source);
    const name = mountName(seenMount);
    const without = reasonWithoutData(seenMount, { folder, stackFolder });
    if (isNamed(exclude, seenMount)) skipped.push({ volume: name, why: excludedByOperator });
    else if (isNamed(include, seenMount)) items.push(plannedMount(seenMount, mounts, 'included by the operator'));
    else if (without !== undefined) skipped.push({ volume: name, why: without });
    else if (mount.kind === 'volume') items.push(plannedMount(seenMount, mounts, 'not in the catalog entry'));
    else
      uncovered.push({ name, why: `${cleanLine(mount.source)} is mounted there, and the catalog entry does not know it`, mounted: true });
  }
  return { items, skipped, uncovered };
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
    there.find(({ container }) => item.service === container.service) ??
    (way === 'dump' ? undefined : (there.find(({ container }) => container.running) ?? there[0])) ??
    there[0];
  if (!place) return undefined;
  const still = seen.filter(
    ({ container, detail }) => item.with.includes(container.service) || detail.mounts.some(({ source }) => source === place.mount.source),
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
