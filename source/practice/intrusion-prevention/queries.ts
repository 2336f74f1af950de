import { type AddressSpan, spanOf, spans } from './address-span.ts';
import { parseDurationWithDays, parseGoBool } from './go-words.ts';
import type { Alert, Decision, Store } from './store.ts';

export type Dialect = '1.4.6' | '1.7.8';

/** A query that the database refuses; the message goes out as it is, the status is 500. */
export class QueryRefusal extends Error {}

/** Where an error of Go's is wrapped, older versions put the cause before the kind with another colon. */
const contains = (filter: URLSearchParams, dialect: Dialect): boolean => {
  const text = filter.get('contains');
  if (text === null) return true;
  const value = parseGoBool(text);
  if (value !== undefined) return value;
  const cause = `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw new QueryRefusal(
    dialect === '1.4.6' ? `invalid contains value : ${cause}: invalid filter` : `invalid contains value: ${cause}: invalid filter`,
  );
};

const wantedSpan = (filter: URLSearchParams): AddressSpan | undefined => {
  const text = filter.get('range') ?? filter.get('ip');
  if (text === null) return undefined;
  const span = spanOf(text);
  if (span === undefined) throw new QueryRefusal(`unable to convert '${text}' to int: invalid address: invalid ip address / range`);
  return span;
};

const bySpan = (store: Store, span: AddressSpan | undefined, inner: boolean): ((decision: Decision) => boolean) => {
  if (span === undefined) return () => true;
  return (decision) => {
    const own = store.spanOf(decision);
    return own !== undefined && (inner ? spans(own, span) : spans(span, own));
  };
};

const knownScopes: Readonly<Record<string, string>> = { ip: 'Ip', range: 'Range', country: 'Country', as: 'AS' };
const scopeName = (scope: string): string => knownScopes[scope.toLowerCase()] ?? scope;

/** The decisions that a bouncer asks for, active or not. Unknown parameters are taken for none. */
export function decisionFilter(store: Store, filter: URLSearchParams, dialect: Dialect): (decision: Decision) => boolean {
  const tests: ((decision: Decision) => boolean)[] = [bySpan(store, wantedSpan(filter), contains(filter, dialect))];
  const simulated = filter.get('simulated');
  if (simulated === null || simulated === 'false') tests.push((decision) => !decision.simulated);
  const scopes = filter.get('scopes')?.split(',').map(scopeName);
  if (scopes !== undefined) tests.push((decision) => scopes.includes(decision.scope));
  for (const key of ['value', 'type'] as const) {
    const wanted = filter.get(key);
    if (wanted !== null) tests.push((decision) => decision[key] === wanted);
  }
  const origins = filter.get('origins')?.split(',');
  if (origins !== undefined) tests.push((decision) => origins.includes(decision.origin));
  const words = (key: string) => filter.get(key)?.toLowerCase().split(',');
  const some = words('scenarios_containing');
  if (some !== undefined) tests.push((decision) => some.some((word) => decision.scenario.toLowerCase().includes(word)));
  const none = words('scenarios_not_containing');
  if (none !== undefined) tests.push((decision) => !none.some((word) => decision.scenario.toLowerCase().includes(word)));
  return (decision) => tests.every((test) => test(decision));
}

/** The decisions that `DELETE /v1/decisions` is about. An unknown parameter is refused here. */
export function deletionFilter(store: Store, filter: URLSearchParams, dialect: Dialect): (decision: Decision) => boolean {
  const keys: Readonly<Record<string, 'scope' | 'value' | 'type' | 'scenario' | 'origin'>> = {
    scopes: 'scope',
    value: 'value',
    type: 'type',
    scenario: 'scenario',
    origin: 'origin',
  };
  const tests: ((decision: Decision) => boolean)[] = [];
  for (const [name, value] of filter) {
    const key = keys[name];
    if (key !== undefined) tests.push((decision) => decision[key] === value);
    else if (!['contains', 'ip', 'range'].includes(name)) throw new QueryRefusal(`'${name}' doesn't exist: invalid filter`);
  }
  tests.push(bySpan(store, wantedSpan(filter), contains(filter, dialect)));
  return (decision) => tests.every((test) => test(decision));
}

/** The alerts that were asked for, newest first, at most `limit` of them (100 by default, 0 is all). */
export function findAlerts(store: Store, filter: URLSearchParams, dialect: Dialect): Alert[] {
  const limitText = filter.get('limit') ?? '100';
  if (!/^[+-]?\d+$/.test(limitText)) throw new QueryRefusal(`bad limit in parameters: [${limitText}]: unable to query`);
  const limit = Number(limitText);
  // The real one slices with it, and dies of that.
  if (limit < 0) throw new QueryRefusal('');
  const matches = alertFilter(store, filter, dialect);
  const found: Alert[] = [];
  for (let index = store.alerts.length - 1; index >= 0 && (limit === 0 || found.length < limit); index--) {
    const alert = store.alerts[index];
    if (alert !== undefined && matches(alert)) found.push(alert);
  }
  return filter.get('sort') === 'ASC' ? found.reverse() : found;
}

/** A test for alerts. An unknown parameter is refused. */
export function alertFilter(store: Store, filter: URLSearchParams, dialect: Dialect): (alert: Alert) => boolean {
  const now = store.now();
  const tests: ((alert: Alert) => boolean)[] = [];
  const some = (test: (decision: Decision) => boolean) => tests.push((alert) => alert.decisions.some(test));
  if (filter.get('simulated') === 'false') tests.push((alert) => !alert.simulated);
  for (const [name, value] of filter) {
    switch (name) {
      case 'contains':
      case 'ip':
      case 'range':
      case 'limit':
      case 'sort':
      case 'simulated':
        break;
      case 'scope':
        tests.push((alert) => alert.source.scope === scopeName(value));
        break;
      case 'value':
        tests.push((alert) => alert.source.value === value);
        break;
      case 'scenario':
        if (dialect === '1.4.6') some((decision) => decision.scenario === value);
        else tests.push((alert) => alert.scenario === value || alert.decisions.some((decision) => decision.scenario === value));
        break;
      case 'since':
      case 'until':
      case 'created_before': {
        const duration = parseDurationWithDays(value);
        if ('refusal' in duration) throw new QueryRefusal(`while parsing duration: ${duration.refusal}`);
        const edge = now - duration.ms;
        if (name === 'since') tests.push((alert) => alert.startMs >= edge);
        else if (name === 'until') tests.push((alert) => alert.startMs <= edge);
        else tests.push((alert) => alert.createdMs <= edge);
        break;
      }
      case 'decision_type':
        some((decision) => decision.type === value);
        break;
      case 'origin':
        some((decision) => decision.origin === value);
        break;
      case 'include_capi':
        if (value !== 'false' || filter.has('origin')) break;
        if (dialect === '1.4.6') some((decision) => decision.origin === 'crowdsec' || decision.origin === 'cscli');
        else tests.push((alert) => !alert.decisions.some((decision) => decision.origin === 'CAPI' || decision.origin === 'lists'));
        break;
      case 'has_active_decision': {
        const wanted = parseGoBool(value);
        if (wanted === undefined) {
          throw new QueryRefusal(
            `'${value}' is not a boolean: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax: unable to parse type`,
          );
        }
        if (wanted) some((decision) => decision.untilMs >= now);
        else tests.push((alert) => alert.decisions.length === 0);
        break;
      }
      default:
        if (dialect !== '1.4.6' && name === 'kind') tests.push((alert) => alert.kind === value);
        else if (dialect === '1.4.6' || name !== 'with_decisions') {
          throw new QueryRefusal(`${dialect === '1.4.6' ? 'Filter' : 'filter'} parameter '${name}' is unknown (=${value}): invalid filter`);
        }
    }
  }
  const span = wantedSpan(filter);
  const inner = contains(filter, dialect);
  if (span !== undefined) some(bySpan(store, span, inner));
  return (alert) => tests.every((test) => test(alert));
}
