import { goDurationText, goTimeText, rfc3339, rfc3339Nano } from './go-words.ts';
import type { Dialect } from './queries.ts';
import type { Alert, Allowlist, Decision } from './store.ts';

/** What remains of a decision, negative when it is over: to the nanosecond until 1.4, in whole seconds now. */
export function remaining(decision: Decision, nowMs: number, dialect: Dialect): string {
  const ms = decision.untilMs - nowMs;
  if (dialect !== '1.4.6') return goDurationText(Math.round(ms / 1000) * 1e9);
  // A clock of milliseconds cannot tell nanoseconds, but who reads them must bear nine digits.
  return goDurationText(Math.round(ms) * 1e6 - Number(process.hrtime.bigint() % 1_000_000n));
}

/** A decision as a bouncer sees it. Keys in the order of the alphabet, as Go's models have them. */
export const decisionForBouncer = (decision: Decision, nowMs: number, dialect: Dialect) => ({
  duration: remaining(decision, nowMs, dialect),
  id: decision.id,
  origin: decision.origin,
  scenario: decision.scenario,
  scope: decision.scope,
  type: decision.type,
  value: decision.value,
});

const decisionInAlert = (decision: Decision, alert: Alert, nowMs: number, dialect: Dialect) => ({
  duration: remaining(decision, nowMs, dialect),
  id: decision.id,
  origin: decision.origin,
  scenario: decision.scenario,
  scope: decision.scope,
  simulated: alert.simulated,
  type: decision.type,
  value: decision.value,
});

export type DecisionShape = ReturnType<typeof decisionInAlert>;
export type AlertShape = ReturnType<typeof alertShape>;

/** An alert with its decisions, over or not. No decision at all is null, and labels always are. */
export function alertShape(alert: Alert, nowMs: number, dialect: Dialect) {
  const old = dialect === '1.4.6';
  const time = old ? goTimeText : rfc3339;
  const { as_name, as_number, cn, ip, latitude, longitude, range, scope, value } = alert.source;
  return {
    capacity: alert.capacity,
    created_at: rfc3339(alert.createdMs),
    decisions: (alert.decisions.length === 0
      ? null
      : alert.decisions.map((decision) => decisionInAlert(decision, alert, nowMs, dialect))) as DecisionShape[] | null,
    events: alert.events.length === 0 ? null : alert.events.map(({ meta, timestampMs }) => ({ meta, timestamp: goTimeText(timestampMs) })),
    events_count: alert.eventsCount,
    id: alert.id,
    ...(old ? {} : { kind: alert.kind }),
    labels: null,
    leakspeed: alert.leakspeed,
    machine_id: alert.machine,
    message: alert.message,
    ...(!old && alert.remediation ? { remediation: true } : {}),
    scenario: alert.scenario,
    scenario_hash: alert.scenarioHash,
    scenario_version: alert.scenarioVersion,
    simulated: alert.simulated,
    // Go leaves out what is empty.
    source: {
      as_name: as_name || undefined,
      as_number: as_number || undefined,
      cn: cn || undefined,
      ip: ip || undefined,
      latitude: latitude || undefined,
      longitude: longitude || undefined,
      range: range || undefined,
      scope,
      value,
    },
    start_at: time(alert.startMs),
    stop_at: time(alert.stopMs),
    ...(old ? {} : { uuid: alert.uuid }),
  };
}

const never = '0001-01-01T00:00:00.000Z';

/** What is over is left out; an item without an end has Go's zero time. */
export const allowlistShape = (list: Allowlist, nowMs: number, withContent: boolean) => ({
  allowlist_id: list.id,
  ...(list.consoleManaged && { console_managed: true }),
  created_at: rfc3339Nano(list.createdMs),
  description: list.description,
  items: withContent
    ? list.items
        .filter((item) => item.untilMs === undefined || item.untilMs > nowMs)
        .map((item) => ({
          created_at: rfc3339Nano(item.createdMs),
          description: item.description,
          expiration: item.untilMs === undefined ? never : rfc3339Nano(item.untilMs),
          value: item.value,
        }))
    : [],
  name: list.name,
  updated_at: rfc3339Nano(list.updatedMs),
});
