import { spanOf } from './address-span.ts';
import { parseDurationWithDays, parseGoDuration, rfc3339 } from './go-words.ts';
import type { Dialect } from './queries.ts';
import type { Alert, AlertSource, Decision, Store } from './store.ts';

/** An alert that is refused; nothing of the request is kept. */
export class IntakeRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const required = [
  'capacity',
  'events',
  'events_count',
  'leakspeed',
  'message',
  'scenario',
  'scenario_hash',
  'scenario_version',
  'simulated',
  'source',
  'start_at',
  'stop_at',
] as const;
const requiredOfDecision = ['duration', 'origin', 'scenario', 'scope', 'type', 'value'] as const;

type Sent = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Sent => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

function validated(body: unknown): Sent[] {
  if (!Array.isArray(body)) {
    const kind = body === null ? 'null' : typeof body === 'object' ? 'object' : typeof body === 'boolean' ? 'bool' : typeof body;
    throw new IntakeRefusal(400, `json: cannot unmarshal ${kind} into Go value of type models.AddAlertsRequest`);
  }
  const failures: string[] = [];
  body.forEach((alert: unknown, index) => {
    if (!isObject(alert)) return;
    for (const key of required) if (alert[key] === undefined || alert[key] === null) failures.push(`${index}.${key} in body is required`);
    if (!Array.isArray(alert.decisions)) return;
    alert.decisions.forEach((decision: unknown, at) => {
      if (!isObject(decision)) return;
      for (const key of requiredOfDecision) {
        if (decision[key] === undefined || decision[key] === null) failures.push(`${index}.decisions.${at}.${key} in body is required`);
      }
    });
  });
  if (failures.length > 0) throw new IntakeRefusal(500, `validation failure list:\n${failures.join('\n')}`);
  return body.filter(isObject);
}

/**
 * Takes the alerts that a machine sent: validates them, adds the decision of the default profile where an alert asks for remediation and
 * brings none, and writes the line about each to the log. Gives the ids, as text.
 */
export function takeAlerts(
  store: Store,
  body: unknown,
  machine: string,
  dialect: Dialect,
  log: (level: string, message: string) => void,
): string[] {
  const now = store.now();
  const alerts = validated(body).map((sent) => {
    const time = (key: 'start_at' | 'stop_at', name: string): number => {
      const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text(sent[key])) ? Date.parse(text(sent[key])) : Number.NaN;
      if (!Number.isNaN(ms)) return ms;
      log(
        'error',
        `CreateAlertBulk: Failed to parse ${name} '${text(sent[key])}', defaulting to now: parsing time ${JSON.stringify(text(sent[key]))} as "2006-01-02T15:04:05Z07:00": cannot parse`,
      );
      return now;
    };
    const from = (isObject(sent.source) ? sent.source : {}) as Sent;
    const source: AlertSource = { ...from, scope: text(from.scope), value: text(from.value) };
    const alert = {
      machine,
      kind: text(sent.kind) || (Array.isArray(sent.decisions) && sent.decisions.length > 0 ? 'cscli' : 'crowdsec'),
      startMs: time('start_at', 'startAtTime'),
      stopMs: time('stop_at', 'stopAtTime'),
      capacity: count(sent.capacity),
      eventsCount: count(sent.events_count),
      leakspeed: text(sent.leakspeed),
      message: text(sent.message),
      remediation: sent.remediation === true,
      scenario: text(sent.scenario),
      scenarioHash: text(sent.scenario_hash),
      scenarioVersion: text(sent.scenario_version),
      simulated: sent.simulated === true,
      source,
      events: eventsOf(sent.events, now),
    };
    let decisions = Array.isArray(sent.decisions) ? sent.decisions.filter(isObject) : [];
    if (decisions.length === 0 && alert.remediation && /^ip$/i.test(source.scope)) {
      decisions = [{ duration: '4h', origin: 'crowdsec', scenario: alert.scenario, scope: source.scope, type: 'ban', value: source.value }];
    }
    announce(alert, decisions, dialect, log);
    const taken = decisions.flatMap((decision) => decisionOf(decision, alert, dialect, log) ?? []);
    return { alert, decisions: taken, isEmpty: decisions.length > 0 && taken.length === 0 };
  });
  // An alert is not kept whose decisions make no sense, all of them.
  return alerts.filter(({ isEmpty }) => !isEmpty).map(({ alert, decisions }) => String(store.addAlert(alert, decisions).id));
}

const eventsOf = (sent: unknown, now: number): Alert['events'] =>
  (Array.isArray(sent) ? sent.filter(isObject) : []).map((event) => ({
    meta: (Array.isArray(event.meta) ? event.meta.filter(isObject) : []).map(({ key, value }) => ({ key: text(key), value: text(value) })),
    timestampMs: Date.parse(text(event.timestamp)) || now,
  }));

function decisionOf(
  sent: Sent,
  alert: Pick<Alert, 'simulated' | 'stopMs'>,
  dialect: Dialect,
  log: (level: string, message: string) => void,
): Omit<Decision, 'id' | 'uuid' | 'createdMs'> | undefined {
  const old = dialect === '1.4.6';
  const duration = (old ? parseGoDuration : parseDurationWithDays)(text(sent.duration));
  if ('refusal' in duration) {
    const words = `decision duration '${text(sent.duration)}'${old ? ' ' : ''}: ${duration.refusal}: unable to parse duration`;
    throw new IntakeRefusal(500, old ? `unable to create alerts: ${words}` : words);
  }
  const value = text(sent.value);
  if (/^(?:ip|range)$/i.test(text(sent.scope)) && spanOf(value) === undefined) {
    // The wrong kind of error, but that is what it says.
    if (old)
      throw new IntakeRefusal(500, `unable to create alerts: invalid addr/range ${value} : invalid address: unable to parse duration`);
    log('error', `invalid addr/range '${value}': invalid ip address '${value}'`);
    return undefined;
  }
  return {
    origin: text(sent.origin),
    scenario: text(sent.scenario),
    scope: text(sent.scope),
    value,
    type: text(sent.type),
    simulated: alert.simulated,
    untilMs: alert.stopMs + duration.ms,
  };
}

function announce(
  alert: Pick<Alert, 'machine' | 'scenario' | 'simulated' | 'source'>,
  decisions: readonly Sent[],
  _dialect: Dialect,
  log: (level: string, message: string) => void,
): void {
  const { scope, value, cn, as_number } = alert.source;
  const place = [cn, as_number].filter(Boolean).join('/');
  const by = `by ${/^(?:ip|range)$/i.test(scope) ? scope.toLowerCase() : scope} ${value}${place === '' ? '' : ` (${place})`}`;
  if (decisions.length === 0) log('info', `(${alert.machine}) alert : ${alert.scenario} ${by}`);
  for (const decision of decisions) {
    const simulated = alert.simulated ? '(simulated alert)' : '';
    log(
      'info',
      `(${alert.machine}/${text(decision.origin)}) ${alert.scenario} ${by} : ${simulated}${text(decision.duration)} ${text(decision.type)} on ${text(decision.scope)} ${text(decision.value)}`,
    );
  }
}

/** The alert that `cscli decisions add` sends. */
export const manualAlert = (
  decision: { duration: string; scope: string; value: string; type: string; reason: string },
  nowMs: number,
  old: boolean,
) => ({
  capacity: 0,
  decisions: [
    {
      duration: decision.duration,
      origin: 'cscli',
      scenario: decision.reason,
      scope: decision.scope,
      type: decision.type,
      value: decision.value,
    },
  ],
  events: [],
  events_count: 1,
  ...(old ? {} : { kind: 'cscli', remediation: true }),
  leakspeed: '0',
  message: decision.reason,
  scenario: decision.reason,
  scenario_hash: '',
  scenario_version: '',
  simulated: false,
  source: { ip: decision.value, scope: decision.scope, value: decision.value },
  start_at: rfc3339(nowMs),
  stop_at: rfc3339(nowMs),
});
