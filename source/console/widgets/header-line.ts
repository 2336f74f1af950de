import { clockText, connectionText, engineText, troubleOf } from '../../app/connection-text.ts';
import { countedName } from '../../catalog/state.ts';
import type { ComponentView, EngineView, FleetSnapshot, Severity } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { pad, wrap } from '../../text/width.ts';
import type { ConsoleParts } from '../context.ts';
import { type PaneId, paneIds } from '../panes.ts';
import { padStyled, styledWidth } from '../styled-text.ts';
import type { Theme } from '../theme.ts';
import { limitedRows } from './table-rows.ts';

/** Worst first: problems stay visible when space is short. */
const severities: readonly { severity: Severity; one: string; many: string }[] = [
  { severity: 'error', one: 'failing', many: 'failing' },
  { severity: 'warning', one: 'warning', many: 'warnings' },
  { severity: 'unknown', one: 'unknown', many: 'unknown' },
  { severity: 'busy', one: 'busy', many: 'busy' },
  { severity: 'ok', one: 'up', many: 'up' },
  { severity: 'off', one: 'off', many: 'off' },
];
/** The order in which counts are dropped when not even the severities fit. Problems are never dropped. */
const dropOrder: readonly Severity[] = ['off', 'busy', 'ok', 'unknown'];

interface Counted {
  word: string;
  count: number;
  severity: Severity;
}

export function counts(components: readonly ComponentView[]): Counted[] {
  const rank = (severity: Severity) => severities.findIndex((one) => one.severity === severity);
  const states = components.map(({ state }) => state);
  return [...Map.groupBy(states, ({ id, severity }) => (severity === 'ok' ? '' : id))]
    .map(([id, alike]) => ({
      word: id === '' ? 'up' : cleanLine(countedName(alike)),
      ...{ count: alike.length, severity: alike[0]?.severity ?? 'unknown' },
    }))
    .sort((one, other) => rank(one.severity) - rank(other.severity) || other.count - one.count);
}

function countsBySeverity(components: readonly ComponentView[]): Counted[] {
  return severities.flatMap(({ severity, one, many }) => {
    const count = components.filter((component) => component.state.severity === severity).length;
    return count === 0 ? [] : [{ word: count === 1 ? one : many, count, severity }];
  });
}

function hostText(engineView: EngineView, theme: Theme, nowMs: number, short: boolean): string {
  const connection = connectionText(engineView, nowMs, { retry: !short });
  const parts = [
    theme.paint('strong', cleanLine(engineView.name)),
    connection.severity === 'ok' ? connection.text : theme.paint(connection.severity, connection.text),
    short || engineView.link.state !== 'connected' ? '' : engineText(engineView),
    theme.paint('warning', clockText(engineView)),
  ];
  return parts.filter(Boolean).join(` ${theme.glyphs.dot} `);
}

export interface HeaderView {
  snapshot: FleetSnapshot;
  columns: number;
  nowMs: number;
}

/**
 * Returns the first row of every screen. The counts use state names when all of them fit beside the hosts, otherwise severities. When there
 * is less space, hosts, the clock and the name of the program are dropped, then the counts of healthy components; problems and badges stay.
 */
export function headerLine({ theme, app }: Pick<ConsoleParts, 'theme' | 'app'>, { snapshot, columns, nowMs }: HeaderView): string {
  const { readOnly, dryRun, practice } = app.options;
  const { problems } = app.catalog;
  const badges = [
    problems.length > 0 ? theme.paint('alarm', ` CATALOG ${problems.length} `) : '',
    dryRun ? theme.paint('alarm', ' DRY RUN ') : '',
    readOnly ? theme.paint('badge', ' READ-ONLY ') : '',
    practice ? theme.paint('alarm', ' PRACTICE ') : '',
  ]
    .filter(Boolean)
    .join(' ');
  const textOf = (all: readonly Counted[]) => all.map(({ word, count, severity }) => theme.paint(severity, `${count} ${word}`)).join('  ');
  const name = ` ${theme.paint('key', 'quarterdeck')}`;
  const timed = `${badges} ${new Date(nowMs).toTimeString().slice(0, 5)} `;
  const roomBeside = (left: string, right: string, gap: number) => columns - styledWidth(left) - styledWidth(right) - gap;

  const words = textOf(counts(snapshot.components));
  const hosts = hostsText(snapshot.engines, theme, nowMs, roomBeside(name, timed, 2 + 2 + 1 + styledWidth(words)));
  if (hosts.isWhole) return padStyled(`${name}  ${hosts.text}  ${words}`, columns - styledWidth(timed)) + timed;

  let bySeverity = countsBySeverity(snapshot.components);
  const severe = textOf(bySeverity);
  const fitting = hostsText(snapshot.engines, theme, nowMs, roomBeside(name, timed, 2 + 2 + 1 + styledWidth(severe)));
  if (fitting.text !== '') return padStyled(`${name}  ${fitting.text}  ${severe}`, columns - styledWidth(timed)) + timed;
  const right = `${badges} `;
  for (const end of [timed, right])
    if (roomBeside(name, end, 2 + 1) >= styledWidth(severe)) return padStyled(`${name}  ${severe}`, columns - styledWidth(end)) + end;
  for (const severity of dropOrder) {
    if (styledWidth(textOf(bySeverity)) <= roomBeside('', right, 1)) break;
    bySeverity = bySeverity.filter((one) => one.severity !== severity);
  }
  return padStyled(` ${textOf(bySeverity)}`, columns - styledWidth(right)) + right;
}

/** Returns as many hosts as fit into `room`, and the number of others. `isWhole`: all of them, with nothing omitted. */
function hostsText(engines: readonly EngineView[], theme: Theme, nowMs: number, room: number): { text: string; isWhole: boolean } {
  const whole = engines.map((engineView) => hostText(engineView, theme, nowMs, false));
  const short = engines.map((engineView) => hostText(engineView, theme, nowMs, true));
  const isRoomy = engines.length < 2 || whole.reduce((sum, text) => sum + styledWidth(text) + 3, 0) <= room;
  const fits = (text: string) => styledWidth(text) <= room;
  const all = (isRoomy ? whole : short).join('   ');
  if (fits(all)) return { text: all, isWhole: true };
  if (engines.length < 2) return { text: short.find(fits) ?? '', isWhole: false };
  const fewer = short.slice(1).map((_, others) => {
    const left = others + 1;
    return `${short.slice(0, -left).join('   ')}   ${theme.paint('faint', `+${left} ${left === 1 ? 'host' : 'hosts'}`)}`;
  });
  return { text: [...fewer, theme.paint('faint', `${engines.length} hosts`)].find(fits) ?? '', isWhole: false };
}

const mostBannerRows = 3;

/** Names the first unreachable machine or engine, the reason, the remedy, and the next attempt. */
export function bannerLines(theme: Theme, { snapshot, columns, nowMs }: HeaderView): string[] {
  const troubled = snapshot.engines.flatMap((engineView) => {
    const trouble = troubleOf(engineView);
    return trouble ? [{ engineView, trouble }] : [];
  });
  const [first] = troubled;
  if (!first) return [];
  const { engineView, trouble } = first;
  const waitSeconds = trouble.retryAtMs === undefined ? undefined : Math.max(0, Math.ceil((trouble.retryAtMs - nowMs) / 1000));
  const next = waitSeconds === undefined ? '' : waitSeconds === 0 ? 'Retrying now.' : `Next try in ${waitSeconds} s.`;
  // The engines of one unreachable machine count as one problem.
  const machines = new Set(troubled.map((one) => one.engineView.machine));
  const tail = [next, machines.size > 1 ? `(${machines.size - 1} more)` : ''].filter(Boolean).join(' ');
  const name = engineView.connection && engineView.connection.state !== 'connected' ? engineView.machine : engineView.name;
  const reason = [trouble.message, trouble.remedy].filter(Boolean).map(cleanLine).join(' ');
  // The countdown keeps its position and its width, so that nothing else moves.
  const tailColumns = machines.size > 1 ? 27 : 20;
  const room = columns - tailColumns - 5;
  const named = reason.split(/[\s:.,]+/).includes(cleanLine(name));
  const { ellipsis, severity } = theme.glyphs;
  const rows = limitedRows(wrap(named ? reason : `${cleanLine(name)}: ${reason}`, room), mostBannerRows, room, theme);
  return rows.map((row, index) => {
    const [sign, end] = index === 0 ? [severity.error, tail] : [' ', ''];
    return theme.paint('alarm', ` ${sign} ${pad(row, room, 'left', ellipsis)} ${pad(end, tailColumns, 'right', ellipsis)} `);
  });
}

export function tabsRow({ theme, keymap, screens }: ConsoleParts, focus: PaneId, columns: number, zoomed: boolean): string {
  const tabs = paneIds.map((pane, index) => {
    const title = `${index + 1} ${screens.of(pane).screen.heading}`;
    if (pane === focus) return theme.depth === 'none' ? `[${title}]` : theme.paint('badge', ` ${title} `);
    return ` ${theme.paint('key', title.slice(0, 1))} ${theme.paint('faint', title.slice(2))} `;
  });
  const line = ` ${tabs.join(' ')}`;
  const hint = zoomed ? theme.paint('faint', `   ${keymap.keyOf('zoom')} shows all panes`) : '';
  return padStyled(styledWidth(line + hint) <= columns ? line + hint : line, columns);
}
