import { goDurationText, rfc3339 } from './go-words.ts';
import type { Alert, Allowlist, Bouncer, Decision, Dialect, Machine, Store } from './store.ts';

const decisionShape = ({ untilMs, ...rest }: Decision, nowMs: number) => ({ ...rest, duration: goDurationText(untilMs - nowMs) });

export interface AlertFilter {
  activeOnly?: boolean;
  shared?: boolean;
  origin?: string | undefined;
  value?: string | undefined;
  /** 0 is all. */
  limit: number;
}

/** Alerts as the local API and `cscli` write them, newest first. */
export function listAlerts(store: Store, filter: AlertFilter, dialect: Dialect) {
  const now = Date.now();
  const isListed = (alert: Alert): boolean => {
    if (filter.activeOnly && !alert.decisions.some(({ untilMs }) => untilMs > now)) return false;
    if (filter.value !== undefined && alert.source.value !== filter.value) return false;
    if (filter.origin !== undefined) return alert.decisions.some(({ origin }) => origin === filter.origin);
    if (filter.shared) return true;
    // Before 1.7 only what the server knows is listed.
    if (dialect === '1.4.6') return alert.decisions.some(({ origin }) => origin === 'crowdsec' || origin === 'cscli');
    return !alert.decisions.some(({ origin }) => origin === 'CAPI' || origin === 'lists');
  };
  const found = store.alerts.filter(isListed).reverse();
  return found.slice(0, filter.limit || undefined).map((alert) => alertShape(alert, now, dialect));
}

export type AlertShape = ReturnType<typeof alertShape>;

/** An alert with its decisions, over or not. No decision at all is null. */
export function alertShape(alert: Alert, nowMs: number, dialect: Dialect) {
  const meta = Object.entries(alert.meta).map(([key, value]) => ({ key, value }));
  const decisions = alert.decisions.map((decision) => ({ ...decisionShape(decision, nowMs), simulated: false }));
  return {
    created_at: rfc3339(alert.createdMs),
    decisions: decisions.length === 0 ? null : decisions,
    events: meta.length === 0 ? null : [{ meta, timestamp: rfc3339(alert.startMs) }],
    events_count: alert.eventsCount,
    id: alert.id,
    ...(dialect === '1.7.8' && { kind: alert.kind, uuid: alert.uuid }),
    machine_id: alert.machine,
    message: alert.message,
    scenario: alert.scenario,
    simulated: false,
    source: alert.source,
    start_at: rfc3339(alert.startMs),
    stop_at: rfc3339(alert.createdMs),
  };
}

export const decisionsShape = (store: Store) => store.decisions().map((decision) => decisionShape(decision, Date.now()));

export function bouncerShape({ name, createdMs, lastPullMs, keyHash, address, type, version }: Bouncer, dialect: Dialect) {
  const old = dialect === '1.4.6';
  return {
    created_at: rfc3339(createdMs),
    name,
    ...(old && { api_key: keyHash }),
    revoked: false,
    ip_address: address,
    type,
    version,
    // Of one that never pulled, until 1.5 the moment of its creation.
    last_pull: lastPullMs === undefined ? (old ? rfc3339(createdMs) : null) : rfc3339(lastPullMs),
    auth_type: 'api-key',
  };
}

export const machineShape = ({ login, createdMs, lastHeartbeatMs, address, version, validated }: Machine) => ({
  created_at: rfc3339(createdMs),
  last_heartbeat: rfc3339(lastHeartbeatMs),
  machineId: login,
  ipAddress: address,
  version,
  // Go leaves out what is empty.
  isValidated: validated || undefined,
  auth_type: 'password',
});

/** Expired items are left out; one without an end has Go's zero time. */
export const allowlistShape = (list: Allowlist, nowMs: number) => ({
  allowlist_id: list.id,
  console_managed: list.consoleManaged || undefined,
  created_at: rfc3339(list.createdMs),
  description: list.description,
  items: list.items
    .filter(({ untilMs }) => (untilMs ?? Infinity) > nowMs)
    .map(({ createdMs, description, untilMs, value }) => ({
      created_at: rfc3339(createdMs),
      description,
      expiration: untilMs === undefined ? '0001-01-01T00:00:00.000Z' : rfc3339(untilMs),
      value,
    })),
  name: list.name,
  updated_at: rfc3339(list.updatedMs),
});
