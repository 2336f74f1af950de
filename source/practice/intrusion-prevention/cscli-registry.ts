import { randomUUID } from 'node:crypto';
import { spanOf } from './address-span.ts';
import { allowlistingOf, applyAllowlists } from './allowlists.ts';
import { type CliCommand, type CliCommands, CliRefusal, type CliRun } from './cscli.ts';
import { csvRow, goDurationText, goJson, parseDurationWithDays, rfc3339, rfc3339Nano } from './go-words.ts';
import { type HubItem, type HubKind, hubListing, isBehind, kindsOf, lightTable } from './hub-items.ts';
import { metricSections } from './metrics.ts';
import { allowlistShape } from './shapes.ts';
import type { Allowlist, Bouncer, Machine } from './store.ts';

const text = (short?: string) => ({ kind: 'text' as const, ...(short === undefined ? {} : { short }) });
const choice = (short?: string) => ({ kind: 'switch' as const, ...(short === undefined ? {} : { short }) });

/** Commands that open the database warn of how it is kept, each time. */
function openDatabase(cli: CliRun): void {
  const old =
    'You are using sqlite without WAL, this can have an impact of performance. If you do not store the database in a network share, set db_config.use_wal to true. Set explicitly to false to disable this warning.';
  const recent =
    'You are using sqlite without WAL, this can have a performance impact. If you do not store the database in a network share, set db_config.use_wal to true. Set explicitly to false to disable this warning.';
  cli.note('warning', cli.old ? old : recent);
  if (cli.old) cli.note('warning', old);
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
  flags: { key: text('k'), length: text('l') },
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

// ---- hub

const listHub = (kinds?: readonly HubKind[]): CliCommand => ({
  flags: { all: choice('a') },
  takes: [0, 100],
  run(cli) {
    const output = hubListing(cli.hub, kinds ?? kindsOf(cli.dialect), cli.switches.has('all'), cli.output);
    cli.print(output);
  },
});

const upgradeItems = (kinds?: readonly HubKind[]): CliCommand => ({
  flags: { interactive: choice('i'), 'dry-run': choice(), force: choice(), all: choice('a') },
  takes: [0, 100],
  run(cli) {
    if (cli.old)
      for (const flag of ['dry-run', 'interactive']) if (cli.switches.has(flag)) throw new CliRefusal(`unknown flag: --${flag}`, true);
    const force = cli.switches.has('force');
    const own = cli.hub.filter(
      (item) =>
        item.installed !== undefined && (kinds?.includes(item.kind) ?? true) && (cli.rest.length === 0 || cli.rest.includes(item.name)),
    );
    const skipped = own.filter((item) => item.tainted && !force);
    const wanted = own.filter((item) => (isBehind(item) || item.tainted) && !skipped.includes(item));
    for (const item of skipped)
      cli.note(
        'warning',
        cli.old ? `${item.name} is tainted, --force to overwrite` : `${item.kind}:${item.name} is tainted, use '--force' to overwrite`,
      );
    apply(cli, wanted, cli.old ? `Upgraded ${wanted.length} items` : '');
  },
});

const installItems = (kind: HubKind): CliCommand => ({
  flags: { interactive: choice('i'), 'dry-run': choice(), force: choice(), ignore: choice(), 'download-only': choice('d') },
  takes: [1, 100],
  run(cli) {
    const wanted = cli.rest.map((name) => {
      const item = cli.hub.find((candidate) => candidate.kind === kind && candidate.name === name);
      if (item === undefined) throw new CliRefusal(cli.old ? `can't find '${name}' in ${kind}` : `can't find '${name}' in ${kind}`);
      return item;
    });
    apply(
      cli,
      wanted.filter((item) => item.installed === undefined),
      cli.old ? `Enabled ${kind} : ${cli.rest.join(', ')}` : '',
    );
  },
});

/** Shows the plan, does it unless it is a rehearsal. In a container without a terminal nothing is said about the restart that it needs. */
function apply(cli: CliRun, wanted: readonly HubItem[], sentence: string): void {
  const rehearsing = cli.switches.has('dry-run');
  if (cli.old) {
    if (wanted.length > 0) cli.note('info', sentence);
    if (wanted.length > 0) cli.note('info', "Run 'sudo systemctl reload crowdsec' for the new configuration to be effective.");
  } else if (wanted.length === 0) cli.print('Nothing to install or remove.\n');
  else if (cli.output === 'human' || rehearsing) cli.print(planText(wanted));
  if (rehearsing) {
    if (wanted.length > 0) cli.print('Dry run, no action taken.\n');
    return;
  }
  if (!cli.old) for (const item of wanted) cli.print(`downloading ${item.kind}:${item.name}\n`);
  for (const item of wanted) {
    item.installed = item.newest;
    delete item.tainted;
  }
}

function planText(wanted: readonly HubItem[]): string {
  const kinds = [...new Set(wanted.map((item) => item.kind))].sort();
  const detail = (item: HubItem) =>
    item.installed === undefined
      ? `${item.name} (${item.newest})`
      : `${item.name} (${item.tainted ? '?' : item.installed} -> ${item.newest})`;
  const group = (items: readonly HubItem[], kind: HubKind, name: (item: HubItem) => string) => {
    const own = items.filter((item) => item.kind === kind);
    return own.length === 0 ? '' : ` ${kind}: ${own.map(name).sort().join(', ')}\n`;
  };
  const fresh = wanted.filter((item) => item.installed === undefined);
  const enable = fresh.length === 0 ? '' : `✅ enable\n${kinds.map((kind) => group(fresh, kind, (item) => item.name)).join('')}`;
  return `Action plan:\n📥 download\n${kinds.map((kind) => group(wanted, kind, detail)).join('')}${enable}\n`;
}

const removeItems = (kind: HubKind): CliCommand => ({
  flags: { all: choice('a'), force: choice(), purge: choice(), 'dry-run': choice(), interactive: choice('i') },
  takes: [0, 100],
  run(cli) {
    for (const item of cli.hub) {
      if (item.kind === kind && (cli.switches.has('all') || cli.rest.includes(item.name)) && !cli.switches.has('dry-run')) {
        delete item.installed;
        if (!cli.old) cli.print(`disabling ${kind}:${item.name}\n`);
      }
    }
  },
});

const kindCommands = (kind: HubKind) => ({
  list: listHub([kind]),
  install: installItems(kind),
  upgrade: upgradeItems([kind]),
  delete: removeItems(kind),
});

// ---- allowlists

function editable(cli: CliRun, what: 'update' | 'delete'): Allowlist {
  const [name = ''] = cli.rest;
  const list = cli.store.allowlists.find((candidate) => candidate.name === name);
  if (list === undefined) throw new CliRefusal(`allowlist '${name}' not found`);
  if (list.consoleManaged) {
    throw new CliRefusal(
      `allowlist ${name} is managed by console, cannot ${what} with cscli. Please visit https://app.crowdsec.net/allowlists/${list.id} to ${what}`,
    );
  }
  return list;
}

const allowlistCommands: Readonly<Record<string, CliCommand>> = {
  list: {
    recent: true,
    run(cli) {
      const lists = cli.store.allowlists.map((list) => allowlistShape(list, cli.store.now(), true));
      if (cli.output === 'json') cli.print(`${lists.length === 0 ? '[]' : goJson(lists, '  ')}\n`);
      else if (cli.output === 'raw') {
        const rows = cli.store.allowlists.map((list) => [
          list.name,
          list.description,
          rfc3339(list.createdMs),
          rfc3339(list.updatedMs),
          String(list.consoleManaged),
          String(list.items.length),
        ]);
        cli.print([['name', 'description', 'created_at', 'updated_at', 'console_managed', 'size'], ...rows].map(csvRow).join(''));
      } else {
        const rows = lists.map((list) => [
          list.name,
          list.description,
          list.created_at,
          list.updated_at,
          list.console_managed ? 'yes' : 'no',
          String(list.items.length),
        ]);
        cli.print(lightTable(['Name', 'Description', 'Created at', 'Updated at', 'Managed by Console', 'Size'], rows));
      }
    },
  },
  inspect: {
    recent: true,
    takes: [1, 1],
    run(cli) {
      const [name = ''] = cli.rest;
      const list = cli.store.allowlists.find((candidate) => candidate.name === name);
      if (list === undefined) throw new CliRefusal(`unable to get allowlist: API error: allowlist '${name}' not found`);
      const shape = allowlistShape(list, cli.store.now(), true);
      if (cli.output === 'json') {
        cli.print(`${goJson(shape, '  ')}\n`);
        return;
      }
      const end = (untilMs: number | undefined) => (untilMs === undefined ? 'never' : rfc3339(untilMs));
      if (cli.output === 'raw') {
        const rows = list.items.map((item) => [
          name,
          list.description,
          item.value,
          item.description,
          end(item.untilMs),
          rfc3339(item.createdMs),
          String(list.consoleManaged),
        ]);
        cli.print(
          [['name', 'description', 'value', 'comment', 'expiration', 'created_at', 'console_managed'], ...rows].map(csvRow).join(''),
        );
        return;
      }
      const facts = [
        ['Name', name],
        ['Description', list.description],
        ['Created at', shape.created_at],
        ['Updated at', shape.updated_at],
        ['Managed by Console', list.consoleManaged ? 'yes' : 'no'],
      ];
      cli.print(lightTable([`Allowlist: ${name}`, ''], facts));
      cli.print('\n');
      cli.print(
        lightTable(
          ['Value', 'Comment', 'Expiration', 'Created at'],
          list.items.map((item) => [item.value, item.description, end(item.untilMs), rfc3339(item.createdMs)]),
        ),
      );
    },
  },
  create: {
    recent: true,
    flags: { description: text('d') },
    takes: [1, 1],
    run(cli) {
      const [name = ''] = cli.rest;
      const description = cli.texts.get('description');
      if (description === undefined) throw new CliRefusal('required flag(s) "description" not set');
      if (cli.store.allowlists.some((list) => list.name === name)) throw new CliRefusal(`allowlist '${name}' already exists`);
      const now = cli.store.now();
      cli.store.allowlists.push({ id: randomUUID(), name, description, createdMs: now, updatedMs: now, consoleManaged: false, items: [] });
      cli.print(`allowlist '${name}' created successfully\n`);
    },
  },
  delete: {
    recent: true,
    takes: [1, 1],
    run(cli) {
      const list = editable(cli, 'delete');
      cli.store.allowlists.splice(cli.store.allowlists.indexOf(list), 1);
      cli.print(`allowlist '${list.name}' deleted successfully\n`);
    },
  },
  add: {
    recent: true,
    flags: { expiration: text('e'), comment: text('d') },
    takes: [2, 1000],
    run(cli) {
      const given = cli.texts.get('expiration');
      const life = given === undefined ? undefined : parseDurationWithDays(given);
      if (life !== undefined && 'refusal' in life)
        throw new CliRefusal(`invalid argument ${JSON.stringify(given)} for "-e, --expiration" flag: ${life.refusal}`);
      const list = editable(cli, 'update');
      const now = cli.store.now();
      const wanted = cli.rest.slice(1).filter((value) => {
        const known = list.items.some((item) => item.value === value);
        if (known) cli.note('warning', `value ${value} already in allowlist`);
        return !known;
      });
      if (wanted.length === 0) {
        cli.print('no new values for allowlist\n');
        return;
      }
      const wrong = wanted.find((value) => spanOf(value) === undefined);
      if (wrong !== undefined) throw new CliRefusal(`unable to add values to allowlist: invalid ip address '${wrong}'`);
      for (const value of wanted) {
        list.items.push({
          value,
          description: cli.texts.get('comment') ?? '',
          createdMs: now,
          ...(life === undefined ? {} : { untilMs: now + life.ms }),
        });
      }
      list.updatedMs = now;
      cli.print(`added ${wanted.length} values to allowlist ${list.name}\n`);
      const ended = applyAllowlists(cli.store);
      if (ended > 0) cli.print(`${ended} decisions deleted by allowlists\n`);
    },
  },
  remove: {
    recent: true,
    takes: [2, 1000],
    run(cli) {
      const list = editable(cli, 'delete');
      const gone = list.items.filter((item) => cli.rest.slice(1).includes(item.value));
      if (gone.length === 0) {
        cli.print('no value to remove from allowlist\n');
        return;
      }
      list.items = list.items.filter((item) => !gone.includes(item));
      list.updatedMs = cli.store.now();
      // Without an end of line, as the product has it.
      cli.print(`removed ${gone.length} values from allowlist ${list.name}`);
    },
  },
  check: {
    recent: true,
    takes: [1, 1000],
    run(cli) {
      for (const value of cli.rest) {
        if (spanOf(value) === undefined)
          throw new CliRefusal(`cannot check if ${value} is in allowlist: API error: invalid ip address '${value}'`);
        const item = allowlistingOf(cli.store, value);
        if (item === undefined) {
          cli.print(`${value} is not allowlisted\n`);
          // The rest is not looked at.
          return;
        }
        cli.print(`${value} is allowlisted by item ${item}\n`);
      }
    },
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
  flags: { url: text('u'), 'no-unit': choice() },
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
    if (!cli.old) cli.print(`${facts.join('\n')}\n`);
  },
};

export const registryCommands: CliCommands = {
  bouncers: { list: listBouncers, add: addBouncer, delete: deleteBouncer },
  machines: { list: listMachines, delete: deleteMachine, validate: validateMachine },
  hub: {
    list: listHub(),
    update: { run: (cli) => cli.print(cli.old ? '' : 'Nothing to do, the hub index is up to date.\n') },
    upgrade: upgradeItems(),
  },
  collections: kindCommands('collections'),
  parsers: kindCommands('parsers'),
  scenarios: kindCommands('scenarios'),
  postoverflows: kindCommands('postoverflows'),
  allowlists: allowlistCommands,
  lapi: { status: lapiStatus },
  capi: { status: capiStatus },
  metrics: { '': showMetrics },
  version: { '': versionOf },
};
