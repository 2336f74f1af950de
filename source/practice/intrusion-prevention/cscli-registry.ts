import { type CliCommand, type CliCommands, CliRefusal, type CliRun } from './cscli.ts';
import { allowlistCommands } from './cscli-allowlists.ts';
import { hubCommands } from './cscli-hub.ts';
import { switchFlag, textFlag } from './flags.ts';
import { csvRow, goDurationText, goJson, rfc3339, rfc3339Nano } from './go-words.ts';
import { lightTable } from './hub-items.ts';
import { metricSections } from './metrics.ts';
import type { Bouncer, Machine } from './store.ts';

/** Commands that open the database warn of how it is kept, each time. */
function openDatabase(cli: CliRun): void {
  const old =
    'You are using sqlite without WAL, this can have an impact of performance. If you do not store the database in a network share, set db_config.use_wal to true. Set explicitly to false to disable this warning.';
  // Twice, and not any more on 1.7.8.
  for (let times = 0; cli.old && times < 2; times++) cli.note('warning', old);
}

// ---- bouncers

const bouncerShape = (bouncer: Bouncer, old: boolean) => {
  const common = {
    created_at: rfc3339Nano(bouncer.createdMs),
    updated_at: rfc3339Nano(bouncer.updatedMs),
    name: bouncer.name,
  };
  const rest = { ip_address: bouncer.address, type: bouncer.type, version: bouncer.version };
  return old
    ? {
        id: bouncer.id,
        ...common,
        api_key: bouncer.keyHash,
        revoked: false,
        ...rest,
        until: rfc3339Nano(bouncer.createdMs),
        last_pull: rfc3339Nano(bouncer.lastPullMs ?? bouncer.createdMs),
        auth_type: 'api-key',
      }
    : {
        ...common,
        revoked: false,
        ...rest,
        last_pull: bouncer.lastPullMs === undefined ? null : rfc3339Nano(bouncer.lastPullMs),
        auth_type: 'api-key',
        auto_created: false,
      };
};

const listBouncers: CliCommand = {
  run(cli) {
    openDatabase(cli);
    const { bouncers } = cli.store;
    if (cli.output === 'json') {
      cli.print(
        `${goJson(
          bouncers.map((bouncer) => bouncerShape(bouncer, cli.old)),
          '  ',
        )}\n`,
      );
      return;
    }
    const pulled = ({ lastPullMs, createdMs }: Bouncer) =>
      lastPullMs === undefined ? (cli.old ? rfc3339(createdMs) : '') : rfc3339(lastPullMs);
    if (cli.output === 'raw') {
      const rows = bouncers.map((bouncer) => [
        bouncer.name,
        bouncer.address,
        'validated',
        pulled(bouncer),
        bouncer.type,
        bouncer.version,
        'api-key',
      ]);
      cli.print([['name', 'ip', 'revoked', 'last_pull', 'type', 'version', 'auth_type'], ...rows].map(csvRow).join(''));
      return;
    }
    cli.print(
      lightTable(
        ['Name', 'IP Address', 'Valid', 'Last API pull', 'Type', 'Version', 'Auth Type'],
        bouncers.map((bouncer) => [bouncer.name, bouncer.address, '✔️', pulled(bouncer), bouncer.type, bouncer.version, 'api-key']),
      ),
    );
  },
};

const addBouncer: CliCommand = {
  flags: { key: textFlag('k'), length: textFlag('l') },
  takes: [1, 1],
  run(cli) {
    openDatabase(cli);
    const [name = ''] = cli.rest;
    if (cli.store.bouncers.some((bouncer) => bouncer.name === name))
      throw new CliRefusal(`unable to create bouncer: bouncer ${name} already exists`);
    const key = cli.store.addBouncer(name, cli.texts.get('key') || undefined);
    if (cli.output === 'raw') cli.print(key);
    else if (cli.output === 'json') cli.print(JSON.stringify(key));
    else
      cli.print(
        `${cli.old ? 'Api' : 'API'} key for '${name}':\n\n   ${key}\n\nPlease keep this key since you will not be able to retrieve it!\n`,
      );
  },
};

const deleteBouncer: CliCommand = {
  takes: [1, 100],
  run(cli) {
    openDatabase(cli);
    for (const name of cli.rest) {
      const index = cli.store.bouncers.findIndex((bouncer) => bouncer.name === name);
      if (index < 0)
        throw new CliRefusal(
          cli.old
            ? `unable to delete bouncer '${name}': bouncer doesn't exist`
            : `unable to delete bouncer ${name}: ent: bouncer not found`,
        );
      cli.store.bouncers.splice(index, 1);
      cli.note('info', `bouncer '${name}' deleted successfully`);
    }
  },
};

// ---- machines

const machineShape = (machine: Machine, old: boolean) => ({
  ...(old ? { id: machine.id } : {}),
  created_at: rfc3339Nano(machine.createdMs),
  updated_at: rfc3339Nano(machine.updatedMs),
  last_push: machine.lastPushMs === undefined ? (old ? rfc3339Nano(machine.createdMs) : undefined) : rfc3339Nano(machine.lastPushMs),
  last_heartbeat:
    machine.lastHeartbeatMs === undefined ? (old ? rfc3339Nano(machine.createdMs) : undefined) : rfc3339Nano(machine.lastHeartbeatMs),
  machineId: machine.login,
  ipAddress: machine.address || undefined,
  version: machine.version || undefined,
  isValidated: machine.validated || undefined,
  auth_type: 'password',
  ...(old ? { edges: {} } : { os: 'Alpine Linux/3.21.3' }),
});

const listMachines: CliCommand = {
  run(cli) {
    openDatabase(cli);
    const { machines } = cli.store;
    const now = cli.store.now();
    const beat = ({ lastHeartbeatMs, createdMs }: Machine) =>
      cli.old
        ? goDurationText(Math.round((now - (lastHeartbeatMs ?? createdMs)) / 1000) * 1e9)
        : lastHeartbeatMs === undefined
          ? '-'
          : rfc3339(lastHeartbeatMs);
    if (cli.output === 'json')
      cli.print(
        `${goJson(
          machines.map((machine) => machineShape(machine, cli.old)),
          '  ',
        )}\n`,
      );
    else if (cli.output === 'raw') {
      const head = [
        'machine_id',
        'ip_address',
        'updated_at',
        'validated',
        'version',
        'auth_type',
        'last_heartbeat',
        ...(cli.old ? [] : ['os']),
      ];
      const rows = machines.map((machine) => [
        machine.login,
        machine.address,
        rfc3339(machine.updatedMs),
        String(machine.validated),
        machine.version,
        'password',
        beat(machine),
        ...(cli.old ? [] : ['Alpine Linux/3.21.3']),
      ]);
      cli.print([head, ...rows].map(csvRow).join(''));
    } else {
      const mark = (machine: Machine) => (machine.validated ? '✔️' : '🚫');
      cli.print(
        cli.old
          ? lightTable(
              ['Name', 'IP Address', 'Last Update', 'Status', 'Version', 'Auth Type', 'Last Heartbeat'],
              machines.map((machine) => [
                machine.login,
                machine.address,
                rfc3339(machine.updatedMs),
                mark(machine),
                machine.version,
                'password',
                beat(machine),
              ]),
            )
          : lightTable(
              ['Name', 'IP Address', 'Last Update', 'Status', 'Version', 'OS', 'Auth Type', 'Last Heartbeat'],
              machines.map((machine) => [
                machine.login,
                machine.address,
                rfc3339(machine.updatedMs),
                mark(machine),
                machine.version,
                'Alpine Linux/3.21.3',
                'password',
                goDurationText(Math.round((now - (machine.lastHeartbeatMs ?? now)) / 1000) * 1e9),
              ]),
            ),
      );
    }
  },
};

const deleteMachine: CliCommand = {
  takes: [1, 100],
  run(cli) {
    openDatabase(cli);
    for (const name of cli.rest) {
      const index = cli.store.machines.findIndex((machine) => machine.login === name);
      // An error, and yet the exit code is 0.
      if (index < 0) cli.note('warning', `unable to delete machine '${name}': machine doesn't exist`);
      else {
        cli.store.machines.splice(index, 1);
        cli.note('info', `machine '${name}' deleted successfully`);
      }
    }
  },
};

const validateMachine: CliCommand = {
  takes: [1, 1],
  run(cli) {
    openDatabase(cli);
    const [name = ''] = cli.rest;
    const machine = cli.store.machines.find((candidate) => candidate.login === name);
    if (machine === undefined) throw new CliRefusal(`unable to validate machine '${name}': machine not found`);
    machine.validated = true;
    cli.note('info', `machine '${name}' validated successfully`);
  },
};

// ---- the rest

const lapiStatus: CliCommand = {
  run(cli) {
    cli.called('POST', '/v1/watchers/login', 200);
    const lines = [
      'Loaded credentials from /etc/crowdsec/local_api_credentials.yaml',
      `Trying to authenticate with username ${cli.old ? cli.login : JSON.stringify(cli.login)} on http://0.0.0.0:8080/`,
      'You can successfully interact with Local API (LAPI)',
    ];
    if (cli.old) for (const line of lines) cli.note('info', line);
    else cli.print(`${lines.join('\n')}\n`);
  },
};

const capiStatus: CliCommand = {
  run(cli) {
    openDatabase(cli);
    if (cli.old) throw new CliRefusal("no configuration for Central API in '/etc/crowdsec/config.yaml'");
    throw new CliRefusal("no configuration for Central API (CAPI) in '/etc/crowdsec/config.yaml'");
  },
};

const showMetrics: CliCommand = {
  flags: { url: textFlag('u'), 'no-unit': switchFlag() },
  takes: [0, 100],
  run(cli) {
    const sections = metricSections(cli.store, cli.counts());
    const unknown = cli.rest.find(
      (name) => name !== 'show' && name !== 'list' && sections[name] === undefined && !['engine', 'lapi', 'appsec'].includes(name),
    );
    if (unknown !== undefined) throw new CliRefusal(`unknown metrics type: ${unknown}`);
    if (cli.output === 'json') {
      if (cli.old) {
        // Nine objects one after the other, with nothing between them: no JSON at all.
        const order = [
          'acquisition',
          'parsers',
          'scenarios',
          'lapi',
          'lapi-bouncer',
          'lapi-machine',
          'lapi-decisions',
          'decisions',
          'alerts',
        ];
        cli.print(order.map((name) => goJson(sections[name], ' ')).join(''));
      } else cli.print(goJson(sections, ' '));
      return;
    }
    if (cli.output === 'raw' && !cli.old) throw new CliRefusal("output format 'raw' not supported for this command");
    const { routes } = cli.counts();
    const rows = Object.entries(routes).flatMap(([route, methods]) =>
      Object.entries(methods).map(([method, hits]) => [route, method, String(hits)]),
    );
    cli.print(`\nLocal ${cli.old ? 'Api' : 'API'} Metrics:\n${lightTable(['Route', 'Method', 'Hits'], rows)}`);
    const alerts = Object.entries(sections.alerts as Record<string, number>);
    if (alerts.length > 0)
      cli.print(
        `\nLocal ${cli.old ? 'Api' : 'API'} Alerts:\n${lightTable(
          ['Reason', 'Count'],
          alerts.map(([reason, count]) => [reason, String(count)]),
        )}`,
      );
  },
};

const versionOf: CliCommand = {
  run(cli) {
    const facts = [
      `version: ${cli.versionText}`,
      `Codename: alphaga`,
      `Platform: ${cli.old ? 'linux' : 'docker'}`,
      'Constraint_parser: >= 1.0, <= 3.0',
      'Constraint_scenario: >= 1.0, <= 3.0',
      'Constraint_api: v1',
      'Constraint_acquis: >= 1.0, < 2.0',
    ];
    // The older one writes with Go's plain logger, which means stderr.
    const stamp = new Date(cli.store.now()).toISOString().slice(0, 19).replaceAll('-', '/').replace('T', ' ');
    if (cli.old) cli.complain(facts.map((fact) => `${stamp} ${fact}\n`).join(''));
    else cli.print(`${facts.join('\n')}\n`);
  },
};

export const registryCommands: CliCommands = {
  bouncers: { list: listBouncers, add: addBouncer, delete: deleteBouncer },
  machines: { list: listMachines, delete: deleteMachine, validate: validateMachine },
  ...hubCommands,
  allowlists: allowlistCommands,
  lapi: { status: lapiStatus },
  capi: { status: capiStatus },
  metrics: { '': showMetrics },
  version: { '': versionOf },
};
