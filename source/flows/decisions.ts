import { Fault } from '../faults/fault.ts';
import { type Alert, type Decision, isAdded, isShared } from '../products/crowdsec-records.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, countText, numberText } from '../text/quantities.ts';
import { alertsAbout, decisionsAbout } from './about-prevention.ts';
import { targetOf } from './ban.ts';
import { kindsOf, leftText, whatOf } from './decision-words.ts';
import type { Flow, FlowInput } from './flow.ts';
import { lookingIn } from './prevention-questions.ts';
import { onHostsThatHaveIt, preventionOf } from './prevention-target.ts';

const usualAlerts = 50;

export const decisions: Flow = onHostsThatHaveIt({
  ...decisionsAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const [written] = input.words;
    const shared = input.options['all'] === true;
    const target = written === undefined ? undefined : targetOf(written);
    const found = target ? await crowdsec.decisionsAbout(target, session.signal) : await crowdsec.decisions({ shared }, session.signal);
    found.sort((one, other) => originOrder(one) - originOrder(other) || other.id - one.id);
    const now = Date.now();
    if (found.length > 0) {
      session.show({
        kind: 'table',
        columns: ['id', 'what', 'type', 'why', 'source', 'country', 'network', 'left'],
        align: ['right', 'left', 'left', 'left', 'left', 'left', 'left', 'right'],
        rows: found.map((decision) => [
          String(decision.id),
          whatOf(decision),
          decision.simulated ? `${decision.type} (simulated)` : decision.type,
          decision.reason,
          decision.origin,
          decision.country,
          decision.network,
          leftText(decision.endsMs - now),
        ]),
      });
    }
    const count = countText(found.length, 'decision').replace(/^\d+/, numberText(found.length));
    const inForce = `${count} in force${originsText(found)}`;
    const message = target
      ? found.length === 0
        ? `${target.shown} is not shut out.`
        : `${target.shown} is shut out by ${count}.`
      : `${found.length === 0 ? 'No decision is in force' : inForce}${shared ? '' : ', without those of shared lists (--all shows them)'}.`;
    return { message, data: { decisions: found.map(decisionData) } };
  },
});

export const alerts: Flow = onHostsThatHaveIt({
  ...alertsAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const [written] = input.words;
    if (written !== undefined) {
      const id = idOf(written);
      const alert = await crowdsec.alert(id, session.signal);
      session.show({ kind: 'text', text: JSON.stringify(alert, undefined, 2) });
      return { message: `Alert ${id}.`, data: { alert } };
    }
    const found = await crowdsec.alerts(limitOf(input), session.signal);
    const now = Date.now();
    if (found.length > 0) {
      session.show({
        kind: 'table',
        columns: ['id', 'when', 'who', 'what', 'events', 'country', 'network', 'decisions'],
        align: ['right', 'left', 'left', 'left', 'right', 'left', 'left', 'left'],
        rows: found.map((alert) => [
          String(alert.id),
          alert.createdMs === undefined ? '' : agoText(now - alert.createdMs),
          whatOf(alert),
          alert.reason,
          String(alert.events),
          alert.country,
          alert.network,
          kindsOf(alert),
        ]),
      });
    }
    return {
      message: found.length === 0 ? 'No alert.' : `The newest ${countText(found.length, 'alert')}.`,
      data: { alerts: found.map(alertData) },
    };
  },
});

/** Decisions of this server first, imported ones behind them, those of lists last. */
function originOrder(decision: Decision): number {
  if (isShared(decision)) return 2;
  return isAdded(decision) ? 1 : 0;
}

/** ` (cscli 1, cscli-import 2)`: lists can hide a few decisions of one's own among many. Empty for one origin. */
function originsText(found: readonly Decision[]): string {
  const counts = new Map<string, number>();
  for (const { origin } of found) counts.set(origin, (counts.get(origin) ?? 0) + 1);
  if (counts.size < 2) return '';
  return ` (${[...counts].map(([origin, count]) => `${cleanLine(origin)} ${numberText(count)}`).join(', ')})`;
}

function idOf(written: string): number {
  if (/^\d{1,15}$/.test(written)) return Number(written);
  throw new Fault({
    code: 'usage.alert',
    message: `"${cleanLine(written)}" is no number of an alert.`,
    remedy: 'quarterdeck alerts lists them with their numbers.',
  });
}

function limitOf({ options }: FlowInput): number {
  const { limit } = options;
  if (limit === undefined) return usualAlerts;
  if (typeof limit === 'string' && /^[1-9]\d{0,4}$/.test(limit)) return Number(limit);
  throw new Fault({ code: 'usage.limit', message: '--limit takes a number from 1 to 99999.', remedy: 'For example: --limit 200' });
}

function decisionData(decision: Decision): object {
  const { id, scope, value, type, origin, reason, simulated, country, network, alert, endsMs } = decision;
  const [what, why, where, whose] = [value, reason, country, network].map(cleanLine);
  return {
    id,
    scope: cleanLine(scope),
    value: what,
    type: cleanLine(type),
    origin: cleanLine(origin),
    reason: why,
    simulated,
    country: where,
    network: whose,
    alert,
    until: new Date(endsMs).toISOString(),
  };
}

function alertData(alert: Alert): object {
  const { id, scope, value, reason, country, network, events, createdMs, machine, message, simulated } = alert;
  return {
    id,
    at: createdMs === undefined ? null : new Date(createdMs).toISOString(),
    scope: cleanLine(scope),
    value: cleanLine(value),
    reason: cleanLine(reason),
    message: cleanLine(message),
    events,
    country: cleanLine(country),
    network: cleanLine(network),
    machine: cleanLine(machine),
    simulated,
    decisions: alert.decisions.map(decisionData),
  };
}
