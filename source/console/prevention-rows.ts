import type { Alert, Decision } from '../products/crowdsec-records.ts';
import type { PreventionView } from './prevention-watch.ts';

export const preventionTabs = ['decisions', 'alerts'] as const;
export type PreventionTab = (typeof preventionTabs)[number];

export const sortOrders = ['newest', 'left', 'address', 'reason', 'country', 'source'] as const;
export type SortOrder = (typeof sortOrders)[number];

export const sortTitles: Readonly<Record<SortOrder, string>> = {
  newest: 'newest first',
  left: 'shortest time left first',
  address: 'by address',
  reason: 'by reason',
  country: 'by country',
  source: 'by source',
};

/** What of it is looked at. */
export interface PreventionLook {
  tab: PreventionTab;
  sort: SortOrder;
  shared: boolean;
}

export type PreventionRow = { kind: 'decision'; decision: Decision } | { kind: 'alert'; alert: Alert };

export function rowId(row: PreventionRow): string {
  return row.kind === 'decision' ? `d${row.decision.id}` : `a${row.alert.id}`;
}

/** Of an order that makes no sense for alerts, the one that does. */
export function sortFor({ tab, sort }: PreventionLook): SortOrder {
  return tab === 'alerts' && (sort === 'left' || sort === 'source') ? 'newest' : sort;
}

let last: { view: PreventionView; filter: string; key: string; rows: readonly PreventionRow[] } | undefined;

/** The rows in their order. Fifty thousand are filtered and put in order when something changes, and not for each frame. */
export function preventionRows(view: PreventionView | undefined, filter: string, look: PreventionLook): readonly PreventionRow[] {
  if (!view) return [];
  const key = `${look.tab} ${sortFor(look)} ${look.shared}`;
  if (last?.view === view && last.filter === filter && last.key === key) return last.rows;
  const rows = findRows(view, filter, look);
  last = { view, filter, key, rows };
  return rows;
}

function findRows(view: PreventionView, filter: string, look: PreventionLook): readonly PreventionRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const order = sortFor(look);
  if (look.tab === 'alerts') {
    const alerts =
      words.length === 0 ? view.alerts : view.alerts.filter((alert) => words.every((word) => searchText(alert).includes(word)));
    return inOrder(alerts, order).map((alert) => ({ kind: 'alert', alert }));
  }
  const all = look.shared && view.shared ? [...view.decisions, ...view.shared] : view.decisions;
  const found = words.length === 0 ? all : all.filter((decision) => words.every((word) => searchText(decision).includes(word)));
  return inOrder(found, order).map((decision) => ({ kind: 'decision', decision }));
}

const texts = new WeakMap<Alert | Decision, string>();

function searchText(one: Alert | Decision): string {
  const known = texts.get(one);
  if (known !== undefined) return known;
  const more = 'origin' in one ? `${one.origin} ${one.type}` : one.message;
  const text = `${one.value} ${one.scope} ${one.reason} ${one.country} ${one.network} ${more}`.toLowerCase();
  texts.set(one, text);
  return text;
}

function inOrder<T extends Alert | Decision>(all: readonly T[], order: SortOrder): T[] {
  const keyed = all.map((one) => ({ one, key: sortKey(one, order) }));
  keyed.sort((first, second) => {
    if (first.key < second.key) return -1;
    if (first.key > second.key) return 1;
    return second.one.id - first.one.id;
  });
  return keyed.map(({ one }) => one);
}

function sortKey(one: Alert | Decision, order: SortOrder): number | string {
  if (order === 'newest') return -one.id;
  if (order === 'left') return 'endsMs' in one ? one.endsMs : 0;
  if (order === 'address') return addressKey(one.value);
  if (order === 'reason') return one.reason.toLowerCase();
  // What has none stands behind what has.
  if (order === 'country') return one.country === '' ? '~' : one.country;
  return 'origin' in one ? one.origin.toLowerCase() : '';
}

/** IPv4 by number, before everything else by its letters. */
function addressKey(value: string): string {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(\/\d+)?$/.exec(value);
  if (!parts) return `6${value}`;
  return `4${parts
    .slice(1, 5)
    .map((part) => part?.padStart(3, '0'))
    .join('.')}${parts[5] ?? ''}`;
}
