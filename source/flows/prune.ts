import type { EngineWriter } from '../engine/engine.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText, countText } from '../text/quantities.ts';
import { type UsageItem, type UsageKind, usageItems, usageTitles } from './disk-usage.ts';
import type { Flow, FlowInput } from './flow.ts';

const limitMs = 30 * 60_000;

/** A confirmation is read on a screen; the table before it has all of them. */
const namedInConfirmation = 8;

/** A container goes before the image and the volumes that it held. */
const order: readonly UsageKind[] = ['containers', 'images', 'volumes', 'build-cache'];

const oneOf: Record<UsageKind, string> = {
  containers: 'container',
  images: 'image',
  volumes: 'volume',
  'build-cache': 'piece of build cache',
};
const manyOf: Record<UsageKind, string> = {
  containers: 'containers',
  images: 'images',
  volumes: 'volumes',
  'build-cache': 'pieces of build cache',
};

/** What may go: what nothing uses; of images only untagged ones and of volumes only unnamed ones, unless all are asked for. */
export function prunable(items: readonly UsageItem[], kind: UsageKind, all: boolean): UsageItem[] {
  return items.filter((item) => {
    if (item.kind !== kind || item.inUse) return false;
    if (kind === 'images') return all || item.note === 'untagged';
    if (kind === 'volumes') return all || item.note === 'unnamed';
    return true;
  });
}

const total = (items: readonly UsageItem[]) => items.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);

export const prune: Flow = {
  id: 'prune',
  verb: 'prune',
  title: 'Free disk space that nothing uses',
  summary:
    'Shows which stopped containers, unused images, volumes and build cache could go, and removes exactly those that were shown and confirmed. Kinds: containers, images, volumes, build-cache.',
  right: 'destroy',
  about: 'host',
  usage: '[KIND...]',
  flags: { all: { meaning: 'also unused images that have a tag, and unused volumes that have a name' } },
  async run(session, input, world) {
    const engine = world.engineOf(input.place);
    const all = input.options.all === true;
    session.progress({ id: 'measure', label: 'Measuring' });
    const items = usageItems(await engine.diskUsage(session.signal));
    session.progress({ id: 'measure', label: 'Measured', fraction: 1, done: true });
    const candidates = new Map(order.map((kind) => [kind, prunable(items, kind, all)]));
    const present = order.filter((kind) => (candidates.get(kind) ?? []).length > 0);
    if (present.length === 0)
      return {
        message: `Nothing on ${input.place} is there to be removed.${all ? '' : ' --all looks at tagged images and named volumes too.'}`,
      };

    const asked = kindsNamed(input);
    const chosen = new Set(
      asked ??
        // A rehearsal that nobody attends shows everything that could go.
        (session.rehearsing && !session.attended ? present : undefined) ??
        (await session.ask.several({
          id: 'kinds',
          label: 'What is to be removed?',
          help: all ? undefined : 'Tagged images and named volumes stay, unless it is run with --all.',
          choices: present.map((kind) => {
            const of = candidates.get(kind) ?? [];
            return { value: kind, label: usageTitles[kind], detail: `${of.length}, ${bytesText(total(of))}` };
          }),
          initial: present.filter((kind) => kind !== 'volumes'),
        })),
    );
    const going = order.flatMap((kind) => (chosen.has(kind) ? (candidates.get(kind) ?? []) : []));
    if (going.length === 0) return { message: 'Nothing was chosen, nothing was removed.' };

    session.show({
      kind: 'table',
      title: 'This goes',
      columns: ['WHAT', 'NAME', 'SIZE', 'NOTE'],
      align: ['left', 'left', 'right'],
      rows: going.map(({ kind, name, sizeBytes, note }) => [oneOf[kind], name, sizeBytes === undefined ? '?' : bytesText(sizeBytes), note]),
    });
    const failures: string[] = [];
    const removed: UsageItem[] = [];
    await session.act({
      id: 'prune',
      right: 'destroy',
      title: `Remove ${countText(going.length, 'thing')}, ${bytesText(total(going))}`,
      request: `remove ${order.flatMap((kind) => namesOf(kind, going)).join('; ')}`,
      target: { host: input.place },
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
            // Something began to use it meanwhile: the engine's no is right, the rest goes on.
            failures.push(`${oneOf[item.kind]} ${item.name}: ${cleanLine(messageOf(thrown))}`);
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
    world.fleet.refresh();
    if (session.rehearsing) return { message: 'Rehearsed: nothing was removed.', data: { going } };
    if (failures.length > 0) {
      throw new Fault({
        code: 'failed.prune',
        message: `Removed ${removed.length} of ${going.length}. Not removed: ${failures.join('; ')}`,
        remedy: 'Something may use them by now; run it again to see.',
      });
    }
    return { message: `Removed ${countText(removed.length, 'thing')}; ${bytesText(total(removed))} are free again.`, data: { removed } };
  },
};

function kindsNamed(input: FlowInput): readonly UsageKind[] | undefined {
  if (input.words.length === 0) return undefined;
  return input.words.map((word) => {
    const kind = order.find((candidate) => candidate === word);
    if (kind) return kind;
    throw new Fault({
      code: 'usage.kind',
      message: `"${cleanLine(word)}" is nothing that can be pruned.`,
      remedy: `Name one or more of: ${order.join(', ')}.`,
    });
  });
}

function namesOf(kind: UsageKind, going: readonly UsageItem[]): string[] {
  const of = going.filter((item) => item.kind === kind);
  if (of.length === 0) return [];
  return kind === 'build-cache'
    ? [countText(of.length, oneOf[kind], manyOf[kind])]
    : [`${manyOf[kind]} ${of.map(({ name }) => name).join(', ')}`];
}

function consequenceOf(kind: UsageKind, going: readonly UsageItem[]): string[] {
  const of = going.filter((item) => item.kind === kind);
  if (of.length === 0) return [];
  const count = `${countText(of.length, oneOf[kind], manyOf[kind])} (${bytesText(total(of))})`;
  if (kind === 'build-cache') return [`${count}: the next build starts from nothing.`];
  const names = of.slice(0, namedInConfirmation).map(({ name }) => name);
  const rest = of.length - names.length;
  const what = {
    containers: 'and what was written in them',
    images: 'to be pulled or built again',
    volumes: 'with all data in them',
    'build-cache': '',
  }[kind];
  return [`${count}, ${what}: ${names.join(', ')}${rest > 0 ? ` and ${rest} more, listed above` : ''}.`];
}

async function removeItem(writer: EngineWriter, item: UsageItem): Promise<void> {
  if (item.kind === 'containers') await writer.remove(item.id, { force: false, volumes: false });
  // An engine refuses to remove an image by its id while two repositories name it.
  else if (item.kind === 'images') for (const reference of item.tags?.length ? item.tags : [item.id]) await writer.removeImage(reference);
  else await writer.removeVolume(item.id);
}
