import { Fault } from '../../faults/fault.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { type Columns, jsonTime, showList } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, countText, durationText, numberText } from '../../text/quantities.ts';
import { targetOf, targetProblem } from './ban.ts';
import type { BanTarget } from './client/ban-target.ts';
import { unbanWords } from './client/crowdsec.ts';
import { type Alert, addedOrigins, type Decision, isShared } from './client/crowdsec-records.ts';
import { kindsOf, leftText, whatOf } from './decision-words.ts';
import { changeOver, choiceOr, endDecision } from './prevention-questions.ts';
import { type FlowPrevention, onHostsThatHaveIt, onPrevention } from './prevention-target.ts';

const usualAlerts = 50;
/** Longer lists are not offered as a choice: the address is typed. */
const choicesAtMost = 40;

export const decisions = onHostsThatHaveIt(async ({ crowdsec, session, input }) => {
  const [written] = input.words;
  const shared = input.options['all'] === true;
  const target = written === undefined ? undefined : targetOf(written);
  const found = target ? await crowdsec.decisionsAbout(target, session.signal) : await crowdsec.decisions({ shared }, session.signal);
  found.sort((one, other) => originOrder(one) - originOrder(other) || other.id - one.id);
  const now = Date.now();
  const columns: Columns<Decision> = {
    ID: ({ id }) => String(id),
    WHAT: whatOf,
    TYPE: ({ simulated, type }) => (simulated ? `${type} (simulated)` : type),
    WHY: ({ reason }) => reason,
    SOURCE: ({ origin }) => origin,
    COUNTRY: ({ country }) => country,
    NETWORK: ({ network }) => network,
    LEFT: ({ endsMs }) => leftText(endsMs - now),
  };
  showList(session, found, columns, { right: ['ID', 'LEFT'] });
  const count = countText(found.length, 'decision').replace(/^\d+/, numberText(found.length));
  const inForce = `${count} active${originsText(found)}`;
  const message = target
    ? found.length === 0
      ? `No decision applies to ${target.shown}.`
      : `${count} ${found.length === 1 ? 'applies' : 'apply'} to ${target.shown}.`
    : `${found.length === 0 ? 'No active decisions' : inForce}${shared ? '' : ', excluding shared lists (--all includes them)'}.`;
  return { message, data: { decisions: found.map(decisionData) } };
});

export const alerts = onHostsThatHaveIt(async ({ crowdsec, session, input }) => {
  const [written] = input.words;
  if (written !== undefined) {
    const id = idOf(written);
    const alert = await crowdsec.readJson(['alerts', 'inspect', String(id)], 'show the alert', session.signal);
    session.show({ kind: 'text', text: JSON.stringify(alert, undefined, 2) });
    return { message: `Alert ${id}.`, data: { alert } };
  }
  const found = await crowdsec.alerts(limitOf(input), session.signal);
  const now = Date.now();
  const columns: Columns<Alert> = {
    ID: ({ id }) => String(id),
    WHEN: ({ createdMs }) => (createdMs === undefined ? '' : agoText(now - createdMs)),
    WHO: whatOf,
    WHAT: ({ reason }) => reason,
    EVENTS: ({ events }) => String(events),
    COUNTRY: ({ country }) => country,
    NETWORK: ({ network }) => network,
    DECISIONS: kindsOf,
  };
  showList(session, found, columns, { right: ['ID', 'EVENTS'] });
  return {
    message: found.length === 0 ? 'No alerts.' : `Showing the newest ${countText(found.length, 'alert')}.`,
    data: { alerts: found.map(alertData) },
  };
});

/** Sorts decisions of this server first, imported ones next, those of shared lists last. */
const originOrder = (decision: Decision) => (isShared(decision) ? 2 : addedOrigins.includes(decision.origin) ? 1 : 0);

/** Returns ` (cscli 1, cscli-import 2)`: lists can hide a few own decisions among many. Empty for one origin. */
function originsText(found: readonly Decision[]): string {
  const byOrigin = Map.groupBy(found, ({ origin }) => origin);
  if (byOrigin.size < 2) return '';
  return ` (${[...byOrigin].map(([origin, { length }]) => `${cleanLine(origin)} ${numberText(length)}`).join(', ')})`;
}

function idOf(written: string): number {
  if (/^\d{1,15}$/.test(written)) return Number(written);
  const message = `The alert ID must be a number, not "${cleanLine(written)}".`;
  throw new Fault('usage.alert', message, 'To list alerts with their IDs: quarterdeck alerts');
}

function limitOf({ options }: FlowInput): number {
  const { limit } = options;
  if (limit === undefined) return usualAlerts;
  if (typeof limit === 'string' && /^[1-9]\d{0,4}$/.test(limit)) return Number(limit);
  throw new Fault('usage.limit', `--limit must be between 1 and 99999, not "${cleanLine(String(limit))}".`, 'For example: --limit 200');
}

function cleaned<T extends object>(record: T): object {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, typeof value === 'string' ? cleanLine(value) : value]));
}

const decisionData = ({ endsMs, ...rest }: Decision): object => ({ ...cleaned(rest), until: new Date(endsMs).toISOString() });

function alertData({ createdMs, decisions: all, ...rest }: Alert): object {
  return { ...cleaned(rest), at: jsonTime(createdMs), decisions: all.map(decisionData) };
}

export const unban = onPrevention(async (prevention) => {
  const { crowdsec, session } = prevention;
  const target = await unlessCancelled(session, 'No ban was lifted.', () => chooseBanned(prevention));
  const before = await crowdsec.decisionsAbout(target, session.signal);
  const own = before.filter(({ value }) => value === target.value);
  const around = before.filter(({ value }) => value !== target.value);
  if (before.length === 0) return { message: `${target.shown} is not banned.`, data: unbanData(target, [], []) };
  const onlyOwn = own.length > 0 && around.length > 0 && (await leavesRanges(session, target, around));

  if (onlyOwn) {
    for (const { id } of own) await endDecision(prevention, id);
  } else {
    const words = unbanWords(target);
    await changeOver(prevention, 'unban', { words, what: `lift the ban on ${target.shown}` });
  }
  if (session.dryRun) return { message: `Dry run: no ban on ${target.shown} was lifted.` };
  let left = await crowdsec.decisionsAbout(target, session.signal);
  const shared = left.filter((decision) => isShared(decision) && !onlyOwn);
  // A decision of a shared list can be ended only by its id.
  for (const { id } of shared) await endDecision(prevention, id);
  if (shared.length > 0) left = await crowdsec.decisionsAbout(target, session.signal);
  const isListed = !onlyOwn ? before.some(isShared) || shared.length > 0 : own.some(isShared);
  const back = ` ${target.shown} is in a shared list, so a later pull may ban it again unless it is in an allowlist (quarterdeck allowlists add).`;
  const ranges = [...new Set(around.map(({ value }) => value))].filter((value) => !left.some((decision) => decision.value === value));
  const [bans, were] = ranges.length > 1 ? ['bans', 'were'] : ['ban', 'was'];
  const lifted =
    ranges.length > 0 ? ` The ${bans} on ${ranges.map(cleanLine).join(', ')} ${were} ${own.length > 0 ? 'also ' : ''}lifted.` : '';
  const remains = onlyOwn ? left : left.filter((decision) => !isShared(decision));
  const now = remains.length > 0 ? `still blocked: ${remains.map(spoken).join('; ')}` : 'no longer blocked';
  const data = unbanData(target, before, left);
  return { message: `${target.shown} is ${now}.${lifted}${isListed ? back : ''}`, data };
});

async function chooseBanned({ session, input, crowdsec }: FlowPrevention): Promise<BanTarget> {
  const [written] = input.words;
  if (written !== undefined) return targetOf(written);
  const banned = (await crowdsec.decisions({ shared: false }, session.signal)).filter(({ value }) => targetProblem(value) === undefined);
  const question = { id: 'target', label: 'Ban to lift' };
  if (session.attended && banned.length > 0 && banned.length <= choicesAtMost) {
    const byValue = [...new Map(banned.map((decision) => [decision.value, decision])).values()];
    const choices = byValue.map(({ value, reason }) => ({ value, label: cleanLine(value), detail: cleanLine(reason) }));
    return targetOf(await session.ask.choice({ ...question, help: 'Runs cscli decisions delete.', choices }));
  }
  const help = 'Address, range or country. Runs cscli decisions delete.';
  return targetOf(await session.ask.text({ ...question, help, check: (text) => targetProblem(text) }));
}

/** `decisions delete --ip` also ends the bans of all ranges around the address. */
async function leavesRanges(session: Session, target: BanTarget, around: readonly Decision[]): Promise<boolean> {
  const ranges = [...new Set(around.map(({ value }) => cleanLine(value)))];
  const [are, both, whole] = ranges.length > 1 ? ['are', 'all', 'these ranges'] : ['is', 'both', 'the whole range'];
  const answer = await choiceOr(session, `The ban on ${target.shown} was not lifted.`, {
    id: 'around',
    label: `${target.shown} is also in ${ranges.join(', ')}, which ${are} banned.`,
    choices: {
      all: [`Lift ${both} bans`, `unblocks ${target.shown} and ${whole}`],
      own: [`Lift only the ban on ${target.shown}`, `${target.shown} stays blocked`],
    },
    initial: 'all',
  });
  return answer === 'own';
}

function spoken({ value, reason, endsMs }: Decision): string {
  return `${cleanLine(value)} for ${durationText(endsMs - Date.now())} (${cleanLine(reason)})`;
}

function unbanData(target: BanTarget, before: readonly Decision[], left: readonly Decision[]): object {
  return { scope: target.scope, value: target.value, ended: before.length - left.length, left: left.map(({ id }) => id) };
}
