import { Fault } from '../../faults/fault.ts';
import { jsonTime } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText, durationText } from '../../text/quantities.ts';
import { wordsOf } from '../../text/words.ts';
import { parseBanTarget } from './client/ban-target.ts';
import { type Crowdsec, isAbout } from './client/crowdsec.ts';
import { type Allowlist, allowlisting, allowlistsOf } from './client/crowdsec-lists.ts';
import { goDurationText } from './client/go-duration.ts';
import { changeOver, deleteNamed, flagSeconds, nameOf, noteName, oneNamed, remarkOf } from './prevention-questions.ts';
import { type FlowPrevention, onHostsThatHaveIt, onPrevention } from './prevention-target.ts';

export const allowlistsList = onHostsThatHaveIt(async ({ crowdsec, session }) => {
  const lists = await allowlistsOf(crowdsec, session.signal);
  const now = Date.now();
  for (const { name, description, managed, items } of lists) {
    const about = description === '' ? '' : `: ${description}`;
    session.show({
      kind: 'table',
      title: `${name}${about}${managed ? ' (managed in the CrowdSec web console)' : ''}`,
      columns: ['ADDRESS', 'COMMENT', 'LEFT'],
      rows: items.map((item) => [item.value, item.description, item.endsMs === undefined ? 'permanent' : durationText(item.endsMs - now)]),
    });
  }
  const data = {
    allowlists: lists.map(({ items, ...list }) => ({
      ...list,
      items: items.map(({ endsMs, ...item }) => ({ ...item, until: jsonTime(endsMs) })),
    })),
  };
  return {
    message:
      lists.length === 0
        ? 'No allowlists exist. To create one: quarterdeck allowlists create NAME'
        : `${countText(lists.length, 'allowlist')}.`,
    data,
  };
});

export const allowlistsCheck = onPrevention(async ({ crowdsec, session, input }) => {
  const [value] = await valuesOf(session, input.words.slice(0, 1));
  if (value === undefined) throw new Error('at least one address is required');
  const found = await allowlisting(crowdsec, value, session.signal);
  const data = { value, allowlisted: found !== undefined, by: found === undefined ? null : cleanLine(found) };
  return { message: found === undefined ? `No allowlist contains ${value}.` : `${value} is in an allowlist: ${cleanLine(found)}.`, data };
});

export const allowlistsCreate = onPrevention(async (prevention) => {
  const { crowdsec, session } = prevention;
  const { name, description } = await unlessCancelled(session, 'No allowlist was created.', async () => {
    const chosen = await nameOf(prevention, { id: 'name', label: 'Allowlist name', help: 'Runs cscli allowlists create.' });
    const remark = await remarkOf(prevention, { flag: 'description', label: 'Description', otherwise: chosen });
    return { name: chosen, description: remark || chosen };
  });
  const done = async () => (await allowlistsOf(crowdsec, session.signal)).some((list) => list.name === name);
  const verb = (await done()) ? 'Kept the existing' : 'Created';
  await create(prevention, name, description, done);
  if (session.dryRun) return { message: 'Dry run: no allowlist was created.' };
  return { message: `${verb} allowlist ${name}. Add addresses: quarterdeck allowlists add ${name} ADDRESS`, data: { name } };
});

async function create(prevention: FlowPrevention, name: string, description: string, done?: () => Promise<boolean>) {
  const words = ['allowlists', 'create', name, '--description', description];
  await changeOver(prevention, 'create', { words, what: `create the allowlist ${name}`, ...(done && { done }) });
}

export const allowlistsAdd = onPrevention(async (prevention) => {
  const { crowdsec, session, input } = prevention;
  const seconds = flagSeconds(input);
  const left = 'Nothing was added to an allowlist.';
  let lists = await allowlistsOf(crowdsec, session.signal);
  if (lists.length === 0 && input.words.length === 0 && session.attended && !session.dryRun) {
    const help = 'For example, office. Runs cscli allowlists create.';
    const question = { id: 'first', label: 'Name of the first allowlist', help };
    const first = await unlessCancelled(session, left, () => nameOf(prevention, question));
    await create(prevention, first, first);
    lists = await allowlistsOf(crowdsec, session.signal);
  }
  const { name, values, comment } = await unlessCancelled(session, left, async () => ({
    name: (await listOf(prevention, lists)).name,
    values: await valuesOf(session, input.words.slice(1)),
    comment: await remarkOf(prevention, { flag: 'comment', label: 'Comment', otherwise: '' }),
  }));
  const shown = values.join(', ');
  const missing = async () => values.filter(await isOff(crowdsec, name, session.signal));
  const remark = comment === '' ? [] : ['--comment', comment];
  const expiration = seconds === undefined ? [] : ['--expiration', goDurationText(seconds)];
  await changeOver(prevention, 'add', {
    words: ['allowlists', 'add', name, ...values, ...remark, ...expiration],
    what: `add ${shown} to the allowlist ${name}`,
    done: async () => (await missing()).length === 0,
  });
  if (session.dryRun) return { message: 'Dry run: nothing was added to an allowlist.' };
  const absent = await missing();
  if (absent.length > 0) throw notSeen(`${name} does not contain ${absent.join(', ')}`);
  const stillBanned = await stillOut(crowdsec, values, session.signal);
  const out = stillBanned.length > 0 ? ` Still banned: ${stillBanned.join(', ')}. To lift a ban: quarterdeck unban` : '';
  return {
    message: `${shown} ${values.length === 1 ? 'is' : 'are'} in the allowlist ${name}.${out}`,
    data: { name, values, stillBanned },
  };
});

export const allowlistsRemove = onPrevention(async (prevention) => {
  const { crowdsec, session, input } = prevention;
  const lists = await allowlistsOf(crowdsec, session.signal);
  const { name, values } = await unlessCancelled(session, 'Nothing was removed from an allowlist.', async () => {
    const list = await listOf(prevention, lists);
    const noted = session.noted('values').at(-1)?.split(' ') ?? [];
    const given = input.words.length > 1 ? input.words.slice(1) : noted;
    if (given.length > 0 || list.items.length === 0) return { name: list.name, values: await valuesOf(session, given) };
    const question = {
      id: 'values',
      fresh: true as const,
      label: `Addresses to remove from ${list.name}`,
      help: 'Runs cscli allowlists remove.',
      choices: list.items.map(({ value, description }) => ({ value, label: value, detail: description })),
    };
    return { name: list.name, values: await session.ask.several(question) };
  });
  if (values.length === 0) return { message: 'Nothing was removed.', data: { name, values } };
  const isResumed = session.noted('values').length > 0;
  await session.note('values', values.join(' '));
  const shown = values.join(', ');
  const isGone = async () => values.every(await isOff(crowdsec, name, session.signal));
  if (!isResumed && (await isGone())) return { message: `${name} does not contain ${shown}.`, data: { name, values: [] } };
  await changeOver(prevention, 'remove', {
    words: ['allowlists', 'remove', name, ...values],
    what: `remove ${shown} from the allowlist ${name}`,
    done: isGone,
  });
  if (session.dryRun) return { message: 'Dry run: nothing was removed.' };
  const isOut = await isOff(crowdsec, name, session.signal);
  const still = values.filter((value) => !isOut(value));
  if (still.length > 0) throw notSeen(`${name} still contains ${still.join(', ')}`);
  return { message: `Removed ${shown} from the allowlist ${name}.`, data: { name, values } };
});

export const allowlistsDelete = deleteNamed<Allowlist>('allowlist', allowlistsOf, (list) => {
  refuseManaged(list);
  if (list.items.length === 0) return ['It is empty.'];
  const values = list.items.map(({ value }) => value);
  const more = values.length > 10 ? ` and ${values.length - 10} more` : '';
  return [`These addresses can be banned again: ${values.slice(0, 10).join(', ')}${more}.`];
});

async function listOf(prevention: FlowPrevention, lists: readonly Allowlist[]): Promise<Allowlist> {
  const list = await oneNamed(prevention, 'allowlist', lists);
  refuseManaged(list);
  await noteName(prevention.session, list.name);
  return list;
}

function refuseManaged({ name, managed }: Allowlist): void {
  if (!managed) return;
  const message = `${name} is managed in CrowdSec's web console and can be changed only there.`;
  throw new Fault('refused.managed', message, 'Change the allowlist there, or use a local one.');
}

async function valuesOf(session: Session, given: readonly string[]): Promise<string[]> {
  const question = {
    id: 'values',
    label: 'Addresses or ranges',
    help: 'Separate multiple values with spaces.',
    check: (text: string) => valuesProblem(wordsOf(text)),
  };
  const written = given.length > 0 ? given : wordsOf(await session.ask.text(question));
  const problem = valuesProblem(written);
  if (problem !== undefined) throw new Fault('usage.target', problem, 'For example: 192.0.2.7 or 192.0.2.0/24');
  return written.map(plain);
}

function valuesProblem(words: readonly string[]): string | undefined {
  for (const word of words) {
    const target = parseBanTarget(word);
    if (typeof target === 'string') return target;
    if (target.scope === 'Country') return `Allowlists accept addresses and ranges, but ${target.value} is a country.`;
  }
  return undefined;
}

async function isOff(crowdsec: Crowdsec, name: string, signal: AbortSignal): Promise<(value: string) => boolean> {
  const items = (await allowlistsOf(crowdsec, signal)).find((list) => list.name === name)?.items ?? [];
  const on = new Set(items.map(({ value }) => plain(value)));
  return (value) => !on.has(plain(value));
}

/** Normalises an address: CrowdSec prints it as it was entered, or in its own form. */
function plain(value: string): string {
  const target = parseBanTarget(value);
  return typeof target === 'string' ? value : target.value;
}

/** Returns the addresses that are still banned: before 1.6.9 an allowlist does not end existing decisions. */
async function stillOut(crowdsec: Crowdsec, values: readonly string[], signal: AbortSignal): Promise<string[]> {
  const decisions = await crowdsec.decisions({ shared: true }, signal);
  return values.filter((value) => {
    const target = parseBanTarget(value);
    return typeof target !== 'string' && decisions.some((decision) => isAbout(decision, target));
  });
}

function notSeen(what: string): Fault {
  return new Fault('failed.crowdsec', `CrowdSec reported success, but ${what}.`, 'Check the CrowdSec log.');
}
