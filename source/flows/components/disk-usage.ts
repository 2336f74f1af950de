import type { DiskUsage } from '../../engine/engine.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import type { Procedure } from '../flow.ts';
import { type Columns, showList } from '../list-table.ts';

export const usageTitles = { images: 'Images', containers: 'Containers', volumes: 'Volumes', 'build-cache': 'Build cache' } as const;

export type UsageKind = keyof typeof usageTitles;

export interface UsageRow {
  kind: UsageKind;
  count: number;
  inUse: number;
  sizeBytes: number;
  reclaimableBytes: number;
  unmeasured: number;
}

export interface UsageItem {
  kind: UsageKind;
  id: string;
  name: string;
  /** Bytes that its removal frees: for an image without the layers shared with others. Undefined if the engine does not report it. */
  sizeBytes: number | undefined;
  inUse: boolean;
  /** For an image: its tags as the engine knows them. An image with several tags is removed with its last tag. */
  tags?: readonly string[];
  /** Cleaned: `untagged`, `anonymous`, `exited`. */
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
    ...usage.containers.map(({ id, name, sizeBytes, state }) => ({
      ...{ kind: 'containers' as const, id, name: cleanLine(name), sizeBytes },
      inUse: !idleStates.has(state.toLowerCase()),
      note: cleanLine(state),
    })),
    ...usage.volumes.map(({ name, sizeBytes, usedBy, anonymous }) => ({
      ...{ kind: 'volumes' as const, id: name, name: cleanLine(name), sizeBytes },
      inUse: usedBy > 0,
      note: anonymous ? 'anonymous' : '',
    })),
    ...usage.buildCache.map(({ id, sizeBytes, inUse }) => ({
      ...{ kind: 'build-cache' as const, id, name: cleanLine(id), sizeBytes, inUse, note: '' },
    })),
  ];
}

export const totalBytes = (items: readonly UsageItem[]) => items.reduce((total, { sizeBytes }) => total + (sizeBytes ?? 0), 0);

export function usageRows(usage: DiskUsage): UsageRow[] {
  const items = usageItems(usage);
  return (Object.keys(usageTitles) as UsageKind[]).map((kind) => {
    const of = items.filter((item) => item.kind === kind);
    const idle = of.filter(({ inUse }) => !inUse);
    // Shared layers are not counted in any item's own size.
    const shared = kind === 'images' ? Math.max(0, ...usage.images.map(({ sharedBytes }) => sharedBytes)) : 0;
    return {
      kind,
      count: of.length,
      inUse: of.length - idle.length,
      sizeBytes: totalBytes(of) + shared,
      reclaimableBytes: totalBytes(idle),
      unmeasured: of.filter(({ sizeBytes }) => sizeBytes === undefined).length,
    };
  });
}

const largestShown = 10;

export const diskUsage: Procedure = async (session, input, context) => {
  session.progress({ id: 'df', label: 'Measuring' });
  const usage = await context.engineOf(input.engineName).diskUsage(session.signal);
  session.progress({ id: 'df', label: 'Measured', fraction: 1, done: true });
  const rows = usageRows(usage);
  const items = usageItems(usage).sort((a, b) => (b.sizeBytes ?? 0) - (a.sizeBytes ?? 0));
  const kindColumns: Columns<UsageRow> = {
    WHAT: ({ kind }) => usageTitles[kind],
    COUNT: ({ count }) => String(count),
    'IN USE': ({ inUse }) => String(inUse),
    SIZE: ({ sizeBytes, unmeasured }) => bytesText(sizeBytes) + (unmeasured > 0 ? '+' : ''),
    UNUSED: ({ reclaimableBytes }) => bytesText(reclaimableBytes),
  };
  showList(session, rows, kindColumns, { title: `Disk usage of ${input.engineName}`, right: ['COUNT', 'IN USE', 'SIZE', 'UNUSED'] });
  const all = input.options.all === true;
  const listed = all ? items : items.filter(({ sizeBytes }) => (sizeBytes ?? 0) > 0).slice(0, largestShown);
  const itemColumns: Columns<UsageItem> = {
    SIZE: ({ sizeBytes }) => (sizeBytes === undefined ? '?' : bytesText(sizeBytes)),
    WHAT: ({ kind }) => usageTitles[kind].toLowerCase().replace(/s$/, ''),
    NAME: ({ name }) => name,
    USED: ({ inUse }) => (inUse ? 'yes' : 'no'),
    NOTE: ({ note }) => note,
  };
  showList(session, listed, itemColumns, { title: all ? 'Everything' : 'The largest', right: ['SIZE'] });
  const reclaimable = rows.reduce((total, row) => total + row.reclaimableBytes, 0);
  return {
    message:
      reclaimable > 0
        ? `${bytesText(reclaimable)} is unused, including tagged images and named volumes. To list what would be removed: quarterdeck prune --all --dry-run`
        : 'Nothing to reclaim.',
    data: { host: input.engineName, rows, items },
  };
};
