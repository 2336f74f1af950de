import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type ExecAnswer, failed, said } from '../../../practice/answers.ts';
import { spanOf } from '../../../text/address-span.ts';
import { parseDuration, rfc3339 } from './go-words.ts';
import type { Hub } from './hub.ts';
import { alertShape, allowlistShape, bouncerShape, listAlerts, machineShape } from './shapes.ts';
import { type Allowlist, contains, type Decision, type Dialect, type Store } from './store.ts';

export interface CliContext {
  store: Store;
  hub: Hub;
  dialect: Dialect;
  versionText: string;
  login: string;
  /** Requests to the local API since its start, by route and method. */
  requests: Record<string, Record<string, number>>;
  log(message: string): void;
}

interface Run extends CliContext {
  old: boolean;
  json: boolean;
  raw: boolean;
  flags: Readonly<Record<string, string | boolean | undefined>>;
  words: readonly string[];
  /** To stderr, and only where words were asked for. Returns the empty stdout. */
  note(message: string): string;
  text(flag: string): string | undefined;
}

type Commands = Readonly<Record<string, (cli: Run) => string>>;

/** The flags of commands: `limit=l` has a value and a letter, `all:a` is a switch. */
const flagsByCommand: Readonly<Record<string, string>> = {
  'alerts list': 'limit=l value=v all:a',
  'alerts delete': 'all:a',
  'decisions list': 'limit=l origin= all:a',
  'decisions add': 'ip=i range=r duration=d value=v scope= reason=R type=t bypass-allowlist:B',
  'decisions delete': 'ip=i range=r value=v id= all',
  'hub list': 'all:a',
  'hub upgrade': 'dry-run',
  'allowlists create': 'description=d',
  'allowlists add': 'expiration=e comment=d',
  metrics: 'color=',
};

class Refusal extends Error {}

const goJson = (value: unknown) =>
  JSON.stringify(value, undefined, 2).replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);

/** A list, as JSON or as a table of these columns. Until 1.5 an empty one is `null`. */
function listing({ json, old }: Run, rows: readonly object[], columns: readonly string[], none = ''): string {
  if (json) return rows.length > 0 ? `${goJson(rows)}\n` : old && none !== '' ? 'null' : '[]\n';
  if (rows.length === 0 && none !== '') return none;
  return table(
    columns,
    rows.map((row) => columns.map((column) => String((row as Record<string, unknown>)[column] ?? ''))),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = '-'.repeat(widths.reduce((sum, width) => sum + width + 3, 0));
  const draw = (cells: readonly string[]) => ` ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')}\n`;
  return `${line}\n${draw(head)}${line}\n${rows.map(draw).join('')}${line}\n`;
}

const alertCommands: Commands = {
  'alerts list': (cli) => {
    const limit = Number(cli.text('limit') ?? 50);
    const alerts = listAlerts(cli.store, { limit, shared: cli.flags.all === true, value: cli.text('value') }, cli.dialect);
    return listing(cli, alerts, ['id', 'scenario', 'machine_id', 'created_at'], 'No active alerts\n');
  },
  'alerts inspect': (cli) => {
    const alert = cli.store.alerts.find(({ id }) => String(id) === cli.words[0]);
    if (!alert) throw new Refusal(`can't find alert with id ${cli.words[0]}: API error: object not found`);
    return `${goJson(alertShape(alert, Date.now(), cli.dialect))}\n`;
  },
  'alerts delete': (cli) => cli.note(`${cli.flags.all ? cli.store.alerts.splice(0).length : 0} alert(s) deleted`),
  'decisions list': (cli) => {
    const limit = cli.flags.all ? 0 : Number(cli.text('limit') ?? 100);
    const filter = { limit, activeOnly: true, shared: cli.flags.all === true, origin: cli.text('origin') };
    const seen = new Set<string>();
    // Of several about one value only the newest is listed; the alert of the others is too, without it.
    const alerts = listAlerts(cli.store, filter, cli.dialect).map((alert) => ({
      ...alert,
      decisions: (alert.decisions ?? []).filter(({ type, scope, value }) => {
        const key = `${type}:${scope}:${value}`;
        return !seen.has(key) && seen.add(key);
      }),
    }));
    const rows = cli.json ? alerts : alerts.flatMap(({ decisions }) => decisions);
    return listing(cli, rows, ['id', 'origin', 'scope', 'value', 'scenario', 'type', 'duration'], 'No active decisions\n');
  },
  'decisions add': addDecision,
  'decisions delete': (cli) => cli.note(`${cli.store.expire(deletion(cli))} decision(s) deleted`),
};

function addDecision(cli: Run): string {
  const { store, login } = cli;
  const [ip, range] = [cli.text('ip'), cli.text('range')];
  const value = ip ?? range ?? cli.text('value') ?? '';
  if (value === '') throw new Refusal('missing arguments, a value is required (--ip, --range or --scope and --value)');
  const scope = ip !== undefined ? 'Ip' : range !== undefined ? 'Range' : (cli.text('scope') ?? 'Ip');
  const isAddress = ip !== undefined || range !== undefined;
  if (isAddress && (!spanOf(value) || value.includes('/') !== (scope === 'Range')))
    throw new Refusal(`${value} ${cli.old ? "isn't" : 'is not'} a valid ${scope.toLowerCase()}`);
  const item = cli.flags['bypass-allowlist'] ? undefined : store.allowlisting(value);
  if (item) throw new Refusal(`${value} is allowlisted by item ${item}, use --bypass-allowlist to add the decision anyway`);
  const [type, duration] = [cli.text('type') ?? 'ban', cli.text('duration') ?? '4h'];
  const scenario = cli.text('reason') ?? `manual '${type}' from '${login}'`;
  const untilMs = Date.now() + (parseDuration(duration) ?? 0);
  const source = { ...(ip !== undefined && { ip }), scope, value };
  const decision = { origin: 'cscli', scenario, scope, value, type, untilMs };
  store.addAlert({ machine: login, kind: 'cscli', message: scenario, scenario, source }, [decision]);
  cli.log(`(${login}/cscli) ${scenario} by ${scope.toLowerCase()} ${value} : ${duration} ${type} on ${scope} ${value}`);
  return cli.note('Decision successfully added');
}

/** An address or range matches what contains it. */
function deletion(cli: Run): (decision: Decision) => boolean {
  const target = cli.text('ip') ?? cli.text('range');
  const [id, value] = [cli.text('id'), cli.text('value')];
  if (id !== undefined) {
    if (!cli.store.alerts.some(({ decisions }) => decisions.some((decision) => String(decision.id) === id)))
      throw new Refusal(`unable to delete decision: API error: decision with id '${id}' doesn't exist: unable to delete`);
    return (decision) => String(decision.id) === id;
  }
  if (target !== undefined) return (decision) => contains(decision.value, target);
  if (value !== undefined) return (decision) => decision.value === value;
  if (!cli.flags.all) throw new Refusal('at least one filter or --all must be specified');
  return () => true;
}

const registryCommands: Commands = {
  'bouncers list': (cli) => {
    const rows = cli.store.bouncers.map((bouncer) => bouncerShape(bouncer, cli.dialect));
    return listing(cli, rows, ['name', 'ip_address', 'last_pull', 'type', 'version']);
  },
  'bouncers add': (cli) => {
    const [name = ''] = cli.words;
    if (cli.store.bouncers.some((bouncer) => bouncer.name === name))
      throw new Refusal(`unable to create bouncer: bouncer ${name} already exists`);
    const key = cli.store.addBouncer(name);
    return cli.raw ? key : `API key for '${name}':\n\n   ${key}\n\nPlease keep this key since you will not be able to retrieve it!\n`;
  },
  'bouncers delete': (cli) => {
    const { bouncers } = cli.store;
    const index = bouncers.findIndex(({ name }) => name === cli.words[0]);
    if (index < 0) throw new Refusal(`unable to delete bouncer ${cli.words[0]}: ent: bouncer not found`);
    bouncers.splice(index, 1);
    return cli.note(`bouncer '${cli.words[0]}' deleted successfully`);
  },
  'machines list': (cli) =>
    listing(cli, cli.store.machines.map(machineShape), ['machineId', 'ipAddress', 'isValidated', 'version', 'last_heartbeat']),
  'machines delete': (cli) => {
    const { machines } = cli.store;
    const index = machines.findIndex(({ login }) => login === cli.words[0]);
    // The exit code is 0 either way.
    if (index >= 0) machines.splice(index, 1);
    return cli.note(index < 0 ? `unable to delete machine '${cli.words[0]}'` : `machine '${cli.words[0]}' deleted successfully`);
  },
  'machines validate': (cli) => {
    const machine = cli.store.machines.find(({ login }) => login === cli.words[0]);
    if (!machine) throw new Refusal(`unable to validate machine '${cli.words[0]}': machine not found`);
    machine.validated = true;
    return '';
  },
  'hub list': (cli) => {
    const kinds = cli.hub.list(cli.flags.all === true);
    return cli.json ? `${goJson(kinds)}\n` : listing(cli, Object.values(kinds).flat(), ['name', 'status', 'local_version']);
  },
  'hub update': () => '',
  'hub upgrade': (cli) => {
    if (cli.old && cli.flags['dry-run']) throw new Refusal('unknown flag: --dry-run');
    return cli.hub.upgrade(cli.flags['dry-run'] === true);
  },
  'collections install': (cli) => {
    const item = cli.hub.collection(cli.words[0] ?? '');
    if (!item) throw new Refusal(`can't find '${cli.words[0]}' in collections`);
    return cli.hub.install([item]);
  },
  'collections remove': (cli) => {
    const item = cli.hub.collection(cli.words[0] ?? '');
    if (item) item.installed = undefined;
    return '';
  },
  'lapi status': () => 'You can successfully interact with Local API (LAPI)\n',
  'capi status': () => {
    throw new Refusal("no configuration for Central API (CAPI) in '/etc/crowdsec/config.yaml'");
  },
  metrics: metrics,
  // The older one writes it to stderr.
  version: (cli) => `version: ${cli.versionText}\nPlatform: docker\n`,
};

function metrics(cli: Run): string {
  const count = <T>(of: readonly T[], key: (one: T) => string) =>
    Object.fromEntries([...Map.groupBy(of, key)].map(([name, { length }]) => [name, length]));
  const alerts = count(cli.store.alerts, ({ scenario }) => scenario);
  const byScenario = Map.groupBy(cli.store.decisions(), ({ scenario }) => scenario);
  const decisions = Object.fromEntries([...byScenario].map(([scenario, found]) => [scenario, count(found, ({ origin }) => origin)]));
  const sections = { alerts, decisions, lapi: cli.requests };
  // Until 1.5 one object after the other, with nothing between them: no JSON at all.
  if (cli.json) return cli.old ? Object.values(sections).map(goJson).join('') : goJson(sections);
  const routes = Object.entries(cli.requests).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, hits]) => [route, method, String(hits)]),
  );
  const reasons = Object.entries(alerts).map(([reason, hits]) => [reason, String(hits)]);
  return `Local API Metrics:\n${table(['Route', 'Method', 'Hits'], routes)}\nLocal API Alerts:\n${table(['Reason', 'Count'], reasons)}`;
}

const allowlistCommands: Commands = {
  'allowlists list': (cli) => {
    const lists = cli.store.allowlists.map((list) => allowlistShape(list, Date.now()));
    return listing(cli, lists, ['name', 'description', 'created_at', 'updated_at']);
  },
  'allowlists create': (cli) => {
    const [name = ''] = cli.words;
    const { allowlists } = cli.store;
    if (allowlists.some((list) => list.name === name)) throw new Refusal(`allowlist '${name}' already exists`);
    const nowMs = Date.now();
    const times = { createdMs: nowMs, updatedMs: nowMs };
    allowlists.push({ id: randomUUID(), name, description: cli.text('description') ?? '', ...times, consoleManaged: false, items: [] });
    return `allowlist '${name}' created successfully\n`;
  },
  'allowlists delete': (cli) => {
    const list = allowlistOf(cli);
    cli.store.allowlists.splice(cli.store.allowlists.indexOf(list), 1);
    return `allowlist '${list.name}' deleted successfully\n`;
  },
  'allowlists add': (cli) => {
    const { store } = cli;
    const list = allowlistOf(cli);
    const description = cli.text('comment') ?? '';
    const lifeMs = parseDuration(cli.text('expiration') ?? '');
    const values = cli.words.slice(1).filter((value) => !list.items.some((item) => item.value === value));
    for (const value of values)
      list.items.push({ value, description, createdMs: Date.now(), ...(lifeMs !== undefined && { untilMs: Date.now() + lifeMs }) });
    // Since 1.6.9 that ends the decisions about them.
    const ended = store.expire(({ value }) => store.allowlisting(value) !== undefined);
    const words = ended > 0 ? `${ended} decisions deleted by allowlists\n` : '';
    return `added ${values.length} values to allowlist ${list.name}\n${words}`;
  },
  'allowlists remove': (cli) => {
    const list = allowlistOf(cli);
    const before = list.items.length;
    list.items = list.items.filter(({ value }) => !cli.words.slice(1).includes(value));
    return `removed ${before - list.items.length} values from allowlist ${list.name}`;
  },
  'allowlists check': (cli) => {
    const [value = ''] = cli.words;
    const item = cli.store.allowlisting(value);
    return item ? `${value} is allowlisted by item ${item}\n` : `${value} is not allowlisted\n`;
  },
};

function allowlistOf(cli: Run): Allowlist {
  const list = cli.store.allowlists.find(({ name }) => name === cli.words[0]);
  if (!list) throw new Refusal(`allowlist '${cli.words[0]}' not found`);
  return list;
}

const commands = { ...alertCommands, ...registryCommands, ...allowlistCommands };

/** Runs `cscli` with these arguments: data on stdout, all else on stderr, 0 or 1. */
export function runCscli(context: CliContext, argv: readonly string[]): ExecAnswer {
  const old = context.dialect === '1.4.6';
  const [group = '', verb = ''] = argv;
  const name = commands[group] ? group : `${group} ${verb}`;
  const json = /(?:^| )(?:-o|--output)[ =]json(?: |$)/.test(argv.join(' '));
  let notes = '';
  const stamp = (level: string, message: string) => {
    const time = rfc3339(Date.now());
    if (json) return `${JSON.stringify({ level, msg: message, time })}\n`;
    return `${old ? `time="${time}" ` : ''}level=${level} msg=${JSON.stringify(message)}\n`;
  };
  try {
    const command = commands[name];
    // Allowlists came with 1.6.6.
    if (!command || (old && group === 'allowlists')) throw new Refusal(`unknown command ${JSON.stringify(group)} for "cscli"`);
    const { flags, words } = flagsOf(name, argv.slice(name.split(' ').length));
    const stdout = command({
      ...context,
      old,
      json,
      raw: flags.output === 'raw',
      flags,
      words,
      text: (flag) => (typeof flags[flag] === 'string' ? flags[flag] : undefined),
      note: (message) => {
        if (flags.output === undefined) notes += stamp('info', message);
        return '';
      },
    });
    return old && name === 'version' ? said('', stdout) : said(stdout, notes);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return failed(1, old ? stamp('fatal', error.message) : `Error: cscli ${name}: ${error.message}\n`);
  }
}

function flagsOf(command: string, argv: readonly string[]): Pick<Run, 'flags' | 'words'> {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = { output: { type: 'string', short: 'o' } };
  for (const [, name = '', kind, short] of (flagsByCommand[command] ?? '').matchAll(/([\w-]+)([=:]?)(\w?)/g))
    options[name] = { type: kind === '=' ? 'string' : 'boolean', ...(short && { short }) };
  const { values, positionals } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true });
  for (const name of Object.keys(values)) if (!options[name]) throw new Refusal(`unknown flag: --${name}`);
  return { flags: values, words: positionals };
}
