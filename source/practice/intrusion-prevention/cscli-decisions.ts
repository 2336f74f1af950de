import { allowlistingOf } from './allowlists.ts';
import { type CliCommand, type CliCommands, CliRefusal } from './cscli.ts';
import {
  alertParameters,
  asName,
  atApi,
  checkTargets,
  deletionParameters,
  listed,
  parametersOf,
  scopeNames,
  shapesOf,
  targetFlags,
  wordFor,
} from './cscli-asking.ts';
import { importDecisions } from './cscli-import.ts';
import { switchFlag, textFlag } from './flags.ts';
import { csvRow, goJson } from './go-words.ts';
import { boxTable } from './hub-items.ts';
import { manualAlert, takeAlerts } from './intake.ts';
import { deletionFilter, QueryRefusal } from './queries.ts';

const decisionList: CliCommand = {
  flags: {
    ...targetFlags,
    origin: textFlag(),
    since: textFlag(),
    until: textFlag(),
    limit: textFlag('l'),
    all: switchFlag('a'),
    'no-simu': switchFlag(),
    contained: switchFlag(),
    machine: switchFlag('m'),
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
    ip: textFlag('i'),
    range: textFlag('r'),
    duration: textFlag('d'),
    value: textFlag('v'),
    scope: textFlag(),
    reason: textFlag('R'),
    type: textFlag('t'),
    'bypass-allowlist': switchFlag('B'),
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

const decisionDelete: CliCommand = {
  flags: { ...targetFlags, id: textFlag(), all: switchFlag(), contained: switchFlag(), origin: textFlag() },
  run(cli) {
    if (cli.old && cli.texts.has('origin')) throw new CliRefusal('unknown flag: --origin', true);
    if (cli.texts.has('scope')) throw new CliRefusal('unknown flag: --scope', true);
    const query = parametersOf(cli, deletionParameters);
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

export const decisionCommands: CliCommands = {
  decisions: { list: decisionList, add: decisionAdd, delete: decisionDelete, import: importDecisions },
};
