import type { EngineWriter } from '../../engine/engine.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, countText } from '../../text/quantities.ts';
import type { FlowInput, Procedure } from '../flow.ts';
import { type Columns, showList } from '../list-table.ts';
import { totalBytes, type UsageItem, type UsageKind, usageItems, usageTitles } from './disk-usage.ts';

const limitMs = 30 * 60_000;

/** A confirmation must fit on a screen; the table before it lists all items. */
const namedInConfirmation = 8;

/** Containers are removed before the images and volumes that they used. */
const order: readonly UsageKind[] = ['containers', 'images', 'volumes', 'build-cache'];

const nouns: Record<UsageKind, readonly [one: string, many: string]> = {
  containers: ['container', 'containers'],
  images: ['image', 'images'],
  volumes: ['volume', 'volumes'],
  'build-cache': ['build cache entry', 'build cache entries'],
};

function isPrunable({ kind, inUse, note }: UsageItem, all: boolean): boolean {
  if (inUse) return false;
  if (kind === 'images') return all || note === 'untagged';
  if (kind === 'volumes') return all || note === 'anonymous';
  return true;
}

export const prune: Procedure = async (session, input, context) => {
  const engine = context.engineOf(input.engineName);
  const all = input.options.all === true;
  session.progress({ id: 'measure', label: 'Measuring' });
  const items = usageItems(await engine.diskUsage(session.signal));
  session.progress({ id: 'measure', label: 'Measured', fraction: 1, done: true });
  const candidates = Map.groupBy(
    items.filter((item) => isPrunable(item, all)),
    ({ kind }) => kind,
  );
  const present = order.filter((kind) => candidates.has(kind));
  const more = all ? '' : ' Pass --all to include tagged images and named volumes.';
  if (present.length === 0) return { message: `Nothing to remove on ${input.engineName}.${more}` };

  const asked = kindsNamed(input);
  const chosen = new Set(
    asked ??
      // An unattended dry run shows everything that could be removed.
      (session.dryRun && !session.attended ? present : undefined) ??
      (await session.ask.several({
        id: 'kinds',
        label: 'Items to remove',
        help: all ? undefined : 'Tagged images and named volumes are kept, unless you pass --all.',
        choices: present.map((kind) => {
          const of = candidates.get(kind) ?? [];
          return { value: kind, label: usageTitles[kind], detail: `${of.length}, ${bytesText(totalBytes(of))}` };
        }),
        initial: present.filter((kind) => kind !== 'volumes'),
      })),
  );
  const going = order.flatMap((kind) => (chosen.has(kind) ? (candidates.get(kind) ?? []) : []));
  const none = asked ? `No ${[...chosen].join(' or ')} to remove on ${input.engineName}.${more}` : 'Nothing was selected or removed.';
  if (going.length === 0) return { message: none };

  const columns: Columns<UsageItem> = {
    WHAT: ({ kind }) => nouns[kind][0],
    NAME: ({ name }) => name,
    SIZE: ({ sizeBytes }) => (sizeBytes === undefined ? '?' : bytesText(sizeBytes)),
    NOTE: ({ note }) => note,
  };
  showList(session, going, columns, { title: 'To be removed', right: ['SIZE'] });
  const failures: string[] = [];
  const removed: UsageItem[] = [];
  await session.act({
    id: 'prune',
    right: 'destroy',
    title: `Remove ${countText(going.length, 'item')}, ${bytesText(totalBytes(going))}`,
    request: `remove ${order.flatMap((kind) => namesOf(kind, going)).join('; ')}`,
    consequences: order.flatMap((kind) => consequenceOf(kind, going)),
    limitMs,
    run: async (grant) => {
      const writer = engine.writer(grant);
      for (const [index, item] of going.entries()) {
        if (item.kind === 'build-cache') continue;
        session.progress({ id: 'prune', label: `Removing ${item.name}`, fraction: index / going.length });
        try {
          await removeItem(writer, item);
          removed.push(item);
        } catch (thrown) {
          grant.signal.throwIfAborted();
          // The item is in use by now: the engine is right to refuse, and the remaining items are still removed.
          failures.push(`${nouns[item.kind][0]} ${item.name}: ${cleanLine(messageOf(thrown))}`);
        }
      }
      const cache = going.filter(({ kind }) => kind === 'build-cache');
      if (cache.length > 0) {
        session.progress({ id: 'prune', label: 'Removing build cache' });
        await writer.pruneBuildCache();
        removed.push(...cache);
      }
    },
  });
  session.progress({ id: 'prune', label: 'Removed', fraction: 1, done: true });
  context.fleet.refresh();
  if (session.dryRun) return { message: 'Dry run: nothing was removed.', data: { going } };
  if (failures.length > 0) {
    const remedy = 'If a container uses an item, remove the container first. Then run the command again.';
    const message = `Removed ${removed.length} of ${countText(going.length, 'item')}. Not removed: ${failures.join('; ')}`;
    throw new Fault('failed.prune', message, remedy);
  }
  return { message: `Removed ${countText(removed.length, 'item')}, ${bytesText(totalBytes(removed))}.`, data: { removed } };
};

function kindsNamed(input: FlowInput): readonly UsageKind[] | undefined {
  if (input.words.length === 0) return undefined;
  return input.words.map((word) => {
    const kind = order.find((candidate) => candidate === word);
    if (kind) return kind;
    throw new Fault('usage.kind', `Unknown kind "${cleanLine(word)}".`, `Use one or more of: ${order.join(', ')}.`);
  });
}

function namesOf(kind: UsageKind, going: readonly UsageItem[]): string[] {
  const of = going.filter((item) => item.kind === kind);
  if (of.length === 0) return [];
  return kind === 'build-cache' ? [countText(of.length, ...nouns[kind])] : [`${nouns[kind][1]} ${of.map(({ name }) => name).join(', ')}`];
}

function consequenceOf(kind: UsageKind, going: readonly UsageItem[]): string[] {
  const of = going.filter((item) => item.kind === kind);
  if (of.length === 0) return [];
  const count = `${countText(of.length, ...nouns[kind])} (${bytesText(totalBytes(of))})`;
  if (kind === 'build-cache') return [`${count}: the next build starts without a cache.`];
  const names = of.slice(0, namedInConfirmation).map(({ name }) => name);
  const rest = of.length - names.length;
  const what = {
    containers: 'and the data in them outside of volumes',
    images: 'which must be pulled or built again',
    volumes: 'with all of their data',
    'build-cache': '',
  }[kind];
  return [`${count}, ${what}: ${names.join(', ')}${rest > 0 ? ` and ${rest} more, listed above` : ''}.`];
}

async function removeItem(writer: EngineWriter, item: UsageItem): Promise<void> {
  if (item.kind === 'containers') await writer.remove(item.id, { force: false, volumes: false });
  // An engine refuses to remove an image by its id while two repositories refer to it.
  else if (item.kind === 'images') for (const reference of item.tags?.length ? item.tags : [item.id]) await writer.removeImage(reference);
  else await writer.removeVolume(item.id);
}
