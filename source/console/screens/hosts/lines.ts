import type { QuarterdeckApp } from '../../../app/app.ts';
import { clockText, connectionText, engineText, troubleOf } from '../../../app/connection-text.ts';
import type { ComponentView, EngineView, FleetSnapshot, Severity } from '../../../fleet/model.ts';
import type { Tunnel } from '../../../hosts/tunnel.ts';
import { cleanLine } from '../../../text/clean.ts';
import { countText, durationText } from '../../../text/quantities.ts';
import { cut, pad, textWidth } from '../../../text/width.ts';
import type { View } from '../../screen.ts';
import { padStyled, paragraph, styledWidth, unstyled } from '../../styled-text.ts';
import { isWell } from '../components/rows.ts';

export type HostItem = { kind: 'engine'; view: EngineView } | { kind: 'tunnel'; tunnel: Tunnel };

export function hostItems(snapshot: FleetSnapshot, tunnels: readonly Tunnel[]): HostItem[] {
  return [
    ...snapshot.engines.map((view) => ({ kind: 'engine' as const, view })),
    ...tunnels.map((tunnel) => ({ kind: 'tunnel' as const, tunnel })),
  ];
}

export function remoteOf(app: QuarterdeckApp, component: ComponentView): { machine: string; tunnel: string | undefined } | undefined {
  const engineView = app.fleet.snapshot().engines.find(({ name }) => name === component.host);
  return engineView?.hostKind === 'ssh' ? { machine: engineView.machine, tunnel: app.tunnels.find(component.key)?.url } : undefined;
}

/** Returns the home on the host of a practice stack, whose long path has no meaning and is shown as `~`. */
export function homeOf(app: QuarterdeckApp): string | undefined {
  return app.options.practice && `${app.options.practice.folder}/home`;
}

interface HostsContext extends Pick<View, 'theme' | 'width' | 'nowMs'> {
  components: readonly ComponentView[];
  destinations: Readonly<Record<string, { ssh: string }>>;
}

function knownEngine(engineView: EngineView): string {
  const { kind, reachable } = engineView.engine;
  return kind === undefined && !reachable ? '' : engineText(engineView);
}

function upText({ name, engine }: EngineView, components: readonly ComponentView[]): string {
  const here = components.filter(({ host }) => host === name);
  if (here.length === 0) return engine.reachable ? 'no components' : '';
  return engine.reachable ? `${here.filter(isWell).length} of ${here.length} ok` : `${countText(here.length, 'component')} when last seen`;
}

function engineLine(engineView: EngineView, columns: number, engineColumns: number, { theme, nowMs, components }: HostsContext): string {
  const { text, severity } = connectionText(engineView, nowMs);
  const state = text || (engineView.hostKind === 'local' ? 'this machine' : 'connected');
  const skew = clockText(engineView);
  const parts = [
    `${theme.paint(severity, theme.glyphs.severity[severity])} ${pad(cleanLine(engineView.name), columns, 'left', theme.glyphs.ellipsis)}`,
    theme.paint(severity, pad(state, 27)),
    pad(knownEngine(engineView), engineColumns, 'left', theme.glyphs.ellipsis),
    upText(engineView, components),
    skew === '' ? '' : theme.paint('warning', skew),
  ];
  return parts.filter(Boolean).join('  ');
}

function tunnelLine(tunnel: Tunnel, { theme }: HostsContext): string {
  const { wanted, trouble, open } = tunnel;
  const severity: Severity = trouble ? 'error' : 'ok';
  const use = trouble ? theme.paint('error', cleanLine(trouble.message)) : open > 0 ? `${countText(open, 'connection')} now` : 'open';
  return `${theme.paint(severity, theme.glyphs.severity[severity])} ${theme.link(cleanLine(tunnel.url))}  to ${cleanLine(wanted.name)} on ${cleanLine(wanted.engineName)}, port ${wanted.address.port}  ${use}`;
}

export function engineFactsOf(
  engineView: EngineView,
  { nowMs, destinations }: Pick<HostsContext, 'nowMs' | 'destinations'>,
): [string, string][] {
  const { engine, connection, link } = engineView;
  const destination = destinations[engineView.machine]?.ssh;
  const trouble = troubleOf(engineView);
  const seconds = trouble?.retryAtMs === undefined ? undefined : Math.ceil((trouble.retryAtMs - nowMs) / 1000);
  const isUp = [connection ?? link, link].every((each) => each.state === 'connected');
  const state = isUp ? 'connected' : connectionText(engineView, nowMs, { retry: false }).text;
  const whole = `${engineText(engineView)}, API ${engine.apiVersion}, at ${engine.address} (${engine.origin})`;
  const skew = clockText(engineView).replace(/^clock /, '');
  const facts: [string, string][] = [
    ['connection', destination !== undefined ? `ssh ${destination}` : engineView.hostKind === 'ssh' ? 'ssh' : 'this machine'],
    ['state', `${state} for ${durationText(nowMs - (connection ?? link).sinceMs)}`],
    ['engine', engine.kind === undefined ? '' : whole],
    ['clock', skew && `${skew} of this machine; ages use this machine's clock`],
    ['problem', trouble?.message ?? ''],
    ['remedy', trouble?.remedy ?? ''],
    ['next try', trouble === undefined ? '' : seconds === undefined ? 'on request' : seconds > 0 ? `in ${seconds} s` : 'now'],
    ...engineView.notes.map((note): [string, string] => ['note', note]),
  ];
  return facts.filter(([, text]) => text !== '').map(([name, text]) => [name, cleanLine(text)]);
}

export function hostsLines(items: readonly HostItem[], cursor: number, context: HostsContext): { lines: string[]; at: number } {
  const { theme, width } = context;
  const lines: string[] = [];
  let at = 0;
  const engines = items.flatMap((item) => (item.kind === 'engine' ? [item.view] : []));
  const columns = Math.min(20, Math.max(4, ...engines.map(({ name }) => textWidth(cleanLine(name)))));
  const engineColumns = Math.min(width >= 100 ? 34 : 20, Math.max(6, ...engines.map((view) => textWidth(knownEngine(view)))));
  const lineOf = (item: HostItem) =>
    item.kind === 'engine' ? engineLine(item.view, columns, engineColumns, context) : tunnelLine(item.tunnel, context);
  const add = (line: string, index: number) => {
    const here = index === cursor;
    if (here) at = lines.length;
    const row = padStyled(`${here ? theme.paint('accent', theme.glyphs.pointer) : ' '}${line}`, width, theme.glyphs.ellipsis);
    lines.push(here ? theme.paint('selected', row) : row);
  };
  for (const [index, item] of items.entries()) {
    if (item.kind === 'tunnel' && items[index - 1]?.kind === 'engine')
      lines.push('', ` ${theme.paint('heading', 'Tunnels from this machine')}`);
    add(lineOf(item), index);
  }
  const chosen = items[cursor];
  if (!chosen) return { lines, at };
  const drawn = lineOf(chosen);
  if (styledWidth(drawn) > width - 1) lines.push('', ...paragraph(theme, 'faint', unstyled(drawn).replace(/ {2,}/g, ', '), width - 2, ' '));
  if (chosen.kind === 'engine') {
    lines.push('', ` ${theme.paint('heading', cut(cleanLine(chosen.view.name), width - 2, theme.glyphs.ellipsis))}`);
    for (const [name, text] of engineFactsOf(chosen.view, context))
      lines.push(...paragraph(theme, undefined, text, width - 16, ` ${theme.paint('faint', pad(name, 12))} `));
  }
  return { lines, at };
}
