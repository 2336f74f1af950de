import { backupText, isBackupDue } from '../../fleet/duties.ts';
import type { ComponentView, FindingView, ServiceView, StatsHistory } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText, countText, durationText } from '../../text/quantities.ts';
import { cut, pad, wrap } from '../../text/width.ts';
import { sparkline } from '../sparkline.ts';
import { cutStyled } from '../styled-text.ts';
import type { Role, Theme } from '../theme.ts';

export interface OverviewOptions {
  theme: Theme;
  width: number;
  nowMs: number;
  component: ComponentView;
  service: ServiceView | undefined;
  stats: StatsHistory | undefined;
  /** Of a component of another machine: its name, and where a tunnel from here leads to it. */
  far?: { machine: string; tunnel: string | undefined } | undefined;
  /** Of the host, where it is known: paths below it begin with `~`. */
  home?: string | undefined;
}

const labelColumns = 9;
/** In such steps it is told when a component was asked: by the second, an idle console would draw once a second. */
const askedStepMs = 10_000;
const levelRoles: Readonly<Record<FindingView['level'], 'bad' | 'warn' | 'busy'>> = { error: 'bad', warning: 'warn', notice: 'busy' };

function sentence(text: string): string {
  return text === '' ? '' : text[0]?.toUpperCase() + text.slice(1);
}

/** `healthy for 12 days`, `failed 2 hours ago`: what goes on goes on for a time, what happened happened some time ago. */
function sinceText(state: string, ms: number): string {
  const ago = agoText(ms);
  const over = ['stopped', 'failed', 'finished', 'created'].includes(state);
  return over || ago === 'just now' ? `${state} ${ago}` : `${state} for ${ago.replace(' ago', '')}`;
}

/** Everything worth knowing about a component at one glance; lines of at most `width`. */
export function overviewLines(options: OverviewOptions): string[] {
  const { theme, width, component, stats, nowMs } = options;
  const { glyphs } = theme;
  const room = width - 4;
  const lines: string[] = [];
  const faint = (text: string) => theme.paint('faint', text);
  const paragraph = (text: string, indent: string, role?: Role) =>
    wrap(text, width - indent.length - 1).map((line) => indent + (role ? theme.paint(role, line) : line));

  const state = sentence(cleanLine(component.detail || component.word));
  const [first = '', ...rest] = wrap(state, room);
  lines.push(
    ` ${theme.paint(component.tone, `${glyphs.tone[component.tone]} ${first}`)}`,
    ...rest.map((line) => `   ${theme.paint(component.tone, line)}`),
  );
  const { probe } = component;
  if (probe?.detail && cleanLine(probe.detail) !== cleanLine(component.detail))
    lines.push(...paragraph(sentence(cleanLine(probe.detail)), '   '));
  if (probe?.failure && !state.includes(cleanLine(probe.failure)))
    lines.push(...paragraph(`${glyphs.tone.unknown} Could not be asked: ${cleanLine(probe.failure)}`, '   ', 'unknown'));
  const since = component.sinceMs === undefined ? '' : sinceText(component.state, nowMs - component.sinceMs);
  const restarts = component.restarts > 0 ? countText(component.restarts, 'restart') : '';
  const asked = probe ? `asked ${agoText(Math.floor((nowMs - probe.atMs) / askedStepMs) * askedStepMs)}` : '';
  const facts = [since, restarts, asked].filter(Boolean).join(`, `);
  if (facts) lines.push(...paragraph(facts, '   ', 'faint'));

  if (stats) {
    lines.push('');
    lines.push(...loadLines(options, stats));
  }

  lines.push('');
  const fact = (label: string, text: string, role?: Role) => {
    if (text === '') return;
    const [head = '', ...more] = wrap(text, width - labelColumns - 3);
    lines.push(` ${faint(pad(label, labelColumns))} ${role ? theme.paint(role, head) : head}`);
    for (const line of more) lines.push(` ${' '.repeat(labelColumns)} ${role ? theme.paint(role, line) : line}`);
  };
  const { far, home } = options;
  fact('page', component.url === undefined ? '' : `${cleanLine(component.url)}${far ? ` on ${cleanLine(far.machine)}` : ''}`, 'accent');
  if (far?.tunnel !== undefined)
    lines.push(` ${faint(pad('from here', labelColumns))} ${theme.link(theme.paint('accent', cut(far.tunnel, width - labelColumns - 3)))}`);
  fact('what', cleanLine(component.kind));
  fact('product', [cleanLine(component.product), probe?.version ? cleanLine(probe.version) : ''].filter(Boolean).join(' '));
  fact('project', cleanLine(component.project));
  fact('owner', home === undefined ? cleanLine(component.origin) : cleanLine(component.origin).replaceAll(`${home}/`, '~/'));
  fact('backup', backupText(component, nowMs), isBackupDue(component, nowMs) ? 'warn' : undefined);
  if (!component.known) lines.push(...paragraph('Not in the catalog: only its containers are known.', ' ', 'faint'));

  if (component.findings.length > 0) {
    lines.push('', ` ${theme.paint('heading', 'Findings')}`);
    for (const finding of component.findings) lines.push(...findingLines(finding, options));
  }

  if (component.duties.length > 0) lines.push('', ...dutyLines(options));

  lines.push('', ` ${theme.paint('heading', component.services.length === 1 ? 'Service' : 'Services')}`, ...serviceLines(options));
  return lines.map((line) => cutStyled(line, width, glyphs.ellipsis));
}

function loadLines({ theme, width }: OverviewOptions, stats: StatsHistory): string[] {
  const { glyphs } = theme;
  const cpu = stats.cpuPercent.at(-1);
  const memory = stats.memoryBytes.at(-1) ?? 0;
  const limit = stats.memoryLimitBytes;
  const bars = Math.max(8, Math.min(60, width - labelColumns - 26));
  const line = (label: string, values: readonly number[], most: number, text: string, role: Role) =>
    ` ${theme.paint('faint', pad(label, labelColumns))} ${theme.paint(role, sparkline(values, bars, most, glyphs.sparks))}  ${text}`;
  const peak = Math.max(...stats.cpuPercent, 5);
  return [
    line('cpu', stats.cpuPercent, peak, cpu === undefined ? '' : `${cpu.toFixed(1)} %`, 'accent'),
    line(
      'memory',
      stats.memoryBytes,
      limit > 0 ? limit : Math.max(...stats.memoryBytes, 1) * 1.25,
      `${bytesText(memory)}${limit > 0 ? ` of ${bytesText(limit)}` : ''}`,
      'accent',
    ),
  ];
}

function findingLines(finding: FindingView, { theme, width }: OverviewOptions): string[] {
  const { glyphs } = theme;
  const role = levelRoles[finding.level];
  const rule = finding.rule ? ` (${finding.rule})` : '';
  const [first = '', ...rest] = wrap(`${finding.level}: ${cleanLine(finding.message)}${rule}`, width - 4);
  return [
    ` ${theme.paint(role, `${glyphs.tone[role]} ${first}`)}`,
    ...rest.map((line) => `   ${theme.paint(role, line)}`),
    ...wrap(cleanLine(finding.remedy), width - 6 - glyphs.arrow.length).map(
      (line, row) => `   ${row === 0 ? theme.paint('accent', glyphs.arrow) : ' '.repeat(glyphs.arrow.length)} ${line}`,
    ),
  ];
}

/** What is left to do first, in full; what is done in one word each. */
function dutyLines({ theme, width, component: { duties } }: OverviewOptions): string[] {
  const { glyphs } = theme;
  const left = duties.filter(({ done }) => !done);
  const done = duties.length - left.length;
  const heading = left.length > 0 ? 'To do' : 'To do: nothing';
  const count = done > 0 ? theme.paint('faint', `${left.length > 0 ? '  ' : ', '}${done} of ${duties.length} done`) : '';
  return [
    ` ${theme.paint('heading', heading)}${count}`,
    ...left.flatMap(({ title, detail, urgent }) => {
      const [first = '', ...rest] = wrap(cleanLine(title), width - 4);
      const role: Role = urgent ? 'warn' : 'accent';
      return [
        ` ${theme.paint(role, urgent ? glyphs.tone.warn : glyphs.todo)} ${urgent ? theme.paint(role, first) : first}`,
        ...rest.map((line) => `   ${urgent ? theme.paint(role, line) : line}`),
        ...(detail === '' ? [] : wrap(cleanLine(detail), width - 4).map((line) => `   ${theme.paint('faint', line)}`)),
      ];
    }),
    ...(left.some(({ by }) => by === 'hand')
      ? wrap('What cannot be seen from here is confirmed with ": duty".', width - 4).map((line) => `   ${theme.paint('faint', line)}`)
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
      `${several && service === shown ? theme.paint('accent', glyphs.pointer) : ' '}${theme.paint(service.tone, glyphs.tone[service.tone])} ${pad(cleanLine(service.name), nameColumns, 'left', glyphs.ellipsis)}`,
      theme.paint(service.tone, pad(service.state, 11)),
      theme.paint('faint', pad(age, 4, 'right')),
      theme.paint('faint', cut(cleanLine(service.image), image, glyphs.ellipsis)),
    ].join(' ');
    // What the component's own sentence says is not said twice.
    const telling =
      service.tone !== 'good' && service.detail !== component.detail
        ? wrap(cleanLine(service.detail), width - 6).map((text) => `   ${theme.paint('faint', text)}`)
        : [];
    return [line, ...telling];
  });
}
