import type { DiskUsage } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import type { Flow } from './flow.ts';

export type UsageKind = 'images' | 'containers' | 'volumes' | 'build-cache';

export interface UsageRow {
  kind: UsageKind;
  count: number;
  inUse: number;
  sizeBytes: number;
  reclaimableBytes: number;
  /** Things whose size the engine did not tell. */
  unmeasured: number;
}

/** One thing that takes room, and whether something uses it. */
export interface UsageItem {
  kind: UsageKind;
  /** What the engine knows it by. */
  id: string;
  /** Cleaned. */
  name: string;
  /** What goes when it goes: of an image without the layers that others share. Undefined where the engine does not tell. */
  sizeBytes: number | undefined;
  inUse: boolean;
  /** Of an image: its tags as the engine knows them. One that has several goes when the last of them goes. */
  tags?: readonly string[];
  /** Cleaned: `untagged`, `unnamed`, `exited`. */
  note: string;
}

const idleStates: ReadonlySet<string> = new Set(['exited', 'created', 'dead', 'stopped', 'configured', 'initialized']);

export function usageItems(usage: DiskUsage): UsageItem[] {
  return [
    ...usage.images.map((image): UsageItem => {
      const own = image.tags.filter((tag) => tag !== '<none>:<none>');
      const tags = own.map(cleanLine);
      return {
        kind: 'images',
        id: image.id,
        tags: own,
        name: tags[0] ?? image.id.replace(/^sha256:/, '').slice(0, 12),
        sizeBytes: Math.max(0, image.sizeBytes - Math.max(0, image.sharedBytes)),
        inUse: image.containers > 0,
        note: image.dangling ? 'untagged' : tags.length > 1 ? `also ${tags.slice(1).join(', ')}` : '',
      };
    }),
    ...usage.containers.map(
      (container): UsageItem => ({
        kind: 'containers',
        id: container.id,
        name: cleanLine(container.name),
        sizeBytes: container.sizeBytes,
        inUse: !idleStates.has(container.state.toLowerCase()),
        note: cleanLine(container.state),
      }),
    ),
    ...usage.volumes.map(
      (volume): UsageItem => ({
        kind: 'volumes',
        id: volume.name,
        name: cleanLine(volume.name),
        sizeBytes: volume.sizeBytes,
        inUse: volume.usedBy > 0,
        note: volume.anonymous ? 'unnamed' : '',
      }),
    ),
    ...usage.buildCache.map(
      (part): UsageItem => ({
        kind: 'build-cache',
        id: part.id,
        name: cleanLine(part.id),
        sizeBytes: part.sizeBytes,
        inUse: part.inUse,
        note: '',
      }),
    ),
  ];
}

const kinds: readonly UsageKind[] = ['images', 'containers', 'volumes', 'build-cache'];

const sum = (items: readonly UsageItem[]) => items.reduce((total, { sizeBytes }) => total + (sizeBytes ?? 0), 0);

export function usageRows(usage: DiskUsage): UsageRow[] {
  const items = usageItems(usage);
  return kinds.map((kind) => {
    const of = items.filter((item) => item.kind === kind);
    const idle = of.filter(({ inUse }) => !inUse);
    // Shared layers stand in no item's own size.
    const shared = kind === 'images' ? Math.max(0, ...usage.images.map(({ sharedBytes }) => sharedBytes)) : 0;
    return {
      kind,
      count: of.length,
      inUse: of.length - idle.length,
      sizeBytes: kind === 'images' && usage.layersBytes ? usage.layersBytes : sum(of) + shared,
      reclaimableBytes: sum(idle),
      unmeasured: of.filter(({ sizeBytes }) => sizeBytes === undefined).length,
    };
  });
}

export const usageTitles: Record<UsageKind, string> = {
  images: 'Images',
  containers: 'Containers',
  volumes: 'Volumes',
  'build-cache': 'Build cache',
};

const largestShown = 10;

export const diskUsage: Flow = {
  id: 'df',
  verb: 'df',
  title: 'Show what takes the disk space',
  summary:
    'Shows how much room images, containers, volumes and the build cache take, how much of it nothing uses, and the largest of them.',
  right: 'read',
  about: 'host',
  flags: { all: { meaning: 'list everything, not only the largest' } },
  async run(session, input, world) {
    session.progress({ id: 'df', label: 'Measuring' });
    const usage = await world.engineOf(input.place).diskUsage(session.signal);
    session.progress({ id: 'df', label: 'Measured', fraction: 1, done: true });
    const rows = usageRows(usage);
    const items = usageItems(usage).sort((a, b) => (b.sizeBytes ?? 0) - (a.sizeBytes ?? 0));
    session.show({
      kind: 'table',
      title: `Room taken on ${input.place}`,
      columns: ['WHAT', 'COUNT', 'IN USE', 'SIZE', 'UNUSED'],
      align: ['left', 'right', 'right', 'right', 'right'],
      rows: rows.map(({ kind, count, inUse, sizeBytes, reclaimableBytes, unmeasured }) => [
        usageTitles[kind],
        String(count),
        String(inUse),
        bytesText(sizeBytes) + (unmeasured > 0 ? '+' : ''),
        bytesText(reclaimableBytes),
      ]),
    });
    const listed = input.options.all === true ? items : items.filter(({ sizeBytes }) => (sizeBytes ?? 0) > 0).slice(0, largestShown);
    if (listed.length > 0) {
      session.show({
        kind: 'table',
        title: input.options.all === true ? 'Everything' : `The largest`,
        columns: ['SIZE', 'WHAT', 'NAME', 'USED', 'NOTE'],
        align: ['right'],
        rows: listed.map(({ kind, name, sizeBytes, inUse, note }) => [
          sizeBytes === undefined ? '?' : bytesText(sizeBytes),
          usageTitles[kind].toLowerCase().replace(/s$/, ''),
          name,
          inUse ? 'yes' : 'no',
          note,
        ]),
      });
    }
    const reclaimable = rows.reduce((total, row) => total + row.reclaimableBytes, 0);
    return {
      message:
        reclaimable > 0
          ? `${bytesText(reclaimable)} are used by nothing; "quarterdeck prune --rehearse" shows what would go, with --all also tagged images and named volumes.`
          : 'Nothing takes room that nothing uses.',
      data: { host: input.place, rows, items },
    };
  },
};
