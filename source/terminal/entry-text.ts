import type { CatalogEntry, CatalogPort } from '../catalog/catalog.ts';
import { groupTitles } from '../catalog/groups.ts';
import { whereItRuns } from '../catalog/where-it-runs.ts';
import { cleanLine } from '../text/clean.ts';
import { pad, textWidth, wrap } from '../text/width.ts';
import { callText, endpointsOf } from './catalog-json.ts';

/** How wide text about a component may be, and how its parts are told apart. */
export interface EntryStyle {
  readonly proseColumns: number;
  paint(what: 'strong' | 'faint' | 'accent', text: string): string;
}

/** `catalog show ID`: everything that is known about a component, most asked for first. */
export function entryLines(entry: CatalogEntry, entries: readonly CatalogEntry[], style: EntryStyle): string[] {
  return new EntryText(entry, entries, style).lines;
}

interface Row {
  name: string;
  /** Said first, on the name's line. */
  text: string;
  /** Said below, each on its own line. */
  more?: readonly (string | undefined | false)[];
}

class EntryText {
  readonly lines: string[] = [];
  readonly #output: EntryStyle;
  readonly #width: number;

  constructor(entry: CatalogEntry, entries: readonly CatalogEntry[], output: EntryStyle) {
    this.#output = output;
    this.#width = output.proseColumns;
    this.#head(entry, entries);
    this.#what(entry);
    this.#asks(entry);
    this.#knows(entry);
  }

  #head(entry: CatalogEntry, entries: readonly CatalogEntry[]): void {
    const id = cleanLine(entry.id);
    const group = groupTitles[entry.group];
    const room = this.#width - textWidth(group);
    if (room < textWidth(id) + 2) this.lines.push(this.#output.paint('strong', id), this.#output.paint('faint', group));
    else this.lines.push(this.#output.paint('strong', pad(id, room)) + this.#output.paint('faint', group));
    this.#prose(entry.kind, 0);
    const { name, confidence, why, alternatives, homepage } = entry.product;
    this.#prose(
      `${name}${confidence === 'sure' ? '' : ` (${confidence === 'guess' ? 'a guess' : confidence})`}${homepage ? `, ${homepage}` : ''}`,
      0,
    );
    if (why) this.#prose(why, 0);
    if (alternatives.length > 0)
      this.#prose(`Instead of it: ${alternatives.map((other) => `${other.name}${other.image ? ` (${other.image})` : ''}`).join(', ')}.`, 0);
    if (entry.keywords.length > 0) this.#prose(`Looked for as: ${entry.keywords.join(', ')}.`, 0);
    const where = whereItRuns(entry, entries);
    if (where) this.#prose(`Not deployed from here. ${where}`, 0);
    if (where && entry.image !== '') this.#prose(`Image ${entry.image}`, 0);
    if (entry.own) this.#prose(`From your own catalog: ${entry.folder}`, 0);
  }

  #what(entry: CatalogEntry): void {
    this.#section(
      'Services',
      entry.services.map((service) => ({
        name: `${service.name}${service.main ? ' *' : ''}`,
        text: [service.image, service.role].filter(Boolean).join('  '),
        more: [
          [
            service.oneShot && 'ends by itself',
            service.optional && 'only in some set-ups',
            service.networkMode === 'host' && "on the host's network",
          ]
            .filter(Boolean)
            .join(', '),
          service.capAdd.length > 0 && `may ${service.capAdd.join(', ')}`,
          service.devices.length > 0 && `devices ${service.devices.join(', ')}`,
          service.tagReason && `this tag: ${service.tagReason}`,
          service.irreplaceable && `no other image: ${service.irreplaceable}`,
          service.architectures && `for ${service.architectures.join(', ')} alone`,
          service.images && `known as ${service.images.join(', ')} too`,
        ],
      })),
    );
    this.#section(
      'Ports',
      entry.ports.map((port) => ({
        name: port.name,
        text: `${addressText(port)}  ${port.role}`,
        more: [
          [port.web && "people's page", port.tls && 'speaks TLS', port.fixed && 'fixed by its protocol: cannot be moved']
            .filter(Boolean)
            .join(', '),
          port.exposure !== 'loopback' && port.basis && `because: ${port.basis}`,
        ],
      })),
    );
    this.#section(
      'Fields',
      entry.fields.map((field) => ({ name: field.name, ...fieldText(field) })),
    );
    if (entry.oneOf.length > 0)
      this.#section(
        'Only one of each',
        entry.oneOf.map((set) => ({ name: '', text: set.join(' or ') })),
      );
    this.#section(
      'Mounts',
      Object.entries(entry.volumes).map(([target, { meaning, holds }]) => ({
        name: target,
        text: meaning,
        more: [holds && `holds ${holds}`],
      })),
    );
    this.#section(
      'Backup',
      entry.backup.map(({ id, volume, way, service, dump, restore, with: others, exclude, why }) => ({
        name: id,
        text: `${volume}: ${way}${service ? ` in ${service}` : ''}`,
        more: [
          why,
          others.length > 0 && `with it stands still: ${others.join(', ')}`,
          exclude.length > 0 && `left out: ${exclude.join(', ')}`,
          dump && `written by: ${dump.join(' ')}`,
          restore && `read by: ${restore.join(' ')}`,
        ],
      })),
    );
    this.#network(entry);
    if (entry.dependsOn.length > 0) this.#section('Works with', [{ name: '', text: entry.dependsOn.join(', ') }]);
    this.#file(entry);
    const { needs } = entry;
    this.#section(
      'Wants of the host',
      needs
        ? Object.entries({ memory: needs.memory, disk: needs.disk }).flatMap(([name, least]) =>
            least === undefined ? [] : [{ name, text: `${least} at least` }],
          )
        : [],
    );
    this.#section(
      'Unusual in its compose file',
      Object.entries(entry.justifies).map(([name, text]) => ({ name, text })),
    );
  }

  #network({ provides = {}, uses = [], chain, site, websocket, sensitive, speaks }: CatalogEntry): void {
    this.#section(
      'Gives to others',
      Object.entries(provides).map(([name, { port, scheme }]) => ({ name, text: `${scheme}, port ${port}` })),
    );
    this.#section(
      'Takes from others',
      uses.map(({ component, what, field, services }) => ({
        name: field ?? component,
        text: `${what} of ${component}`,
        more: [field === undefined && 'its address is typed in the page', services && `for ${services.join(', ')}`],
      })),
    );
    this.#section(
      'Stages of the media chain',
      chain.map(({ stage, does, aside }) => ({ name: stage, text: does, more: [aside && 'the stage goes on without it'] })),
    );
    const behind = [
      site?.port && `leads to port ${site.port}`,
      ...(site?.routes ?? []).map(
        ({ path, port, otherwise }) => `${path} leads to port ${port}${otherwise ? `, or ${otherwise} where nobody answers there` : ''}`,
      ),
      ...(site?.names ?? []).map(
        ({ field, port, suggest }) =>
          `the name in ${field} leads to port ${port}${suggest ? ` (${suggest}. in front of the site's name)` : ''}`,
      ),
      site?.portal && `people log in at ${site.portal}`,
      websocket && 'uses websockets',
      sensitive !== undefined && (sensitive ? 'wants HTTPS: it has a password or keeps secrets' : 'may go without HTTPS'),
    ].filter((text) => typeof text === 'string');
    this.#section(
      'Behind the reverse proxy',
      behind.map((text) => ({ name: '', text })),
    );
    const where =
      speaks &&
      [
        speaks.port && `port ${speaks.port}`,
        speaks.service && `service ${speaks.service}`,
        speaks.keys && `signed with ${speaks.keys.access} and ${speaks.keys.secret}`,
      ]
        .filter(Boolean)
        .join(', ');
    this.#section('Procedures', speaks ? [{ name: '', text: `speak to it as ${speaks.api}: ${where}` }] : []);
  }

  #file({ configFile }: CatalogEntry): void {
    if (!configFile) return;
    const { path, form, format, documents, anyCase, emptyIsUnset, templates, schema, rules, verify } = configFile;
    this.#section('Configuration file', [
      {
        name: path,
        text: [form, format].filter(Boolean).join(', '),
        more: [
          documents && { first: 'of several documents the first is read', each: 'several documents in it are read' }[documents],
          anyCase && 'names in large and small letters alike',
          emptyIsUnset && 'what has no value counts as not there',
          templates && `filled in by the product before it is read (${templates} templates)`,
          schema && `checked with ${schema}`,
          ...rules.map(({ message, remedy, level, rule }) => `${message} ${remedy}${levelWords[level]}${rule ? ` (${rule})` : ''}`),
          verify && `checked by the product: ${verify.argv.join(' ')} in ${verify.service}`,
        ],
      },
    ]);
  }

  #asks(entry: CatalogEntry): void {
    this.#section('Authentication', entry.auth === 'none' ? [] : [{ name: '', text: entry.auth }]);
    this.#section(
      'Endpoints',
      endpointsOf(entry).map(({ method, path, auth, title, response, note, inputs }) => ({
        name: `${method} ${path}`,
        text: title,
        more: callMore({ auth, response, note, inputs }),
      })),
    );
    this.#section(
      'Further calls',
      Object.entries(entry.calls).flatMap(([name, call]) =>
        call.http && call.endpoint ? [] : [{ name, text: call.title, more: [callText(call), ...callMore(call)] }],
      ),
    );
    const { probe } = entry;
    const calls = probe ? [probe.call, ...probe.also].map((name) => entry.calls[name]?.title ?? name).join(' · ') : '';
    this.#section(
      'Probe',
      probe
        ? [
            {
              name: probe.every === undefined ? 'as often as set' : `every ${probe.every}`,
              text: calls,
              more: [`can say: ${[...new Set(probe.says.map(({ word }) => templateText(word)))].join(', ')}`],
            },
          ]
        : [],
    );
    this.#section(
      'Checks',
      entry.checks.map(({ id, level, message, remedy, rule }) => ({
        name: id,
        text: `${level}${rule ? ` (${rule})` : ''}: ${templateText(message)}`,
        more: [templateText(remedy)],
      })),
    );
    this.#section(
      'Operations',
      entry.operations.map(({ id, title, right, consequences }) => ({
        name: id,
        text: `${title}${right === 'read' ? '' : ` (${right})`}`,
        more: consequences,
      })),
    );
    this.#section(
      'Before the first start',
      entry.beforeStart.map(({ id, files, message, remedy, flow }) => ({
        name: id,
        text: files.join(', '),
        more: [`${message} ${remedy}`, flow && `one key of the review: ${flow.title}`],
      })),
    );
    this.#section(
      'First run',
      entry.firstRun.map(({ id, title, detail, urgent, page, rule }) => ({
        name: id,
        text: `${title}${rule ? ` (${rule})` : ''}`,
        more: [detail, page && `at ${page}`, urgent && 'until then everybody gets in'],
      })),
    );
  }

  #knows(entry: CatalogEntry): void {
    this.#section(
      'States',
      entry.states.map(({ from, trigger, condition, to, also }) => ({
        name: '',
        text: `${from} -> ${to}`,
        more: [`by ${trigger}${condition ? `, if ${condition}` : ''}`, also],
      })),
    );
    this.#section(
      'Limits',
      entry.limits.map(({ item, value, kind }) => ({ name: item, text: `${value}${kind === 'stated' ? '' : ` (${kind})`}` })),
    );
    this.#section(
      'Known errors',
      entry.errors.map(({ condition, outcome, check }) => ({ name: '', text: condition, more: [outcome, check && `found by ${check}`] })),
    );
    this.#section(
      'Events',
      entry.events.map((text) => ({ name: '', text })),
    );
    this.#section(
      'Objects',
      entry.objects.map(({ name, fields, note }) => ({ name, text: note ?? '', more: fields.map(objectFieldText) })),
    );
    this.#section(
      entry.deploy === 'compose' ? 'Commands inside' : 'Commands',
      entry.cli.map((text) => ({ name: '', text })),
    );
    const { upgrade } = entry;
    this.#section(
      'Upgrade',
      upgrade
        ? [
            {
              name: '',
              text: upgrade.rollback === 'safe' ? 'Going back is safe.' : 'Going back needs a backup.',
              more: [...upgrade.steps, ...upgrade.notes],
            },
          ]
        : [],
    );
    this.#section(
      'Notes',
      entry.notes.map((text) => ({ name: '', text })),
    );
    this.#section('Sources', [
      ...entry.sources.map((text) => ({ name: '', text })),
      ...(entry.lines.length > 0 ? [{ name: '', text: `lines ${entry.lines.join(', ')} of the specification` }] : []),
    ]);
  }

  /** Names in a column of their own; a name that is too long for it gets a line. */
  #section(title: string, rows: readonly Row[]): void {
    if (rows.length === 0) return;
    this.lines.push('', this.#output.paint('strong', title));
    const names = rows.map(({ name }) => cleanLine(name));
    const most = Math.max(12, Math.min(30, Math.floor(this.#width / 3)));
    const column = Math.min(most, Math.max(0, ...names.map((name) => (textWidth(name) > most ? 0 : textWidth(name)))));
    const indent = column === 0 ? 2 : column + 4;
    for (const [index, { text, more = [] }] of rows.entries()) {
      const name = names[index] ?? '';
      const [first = '', ...rest] = this.#wrapped(text, indent);
      if (textWidth(name) > column)
        this.lines.push(
          ...this.#wrapped(name, 2).map((line) => `  ${this.#output.paint('accent', line)}`),
          `${' '.repeat(indent)}${first}`,
        );
      else this.lines.push(column === 0 ? `  ${first}` : `  ${this.#output.paint('accent', pad(name, column))}  ${first}`.trimEnd());
      for (const line of rest) this.lines.push(' '.repeat(indent) + line);
      for (const extra of more) {
        if (!extra) continue;
        for (const line of this.#wrapped(extra, indent + (column === 0 ? 2 : 0)))
          this.lines.push(this.#output.paint('faint', ' '.repeat(indent + (column === 0 ? 2 : 0)) + line));
      }
    }
  }

  #prose(text: string, indent: number): void {
    for (const line of this.#wrapped(text, indent)) this.lines.push(' '.repeat(indent) + line);
  }

  #wrapped(text: string, indent: number): string[] {
    return wrap(cleanLine(text), Math.max(10, this.#width - indent));
  }
}

type Field = CatalogEntry['fields'][number];
type ObjectField = CatalogEntry['objects'][number]['fields'][number];
type Call = CatalogEntry['calls'][string];

const reachTexts: Readonly<Record<NonNullable<Field['reach']>, string>> = {
  container: 'the container itself follows it',
  browser: "people's browsers follow it",
  internet: 'servers on the internet follow it',
  listen: 'it listens there',
};

function fieldText(field: Field): Omit<Row, 'name'> {
  const { type, secret, required, default: preset, defaultKind, generator, rule, meaning, goes, env, reach, rotate, proves } = field;
  const facts = [
    type,
    required && 'required',
    secret && type !== 'secret-string' && 'secret',
    preset !== undefined && `default ${JSON.stringify(preset)}${defaultKind ? ` (${defaultKind})` : ''}`,
    preset === undefined && defaultKind && `default: ${defaultKind}`,
    generator && `generated (${generator})`,
  ];
  const taken = [
    field.enum && `one of ${field.enum.join(', ')}`,
    field.length && !rule?.includes(`${field.length} characters`) && `${field.length} characters`,
    field.pattern && `like ${field.pattern}`,
    field.validFor && `worth something for ${field.validFor}`,
  ];
  return {
    text: facts.filter(Boolean).join(', '),
    more: [
      meaning,
      rule,
      taken.filter(Boolean).join(', '),
      field.excludes.length > 0 && `not together with ${field.excludes.join(', ')}`,
      field.setupOnly && `for setting up only: ${field.setupOnly.join(', ')}`,
      field.sameAs && `the same as ${field.sameAs.join(', ')}`,
      [goesTexts[goes] ?? goes, env && env !== field.name && `variable ${env}`, reach && reachTexts[reach]].filter(Boolean).join(', '),
      rotate && ('never' in rotate ? `cannot be changed: ${rotate.never}` : `changed by ${programText(rotate)}`),
      proves &&
        ('call' in proves
          ? `proved by the call ${[proves.call, proves.input, ...Object.entries(proves.with).map((pair) => pair.join('='))].join(' ')}`
          : `proved by ${programText(proves)}`),
    ],
  };
}

/** A script of several lines is for who reads the entry itself. */
function programText({ argv, service }: { argv: readonly string[]; service: string }): string {
  return `${argv.some((word) => word.includes('\n')) ? 'a script' : argv.join(' ')} in ${service}`;
}

/** Most go to its environment. */
const goesTexts: Readonly<Record<Field['goes'], string>> = {
  environment: '',
  config: 'goes to its configuration file',
  command: 'goes to its command',
  credential: 'kept to talk to it',
  proxy: 'goes to the rule of the reverse proxy',
};

function objectFieldText({ name, type, required, secret, rule }: ObjectField): string {
  return `${name}: ${[type, required && 'required', secret && 'secret', rule].filter(Boolean).join(', ')}`;
}

function callMore({
  auth,
  response,
  note,
  inputs,
}: Pick<Call, 'auth' | 'inputs'> & { response?: string | undefined; note?: string | undefined }) {
  return [
    auth !== 'none' && `authenticates: ${auth}`,
    ...Object.entries(inputs).map(
      ([name, { type, meaning, required, secret }]) =>
        `takes ${name}: ${meaning} (${[type, !required && 'may be left out', secret && type !== 'secret-string' && 'secret'].filter(Boolean).join(', ')})`,
    ),
    response && `answers: ${response}`,
    note,
  ];
}

/** A template before anything is known: what will be filled in is left open. */
function templateText(text: string): string {
  return text.replaceAll(/\{\{|\}\}|\{[^{}]*\}/g, (found) => (found === '{{' ? '{' : found === '}}' ? '}' : '…'));
}

function addressText({ host, container, protocol, exposure }: CatalogPort): string {
  const where = exposure === 'loopback' ? '127.0.0.1' : exposure === 'all' ? 'all addresses' : "the host's network";
  const separator = exposure === 'loopback' ? ':' : ' ';
  return `${where}${separator}${host ?? 'any'}/${protocol}${host === undefined || host === container ? '' : ` to ${container}`}`;
}

const levelWords: Readonly<Record<NonNullable<CatalogEntry['configFile']>['rules'][number]['level'], string>> = {
  error: '',
  warning: ' A warning.',
  deployed: ' A warning in a file that is not deployed from here.',
};
