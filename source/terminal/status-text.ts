import { type Group, groupTitles } from '../catalog/groups.ts';
import { notBack, sealedManagers } from '../fleet/come-back.ts';
import { backupText, leftLines } from '../fleet/duties.ts';
import type { ComponentView, FleetSnapshot, PlaceView, ServiceView, Tone } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, countText, durationText } from '../text/quantities.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';
import { type CommandSubject, commandsFor, subjectIn } from './commands-for.ts';
import type { Output } from './output.ts';
import { type TableColumn, tableLines } from './table.ts';
import { type UnfinishedChange, unfinishedText } from './unfinished-changes.ts';
import { clockText, wayText } from './way-text.ts';

const engineNames = { docker: 'Docker', podman: 'Podman' } as const;

/** Host addresses that mean all of them. */
const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '']);

function placeLine(place: PlaceView, components: readonly ComponentView[], output: Output, nowMs: number): string {
  const { engine, link } = place;
  const way = place.way ? wayText(place, nowMs, { retry: false }) : undefined;
  const skew = clockText(place);
  const kind =
    engine.kind === undefined ? 'no engine' : `${engineNames[engine.kind]} ${engine.version}${engine.rootless ? ' rootless' : ''}`.trim();
  const counts =
    link.state === 'connected'
      ? summary(components, output)
      : output.paint('bad', `${output.glyph('unknown')} ${link.state === 'away' ? 'not reachable' : 'connecting'}`);
  return [
    output.paint('strong', cleanLine(place.name)),
    way ? output.paint(way.tone, way.text) : '',
    kind,
    counts,
    skew === '' ? '' : output.paint('warn', skew),
  ]
    .filter(Boolean)
    .join('  ');
}

/** `sealed` of `sealed 0/3`, `loading` of `loading 12 min`, `failed` of `failed (3)`: what can be counted. */
function countable(word: string): string {
  return word.replace(/\s+\(?\d.*$/, '');
}

/** `41 up  1 unhealthy  2 stopped`, worst first behind what is up. */
function summary(components: readonly ComponentView[], output: Output): string {
  const up = components.filter(({ tone }) => tone === 'good').length;
  const others = new Map<string, { tone: Tone; count: number }>();
  for (const { tone, word } of components) {
    if (tone === 'good') continue;
    const name = countable(cleanLine(word));
    others.set(name, { tone, count: (others.get(name)?.count ?? 0) + 1 });
  }
  const rank: Record<Tone, number> = { bad: 0, warn: 1, busy: 2, unknown: 3, idle: 4, good: 5 };
  const ordered = [...others].sort(([, one], [, other]) => rank[one.tone] - rank[other.tone]);
  if (components.length === 0) return output.paint('idle', 'no containers');
  return [output.paint('good', `${up} up`), ...ordered.map(([name, { tone, count }]) => output.paint(tone, `${count} ${name}`))].join('  ');
}

/** Where it can be reached: its page, or its published ports. `*` stands for every address of the host. */
function whereText(component: ComponentView): string {
  if (component.url) return cleanLine(component.url);
  const shown = new Set<string>();
  for (const service of component.services) {
    for (const { address, hostPort, protocol } of service.ports) {
      if (hostPort === undefined) continue;
      const host = everywhere.has(address ?? '') ? '*' : address?.includes(':') ? `[${address}]` : address;
      shown.add(`${host}:${hostPort}${protocol === 'tcp' ? '' : `/${protocol}`}`);
    }
  }
  const ports = [...shown];
  return ports.length > 3 ? `${ports.slice(0, 2).join(' ')} +${ports.length - 2}` : ports.join(' ');
}

/** Worth a line of its own: what asks for somebody, and what is under way. */
function wantsDetail({ tone, detail }: ComponentView): boolean {
  return detail !== '' && (tone === 'bad' || tone === 'warn' || tone === 'busy');
}

/** The whole fleet: a line a component, in groups, and under it what is wrong with it. */
export function statusLines(
  { places, components }: FleetSnapshot,
  output: Output,
  nowMs: number,
  unfinished: readonly UnfinishedChange[] = [],
): string[] {
  const lines: string[] = [];
  for (const place of places) {
    const here = components.filter(({ host }) => host === place.name);
    if (lines.length > 0) lines.push('');
    lines.push(placeLine(place, here, output, nowMs));
    if (place.link.message !== undefined) {
      for (const text of wrap(cleanLine(place.link.message), output.proseColumns - 2)) lines.push(`  ${text}`);
      for (const text of wrap(cleanLine(place.link.remedy ?? ''), output.proseColumns - 2))
        if (text) lines.push(output.paint('faint', `  ${text}`));
    }
    const down = notBack(here, unfinished).map(({ id }) => id);
    const remarks = [
      ...unfinished.filter((one) => one.place === place.name).map((one) => `${unfinishedText(one)} Go on with it: quarterdeck recover`),
      ...(down.length > 0 ? [`Did not come back: ${down.join(', ')}. Bring it up: quarterdeck up`] : []),
      ...(down.length > 0 ? sealedManagers(here).map(({ id }) => `Sealed: ${id}. Key shares open it: quarterdeck unseal ${id}`) : []),
    ];
    const subject = subjectIn(places, place.name);
    for (const text of remarks.map((remark) => commandsFor(subject, remark)))
      for (const [row, line] of wrap(cleanLine(text), output.proseColumns - 4).entries())
        lines.push(output.paint('warn', row === 0 ? `  ${output.glyph('warn')} ${line}` : `    ${line}`));
    // One table over all groups, so that the columns stand under each other.
    const rows = here.map((component) => [
      `${output.glyph(component.tone)} ${cleanLine(component.id)}`,
      cleanLine(component.word),
      component.sinceMs === undefined ? '' : durationText(nowMs - component.sinceMs),
      whereText(component),
    ]);
    const toneOf = (row: number) => here[row]?.tone ?? 'unknown';
    const columns: TableColumn[] = [
      { heading: 'COMPONENT', least: 16, paint: (cell, row) => output.paint(toneOf(row), cell.slice(0, 1)) + cell.slice(1) },
      { heading: 'STATE', least: 12, paint: (cell, row) => output.paint(toneOf(row), cell) },
      { heading: 'SINCE', align: 'right' },
      { heading: 'WHERE', least: 10, paint: (cell) => output.paint('faint', cell) },
    ];
    const table = tableLines(columns, rows, { width: output.columns });
    const width = Math.min(output.columns, Math.max(40, ...table.map((line) => textWidth(unpainted(line)))));
    let group: string | undefined;
    for (const [index, component] of here.entries()) {
      if (component.group !== group) {
        group = component.group;
        const members = here.filter((other) => other.group === group);
        lines.push('', groupLine(group, members, width, output));
      }
      lines.push(table[index] ?? '');
      for (const text of [wantsDetail(component) ? component.detail : '', ...leftLines(component, nowMs)])
        if (text !== '') lines.push(output.paint('faint', cut(`    ${cleanLine(text)}`, output.columns)));
    }
  }
  return lines;
}

function unpainted(line: string): string {
  return line.replace(/\x1b\[\d+m/g, '');
}

function groupLine(group: string, members: readonly ComponentView[], width: number, output: Output): string {
  const well = members.filter(({ tone }) => tone === 'good').length;
  const count = `${well}/${members.length}`;
  const title = groupTitles[group as Group] ?? cleanLine(group);
  return output.paint('strong', `${pad(title, Math.max(textWidth(title), width - textWidth(count)))}${count}`);
}

/** One component, in full. */
export function componentLines(
  component: ComponentView,
  { places }: Pick<FleetSnapshot, 'places'>,
  output: Output,
  nowMs: number,
): string[] {
  const subject = subjectIn(places, component.host, component.id);
  const since =
    component.sinceMs === undefined
      ? ''
      : `, ${agoText(nowMs - component.sinceMs) === 'just now' ? 'just now' : `for ${agoText(nowMs - component.sinceMs).replace(/ ago$/, '')}`}`;
  const version = component.probe?.version ? ` ${cleanLine(component.probe.version)}` : '';
  const lines = [
    `${output.paint(component.tone, output.glyph(component.tone))} ${output.paint('strong', cleanLine(component.id))}  ${output.paint(component.tone, cleanLine(component.word))}${since}`,
  ];
  const fact = (name: string, value: string) => {
    if (value === '') return;
    const [first = '', ...more] = wrap(cleanLine(value), output.proseColumns - 12);
    lines.push(`  ${output.paint('faint', pad(name, 10))}${first}`, ...more.map((text) => `${' '.repeat(12)}${text}`));
  };
  fact('what', [component.kind, component.product ? `${component.product}${version}` : ''].filter(Boolean).join('; '));
  fact('detail', component.detail);
  fact('page', component.url ?? '');
  fact('project', component.project);
  fact('host', component.host);
  fact('origin', output.short(component.origin));
  fact('backup', backupText(component, nowMs));
  if (component.restarts > 0) fact('restarts', String(component.restarts));
  if (component.probe?.failure) fact('probe', `could not ask: ${component.probe.failure}`);

  lines.push('', ...serviceLines(component.services, output, nowMs), ...dutyLines(component, subject, output));
  for (const { level, message, remedy, rule } of component.findings) {
    const tone: Tone = level === 'error' ? 'bad' : level === 'warning' ? 'warn' : 'idle';
    lines.push(
      '',
      ...wrap(`${output.glyph(tone)} ${cleanLine(message)}${rule ? ` (${rule})` : ''}`, output.proseColumns).map((text) =>
        output.paint(tone, text),
      ),
    );
    for (const text of wrap(commandsFor(subject, cleanLine(remedy)), output.proseColumns - 2)) lines.push(`  ${text}`);
  }
  return lines;
}

/** First-run duties: what is left, with how to be done with it. */
function dutyLines({ id, duties }: ComponentView, subject: CommandSubject, output: Output): string[] {
  if (duties.length === 0) return [];
  const left = duties.filter(({ done }) => !done);
  const done = `${duties.length - left.length} of ${countText(duties.length, 'first-run duty', 'first-run duties')} done`;
  return [
    '',
    output.paint('faint', done),
    ...left.flatMap(({ id: duty, title, detail, by, urgent }) => {
      const tone: Tone = urgent ? 'warn' : 'idle';
      const confirm = by === 'hand' ? commandsFor(subject, `Confirm it with: quarterdeck duty ${cleanLine(id)} ${duty}`) : '';
      return [
        ...wrap(`${output.glyph(tone)} ${cleanLine(title)}`, output.proseColumns).map((text) => output.paint(tone, text)),
        ...[detail, confirm].filter(Boolean).flatMap((text) => wrap(cleanLine(text), output.proseColumns - 2).map((line) => `  ${line}`)),
      ];
    }),
  ];
}

function serviceLines(services: readonly ServiceView[], output: Output, nowMs: number): string[] {
  const rows = services.map((service) => [
    `${output.glyph(service.tone)} ${cleanLine(service.name)}`,
    service.state,
    service.sinceMs === undefined ? '' : durationText(nowMs - service.sinceMs),
    cleanLine(service.image),
    service.ports.map(portText).join(' '),
  ]);
  const toneOf = (row: number) => services[row]?.tone ?? 'unknown';
  const columns: TableColumn[] = [
    {
      heading: `  ${countText(services.length, 'SERVICE')}`.toUpperCase(),
      least: 14,
      paint: (cell, row) => output.paint(toneOf(row), cell.slice(0, 1)) + cell.slice(1),
    },
    { heading: 'STATE', paint: (cell, row) => output.paint(toneOf(row), cell) },
    { heading: 'SINCE', align: 'right' },
    { heading: 'IMAGE', least: 16 },
    { heading: 'PORTS', least: 12 },
  ];
  const table = tableLines(columns, rows, { width: output.columns, heading: (text) => output.paint('faint', text) });
  // What went wrong stands under the service that it went wrong with, unless the component says it already.
  return table.flatMap((line, index) => {
    const service = services[index - 1];
    const telling = service && service.tone !== 'good' && services.length > 1 && service.detail !== '';
    return telling ? [line, output.paint('faint', cut(`    ${cleanLine(service.detail)}`, output.columns))] : [line];
  });
}

function portText({ address, hostPort, containerPort, protocol }: ServiceView['ports'][number]): string {
  const suffix = protocol === 'tcp' ? '' : `/${protocol}`;
  if (hostPort === undefined) return `(${containerPort}${suffix})`;
  const host = everywhere.has(address ?? '') ? '*' : address?.includes(':') ? `[${address}]` : address;
  return `${host}:${hostPort}->${containerPort}${suffix}`;
}
