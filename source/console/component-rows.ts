import fuzzysort from 'fuzzysort';
import { type Group, groupTitles } from '../catalog/groups.ts';
import type { ComponentView, PortView } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';

export function groupTitle(group: string): string {
  return groupTitles[group as Group] ?? group;
}

export type ComponentRow =
  | { kind: 'group'; group: string; title: string; well: number; total: number }
  | { kind: 'component'; component: ComponentView };

/** Nothing has to be done about it: up, or ended as it should. */
export function isWell(component: ComponentView): boolean {
  return component.tone === 'good' || component.state === 'finished';
}

const hostWord = /(?:^|\s)host:(\S*)/i;

/** The host that a filter names, `host:nas`, and what else it says. */
export function hostFilter(filter: string): { host: string; rest: string } {
  const host = hostWord.exec(filter)?.[1] ?? '';
  return { host, rest: filter.replace(hostWord, ' ').trim() };
}

/** The same filter for another host, or for all. */
export function withHost(filter: string, host: string): string {
  const { rest } = hostFilter(filter);
  return [host === '' ? '' : `host:${host}`, rest].filter(Boolean).join(' ');
}

/** `na` of `host:na` is on its way to `nas`; `nas` means its further engines as well, and not `nas-2` where there is a `nas`. */
function onHost<T extends { host: string }>(items: readonly T[], wanted: string): readonly T[] {
  if (wanted === '') return items;
  const name = wanted.toLowerCase();
  const isIt = ({ host }: T) => host.toLowerCase() === name || host.toLowerCase().startsWith(`${name}/`);
  const exact = items.filter(isIt);
  return exact.length > 0 ? exact : items.filter(({ host }) => host.toLowerCase().startsWith(name));
}

function matching<T extends { host: string }>(all: readonly T[], filter: string, keys: readonly ((item: T) => string)[]): readonly T[] {
  const { host, rest } = hostFilter(filter);
  const items = onHost(all, host);
  if (rest === '') return items;
  const found = new Set(fuzzysort.go(rest, items, { keys, threshold: 0.28, limit: 0 }).map((result) => result.obj));
  return items.filter((item) => found.has(item));
}

export function matchingComponents(components: readonly ComponentView[], filter: string): readonly ComponentView[] {
  return matching(components, filter, [
    (component) => component.id,
    (component) => component.kind,
    (component) => component.product,
    (component) => component.word,
    (component) => component.project,
    (component) => component.host,
  ]);
}

/** What the headings of the list are: the kinds of components, or the hosts they are on. */
export type Grouping = 'kind' | 'host';

/** The list with its headings. Headings count all components of the group, whatever the filter hides. */
export function componentRows(components: readonly ComponentView[], filter: string, grouping: Grouping = 'kind'): ComponentRow[] {
  const groupOf = ({ group, host }: ComponentView) => (grouping === 'host' ? host : group);
  const counts = new Map<string, { well: number; total: number }>();
  for (const component of components) {
    const count = counts.get(groupOf(component)) ?? { well: 0, total: 0 };
    count.total++;
    if (isWell(component)) count.well++;
    counts.set(groupOf(component), count);
  }
  const byGroup = new Map<string, ComponentView[]>();
  for (const component of matchingComponents(components, filter)) {
    const members = byGroup.get(groupOf(component));
    if (members) members.push(component);
    else byGroup.set(groupOf(component), [component]);
  }
  const rows: ComponentRow[] = [];
  const groups = grouping === 'host' ? [...byGroup].sort(([one], [other]) => one.localeCompare(other)) : byGroup;
  for (const [group, members] of groups) {
    const title = grouping === 'host' ? cleanLine(group) : groupTitle(group);
    rows.push({ kind: 'group', group, title, ...(counts.get(group) ?? { well: 0, total: 0 }) });
    for (const component of members) rows.push({ kind: 'component', component });
  }
  return rows;
}

export function portKey(port: PortView): string {
  return `${port.host}/${port.address}/${port.port}/${port.protocol}/${port.owner}`;
}

export function matchingPorts(ports: readonly PortView[], filter: string): readonly PortView[] {
  return matching(ports, filter, [
    (port) => String(port.port),
    (port) => port.address,
    (port) => port.owner,
    (port) => port.exposure,
    (port) => port.role ?? '',
    (port) => (port.conflictWith.length > 0 ? 'conflict' : ''),
  ]);
}

const cached = new WeakMap<readonly ComponentView[], { filter: string; grouping: Grouping; rows: ComponentRow[] }>();

/** `componentRows`, computed once per snapshot, filter and grouping. */
export function rowsFor(components: readonly ComponentView[], filter: string, grouping: Grouping = 'kind'): ComponentRow[] {
  const known = cached.get(components);
  if (known?.filter === filter && known.grouping === grouping) return known.rows;
  const rows = componentRows(components, filter, grouping);
  cached.set(components, { filter, grouping, rows });
  return rows;
}

/**
 * The component that is selected: by key, so that it stays selected wherever an update puts it. When it went away or is hidden, the one that
 * now stands in its place.
 */
export function selectedIn(rows: readonly ComponentRow[], key: string | undefined, place: number): ComponentView | undefined {
  const components = rows.flatMap((row) => (row.kind === 'component' ? [row.component] : []));
  return components.find((component) => component.key === key) ?? components[Math.min(place, components.length - 1)];
}

const names = new WeakMap<readonly ComponentView[], ReadonlyMap<string, string>>();
const namesBesideHost = new WeakMap<readonly ComponentView[], ReadonlyMap<string, string>>();

/**
 * How components are called where several are listed: by id, and where two have the same one, by what tells them apart. `besideHost`: the host is told anyway,
 * and need not be said again.
 */
export function namesOf(components: readonly ComponentView[], { besideHost = false } = {}): ReadonlyMap<string, string> {
  const kept = besideHost ? namesBesideHost : names;
  const known = kept.get(components);
  if (known) return known;
  const sameId = new Map<string, ComponentView[]>();
  for (const component of components) {
    const called = besideHost ? `${component.host}/${component.id}` : component.id;
    sameId.set(called, [...(sameId.get(called) ?? []), component]);
  }
  const container = ({ services }: ComponentView) => (services.find((service) => service.main) ?? services[0])?.containerName ?? '';
  const marks: ((component: ComponentView) => string)[] = [
    (component) => component.project || container(component),
    container,
    ({ host }) => host,
  ];
  const result = new Map<string, string>();
  for (const alike of sameId.values()) {
    const telling = marks.find((mark) => new Set(alike.map(mark)).size === alike.length) ?? (({ key }: ComponentView) => key);
    for (const component of alike) {
      const { id } = component;
      const more = alike.length > 1 ? telling(component) : '';
      result.set(component.key, cleanLine(more === '' || more === id ? id : `${id} (${more})`));
    }
  }
  kept.set(components, result);
  return result;
}
