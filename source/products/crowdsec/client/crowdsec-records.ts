import { type JsonObject, objectOf, objectsOf, textOf } from '../../../text/json-value.ts';
import { goDurationMs } from './go-duration.ts';

/** A decision in effect. All texts are raw: clean them before they are shown. */
export type Decision = NonNullable<ReturnType<typeof decisionOf>>;
export type Alert = ReturnType<typeof alertOf>;

/** Reports whether the decision is from a shared list: there can be very many, and deleted ones are added again. */
export const isShared = ({ origin }: Pick<Decision, 'origin'>): boolean => origin === 'CAPI' || origin === 'lists';

/** Origins of the server's own decisions, which every version lists. */
export const listedOrigins: readonly string[] = ['crowdsec', 'cscli'];

/** Origins of decisions that were created elsewhere and added here. CrowdSec 1.4.6 lists them only if they are requested by name. */
export const addedOrigins: readonly string[] = ['cscli-import', 'console'];

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Parses alerts as the local API and `cscli` print them: `null` means none. Returns undefined for anything else. */
export function parseAlerts(json: unknown, nowMs: number): Alert[] | undefined {
  if (json === null) return [];
  if (!Array.isArray(json)) return undefined;
  return objectsOf(json).map((one) => alertOf(one, nowMs));
}

function alertOf(record: JsonObject, nowMs: number) {
  const source = objectOf(record['source']) ?? {};
  const createdMs = Date.parse(textOf(record['created_at']));
  const alert = {
    id: numberOf(record['id']),
    scope: textOf(source['scope']),
    value: textOf(source['value']),
    reason: textOf(record['scenario']) || textOf(record['message']),
    country: textOf(source['cn']),
    /** Number and name of the network that it belongs to: `64500 Example Hosting`. */
    network: [textOf(source['as_number']), textOf(source['as_name'])].filter(Boolean).join(' '),
    events: numberOf(record['events_count']),
    createdMs: Number.isNaN(createdMs) ? undefined : createdMs,
    machine: textOf(record['machine_id']),
    message: textOf(record['message']),
    simulated: record['simulated'] === true,
  };
  const decisions = objectsOf(record['decisions']).flatMap((decision) => decisionOf(decision, alert, nowMs) ?? []);
  return { ...alert, decisions };
}

/** Returns undefined if it has expired. The remaining time is by the server's clock, so that the local clock may differ. */
function decisionOf(record: JsonObject, alert: { id: number; country: string; network: string; value: string }, nowMs: number) {
  const leftMs = goDurationMs(textOf(record['duration']));
  if (leftMs === undefined || leftMs <= 0) return undefined;
  const value = textOf(record['value']);
  const known = value === alert.value;
  return {
    id: numberOf(record['id']),
    /** `Ip`, `Range`, `Country`, `AS`, or a custom scope. */
    scope: textOf(record['scope']),
    value,
    /** `ban`, `captcha`, ... */
    type: textOf(record['type']),
    /** `cscli`, `crowdsec`, `CAPI`, `lists`, ... */
    origin: textOf(record['origin']),
    reason: textOf(record['scenario']),
    endsMs: nowMs + leftMs,
    simulated: record['simulated'] === true,
    country: known ? alert.country : '',
    network: known ? alert.network : '',
    alert: alert.id,
  };
}

/** Returns the decisions of these alerts; of several equal ones about a value, the one that lasts longest. */
export function decisionsOf(alerts: readonly Alert[]): Decision[] {
  const found = new Map<string, Decision>();
  for (const decision of alerts.flatMap(({ decisions }) => decisions)) {
    const key = `${decision.type}\n${decision.scope}\n${decision.value}\n${decision.origin}`;
    const other = found.get(key);
    if (!other || other.endsMs < decision.endsMs) found.set(key, decision);
  }
  return [...found.values()];
}
