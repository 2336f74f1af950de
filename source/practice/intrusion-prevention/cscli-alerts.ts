import { type CliCommand, type CliCommands, CliRefusal } from './cscli.ts';
import { alertParameters, asName, atApi, listed, parametersOf, shapesOf, targetFlags, wordFor } from './cscli-asking.ts';
import { switchFlag, textFlag } from './flags.ts';
import { csvRow, goJson } from './go-words.ts';
import { boxTable } from './hub-items.ts';
import { alertFilter, QueryRefusal } from './queries.ts';
import { type AlertShape, alertShape } from './shapes.ts';

const alertList: CliCommand = {
  flags: {
    ...targetFlags,
    origin: textFlag(),
    since: textFlag(),
    until: textFlag(),
    limit: textFlag('l'),
    all: switchFlag('a'),
    contained: switchFlag(),
    machine: switchFlag('m'),
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
    const head = (...subject: string[]) => [
      ...subject,
      'reason',
      'country',
      'as',
      'decisions',
      'created_at',
      ...(cli.old ? [] : ['kind']),
      ...(machine ? ['machine'] : []),
    ];
    const row = (alert: AlertShape, ...subject: string[]) => [
      String(alert.id),
      ...subject,
      alert.scenario || alert.message,
      alert.source.cn ?? '',
      asName(alert.source),
      kindsOfDecisions(alert),
      cli.old ? alert.start_at : alert.created_at,
      ...('kind' in alert ? [alert.kind ?? ''] : []),
      ...(machine ? [alert.machine_id] : []),
    ];
    if (cli.output === 'raw') {
      const rows = alerts.map((alert) => row(alert, alert.source.scope, alert.source.value));
      cli.print([head('id', 'scope', 'value'), ...rows].map(csvRow).join(''));
      return;
    }
    if (alerts.length === 0) {
      cli.print('No active alerts\n');
      return;
    }
    const rows = alerts.map((alert) => row(alert, `${alert.source.scope}:${alert.source.value}`));
    cli.print(boxTable(head('ID', 'value'), rows));
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
  flags: { details: switchFlag('d') },
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
      else cli.print(inspectText(alert, cli.switches.has('details'), cli.old));
    }
  },
};

function inspectText(alert: AlertShape, details: boolean, old: boolean): string {
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
    ` - Scope:Value${old ? '' : '  '}: ${alert.source.scope}:${alert.source.value}`,
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
    scope: textFlag(),
    value: textFlag('v'),
    scenario: textFlag('s'),
    ip: textFlag('i'),
    range: textFlag('r'),
    id: textFlag(),
    all: switchFlag('a'),
    contained: switchFlag(),
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

export const alertCommands: CliCommands = {
  alerts: {
    list: alertList,
    inspect: alertInspect,
    delete: alertDelete,
    flush: {
      flags: { 'max-items': textFlag(), 'max-age': textFlag() },
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
