import type { ComponentView, FindingView, ServiceView, StatsHistory } from '../../../fleet/model.ts';
import { statusText } from '../../../fleet/probe-status.ts';
import { backupText, isBackupDue } from '../../../fleet/setup-tasks.ts';
import { cleanLine } from '../../../text/clean.ts';
import { agoText, bytesText, countText, durationText } from '../../../text/quantities.ts';
import { cut, pad } from '../../../text/width.ts';
import { offeredFinding } from '../../offers.ts';
import type { View } from '../../screen.ts';
import { cutStyled, paragraph } from '../../styled-text.ts';
import type { Role } from '../../theme.ts';

interface OverviewOptions extends Pick<View, 'theme' | 'width' | 'nowMs'> {
  component: ComponentView;
  service: ServiceView | undefined;
  stats: StatsHistory | undefined;
  /** For a component of another machine: the machine's name, and the address of its tunnel on this machine. */
  remote?: { machine: string; tunnel: string | undefined } | undefined;
  /** The home of the host, if known: paths below it begin with `~`. */
  home?: string | undefined;
}

const labelColumns = 9;
/** The age of the last query changes in steps of this length: with seconds, an idle console would draw once a second. */
const askedStepMs = 10_000;
const levelRoles = { error: 'error', warning: 'warning', notice: 'busy' } as const satisfies Record<FindingView['level'], Role>;

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns `healthy for 12 days` for a lasting state, `failed 2 hours ago` for an event. */
function sinceText(state: string, ms: number): string {
  const ago = agoText(ms);
  const over = ['stopped', 'failed', 'completed', 'created'].includes(state);
  return over || ago === 'just now' ? `${state} ${ago}` : `${state} for ${ago.replace(' ago', '')}`;
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one section after another, most of which may be missing
export function overviewLines(options: OverviewOptions): string[] {
  const { theme, width, component, stats, nowMs, remote, home } = options;
  const { glyphs } = theme;
  const { severity } = component.state;
  const indented = (role: Role | undefined, text: string) => paragraph(theme, role, text, width - 4, '   ');
  const label = (text: string) => ` ${theme.paint('faint', pad(text, labelColumns))} `;

  const state = sentence(cleanLine(component.detail || component.state.label));
  const lines = paragraph(theme, severity, state, width - 4, ` ${theme.paint(severity, glyphs.severity[severity])} `);
  const { probe } = component;
  if (probe?.detail && cleanLine(probe.detail) !== cleanLine(component.detail))
    lines.push(...indented(undefined, sentence(cleanLine(probe.detail))));
  if (probe?.failure && !state.includes(cleanLine(probe.failure)))
    lines.push(...indented('unknown', `${glyphs.severity.unknown} Cannot query: ${probe.failure}`));
  const since = component.sinceMs === undefined ? '' : sinceText(component.serviceState, nowMs - component.sinceMs);
  const restarts = component.restarts > 0 ? countText(component.restarts, 'restart') : '';
  const asked = probe ? `checked ${agoText(Math.floor((nowMs - probe.atMs) / askedStepMs) * askedStepMs)}` : '';
  lines.push(...indented('faint', [since, restarts, asked].filter(Boolean).join(', ')));

  if (stats) lines.push('', ...loadLines(options, stats));

  lines.push('');
  const fact = (name: string, text: string, role?: Role) =>
    lines.push(...paragraph(theme, role, text, width - labelColumns - 3, label(name)));
  fact('page', component.url === undefined ? '' : `${component.url}${remote ? ` on ${remote.machine}` : ''}`, 'accent');
  if (remote?.tunnel !== undefined)
    lines.push(label('tunnel') + theme.link(theme.paint('accent', cut(remote.tunnel, width - labelColumns - 3))));
  fact('status', cleanLine(statusText(component, nowMs)));
  fact('what', component.kind);
  fact('product', [component.product, probe?.version].filter(Boolean).join(' '));
  fact('project', component.project);
  fact('owner', home === undefined ? component.origin : component.origin.replaceAll(`${home}/`, '~/'));
  fact('backup', backupText(component, nowMs), isBackupDue(component, nowMs) ? 'warning' : undefined);
  if (!component.known) lines.push(...paragraph(theme, 'faint', 'Not in the catalog; only its containers are shown.', width - 2, ' '));

  if (component.findings.length > 0) {
    lines.push('', ` ${theme.paint('heading', 'Findings')}`);
    const offered = offeredFinding(component);
    for (const finding of component.findings) lines.push(...findingLines(finding, finding === offered, options));
  }

  if (component.setupTasks.length > 0) lines.push('', ...setupTaskLines(options));

  lines.push('', ` ${theme.paint('heading', component.services.length === 1 ? 'Service' : 'Services')}`, ...serviceLines(options));
  return lines.map((line) => cutStyled(line, width, glyphs.ellipsis));
}

function loadLines({ theme, width }: OverviewOptions, stats: StatsHistory): string[] {
  const { glyphs } = theme;
  const cpu = stats.cpuPercent.at(-1);
  const memory = stats.memoryBytes.at(-1) ?? 0;
  const limit = stats.memoryLimitBytes;
  const bars = Math.max(8, Math.min(60, width - labelColumns - 26));
  const line = (label: string, values: readonly number[], most: number, text: string) =>
    ` ${theme.paint('faint', pad(label, labelColumns))} ${theme.paint('accent', sparkline(values, bars, most, glyphs.sparks))}  ${text}`;
  const peak = Math.max(...stats.cpuPercent, 5);
  const most = limit > 0 ? limit : Math.max(...stats.memoryBytes, 1) * 1.25;
  return [
    line('cpu', stats.cpuPercent, peak, cpu === undefined ? '' : `${cpu.toFixed(1)} %`),
    line('memory', stats.memoryBytes, most, `${bytesText(memory)}${limit > 0 ? ` of ${bytesText(limit)}` : ''}`),
  ];
}

function findingLines(finding: FindingView, isOffered: boolean, { theme, width }: OverviewOptions): string[] {
  const { arrow, severity } = theme.glyphs;
  const role = levelRoles[finding.level];
  const remedyLead = `   ${theme.paint('accent', arrow)} `;
  return [
    ...paragraph(theme, role, `${finding.level}: ${finding.message}`, width - 4, ` ${theme.paint(role, severity[role])} `),
    ...paragraph(theme, undefined, finding.remedy, width - 6 - arrow.length, remedyLead),
    ...(isOffered ? paragraph(theme, 'faint', 'Enter: run it', width - 6, '     ') : []),
  ];
}

function setupTaskLines({ theme, width, component: { setupTasks } }: OverviewOptions): string[] {
  const { glyphs } = theme;
  const left = setupTasks.filter(({ done }) => !done);
  const done = setupTasks.length - left.length;
  const heading = left.length > 0 ? 'To do' : 'To do: nothing';
  const count = done > 0 ? theme.paint('faint', `${left.length > 0 ? '  ' : ', '}${done} of ${setupTasks.length} done`) : '';
  return [
    ` ${theme.paint('heading', heading)}${count}`,
    ...left.flatMap(({ title, detail, urgent }) => {
      const sign = urgent ? theme.paint('warning', glyphs.severity.warning) : theme.paint('accent', glyphs.todo);
      return [
        ...paragraph(theme, urgent ? 'warning' : undefined, title, width - 4, ` ${sign} `),
        ...paragraph(theme, 'faint', detail, width - 4, '   '),
      ];
    }),
    ...(left.some(({ by }) => by === 'hand')
      ? paragraph(theme, 'faint', 'To confirm tasks that cannot be checked automatically, press : and type tasks.', width - 4, '   ')
      : []),
  ];
}

function serviceLines({ theme, width, component, service: shown, nowMs }: OverviewOptions): string[] {
  const { glyphs } = theme;
  const several = component.services.length > 1;
  const nameColumns = Math.min(24, Math.max(...component.services.map((service) => cleanLine(service.name).length), 6));
  return component.services.flatMap((service) => {
    const age = service.sinceMs === undefined ? '' : durationText(nowMs - service.sinceMs);
    const image = Math.max(0, width - nameColumns - 22);
    const line = [
      `${several && service === shown ? theme.paint('accent', glyphs.pointer) : ' '}${theme.paint(service.severity, glyphs.severity[service.severity])} ${pad(cleanLine(service.name), nameColumns, 'left', glyphs.ellipsis)}`,
      theme.paint(service.severity, pad(service.state, 11)),
      theme.paint('faint', pad(age, 4, 'right')),
      theme.paint('faint', cut(cleanLine(service.image), image, glyphs.ellipsis)),
    ].join(' ');
    // The detail that the component states already is not repeated.
    const details =
      service.severity !== 'ok' && service.detail !== component.detail ? paragraph(theme, 'faint', service.detail, width - 6, '   ') : [];
    return [line, ...details];
  });
}

/** Returns a row of bars, one per value, with the newest on the right; `most` is the value of a full bar. */
function sparkline(values: readonly number[], columns: number, most: number, steps: string): string {
  const bars = [...steps];
  const shown = values.slice(-columns);
  const line = shown
    .map((value) => bars[Math.min(bars.length - 1, Math.max(0, Math.round((value / (most || 1)) * (bars.length - 1))))] ?? ' ')
    .join('');
  return ' '.repeat(Math.max(0, columns - shown.length)) + line;
}
