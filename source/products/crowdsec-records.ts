import { goDurationMs } from './go-duration.ts';

/** A decision that is in force. All text is as it came: clean before showing. */
export interface Decision {
  id: number;
  /** `Ip`, `Range`, `Country`, `AS`, or a scope of the operator's own. */
  scope: string;
  value: string;
  /** `ban`, `captcha`, ... */
  type: string;
  /** `cscli`, `crowdsec`, `CAPI`, `lists`, ... */
  origin: string;
  reason: string;
  endsMs: number;
  simulated: boolean;
  country: string;
  /** Number and name of the network it belongs to: `64500 Example Hosting`. */
  network: string;
  alert: number;
}

export interface Alert {
  id: number;
  scope: string;
  value: string;
  reason: string;
  country: string;
  network: string;
  events: number;
  createdMs: number | undefined;
  machine: string;
  message: string;
  simulated: boolean;
  /** In force now. */
  decisions: readonly Decision[];
}

/** Of the shared lists: there can be very many, and they come back when they are deleted. */
export function isShared({ origin }: Pick<Decision, 'origin'>): boolean {
  return origin === 'CAPI' || origin === 'lists';
}

/** Origins of decisions of the server itself, which every version lists. */
export const listedOrigins: readonly string[] = ['crowdsec', 'cscli'];

/** Origins of decisions that were made elsewhere and added here. CrowdSec 1.4.6 lists them only when asked for by name. */
export const addedOrigins: readonly string[] = ['cscli-import', 'console'];

export function isAdded({ origin }: Pick<Decision, 'origin'>): boolean {
  return addedOrigins.includes(origin);
}

type Json = Record<string, unknown>;

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null;

const textOf = (record: Json, name: string): string => (typeof record[name] === 'string' ? record[name] : '');
const numberOf = (record: Json, name: string): number => (typeof record[name] === 'number' ? record[name] : 0);

/** Alerts as the local API and `cscli` write them: `null` where there is none. Undefined where it is something else. */
export function parseAlerts(json: unknown, nowMs: number): Alert[] | undefined {
  if (json === null) return [];
  if (!Array.isArray(json)) return undefined;
  return json.filter(isRecord).map((one) => alertOf(one, nowMs));
}

function alertOf(record: Json, nowMs: number): Alert {
  const source = isRecord(record['source']) ? record['source'] : {};
  const id = numberOf(record, 'id');
  const place = {
    country: textOf(source, 'cn'),
    network: [textOf(source, 'as_number'), textOf(source, 'as_name')].filter(Boolean).join(' '),
  };
  const createdMs = Date.parse(textOf(record, 'created_at'));
  const decisions = Array.isArray(record['decisions']) ? record['decisions'].filter(isRecord) : [];
  return {
    id,
    scope: textOf(source, 'scope'),
    value: textOf(source, 'value'),
    reason: textOf(record, 'scenario') || textOf(record, 'message'),
    ...place,
    events: numberOf(record, 'events_count'),
    createdMs: Number.isNaN(createdMs) ? undefined : createdMs,
    machine: textOf(record, 'machine_id'),
    message: textOf(record, 'message'),
    simulated: record['simulated'] === true,
    decisions: decisions.flatMap((decision) => decisionOf(decision, { ...place, id, nowMs, value: textOf(source, 'value') })),
  };
}

/** None of one that is over. What is left of it is told by the server's clock, so that ours need not agree with it. */
function decisionOf(record: Json, alert: { id: number; nowMs: number; country: string; network: string; value: string }): Decision[] {
  const leftMs = goDurationMs(textOf(record, 'duration'));
  if (leftMs === undefined || leftMs <= 0) return [];
  const value = textOf(record, 'value');
  const known = value === alert.value;
  return [
    {
      id: numberOf(record, 'id'),
      scope: textOf(record, 'scope'),
      value,
      type: textOf(record, 'type'),
      origin: textOf(record, 'origin'),
      reason: textOf(record, 'scenario'),
      endsMs: alert.nowMs + leftMs,
      simulated: record['simulated'] === true,
      country: known ? alert.country : '',
      network: known ? alert.network : '',
      alert: alert.id,
    },
  ];
}

/** The decisions of these alerts; of several that say the same about one value the one that lasts longest. */
export function decisionsOf(alerts: readonly Alert[]): Decision[] {
  const found = new Map<string, Decision>();
  for (const { decisions } of alerts) {
    for (const decision of decisions) {
      const key = `${decision.type}\n${decision.scope}\n${decision.value}\n${decision.origin}`;
      const other = found.get(key);
      if (!other || other.endsMs < decision.endsMs) found.set(key, decision);
    }
  }
  return [...found.values()];
}
