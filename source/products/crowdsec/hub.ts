import { Fault } from '../../faults/fault.ts';
import { showList } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import type { Crowdsec } from './client/crowdsec.ts';
import { type HubItem, hubItems, upgradePlan } from './client/crowdsec-lists.ts';
import { isNotStartedSince, reloadedOutcome, reloadIsDue } from './crowdsec-reload.ts';
import { changeOver, choiceOr, notedName, noteName } from './prevention-questions.ts';
import { type FlowPrevention, onHostsThatHaveIt, onPrevention } from './prevention-target.ts';

const fetchLimitMs = 300_000;

export const collectionsList = onHostsThatHaveIt(async ({ crowdsec, session, input }) => {
  const wanted = typeof input.options['kind'] === 'string' ? input.options['kind'] : 'collections';
  const all = await hubItems(crowdsec, { all: input.options['all'] === true }, session.signal);
  const kinds = [...new Set(all.map(({ kind }) => kind))];
  const items = all.filter(({ kind }) => wanted === 'all' || kind === wanted);
  if (items.length === 0 && wanted !== 'all' && wanted !== 'collections' && !kinds.includes(wanted))
    throw new Fault('usage.kind', `The hub has no kind "${cleanLine(wanted)}".`, `Use one of: ${[...kinds, 'all'].join(', ')}.`);
  showList(session, items, {
    ...(wanted === 'all' && { KIND: ({ kind }) => kind }),
    NAME: ({ name }) => name,
    VERSION: ({ version }) => version,
    STATE: stateOf,
    DESCRIPTION: ({ description }) => description,
  });
  const none = `No ${wanted === 'all' ? 'items' : wanted} ${input.options['all'] === true ? 'in the hub index' : 'are installed'}.`;
  const message = items.length === 0 ? none : `${countText(items.length, wanted === 'all' ? 'item' : wanted.replace(/s$/, ''))}.`;
  return { message, data: { items } };
});

function stateOf({ enabled, tainted, behind }: HubItem): string {
  if (!enabled) return 'not installed';
  return tainted ? 'changed manually' : behind ? 'newer version available' : 'installed';
}

/** Whether a newer version of a manually changed item exists is unknown. */
const upToDateText = (items: readonly HubItem[]) =>
  `All installed items ${items.some(({ tainted }) => tainted) ? 'that were not changed manually ' : ''}are up to date.`;

const itemsOf = (crowdsec: Crowdsec, signal: AbortSignal) => hubItems(crowdsec, { all: false }, signal);

async function isInstalled(crowdsec: Crowdsec, name: string, signal: AbortSignal): Promise<boolean> {
  return (await itemsOf(crowdsec, signal)).some((item) => item.kind === 'collections' && item.name === name);
}

export const collectionsInstall = onPrevention(async (prevention) => {
  const { crowdsec, container, session } = prevention;
  const items = await hubItems(crowdsec, { all: true }, session.signal);
  const known = items.filter(({ kind }) => kind === 'collections');
  const offered = known.filter(({ enabled }) => !enabled);
  const name = await unlessCancelled(session, 'Nothing was installed.', () =>
    collectionOf(prevention, offered, 'Collection to install', 'All collections in the hub index are already installed.'),
  );
  if (known.length > 0 && !known.some((item) => item.name === name)) {
    const remedy = 'To list all collections: quarterdeck collections list --all. To update the index: quarterdeck hub update';
    throw new Fault('usage.collection', `The hub has no collection "${cleanLine(name)}".`, remedy);
  }
  const done = () => isInstalled(crowdsec, name, session.signal);
  const was = await done();
  await noteName(session, name);
  const isOld = await isNotStartedSince(prevention);
  const words = ['collections', 'install', name];
  await changeOver(prevention, 'install', { words, what: `install ${name}`, limitMs: fetchLimitMs, done });
  if (session.dryRun) return { message: `Dry run: ${name} was not installed.` };
  if (was && !isOld && !(await reloadIsDue(prevention, items)))
    return { message: `${name} is already installed.`, data: { name, reloaded: false } };
  const outcome = await reloadedOutcome(prevention, `Installed ${name}.`, { name });
  const kept = container ? ` For new deployments, also add it to COLLECTIONS: quarterdeck edit ${container.name}` : '';
  return { ...outcome, message: `${outcome.message}${kept}` };
});

export const collectionsRemove = onPrevention(async (prevention) => {
  const { crowdsec, session } = prevention;
  const installed = (await itemsOf(crowdsec, session.signal)).filter(({ kind }) => kind === 'collections');
  const name = await unlessCancelled(session, 'Nothing was removed.', () =>
    collectionOf(prevention, installed, 'Collection to remove', 'No collections are installed.'),
  );
  const isOld = await isNotStartedSince(prevention);
  const removed = () => reloadedOutcome(prevention, `Removed ${name}.`, { name });
  if (!installed.some((item) => item.name === name)) {
    if (notedName(session) !== name) return { message: `${cleanLine(name)} is not installed.`, data: { name, reloaded: false } };
    // An interrupted run removed it.
    return isOld ? removed() : { message: `Removed ${name}. CrowdSec was reloaded.`, data: { name, reloaded: true } };
  }
  await noteName(session, name);
  await changeOver(prevention, 'remove', {
    title: `Remove the collection ${name}`,
    words: ['collections', 'remove', name],
    what: `remove ${name}`,
    consequences: ['Scenarios that only this collection uses no longer detect anything. Existing bans stay until they expire.'],
    limitMs: fetchLimitMs,
  });
  if (session.dryRun) return { message: `Dry run: ${name} was not removed.` };
  if (await isInstalled(crowdsec, name, session.signal)) {
    const message = `${name} is still installed.`;
    throw new Fault('failed.crowdsec', message, 'Another collection may require this collection, or it was changed manually.');
  }
  return removed();
});

async function collectionOf({ session, input }: FlowPrevention, offered: readonly HubItem[], label: string, none: string) {
  const given = input.words[0] ?? notedName(session);
  if (given !== undefined) {
    if (/^[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?$/.test(given)) return given;
    throw new Fault('usage.collection', `Invalid collection name "${cleanLine(given)}".`, 'For example: crowdsecurity/caddy');
  }
  if (offered.length === 0) throw new Fault('usage.collection', none, 'To list all collections: quarterdeck collections list --all');
  return session.ask.choice({
    id: 'name',
    label,
    fresh: true,
    choices: offered.map(({ name, description }) => ({ value: name, label: name, detail: description })),
  });
}

async function updateIndex(prevention: FlowPrevention): Promise<void> {
  await changeOver(prevention, 'update', { words: ['hub', 'update'], what: 'update the hub index', limitMs: fetchLimitMs });
}

const namesOf = (items: readonly HubItem[]) => items.map(({ name }) => name).join(', ');
const kindsAndNames = (items: readonly HubItem[]) => items.map(({ kind, name }) => ({ kind, name }));

export const hubUpdate = onPrevention(async (prevention) => {
  const { crowdsec, session } = prevention;
  await updateIndex(prevention);
  if (session.dryRun) return { message: 'Dry run: the hub index was not updated.' };
  const items = await itemsOf(crowdsec, session.signal);
  const behind = items.filter((item) => item.behind);
  const newer = behind.length === 0 ? upToDateText(items) : `To upgrade ${namesOf(behind)}: quarterdeck hub upgrade`;
  return { message: `Updated the hub index. ${newer}`, data: { behind: kindsAndNames(behind) } };
});

export const hubUpgrade = onPrevention(async (prevention) => {
  const { crowdsec, container, session } = prevention;
  await updateIndex(prevention);
  const before = await itemsOf(crowdsec, session.signal);
  const behind = before.filter((item) => item.behind);
  for (const { kind, name } of before.filter((item) => item.tainted))
    session.show({
      kind: 'text',
      text: `Skipped ${name} (${kind}), because it was changed manually. To restore the hub version: ${container ? `quarterdeck exec ${container.name} -- ` : ''}cscli ${kind} upgrade --force ${name}`,
    });
  const isOld = !session.dryRun && (await isNotStartedSince(prevention));
  const none = { upgraded: [], left: [] };
  if (behind.length === 0) {
    if (session.dryRun) return { message: 'Dry run: the hub index was not updated. With the current index, nothing would be upgraded.' };
    const message = upToDateText(before);
    const due = isOld || (await reloadIsDue(prevention, before));
    return due ? reloadedOutcome(prevention, message, none) : { message, data: { ...none, reloaded: false } };
  }
  const plan = await upgradePlan(crowdsec, session.signal);
  session.show({ kind: 'text', text: (plan ?? behind.map(({ kind, name }) => `${kind}: ${name}`)).join('\n') });
  const left = `Nothing was upgraded. The hub index was ${session.dryRun ? 'not ' : ''}updated.`;
  const go = await choiceOr(session, left, {
    id: 'upgrade',
    label: `Upgrade ${countText(behind.length, 'item')}`,
    help: 'Runs cscli hub upgrade. CrowdSec is reloaded afterwards.',
    choices: { yes: 'Upgrade', no: 'Not now' },
    initial: 'yes',
  });
  if (go === 'no') return { message: left, data: { ...none, reloaded: false } };
  const outdated = async () => (await itemsOf(crowdsec, session.signal)).filter((item) => item.behind);
  await changeOver(prevention, 'upgrade', {
    words: ['hub', 'upgrade'],
    what: 'upgrade hub items',
    limitMs: fetchLimitMs,
    done: async () => (await outdated()).length === 0,
  });
  if (session.dryRun) return { message: 'Dry run: nothing was upgraded.' };
  const still = await outdated();
  const upgraded = behind.filter(({ kind, name }) => !still.some((item) => item.kind === kind && item.name === name));
  const rest = still.length > 0 ? ` Still outdated: ${namesOf(still)}.` : '';
  const message = `${upgraded.length > 0 ? `Upgraded ${namesOf(upgraded)}` : 'Nothing was upgraded'}.${rest}`;
  const data = { upgraded: kindsAndNames(upgraded), left: kindsAndNames(still) };
  return reloadedOutcome(prevention, message, data);
});

export const metrics = onHostsThatHaveIt(async ({ crowdsec, session }) => {
  const [text, data] = await Promise.all([crowdsec.metrics(session.signal), crowdsec.metricsJson(session.signal).catch(() => null)]);
  session.show({ kind: 'text', text: text.trim() === '' ? 'No metrics yet.' : text.trimEnd() });
  return { message: `Metrics of ${crowdsec.shown} since its last start.`, data: { metrics: data } };
});
