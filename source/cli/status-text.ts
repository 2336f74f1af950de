import { stripVTControlCharacters } from 'node:util';
import { type CommandSubject, commandsFor, subjectIn } from '../app/commands-for.ts';
import { clockText, connectionText } from '../app/connection-text.ts';
import { type ListColumns, listLines } from '../app/table.ts';
import { type UnfinishedChange, unfinishedText } from '../app/unfinished-changes.ts';
import { type Group, groupTitles } from '../catalog/groups.ts';
import { countedName } from '../catalog/state.ts';
import { missingComponents, sealedManagers } from '../fleet/missing-components.ts';
import type { ComponentView, EngineView, FleetSnapshot, ServiceView, Severity } from '../fleet/model.ts';
import { statusText } from '../fleet/probe-status.ts';
import { backupText, leftLines } from '../fleet/setup-tasks.ts';
import { urlHost } from '../text/authority.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, countText, durationText } from '../text/quantities.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';
import { hangingLines, type Output } from './output.ts';

const engineNames = { docker: 'Docker', podman: 'Podman' } as const;

const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '']);

function engineLine(engineView: EngineView, components: readonly ComponentView[], output: Output, nowMs: number): string {
  const { engine, link } = engineView;
  const connection = engineView.connection ? connectionText(engineView, nowMs, { retry: false }) : undefined;
  const skew = clockText(engineView);
  const rootless = engine.rootless ? ' rootless' : '';
  const kind = engine.kind === undefined ? '' : `${engineNames[engine.kind]} ${engine.version}${rootless}`.trim();
  const disconnected = `${output.glyph('unknown')} ${link.state === 'away' ? 'unreachable' : 'connecting'}`;
  const counts = link.state === 'connected' ? summary(components, output) : output.paint('error', disconnected);
  const parts = [
    output.paint('strong', cleanLine(engineView.name)),
    connection ? output.paint(connection.severity, connection.text) : '',
    kind,
    counts,
    skew === '' ? '' : output.paint('warning', skew),
  ];
  return parts.filter(Boolean).join('  ');
}

/** Returns `41 up  1 unhealthy  2 stopped`: first the components that are up, then the worst. */
function summary(components: readonly ComponentView[], output: Output): string {
  const up = components.filter(({ state }) => state.severity === 'ok').length;
  if (components.length === 0) return output.paint('off', 'no containers');
  const others = components.map(({ state }) => state).filter(({ severity }) => severity !== 'ok');
  const counts = [...Map.groupBy(others, ({ id }) => id).values()].map((alike) => ({
    severity: alike.at(-1)?.severity ?? 'unknown',
    text: `${alike.length} ${cleanLine(countedName(alike))}`,
  }));
  const rank: Record<Severity, number> = { error: 0, warning: 1, busy: 2, unknown: 3, off: 4, ok: 5 };
  const ordered = counts.sort((one, other) => rank[one.severity] - rank[other.severity]);
  return [output.paint('ok', `${up} up`), ...ordered.map(({ severity, text }) => output.paint(severity, text))].join('  ');
}

/** Returns the address of a component: its page, or its published ports. `*` stands for every address of the host. */
function whereText(component: ComponentView): string {
  if (component.url) return cleanLine(component.url);
  const published = component.services.flatMap((service) => service.ports).filter(({ hostPort }) => hostPort !== undefined);
  const shown = published.map(({ address, hostPort, protocol }) => `${hostText(address)}:${hostPort}${suffixOf(protocol)}`);
  const ports = [...new Set(shown)];
  return ports.length > 3 ? `${ports.slice(0, 2).join(' ')} +${ports.length - 2}` : ports.join(' ');
}

/** Returns whether the detail deserves a line of its own: the state needs attention or is in progress. */
function wantsDetail({ state: { severity }, detail }: ComponentView): boolean {
  return detail !== '' && (severity === 'error' || severity === 'warning' || severity === 'busy');
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one engine after the other: its line, its remarks, its components in groups
export function statusLines(
  { engines, components }: FleetSnapshot,
  output: Output,
  nowMs: number,
  unfinished: readonly UnfinishedChange[] = [],
): string[] {
  const lines: string[] = [];
  const paintGlyph = (cell: string, { state }: ComponentView) => output.paint(state.severity, cell.slice(0, 1)) + cell.slice(1);
  for (const engineView of engines) {
    const here = components.filter(({ host }) => host === engineView.name);
    if (lines.length > 0) lines.push('');
    lines.push(engineLine(engineView, here, output, nowMs));
    if (engineView.link.message !== undefined) {
      for (const text of wrap(cleanLine(engineView.link.message), output.proseColumns - 2)) lines.push(`  ${text}`);
      for (const text of wrap(cleanLine(engineView.link.remedy ?? ''), output.proseColumns - 2))
        if (text) lines.push(output.paint('faint', `  ${text}`));
    }
    const down = missingComponents(here, unfinished).map(({ id }) => id);
    const open = unfinished.filter((one) => one.engineName === engineView.name);
    const remarks = [
      ...open.map((one) => `${unfinishedText(one)} ${one.by === '' ? 'What to do' : 'Resume'}: quarterdeck recover`),
      ...(down.length > 0 ? [`Missing: ${down.join(', ')}. Start: quarterdeck up`] : []),
      ...(down.length > 0 ? sealedManagers(here).map(({ id }) => `Sealed: ${id}. Unseal: quarterdeck unseal ${id}`) : []),
    ];
    const subject = subjectIn(engines, engineView.name);
    for (const text of remarks.map((remark) => commandsFor(subject, remark)))
      for (const line of hangingLines(`  ${output.glyph('warning')} `, cleanLine(text), output.proseColumns))
        lines.push(output.paint('warning', line));
    const hasStatus = here.some((component) => statusText(component, nowMs) !== '');
    // One table over all groups, so that the columns are aligned.
    const columns: ListColumns<ComponentView> = {
      COMPONENT: { cell: ({ state, id }) => `${output.glyph(state.severity)} ${id}`, least: 16, paint: paintGlyph },
      STATE: { cell: ({ state }) => state.label, least: 12, paint: (cell, { state }) => output.paint(state.severity, cell) },
      ...(hasStatus && { STATUS: { cell: (component: ComponentView) => statusText(component, nowMs), least: 12 } }),
      SINCE: {
        cell: ({ sinceMs, services }) => (sinceMs === undefined ? (services[0]?.upFor ?? '') : durationText(nowMs - sinceMs)),
        align: 'right',
      },
      WHERE: { cell: whereText, least: 10, paint: (cell) => output.paint('faint', cell) },
    };
    const table = listLines(here, columns, { width: output.columns });
    const width = Math.min(output.columns, Math.max(40, ...table.map((line) => textWidth(stripVTControlCharacters(line)))));
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

function groupLine(group: string, members: readonly ComponentView[], width: number, output: Output): string {
  const well = members.filter(({ state }) => state.severity === 'ok').length;
  const count = `${well}/${members.length}`;
  const title = groupTitles[group as Group] ?? cleanLine(group);
  return output.paint('strong', `${pad(title, Math.max(textWidth(title), width - textWidth(count)))}${count}`);
}

export function componentLines(
  component: ComponentView,
  { engines }: Pick<FleetSnapshot, 'engines'>,
  output: Output,
  nowMs: number,
): string[] {
  const subject = subjectIn(engines, component.host, component.id);
  const ago = component.sinceMs === undefined ? '' : agoText(nowMs - component.sinceMs);
  const since = ago === '' ? '' : `, ${ago === 'just now' ? ago : `for ${ago.replace(/ ago$/, '')}`}`;
  const version = component.probe?.version ? ` ${cleanLine(component.probe.version)}` : '';
  const { severity, label } = component.state;
  const state = output.paint(severity, cleanLine(label));
  const lines = [`${output.paint(severity, output.glyph(severity))} ${output.paint('strong', cleanLine(component.id))}  ${state}${since}`];
  const fact = (name: string, value: string) => {
    if (value === '') return;
    const [first = '', ...more] = wrap(cleanLine(value), output.proseColumns - 12);
    lines.push(`  ${output.paint('faint', pad(name, 10))}${first}`, ...more.map((text) => `${' '.repeat(12)}${text}`));
  };
  fact('what', [component.kind, component.product ? `${component.product}${version}` : ''].filter(Boolean).join('; '));
  fact('detail', component.detail);
  fact('status', statusText(component, nowMs));
  fact('page', component.url ?? '');
  fact('project', component.project);
  fact('host', component.host);
  fact('origin', output.short(component.origin));
  fact('backup', backupText(component, nowMs));
  if (component.restarts > 0) fact('restarts', String(component.restarts));
  if (component.probe?.failure) fact('probe', `could not query: ${component.probe.failure}`);

  lines.push('', ...serviceLines(component.services, output, nowMs), ...setupTaskLines(component, subject, output));
  for (const { level, message, remedy } of component.findings) {
    const severity: Severity = level === 'error' ? 'error' : level === 'warning' ? 'warning' : 'off';
    const texts = wrap(`${output.glyph(severity)} ${cleanLine(message)}`, output.proseColumns);
    lines.push('', ...texts.map((text) => output.paint(severity, text)));
    for (const text of wrap(commandsFor(subject, cleanLine(remedy)), output.proseColumns - 2)) lines.push(`  ${text}`);
  }
  return lines;
}

function setupTaskLines({ id, setupTasks }: ComponentView, subject: CommandSubject, output: Output): string[] {
  if (setupTasks.length === 0) return [];
  const left = setupTasks.filter(({ done }) => !done);
  const done = `${setupTasks.length - left.length} of ${countText(setupTasks.length, 'setup task', 'setup tasks')} done`;
  return [
    '',
    output.paint('faint', done),
    ...left.flatMap(({ id: task, title, detail, by, urgent }) => {
      const severity: Severity = urgent ? 'warning' : 'off';
      const confirm = by === 'hand' ? commandsFor(subject, `Confirm: quarterdeck tasks ${cleanLine(id)} ${task}`) : '';
      return [
        ...wrap(`${output.glyph(severity)} ${cleanLine(title)}`, output.proseColumns).map((text) => output.paint(severity, text)),
        ...[detail, confirm].filter(Boolean).flatMap((text) => wrap(cleanLine(text), output.proseColumns - 2).map((line) => `  ${line}`)),
      ];
    }),
  ];
}

function serviceLines(services: readonly ServiceView[], output: Output, nowMs: number): string[] {
  const columns: ListColumns<ServiceView> = {
    [`  ${countText(services.length, 'SERVICE')}`.toUpperCase()]: {
      cell: ({ severity, name }) => `${output.glyph(severity)} ${name}`,
      least: 14,
      paint: (cell, { severity }) => output.paint(severity, cell.slice(0, 1)) + cell.slice(1),
    },
    STATE: { cell: ({ state }) => state, paint: (cell, { severity }) => output.paint(severity, cell) },
    SINCE: { cell: ({ sinceMs }) => (sinceMs === undefined ? '' : durationText(nowMs - sinceMs)), align: 'right' },
    IMAGE: { cell: ({ image }) => image, least: 16 },
    PORTS: { cell: ({ ports }) => ports.map(portText).join(' '), least: 12 },
  };
  const table = listLines(services, columns, { width: output.columns, heading: (text) => output.paint('faint', text) });
  // An error is below its service, unless the component already states it.
  return table.flatMap((line, index) => {
    const service = services[index - 1];
    const telling = service && service.severity !== 'ok' && services.length > 1 && service.detail !== '';
    return telling ? [line, output.paint('faint', cut(`    ${cleanLine(service.detail)}`, output.columns))] : [line];
  });
}

function portText({ address, hostPort, containerPort, protocol }: ServiceView['ports'][number]): string {
  const inside = `${containerPort}${suffixOf(protocol)}`;
  return hostPort === undefined ? `(${inside})` : `${hostText(address)}:${hostPort}->${inside}`;
}

const suffixOf = (protocol: string) => (protocol === 'tcp' ? '' : `/${protocol}`);

const hostText = (address = ''): string => (everywhere.has(address) ? '*' : urlHost(address));
