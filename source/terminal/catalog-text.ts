import type { CatalogEntry, CatalogPort, CatalogProblem } from '../catalog/catalog.ts';
import { groups, groupTitles } from '../catalog/groups.ts';
import { whereItRuns } from '../catalog/where-it-runs.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { pad, textWidth, wrap } from '../text/width.ts';
import { endpointsOf } from './catalog-json.ts';
import type { Output } from './output.ts';
import { tableLines } from './table.ts';

/** `catalog list`: by group, in the order of the specification; what was searched for by how well it fits. */
export function catalogLines(entries: readonly CatalogEntry[], output: Output, searched = ''): string[] {
  const rows = entries.map((entry) => [
    `  ${cleanLine(entry.id)}${entry.own ? ' *' : ''}`,
    cleanLine(entry.kind),
    cleanLine(entry.product.name),
    portsText(entry.ports),
  ]);
  const columns = [
    { heading: 'COMPONENT' },
    { heading: 'WHAT IT IS', least: 24 },
    { heading: 'PRODUCT', least: 12 },
    { heading: 'PORTS', least: 11, paint: (cell: string) => output.paint('faint', cell) },
  ];
  const table = tableLines(columns, rows, { width: output.columns });
  if (searched !== '' && entries.length === 0)
    return [`Nothing in the catalog is like "${cleanLine(searched)}". "quarterdeck catalog list" names all there is.`];
  if (searched !== '') {
    const told = `${countText(entries.length, 'component')} for "${cleanLine(searched)}". "quarterdeck catalog show ID" tells all about one.`;
    return [...table.flat(), ...(table.length > 0 ? [''] : []), told];
  }
  const lines: string[] = [];
  for (const group of groups) {
    const members = entries.flatMap((entry, index) => (entry.group === group ? (table[index] ?? []) : []));
    if (members.length > 0) lines.push(output.paint('strong', groupTitles[group]), ...members, '');
  }
  const own = entries.filter((entry) => entry.own).length;
  lines.push(
    `${countText(entries.length, 'component')}${own > 0 ? `, ${own} of your own (*)` : ''}. "quarterdeck catalog show ID" tells all about one.`,
  );
  return lines;
}

function portsText(ports: readonly CatalogPort[]): string {
  const numbers = new Set(ports.map(({ host, container, protocol }) => `${host ?? container}${protocol === 'udp' ? '/udp' : ''}`));
  return [...numbers].join(' ');
}

/** What the operator's own catalog folder has wrong, the way compilers say it. */
export function problemLines(problems: readonly CatalogProblem[], output: Output): string[] {
  return problems.flatMap(({ level, file, line, column, field, message, remedy, rule }) => [
    `${output.paint('strong', cleanLine(`${file}:${line}:${column}`))} ${output.paint(level === 'error' ? 'bad' : 'warn', level)}${field === '' ? '' : ` ${cleanLine(field)}`}`,
    ...wrap(cleanLine(`${message}${rule?.startsWith('R') ? ` (${rule})` : ''}`), output.proseColumns - 2).map((text) => `  ${text}`),
    ...wrap(cleanLine(remedy), output.proseColumns - 2).map((text) => output.paint('faint', `  ${text}`)),
  ]);
}

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
    const where = whereItRuns(entry, entries);
    if (where) this.#prose(`Not deployed from here. ${where}`, 0);
    if (where && entry.image !== '') this.#prose(`Image ${entry.image}`, 0);
    if (entry.own) this.#prose(`From your own catalog: ${entry.folder}`, 0);
  }

  #what(entry: CatalogEntry): void {
    this.#section(
      'Services',
      entry.services.map(({ name, image, role, main, oneShot, optional, networkMode, capAdd, devices }) => ({
        name: `${name}${main ? ' *' : ''}`,
        text: [image, role].filter(Boolean).join('  '),
        more: [
          [oneShot && 'ends by itself', optional && 'only in some set-ups', networkMode === 'host' && "on the host's network"]
            .filter(Boolean)
            .join(', '),
          capAdd.length > 0 && `may ${capAdd.join(', ')}`,
          devices.length > 0 && `devices ${devices.join(', ')}`,
        ],
      })),
    );
    this.#section(
      'Ports',
      entry.ports.map((port) => ({
        name: port.name,
        text: `${addressText(port)}  ${port.role}`,
        more: [port.fixed && 'fixed by its protocol: cannot be moved'],
      })),
    );
    this.#section(
      'Fields',
      entry.fields.map(({ name, type, secret, required, default: preset, generator, enum: allowed, rule, meaning }) => {
        const facts = [
          type,
          required && 'required',
          secret && type !== 'secret-string' && 'secret',
          preset !== undefined && `default ${JSON.stringify(preset)}`,
          generator && `generated (${generator})`,
        ];
        return { name, text: facts.filter(Boolean).join(', '), more: [meaning, rule, allowed && !rule && `one of ${allowed.join(', ')}`] };
      }),
    );
    if (entry.oneOf.length > 0)
      this.#section(
        'Only one of each',
        entry.oneOf.map((set) => ({ name: '', text: set.join(' or ') })),
      );
    this.#section(
      'Mounts',
      Object.entries(entry.volumes).map(([target, { meaning }]) => ({ name: target, text: meaning })),
    );
    if (entry.dependsOn.length > 0) this.#section('Works with', [{ name: '', text: entry.dependsOn.join(', ') }]);
  }

  #asks(entry: CatalogEntry): void {
    this.#section('Authentication', entry.auth === 'none' ? [] : [{ name: '', text: entry.auth }]);
    this.#section(
      'Endpoints',
      endpointsOf(entry).map(({ method, path, auth, title, response }) => ({
        name: `${method} ${path}`,
        text: title,
        more: [auth !== 'none' && `authenticates: ${auth}`, response && `answers: ${response}`],
      })),
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
      'First run',
      entry.firstRun.map(({ id, title, detail }) => ({ name: id, text: title, more: [detail] })),
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
      entry.errors.map(({ condition, outcome }) => ({ name: '', text: condition, more: [outcome] })),
    );
    this.#section(
      'Events',
      entry.events.map((text) => ({ name: '', text })),
    );
    this.#section(
      'Objects',
      entry.objects.map(({ name, fields, note }) => ({ name, text: fields.map((field) => field.name).join(', '), more: [note] })),
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
    this.#section('Sources', entry.sources.length > 0 ? [{ name: '', text: entry.sources.join(', ') }] : []);
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

/** A template before anything is known: what will be filled in is left open. */
function templateText(text: string): string {
  return text.replaceAll(/\{\{|\}\}|\{[^{}]*\}/g, (found) => (found === '{{' ? '{' : found === '}}' ? '}' : '…'));
}

function addressText({ host, container, protocol, exposure }: CatalogPort): string {
  const where = exposure === 'loopback' ? '127.0.0.1' : exposure === 'all' ? 'all addresses' : "the host's network";
  const separator = exposure === 'loopback' ? ':' : ' ';
  return `${where}${separator}${host ?? 'any'}/${protocol}${host === undefined || host === container ? '' : ` to ${container}`}`;
}
