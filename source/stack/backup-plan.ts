import { posix } from 'node:path';
import { volumeNameOf } from '../catalog/backup-rules.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { BackupItem } from '../catalog/schema.ts';
import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import type { BackupContainer, BackupPlan, PlannedItem } from './backup-model.ts';

interface Seen {
  container: BackupContainer;
  detail: ContainerDetail;
}

/**
 * What a backup of this component would save, and how. Reads only.
 * @throws Fault `refused.backup` where nobody has said how, or a container that is needed is not there.
 */
export async function planBackup({
  entry,
  component,
  engine,
  host,
  stackFolder,
  signal,
}: {
  entry: CatalogEntry | undefined;
  component: ComponentView;
  engine: Engine;
  host: Host;
  stackFolder: string;
  signal: AbortSignal;
}): Promise<BackupPlan> {
  if (!entry || entry.backup.length === 0) {
    throw new Fault({
      code: 'refused.backup',
      message: `Nobody has said how ${component.id} is backed up.`,
      remedy: entry ? 'Add "backup" to its component.yaml.' : 'Add it to your catalog folder, with "backup" in its component.yaml.',
    });
  }
  const seen: Seen[] = [];
  for (const { name, containerId } of component.services) {
    const detail = containerId === undefined ? undefined : await engine.inspect(containerId, signal);
    if (!detail) continue;
    const { id, imageId, image, state } = detail;
    const running = state === 'running';
    seen.push({ detail, container: { id, name: cleanLine(detail.name), service: name, imageId, image: cleanLine(image), running } });
  }
  const items: PlannedItem[] = [];
  const skipped: { volume: string; why: string }[] = [];
  for (const item of entry.backup) {
    if (item.way === 'skip') {
      skipped.push({ volume: item.volume, why: item.why ?? '' });
      continue;
    }
    const planned = planItem(entry, item, item.way, seen);
    if (planned) items.push(planned);
    else skipped.push({ volume: item.volume, why: 'no container has it' });
  }
  if (items.length === 0 && skipped.some(({ why }) => why === 'no container has it')) {
    throw new Fault({
      code: 'refused.backup',
      message: `${component.id} has no container through which its data can be read.`,
      remedy: 'Deploy it first; a stopped container will do.',
    });
  }
  const folder = posix.join(stackFolder, entry.id);
  const record = posix.join(stackFolder, '.quarterdeck', 'components', `${entry.id}.json`);
  return {
    component: entry.id,
    place: component.host,
    project: component.project,
    folder: (await host.files.facts(posix.join(folder, 'compose.yaml'), signal)) && folder,
    record: (await host.files.facts(record, signal)) && record,
    containers: seen.map(({ container }) => container),
    items: items.sort((one, other) => order.indexOf(one.way) - order.indexOf(other.way)),
    skipped,
  };
}

/** A file that came after the dump is one too many; one that was in the dump and went is missed. So databases come first, and what stands still comes last. */
const order: readonly PlannedItem['way'][] = ['dump', 'copy', 'pause', 'stop'];

function planItem(entry: CatalogEntry, item: BackupItem, way: PlannedItem['way'], seen: readonly Seen[]): PlannedItem | undefined {
  const declared = entry.services.flatMap((service) =>
    service.mounts.filter((mount) => volumeNameOf(mount) === item.volume).map(({ target }) => ({ service: service.name, target })),
  );
  // Where somebody else named the services, the mount's place inside tells.
  const places = declared.flatMap(({ service, target }) =>
    seen.flatMap(({ container, detail }) => {
      const mount = detail.mounts.find((one) => posix.resolve('/', one.target) === posix.resolve('/', target));
      return mount ? [{ container, detail, mount, meant: service === container.service, wanted: item.service === container.service }] : [];
    }),
  );
  const named = places.filter(({ meant }) => meant);
  const among = named.length > 0 ? named : places;
  const place =
    among.find(({ wanted }) => wanted) ??
    (way === 'dump' ? undefined : (among.find(({ container }) => container.running) ?? among[0])) ??
    among[0];
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
    exclude: [
      ...item.exclude,
      ...place.detail.mounts
        .map(({ target }) => posix.relative(inside, posix.resolve('/', target)))
        .filter((path) => path !== '' && !path.startsWith('..')),
    ],
    dump: item.dump,
    restore: item.restore,
    still: way === 'pause' || way === 'stop' ? still.map(({ container }) => container) : [],
    why: item.why,
  };
}
