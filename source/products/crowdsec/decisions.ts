import { Fault } from '../../faults/fault.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { type Columns, jsonTime, showList } from '../../flows/list-table.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, countText, numberText } from '../../text/quantities.ts';
import { targetOf } from './ban.ts';
import { type Alert, addedOrigins, type Decision, isShared } from './client/crowdsec-records.ts';
import { kindsOf, leftText, whatOf } from './decision-words.ts';
import { onHostsThatHaveIt } from './prevention-target.ts';

const usualAlerts = 50;

export const decisions = onHostsThatHaveIt(async ({ crowdsec }, session, input) => {
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
  const inForce = `${count} in force${originsText(found)}`;
  const message = target
    ? found.length === 0
      ? `${target.shown} is not shut out.`
      : `${target.shown} is shut out by ${count}.`
    : `${found.length === 0 ? 'No decision is in force' : inForce}${shared ? '' : ', without those of shared lists (--all shows them)'}.`;
  return { message, data: { decisions: found.map(decisionData) } };
});

export const alerts = onHostsThatHaveIt(async ({ crowdsec }, session, input) => {
  const [written] = input.words;
  if (written !== undefined) {
    const id = idOf(written);
    const alert = await crowdsec.alert(id, session.signal);
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
    message: found.length === 0 ? 'No alert.' : `The newest ${countText(found.length, 'alert')}.`,
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
  throw new Fault('usage.alert', `"${cleanLine(written)}" is no number of an alert.`, 'quarterdeck alerts lists them with their numbers.');
}

function limitOf({ options }: FlowInput): number {
  const { limit } = options;
  if (limit === undefined) return usualAlerts;
  if (typeof limit === 'string' && /^[1-9]\d{0,4}$/.test(limit)) return Number(limit);
  throw new Fault('usage.limit', '--limit takes a number from 1 to 99999.', 'For example: --limit 200');
}

/** Cleans the texts of a record, which are from outside. */
function cleaned<T extends object>(record: T): object {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, typeof value === 'string' ? cleanLine(value) : value]));
}

function decisionData({ endsMs, ...rest }: Decision): object {
  return { ...cleaned(rest), until: new Date(endsMs).toISOString() };
}

function alertData({ createdMs, decisions: all, ...rest }: Alert): object {
  return { ...cleaned(rest), at: jsonTime(createdMs), decisions: all.map(decisionData) };
}
