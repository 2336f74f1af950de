import { isAddress, isRange } from './address-span.ts';
import { allowlistingOf } from './allowlists.ts';
import { type CliCommand, type CliCommands, CliRefusal, type CliRun } from './cscli.ts';
import type { FlagTable } from './flags.ts';
import { csvRow, goJson } from './go-words.ts';
import { boxTable } from './hub-items.ts';
import { IntakeRefusal, manualAlert, takeAlerts } from './intake.ts';
import { alertFilter, deletionFilter, findAlerts, QueryRefusal } from './queries.ts';
import { type AlertShape, alertShape } from './shapes.ts';
import type { Alert } from './store.ts';

const text = (short?: string) => ({ kind: 'text' as const, ...(short === undefined ? {} : { short }) });
const choice = (short?: string) => ({ kind: 'switch' as const, ...(short === undefined ? {} : { short }) });

/** The LAPI's own names of the filters; a flag that is not given is no filter. */
const alertParameters: Readonly<Record<string, string>> = {
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
const deletionParameters: Readonly<Record<string, string>> = {
  ip: 'ip',
  range: 'range',
  value: 'value',
  scenario: 'scenario',
  type: 'type',
  origin: 'origin',
};

const targetFlags: FlagTable = { ip: text('i'), range: text('r'), scope: text(), value: text('v'), scenario: text('s'), type: text('t') };

const scopeNames: Readonly<Record<string, string>> = { ip: 'Ip', range: 'Range', country: 'Country', as: 'AS' };

function parametersOf(cli: CliRun, names: Readonly<Record<string, string>>): URLSearchParams {
  checkTargets(cli);
  const query = new URLSearchParams();
  for (const [flag, parameter] of Object.entries(names)) {
    const value = cli.texts.get(flag);
    if (value !== undefined && value !== '') query.set(parameter, flag === 'scope' ? (scopeNames[value.toLowerCase()] ?? value) : value);
  }
  if (cli.switches.has('contained')) query.set('contains', 'false');
  return query;
}

function checkTargets(cli: CliRun): void {
  const refusal = (value: string, kind: string) => new CliRefusal(`${value} ${cli.old ? "isn't" : 'is not'} a valid ${kind}`);
  const ip = cli.texts.get('ip') ?? '';
  const range = cli.texts.get('range') ?? '';
  if (range !== '' && !isRange(range)) throw refusal(range, 'range');
  if (ip !== '' && !isAddress(ip)) throw refusal(ip, 'ip');
}

/** Asks the local API; what that refuses comes back as cscli words it. */
function atApi<T>(cli: CliRun, method: string, path: string, sentence: string, ask: () => T): T {
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

function listed(cli: CliRun, query: URLSearchParams, sentence: string): Alert[] {
  return atApi(cli, 'GET', `/v1/alerts?${query}`, sentence, () => findAlerts(cli.store, query, cli.dialect));
}

const shapesOf = (cli: CliRun, alerts: readonly Alert[]): AlertShape[] => {
  const now = cli.store.now();
  return alerts.map((alert) => alertShape(alert, now, cli.dialect));
};

const asName = (source: AlertShape['source']): string => [source.as_number, source.as_name].filter(Boolean).join(' ');

const decisionList: CliCommand = {
  flags: {
    ...targetFlags,
    origin: text(),
    since: text(),
    until: text(),
    limit: text('l'),
    all: choice('a'),
    'no-simu': choice(),
    contained: choice(),
    machine: choice('m'),
  },
  run(cli) {
    const query = parametersOf(cli, alertParameters);
    query.set('has_active_decision', 'true');
    query.set('include_capi', String(cli.switches.has('all')));
    query.set('limit', cli.switches.has('all') ? '0' : (cli.texts.get('limit') ?? '100'));
    if (cli.switches.has('no-simu')) query.set('simulated', 'false');
    const sentence = cli.old ? 'Unable to list decisions : performing request: ' : 'unable to retrieve decisions: performing request: ';
    const alerts = shapesOf(cli, listed(cli, query, sentence));
    const seen = new Set<string>();
    let skipped = 0;
    for (const alert of alerts) {
      const kept = (alert.decisions ?? []).filter((decision) => {
        const key = `${cli.old ? '' : `${decision.simulated}:`}${decision.type}:${decision.scope}:${decision.value}`;
        // Only the newest of several stays, in every form of output; the alert of the others stays too, empty.
        if (seen.has(key)) {
          skipped++;
          return false;
        }
        seen.add(key);
        return true;
      });
      alert.decisions = kept;
    }
    if (cli.output === 'json') {
      const none = cli.old ? 'null' : '[]\n';
      cli.print(alerts.length === 0 ? none : `${goJson(alerts, ' ')}${cli.old ? '' : '\n'}`);
      return;
    }
    const machine = cli.switches.has('machine');
    const rows = alerts.flatMap((alert) =>
      (alert.decisions ?? []).map((decision) => ({
        raw: [
          String(decision.id),
          decision.origin,
          `${decision.scope}:${decision.value}`,
          decision.scenario,
          decision.type,
          alert.source.cn ?? '',
          asName(alert.source),
          String(alert.events_count),
          decision.duration,
          String(decision.simulated),
          String(alert.id),
          ...(machine ? [alert.machine_id] : []),
        ],
        type: decision.simulated ? `(simul)${decision.type}` : decision.type,
      })),
    );
    if (cli.output === 'raw') {
      const head = [
        'id',
        'source',
        'ip',
        'reason',
        'action',
        'country',
        'as',
        'events_count',
        'expiration',
        'simulated',
        'alert_id',
        ...(machine ? ['machine'] : []),
      ];
      cli.print([head, ...rows.map((row) => row.raw)].map(csvRow).join(''));
      return;
    }
    if (alerts.length === 0) {
      cli.print('No active decisions\n');
      return;
    }
    const head = [
      'ID',
      'Source',
      'Scope:Value',
      'Reason',
      'Action',
      'Country',
      'AS',
      'Events',
      'expiration',
      'Alert ID',
      ...(machine ? ['Machine'] : []),
    ];
    cli.print(
      boxTable(
        head,
        rows.map(({ raw, type }) => [...raw.slice(0, 4), type, ...raw.slice(5, 9), ...raw.slice(10)]),
      ),
    );
    if (skipped > 0) cli.print(`${skipped} duplicated entries skipped\n`);
  },
};

const decisionAdd: CliCommand = {
  flags: {
    ip: text('i'),
    range: text('r'),
    duration: text('d'),
    value: text('v'),
    scope: text(),
    reason: text('R'),
    type: text('t'),
    'bypass-allowlist': choice('B'),
  },
  run(cli) {
    if (cli.old && cli.switches.has('bypass-allowlist')) throw new CliRefusal('unknown flag: --bypass-allowlist', true);
    checkTargets(cli);
    const ip = cli.texts.get('ip') ?? '';
    const range = cli.texts.get('range') ?? '';
    const asked = cli.texts.get('scope') ?? 'Ip';
    const scope = ip !== '' ? 'Ip' : range !== '' ? 'Range' : (scopeNames[asked.toLowerCase()] ?? asked);
    const value = ip || range || (cli.texts.get('value') ?? '');
    if (value === '') {
      if (cli.old) cli.usage();
      throw new CliRefusal(`${cli.old ? 'M' : 'm'}issing arguments, a value is required (--ip, --range or --scope and --value)`);
    }
    const type = cli.texts.get('type') ?? 'ban';
    const reason = cli.texts.get('reason') || `manual '${type}' from '${cli.login}'`;
    if (!cli.old && !cli.switches.has('bypass-allowlist') && (scope === 'Ip' || scope === 'Range')) {
      const item = allowlistingOf(cli.store, value);
      cli.called('GET', `/v1/allowlists/check/${value}`, 200);
      if (item !== undefined)
        throw new CliRefusal(`${value} is allowlisted by item ${item}, use --bypass-allowlist to add the decision anyway`);
    }
    const alert = manualAlert({ duration: cli.texts.get('duration') ?? '4h', scope, value, type, reason }, cli.store.now(), cli.old);
    atApi(cli, 'POST', '/v1/alerts', '', () => takeAlerts(cli.store, [alert], cli.login, cli.dialect, cli.log));
    cli.note('info', 'Decision successfully added');
  },
};

const wordFor = (cli: CliRun, sentence: string): string => (cli.old ? sentence : sentence.charAt(0).toLowerCase() + sentence.slice(1));

const decisionDelete: CliCommand = {
  flags: { ...targetFlags, id: text(), all: choice(), contained: choice(), origin: text() },
  run(cli) {
    if (cli.old && cli.texts.has('origin')) throw new CliRefusal('unknown flag: --origin', true);
    const query = parametersOf(cli, deletionParameters);
    const scope = cli.texts.get('scope');
    if (scope) query.set('scopes', scopeNames[scope.toLowerCase()] ?? scope);
    const id = cli.texts.get('id') ?? '';
    if (query.size === (query.has('contains') ? 1 : 0) && id === '' && !cli.switches.has('all')) {
      cli.usage();
      throw new CliRefusal(wordFor(cli, 'At least one filter or --all must be specified'));
    }
    let count: number;
    if (id === '') {
      const sentence = cli.old ? 'Unable to delete decisions : ' : 'unable to delete decisions: ';
      count = atApi(cli, 'DELETE', `/v1/decisions?${query}`, sentence, () =>
        cli.store.expire(deletionFilter(cli.store, query, cli.dialect)),
      );
    } else {
      if (!/^[+-]?\d+$/.test(id))
        throw new CliRefusal(`id '${id}' is not an integer: strconv.Atoi: parsing ${JSON.stringify(id)}: invalid syntax`);
      const sentence = cli.old ? 'Unable to delete decision : ' : 'unable to delete decision: ';
      count = atApi(cli, 'DELETE', `/v1/decisions/${id}`, sentence, () => {
        const found = [...cli.store.decisions()].find((decision) => decision.id === Number(id));
        if (found === undefined) throw new QueryRefusal(`decision with id '${id}' doesn't exist: unable to delete`);
        found.untilMs = cli.store.now();
        return 1;
      });
    }
    cli.note('info', `${count} decision(s) deleted`);
  },
};

const alertList: CliCommand = {
  flags: {
    ...targetFlags,
    origin: text(),
    since: text(),
    until: text(),
    limit: text('l'),
    all: choice('a'),
    contained: choice(),
    machine: choice('m'),
  },
  run(cli) {
    const query = parametersOf(cli, alertParameters);
    query.set('include_capi', String(cli.switches.has('all')));
    query.set('limit', cli.texts.get('limit') ?? '50');
    const alerts = shapesOf(cli, listed(cli, query, cli.old ? 'Unable to list alerts: ' : 'unable to list alerts: '));
    if (cli.output === 'json') {
      const none = cli.old ? 'null' : '[]\n';
      cli.print(alerts.length === 0 ? none : goJson(alerts, ' '));
      return;
    }
    const machine = cli.switches.has('machine');
    const row = (alert: AlertShape) => ({
      reason: alert.scenario || alert.message,
      country: alert.source.cn ?? '',
      as: asName(alert.source),
      decisions: kindsOfDecisions(alert),
      created: cli.old ? alert.start_at : alert.created_at,
    });
    if (cli.output === 'raw') {
      const head = [
        'id',
        'scope',
        'value',
        'reason',
        'country',
        'as',
        'decisions',
        'created_at',
        ...(cli.old ? [] : ['kind']),
        ...(machine ? ['machine'] : []),
      ];
      const rows = alerts.map((alert) => {
        const { reason, country, as, decisions, created } = row(alert);
        const kind = 'kind' in alert ? [alert.kind ?? ''] : [];
        return [
          String(alert.id),
          alert.source.scope,
          alert.source.value,
          reason,
          country,
          as,
          decisions,
          created,
          ...kind,
          ...(machine ? [alert.machine_id] : []),
        ];
      });
      cli.print([head, ...rows].map(csvRow).join(''));
      return;
    }
    if (alerts.length === 0) {
      cli.print('No active alerts\n');
      return;
    }
    const head = [
      'ID',
      'value',
      'reason',
      'country',
      'as',
      'decisions',
      'created_at',
      ...(cli.old ? [] : ['kind']),
      ...(machine ? ['machine'] : []),
    ];
    const rows = alerts.map((alert) => {
      const { reason, country, as, decisions, created } = row(alert);
      const kind = 'kind' in alert ? [alert.kind ?? ''] : [];
      return [
        String(alert.id),
        `${alert.source.scope}:${alert.source.value}`,
        reason,
        country,
        as,
        decisions,
        created,
        ...kind,
        ...(machine ? [alert.machine_id] : []),
      ];
    });
    cli.print(boxTable(head, rows));
  },
};

/** `ban:2 captcha:1` */
function kindsOfDecisions(alert: AlertShape): string {
  const counts = new Map<string, number>();
  for (const { type, simulated } of alert.decisions ?? []) {
    const key = simulated ? `(simul)${type}` : type;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([type, count]) => `${type}:${count}`).join(' ');
}

const alertInspect: CliCommand = {
  flags: { details: choice('d') },
  takes: [0, 100],
  run(cli) {
    if (cli.rest.length === 0) {
      cli.usage();
      if (!cli.old) throw new CliRefusal('missing alert_id');
      return;
    }
    for (const id of cli.rest) {
      if (!/^\d+$/.test(id)) throw new CliRefusal(`bad alert id ${id}`);
      const found = cli.store.alerts.find((alert) => alert.id === Number(id));
      cli.called('GET', `/v1/alerts/${id}`, found === undefined ? 404 : 200);
      if (found === undefined) throw new CliRefusal(`can't find alert with id ${id}: API error: object not found`);
      const alert = alertShape(found, cli.store.now(), cli.dialect);
      if (cli.output === 'json') cli.print(`${goJson(alert, '  ')}\n`);
      else if (cli.output === 'raw')
        cli.print(
          `${Object.entries(alert)
            .map(([key, value]) => `${key.replaceAll('_', '')}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
            .join('\n')}\n`,
        );
      else cli.print(inspectText(alert, cli.switches.has('details')));
    }
  },
};

function inspectText(alert: AlertShape, details: boolean): string {
  const active = (alert.decisions ?? []).filter((decision) => !decision.duration.startsWith('-'));
  const rows = active.map((decision) => [
    String(decision.id),
    `${decision.scope}:${decision.value}`,
    decision.type,
    decision.duration,
    alert.created_at,
  ]);
  return [
    '',
    '#'.repeat(96),
    '',
    ` - ID         : ${alert.id}`,
    ` - Date       : ${alert.created_at}`,
    ` - Machine    : ${alert.machine_id}`,
    ` - Simulation : ${alert.simulated}`,
    ` - Reason     : ${alert.scenario}`,
    ` - Events Count : ${alert.events_count}`,
    ` - Scope:Value: ${alert.source.scope}:${alert.source.value}`,
    ` - Country    : ${alert.source.cn ?? ''}`,
    ` - AS         : ${alert.source.as_name ?? ''}`,
    ` - Begin      : ${alert.start_at}`,
    ` - End        : ${alert.stop_at}`,
    '',
    ...(rows.length === 0 ? [] : [' - Active Decisions  :', boxTable(['ID', 'scope:value', 'action', 'expiration', 'created_at'], rows)]),
    ...(details
      ? [
          ' - Events  :',
          ...(alert.events ?? []).map(
            (event) =>
              `\n- Date: ${event.timestamp}\n${boxTable(
                ['Key', 'Value'],
                event.meta.map(({ key, value }) => [key, value]),
              )}`,
          ),
          '',
        ]
      : []),
  ].join('\n');
}

const alertDelete: CliCommand = {
  flags: {
    scope: text(),
    value: text('v'),
    scenario: text('s'),
    ip: text('i'),
    range: text('r'),
    id: text(),
    all: choice('a'),
    contained: choice(),
  },
  run(cli) {
    const query = parametersOf(cli, alertParameters);
    const id = cli.texts.get('id') ?? '';
    if (query.size === (query.has('contains') ? 1 : 0) && id === '' && !cli.switches.has('all')) {
      cli.usage();
      throw new CliRefusal(wordFor(cli, 'At least one filter or --all must be specified'));
    }
    const sentence = (what: string) => (cli.old ? `Unable to delete ${what} :  ` : `unable to delete ${what}: `);
    const count =
      id === ''
        ? atApi(cli, 'DELETE', `/v1/alerts?${query}`, sentence('alerts'), () =>
            cli.store.removeAlerts(new Set(cli.store.alerts.filter(alertFilter(cli.store, query, cli.dialect)))),
          )
        : atApi(cli, 'DELETE', `/v1/alerts/${id}`, sentence('alert'), () => {
            const found = cli.store.alerts.find((alert) => String(alert.id) === id);
            if (found === undefined) throw new QueryRefusal('ent: alert not found');
            return cli.store.removeAlerts(new Set([found]));
          });
    cli.note('info', `${count} alert(s) deleted`);
  },
};

export const decisionCommands: CliCommands = { decisions: { list: decisionList, add: decisionAdd, delete: decisionDelete } };

export const alertCommands: CliCommands = {
  alerts: {
    list: alertList,
    inspect: alertInspect,
    delete: alertDelete,
    flush: {
      flags: { 'max-items': text(), 'max-age': text() },
      run(cli) {
        cli.note('info', 'Flushing alerts. !! This may take a long time !!');
        const now = cli.store.now();
        const oldest = now - 7 * 86_400_000;
        cli.store.removeAlerts(
          new Set(
            cli.store.alerts.filter((alert) => alert.createdMs < oldest && alert.decisions.every((decision) => decision.untilMs < now)),
          ),
        );
        cli.note('info', 'Alerts flushed');
      },
    },
  },
};
