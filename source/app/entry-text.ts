import { type CatalogEntry, type CatalogPort, timedStepText } from '../catalog/catalog.ts';
import { groupTitles } from '../catalog/groups.ts';
import { runLocation } from '../catalog/run-location.ts';
import { cleanLine } from '../text/clean.ts';
import { pad, textWidth, wrap } from '../text/width.ts';
import { callText, endpointsOf } from './entry-json.ts';

interface EntryStyle {
  readonly proseColumns: number;
  paint(what: 'strong' | 'faint' | 'accent', text: string): string;
}

/** Further parts of a row go below its text, each on a line of its own. */
type Part = string | undefined | false;
type Row = readonly [name: string, text: string, ...more: Part[]];

const joined = (...parts: readonly Part[]) => parts.filter(Boolean).join(', ');
const unnamed = (texts: readonly string[]) => texts.map((text): Row => ['', text]);

export function entryLines(entry: CatalogEntry, entries: readonly CatalogEntry[], style: EntryStyle): string[] {
  const sections = [deploymentSections, networkSections, fileSections, callSections, factSections];
  return [
    ...headLines(entry, entries, style),
    ...sections.flatMap((of) => Object.entries(of(entry)).flatMap(([title, rows]) => sectionLines(title, rows, style))),
  ];
}

function headLines(entry: CatalogEntry, entries: readonly CatalogEntry[], style: EntryStyle): string[] {
  const { proseColumns } = style;
  const id = cleanLine(entry.id);
  const group = groupTitles[entry.group];
  const room = proseColumns - textWidth(group);
  const { name, alternatives, homepage } = entry.product;
  const where = runLocation(entry, entries);
  const prose = [
    entry.kind,
    joined(name, homepage),
    alternatives.length > 0 &&
      `Alternatives: ${alternatives.map((other) => `${other.name}${other.image ? ` (${other.image})` : ''}`).join(', ')}.`,
    entry.keywords.length > 0 && `Keywords: ${entry.keywords.join(', ')}.`,
    where && `Not deployed by Quarterdeck. ${where}`,
    where && entry.image !== '' && `Image ${entry.image}`,
    entry.own && `From your own catalog: ${entry.folder}`,
  ];
  return [
    ...(room < textWidth(id) + 2
      ? [style.paint('strong', id), style.paint('faint', group)]
      : [style.paint('strong', pad(id, room)) + style.paint('faint', group)]),
    ...prose.flatMap((text) => (text ? wrapped(text, proseColumns) : [])),
  ];
}

type Sections = Record<string, readonly Row[]>;

function deploymentSections(entry: CatalogEntry): Sections {
  return {
    Services: entry.services.map((service) => [
      `${service.name}${service.main ? ' *' : ''}`,
      [service.image, service.role].filter(Boolean).join('  '),
      joined(
        service.oneShot && 'exits when it is done',
        service.optional && 'optional, used only in some setups',
        service.networkMode === 'host' && 'on the host network',
      ),
      service.capAdd.length > 0 && `capabilities ${service.capAdd.join(', ')}`,
      service.devices.length > 0 && `devices ${service.devices.join(', ')}`,
      service.tagReason && `reason for the tag: ${service.tagReason}`,
      service.irreplaceable && `cannot be replaced by another image: ${service.irreplaceable}`,
      service.architectures && `only for ${service.architectures.join(', ')}`,
      service.images && `also known as ${service.images.join(', ')}`,
    ]),
    Ports: entry.ports.map((port) => [
      port.name,
      `${addressText(port)}  ${port.role}`,
      joined(port.web && 'web UI', port.tls && 'uses TLS', port.fixed && 'fixed by the protocol'),
    ]),
    Fields: entry.fields.map(fieldRow),
    'Exactly one of': unnamed(entry.oneOf.map((set) => set.join(' or '))),
    Mounts: Object.entries(entry.volumes).map(([target, { description, content }]) => [target, description, content && `has ${content}`]),
    Backup: entry.backup.map(({ id, volume, method, service, dump, restore, with: others, exclude, why }) => [
      id,
      `${volume}: ${method}${service ? ` in ${service}` : ''}`,
      why,
      others.length > 0 && `also stopped: ${others.join(', ')}`,
      exclude.length > 0 && `excluded: ${exclude.join(', ')}`,
      dump && `dump command: ${dump.join(' ')}`,
      restore && `restore command: ${restore.join(' ')}`,
    ]),
  };
}

function networkSections({ provides = {}, uses = [], chain, site, websocket, sensitive, api }: CatalogEntry): Sections {
  const proxied = [
    site?.port && `routes to port ${site.port}`,
    ...(site?.routes ?? []).map(
      ({ path, port, otherwise }) => `${path} routes to port ${port}${otherwise ? `, or ${otherwise} if that does not respond` : ''}`,
    ),
    ...(site?.names ?? []).map(
      ({ field, port, suggest }) => `the host name in ${field} routes to port ${port}${suggest ? ` (suggestion: ${suggest}.SITE)` : ''}`,
    ),
    site?.portal && `users log in at ${site.portal}`,
    websocket && 'uses WebSockets',
    sensitive !== undefined && (sensitive ? 'requires HTTPS, because it has a login or stores secrets' : 'does not require HTTPS'),
  ].filter((text) => typeof text === 'string');
  const reached = joined(
    api?.port !== undefined && `port ${api.port}`,
    api?.service && `service ${api.service}`,
    api?.keys && `signed with ${api.keys.access} and ${api.keys.secret}`,
  );
  return {
    Provides: Object.entries(provides).map(([name, { port, scheme }]) => [name, `${scheme}, port ${port}`]),
    Uses: uses.map(({ component, what, field, services }) => [
      field ?? component,
      `${what} of ${component}`,
      field === undefined && 'the address is entered in the web UI',
      services && `for ${services.join(', ')}`,
    ]),
    'Media chain stages': chain.map(({ stage, does, optional }) => [stage, does, optional && 'optional']),
    'Behind the reverse proxy': unnamed(proxied),
    Procedures: unnamed(api ? [`uses the ${api.name} API: ${reached}`] : []),
  };
}

function fileSections({ dependsOn, configFile, needs, justifies }: CatalogEntry): Sections {
  return {
    'Works with': unnamed(dependsOn.length > 0 ? [dependsOn.join(', ')] : []),
    'Configuration file': configFile ? [fileRow(configFile)] : [],
    'Host requirements': Object.entries({ memory: needs?.memory, disk: needs?.disk }).flatMap(([name, least]): Row[] =>
      least === undefined ? [] : [[name, `at least ${least}`]],
    ),
    'Exceptions in the compose file': Object.entries(justifies),
  };
}

type ConfigFile = NonNullable<CatalogEntry['configFile']>;

function fileRow({ path, form, format, documents, anyCase, emptyIsUnset, templates, schema, rules, verify }: ConfigFile): Row {
  return [
    path,
    joined(form, format),
    documents && { first: 'only the first of several documents is used', each: 'several documents are supported' }[documents],
    anyCase && 'names are case-insensitive',
    emptyIsUnset && 'keys without a value are ignored',
    templates && `rendered by the product before it is parsed (${templates} templates)`,
    schema && `checked with ${schema}`,
    ...rules.map(({ id, message, remedy, level }) => `${id}: ${message} ${remedy}${levelWords[level]}`),
    verify && `checked by the product: ${verify.argv.join(' ')} in ${verify.service}`,
  ];
}

function callSections(entry: CatalogEntry): Sections {
  const { probe } = entry;
  return {
    Authentication: unnamed(entry.auth === 'none' ? [] : [entry.auth]),
    Endpoints: endpointsOf(entry).map((call) => [`${call.method} ${call.path}`, call.title, ...callMore(call)]),
    'Other calls': Object.entries(entry.calls).flatMap(([name, call]): Row[] =>
      call.http && call.endpoint ? [] : [[name, call.title, callText(call), ...callMore(call)]],
    ),
    Probe: probe ? [probeRow(probe, entry.calls)] : [],
    Checks: entry.checks.map(({ id, level, message, remedy }) => [id, `${level}: ${templateText(message)}`, templateText(remedy)]),
    Operations: entry.operations.map(({ id, title, right, consequences }) => [
      id,
      `${title}${right === 'read' ? '' : ` (${right})`}`,
      ...consequences,
    ]),
    'Before the first start': entry.beforeStart.map(({ id, files, message, remedy, flow }) => [
      id,
      files.join(', '),
      `${message} ${remedy}`,
      flow && `offered in the plan: ${flow.title}`,
    ]),
    'First run': entry.firstRun.map(({ id, title, detail, urgent, page }) => [id, title, detail, page && `at ${page}`, urgent && 'urgent']),
  };
}

function probeRow(
  { every, call, also, withCredentials, states, status }: NonNullable<CatalogEntry['probe']>,
  calls: CatalogEntry['calls'],
): Row {
  return [
    every === undefined ? 'at the configured interval' : `every ${every}`,
    [call, ...also, ...withCredentials].map((name) => calls[name]?.title ?? name).join(' · '),
    `states: ${[...new Set(states.map(({ state }) => templateText(state)))].join(', ')}`,
    status.length > 0 && `status: ${status.map(({ text }) => templateText(text)).join('; ')}`,
  ];
}

function factSections(entry: CatalogEntry): Sections {
  const { upgrade } = entry;
  const rollback = upgrade?.rollback === 'safe' ? 'Rolling back requires no backup.' : 'Rolling back requires a backup.';
  return {
    States: entry.transitions.map(({ from, trigger, condition, to, also }) => [
      '',
      `${from} -> ${to}`,
      `by ${trigger}${condition ? `, if ${condition}` : ''}`,
      also,
    ]),
    Limits: entry.limits.map(({ item, value, kind }) => [item, `${value}${kind === 'stated' ? '' : ` (${kind})`}`]),
    'Known errors': entry.errors.map(({ condition, outcome, check }) => ['', condition, outcome, check && `detected by ${check}`]),
    Events: unnamed(entry.events),
    Objects: entry.objects.map(({ name, fields, note }) => [
      name,
      note ?? '',
      ...fields.map((field) => `${field.name}: ${joined(field.type, field.required && 'required', field.secret && 'secret', field.rule)}`),
    ]),
    [entry.deploy === 'compose' ? 'Commands in the container' : 'Commands']: unnamed(entry.cli),
    Upgrade: upgrade ? [['', rollback, ...upgrade.steps.map(timedStepText), ...upgrade.notes]] : [],
    Notes: unnamed(entry.notes),
  };
}

function sectionLines(title: string, rows: readonly Row[], style: EntryStyle): string[] {
  if (rows.length === 0) return [];
  const { proseColumns } = style;
  const widths = rows.map(([name]) => textWidth(cleanLine(name)));
  const most = Math.max(12, Math.min(30, Math.floor(proseColumns / 3)));
  const column = Math.min(most, Math.max(0, ...widths.map((width) => (width > most ? 0 : width))));
  const indent = column === 0 ? 2 : column + 4;
  const below = indent + (column === 0 ? 2 : 0);
  const indented = (text: string, by: number) => wrapped(text, proseColumns - by).map((line) => ' '.repeat(by) + line);
  return [
    '',
    style.paint('strong', title),
    ...rows.flatMap(([name, text, ...more], index) => {
      const [first = '', ...rest] = wrapped(text, proseColumns - indent);
      const head =
        (widths[index] ?? 0) > column
          ? [...wrapped(name, proseColumns - 2).map((line) => `  ${style.paint('accent', line)}`), `${' '.repeat(indent)}${first}`]
          : [column === 0 ? `  ${first}` : `  ${style.paint('accent', pad(cleanLine(name), column))}  ${first}`.trimEnd()];
      const parts = more.flatMap((part) => (part ? indented(part, below) : []));
      return [...head, ...rest.map((line) => ' '.repeat(indent) + line), ...parts.map((line) => style.paint('faint', line))];
    }),
  ];
}

const wrapped = (text: string, columns: number) => wrap(cleanLine(text), Math.max(10, columns));

type Field = CatalogEntry['fields'][number];
type Call = CatalogEntry['calls'][string];

const audienceTexts: Readonly<Record<NonNullable<Field['audience']>, string>> = {
  container: 'used by the container itself',
  browser: 'used by browsers',
  internet: 'used by servers on the internet',
  listen: 'listen address',
};

function fieldRow(field: Field): Row {
  const { type, secret, required, default: preset, generator, rule, target, env, audience, rotate, verify } = field;
  return [
    field.name,
    joined(
      type,
      required && 'required',
      secret && type !== 'secret-string' && 'secret',
      preset !== undefined && `default ${JSON.stringify(preset)}`,
      generator && `generated (${generator})`,
    ),
    [field.label, field.description].filter(Boolean).join(': '),
    rule,
    joined(
      field.enum && `one of ${field.enum.join(', ')}`,
      field.length !== undefined && !rule?.includes(`${field.length} characters`) && `${field.length} characters`,
      field.pattern && `pattern ${field.pattern}`,
      field.validFor && `valid for ${field.validFor}`,
    ),
    field.excludes.length > 0 && `cannot be combined with ${field.excludes.join(', ')}`,
    field.setupOnly && `for setup only: ${field.setupOnly.join(', ')}`,
    field.sameAs && `same value as ${field.sameAs.join(', ')}`,
    joined(targetTexts[target] ?? target, env !== field.name && env && `variable ${env}`, audience && audienceTexts[audience]),
    rotate && ('never' in rotate ? `cannot be rotated: ${rotate.never}` : `rotated by ${programText(rotate)}`),
    verify &&
      ('call' in verify
        ? `verified by the call ${[verify.call, verify.input, ...Object.entries(verify.with).map((pair) => pair.join('='))].join(' ')}`
        : `verified by ${programText(verify)}`),
  ];
}

/** Omits scripts of several lines: the catalog entry has them. */
function programText({ argv, service }: { argv: readonly string[]; service: string }): string {
  return `${argv.some((word) => word.includes('\n')) ? 'a script' : argv.join(' ')} in ${service}`;
}

const targetTexts: Readonly<Record<Field['target'], string>> = {
  environment: '',
  config: 'set in the configuration file',
  command: 'set in the command of the container',
  credential: 'stored as a credential',
  proxy: 'set in the rule of the reverse proxy',
};

function callMore({ auth, response, note, inputs }: Pick<Call, 'auth' | 'inputs' | 'response' | 'note'>): Part[] {
  return [
    auth !== 'none' && `authentication: ${auth}`,
    ...Object.entries(inputs).map(
      ([name, { type, description, required, secret }]) =>
        `input ${name}: ${description} (${joined(type, !required && 'optional', secret && type !== 'secret-string' && 'secret')})`,
    ),
    response && `response: ${response}`,
    note,
  ];
}

function templateText(text: string): string {
  return text.replaceAll(/\{\{|\}\}|\{[^{}]*\}/g, (found) => (found === '{{' ? '{' : found === '}}' ? '}' : '…'));
}

function addressText({ host, container, protocol, exposure }: CatalogPort): string {
  const where = exposure === 'loopback' ? '127.0.0.1' : exposure === 'all' ? 'all addresses' : 'host network';
  const published = host === undefined ? ', any port' : `${exposure === 'loopback' ? ':' : ', port '}${host}`;
  return `${where}${published}${host === container ? '' : ` -> ${container}`}/${protocol}`;
}

const levelWords: Readonly<Record<ConfigFile['rules'][number]['level'], string>> = {
  error: '',
  warning: ' (warning)',
  deployed: ' (only a warning in files that Quarterdeck does not deploy)',
};
