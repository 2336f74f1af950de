import { isAddress, isRange } from './address-span.ts';
import { CliRefusal, type CliRun } from './cscli.ts';
import { type FlagTable, textFlag } from './flags.ts';
import { IntakeRefusal } from './intake.ts';
import { findAlerts, QueryRefusal } from './queries.ts';
import { type AlertShape, alertShape } from './shapes.ts';
import type { Alert } from './store.ts';

/** The LAPI's own names of the filters; a flag that is not given is no filter. */
export const alertParameters: Readonly<Record<string, string>> = {
  ip: 'ip',
  range: 'range',
  scope: 'scope',
  value: 'value',
  scenario: 'scenario',
  type: 'decision_type',
  origin: 'origin',
  since: 'since',
  until: 'until',
};
export const deletionParameters: Readonly<Record<string, string>> = {
  ip: 'ip',
  range: 'range',
  value: 'value',
  scenario: 'scenario',
  type: 'type',
  origin: 'origin',
};

/** Flags that most commands about decisions and alerts share. */
export const targetFlags: FlagTable = {
  ip: textFlag('i'),
  range: textFlag('r'),
  scope: textFlag(),
  value: textFlag('v'),
  scenario: textFlag('s'),
  type: textFlag('t'),
};

export const scopeNames: Readonly<Record<string, string>> = { ip: 'Ip', range: 'Range', country: 'Country', as: 'AS' };

/** The filters of the local API that were given as flags. Throws what cscli says of an address or range that is none. */
export function parametersOf(cli: CliRun, names: Readonly<Record<string, string>>): URLSearchParams {
  checkTargets(cli);
  const query = new URLSearchParams();
  for (const [flag, parameter] of Object.entries(names)) {
    const value = cli.texts.get(flag);
    if (value !== undefined && value !== '') query.set(parameter, flag === 'scope' ? (scopeNames[value.toLowerCase()] ?? value) : value);
  }
  if (cli.switches.has('contained')) query.set('contains', 'false');
  return query;
}

/** cscli looks at addresses itself, before it asks. */
export function checkTargets(cli: CliRun): void {
  const refusal = (value: string, kind: string) => new CliRefusal(`${value} ${cli.old ? "isn't" : 'is not'} a valid ${kind}`);
  const ip = cli.texts.get('ip') ?? '';
  const range = cli.texts.get('range') ?? '';
  if (range !== '' && !isRange(range)) throw refusal(range, 'range');
  if (ip !== '' && !isAddress(ip)) throw refusal(ip, 'ip');
}

/** Asks the local API; what that refuses comes back as cscli words it. */
export function atApi<T>(cli: CliRun, method: string, path: string, sentence: string, ask: () => T): T {
  cli.called('POST', '/v1/watchers/login', 200);
  try {
    const answer = ask();
    cli.called(method, path, method === 'POST' ? 201 : 200);
    return answer;
  } catch (error) {
    if (!(error instanceof QueryRefusal || error instanceof IntakeRefusal)) throw error;
    cli.called(method, path, 500);
    throw new CliRefusal(`${sentence}API error: ${error.message}`);
  }
}

/** Alerts by these filters, newest first. */
export function listed(cli: CliRun, query: URLSearchParams, sentence: string): Alert[] {
  return atApi(cli, 'GET', `/v1/alerts?${query}`, sentence, () => findAlerts(cli.store, query, cli.dialect));
}

/** Alerts as the local API gives them. */
export const shapesOf = (cli: CliRun, alerts: readonly Alert[]): AlertShape[] => {
  const now = cli.store.now();
  return alerts.map((alert) => alertShape(alert, now, cli.dialect));
};

/** Number and name of the network: `64500 Example Hosting`. */
export const asName = (source: AlertShape['source']): string => [source.as_number, source.as_name].filter(Boolean).join(' ');

/** Sentences began with a capital letter until 1.4. */
export const wordFor = (cli: CliRun, sentence: string): string =>
  cli.old ? sentence : sentence.charAt(0).toLowerCase() + sentence.slice(1);
