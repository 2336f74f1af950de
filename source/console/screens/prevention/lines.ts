import type { Alert, Decision } from '../../../products/crowdsec/client/crowdsec-records.ts';
import { kindsOf, leftText, whatOf } from '../../../products/crowdsec/decision-words.ts';
import { cleanLine } from '../../../text/clean.ts';
import { countText, durationText, numberText } from '../../../text/quantities.ts';
import { cut } from '../../../text/width.ts';
import { rememberedFor } from '../../remembered.ts';
import { matchingWords, type View } from '../../screen.ts';
import { paragraph, unstyled } from '../../styled-text.ts';
import { type Column, listRow, type RowSpace, tableRow, wholeRow } from '../../widgets/table-rows.ts';
import type { PreventionView } from './watch.ts';

type PreventionContext = Pick<View, 'theme' | 'width' | 'nowMs'>;

export function columnsFor({ tab }: PreventionLook, { width, nowMs }: PreventionContext): Column<PreventionRow>[] {
  const isAlerts = tab === 'alerts';
  const wide = width >= 110;
  const narrow = width < 70;
  const ofAlert = (text: (alert: Alert) => string) => (row: PreventionRow) => (isAlert(row) ? text(row) : '');
  const ofDecision = (text: (decision: Decision) => string) => (row: PreventionRow) => (isAlert(row) ? '' : text(row));
  const ago = ofAlert(({ createdMs }) => (createdMs === undefined ? '' : durationText(nowMs - createdMs)));
  const source = ofDecision(({ origin }) => (!wide && origin === 'cscli-import' ? 'imported' : origin));
  const left = ofDecision(({ endsMs }) => (endsMs <= nowMs ? 'over' : leftText(endsMs - nowMs)));
  const all: readonly (Column<PreventionRow> | false)[] = [
    isAlerts && { title: 'Ago', columns: 4, align: 'right', cell: ago },
    { title: isAlerts ? 'Who' : 'What', columns: wide ? 30 : narrow ? 18 : 22, cell: whatOf },
    { title: 'Why', columns: 0, cell: (row) => reasonText(row, wide) },
    isAlerts && !narrow && { title: 'Events', columns: 6, align: 'right', cell: ofAlert(({ events }) => numberText(events)) },
    { title: '', columns: 2, cell: ({ country }) => country },
    wide && { title: 'Network', columns: 24, cell: ({ network }) => network },
    isAlerts && { title: 'Decisions', columns: 10, cell: ofAlert((alert) => (alert.simulated ? 'simulated' : kindsOf(alert))) },
    !isAlerts && { title: 'Source', columns: wide ? 12 : 9, cell: source },
    !isAlerts && { title: 'Left', columns: 6, align: 'right', cell: left },
  ];
  const shown = all.filter((column) => column !== false);
  const taken = shown.reduce((sum, { columns }) => sum + columns + 2, 1);
  return shown.map((column) => (column.columns === 0 ? { ...column, columns: Math.max(10, width - taken) } : column));
}

/** Most scenarios of the hub come from CrowdSec itself: on narrow screens that prefix is omitted. */
function reasonText(row: PreventionRow, wide: boolean): string {
  const reason = wide ? row.reason : row.reason.replace(/^crowdsecurity\//, '');
  return isAlert(row) ? reason : `${row.simulated ? 'simulated ' : ''}${row.type === 'ban' ? '' : `${row.type}: `}${reason}`;
}

export function preventionLine(row: PreventionRow, look: PreventionLook, isSelected: boolean, context: PreventionContext): string {
  return listRow(tableRow(columnsFor(look, context), row, context.theme), isSelected, context);
}

export function preventionFoot(row: PreventionRow | undefined, look: PreventionLook, context: PreventionContext, height: number): string[] {
  if (!row) return [];
  const { theme, width, nowMs } = context;
  const line = unstyled(preventionLine(row, look, false, context));
  const isLeftOut = isAlert(row) && columnsFor(look, context).every(({ title }) => title !== 'Events');
  return wholeRow(isLeftOut || line.includes(theme.glyphs.ellipsis), rowSentence(row, nowMs), { theme, width, height });
}

export function rowSentence(row: PreventionRow, nowMs: number): string {
  if (isAlert(row)) {
    const ago = row.createdMs === undefined ? '' : `${durationText(nowMs - row.createdMs)} ago`;
    const parts = [whatOf(row), row.reason, countText(row.events, 'event'), row.country, row.network, ago, kindsOf(row)];
    return `${parts.map(cleanLine).filter(Boolean).join(', ')}.`;
  }
  const parts = [whatOf(row), row.type, row.reason, row.country, row.network, `from ${row.origin}`];
  return `${parts.map(cleanLine).filter(Boolean).join(', ')}, ${row.endsMs <= nowMs ? 'over' : `${leftText(row.endsMs - nowMs)} left`}.`;
}

export function emptyLines(view: PreventionView | undefined, filter: string, look: PreventionLook, context: PreventionContext): string[] {
  const { theme, width } = context;
  if (!view || view.state === 'asking') return [`  ${theme.paint('busy', 'Querying CrowdSec...')}`];
  if (view.state === 'failed' && view.trouble) return troubleLines(view, context);
  if (filter !== '') return [`  ${cut(`No matches for "${filter}".`, width - 4)}`];
  if (look.tab === 'alerts') return ['  No alerts.'];
  return [look.shared && view.shared ? '  No active bans.' : '  No active bans, excluding shared lists.'];
}

export function troubleLines({ trouble }: PreventionView, { theme, width }: RowSpace): string[] {
  return trouble ? paragraph(theme, 'error', `${trouble.message} ${trouble.remedy}`, width - 4, '  ') : [];
}

export function countsText(view: PreventionView | undefined, look: PreventionLook): string {
  if (!view || view.state === 'asking' || (view.state === 'failed' && view.decisions.length + view.alerts.length === 0)) return '';
  if (look.tab === 'alerts') return numberText(view.alerts.length);
  const added = view.decisions.filter(({ origin }) => origin === 'cscli-import' || origin === 'console').length;
  const own = `${numberText(view.decisions.length - added)}${added > 0 ? ` and ${numberText(added)} imported` : ''}`;
  if (!look.shared) return `${own}, without shared lists`;
  return view.shared === undefined ? `${own}, fetching shared lists` : `${own} and ${numberText(view.shared.length)} from shared lists`;
}

type SortKey = (row: PreventionRow) => number | string;

const orders = {
  newest: { title: 'newest first', key: ({ id }) => -id },
  left: { title: 'ending soonest first', key: (row) => (isAlert(row) ? 0 : row.endsMs) },
  address: { title: 'by address', key: ({ value }) => addressKey(value) },
  reason: { title: 'by reason', key: ({ reason }) => reason.toLowerCase() },
  // Rows without a country come last.
  country: { title: 'by country', key: ({ country }) => (country === '' ? '~' : country) },
  source: { title: 'by source', key: (row) => (isAlert(row) ? '' : row.origin.toLowerCase()) },
} satisfies Record<string, { title: string; key: SortKey }>;
type SortOrder = keyof typeof orders;

export const orderText = (look: PreventionLook): string => orders[sortFor(look)].title;

export interface PreventionLook {
  tab: 'decisions' | 'alerts';
  sort: SortOrder;
  shared: boolean;
}

export type PreventionRow = Decision | Alert;

export const isAlert = (row: PreventionRow): row is Alert => !('origin' in row);

export const rowId = (row: PreventionRow): string => `${isAlert(row) ? 'a' : 'd'}${row.id}`;

function sortFor({ tab, sort }: PreventionLook): SortOrder {
  return tab === 'alerts' && (sort === 'left' || sort === 'source') ? 'newest' : sort;
}

export function nextSort(look: PreventionLook): SortOrder {
  const possible = (Object.keys(orders) as SortOrder[]).filter((sort) => sortFor({ ...look, sort }) === sort);
  return possible[(possible.indexOf(sortFor(look)) + 1) % possible.length] ?? 'newest';
}

/** Returns the sorted rows. Fifty thousand rows are filtered and sorted after a change, not for each frame. */
export function preventionRows(view: PreventionView | undefined, filter: string, look: PreventionLook): readonly PreventionRow[] {
  return view ? findRows(view, filter, look.tab, sortFor(look), look.shared) : [];
}

const findRows = rememberedFor(
  (view: PreventionView, filter: string, tab: PreventionLook['tab'], order: SortOrder, shared: boolean): readonly PreventionRow[] => {
    const decisions = shared && view.shared ? [...view.decisions, ...view.shared] : view.decisions;
    const keyOf: SortKey = orders[order].key;
    return matchingWords<PreventionRow>(tab === 'alerts' ? view.alerts : decisions, filter, searchText)
      .map((row) => ({ row, key: keyOf(row) }))
      .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : other.row.id - one.row.id))
      .map(({ row }) => row);
  },
);

const searchText = rememberedFor((row: PreventionRow) => {
  const more = isAlert(row) ? row.message : `${row.origin} ${row.type}`;
  return `${row.value} ${row.scope} ${row.reason} ${row.country} ${row.network} ${more}`.toLowerCase();
});

/** Sorts IPv4 addresses by number, before all other values, which are sorted as text. */
function addressKey(value: string): string {
  if (!/^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(\/\d+)?$/.test(value)) return `6${value}`;
  return `4${value.replace(/(?<!\/)\b\d+/g, (part) => part.padStart(3, '0'))}`;
}
