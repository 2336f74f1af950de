import fuzzysort from 'fuzzysort';
import { type Group, groupTitles } from '../../../catalog/groups.ts';
import type { ComponentView, PortView } from '../../../fleet/model.ts';
import { cleanLine } from '../../../text/clean.ts';
import { rememberedFor } from '../../remembered.ts';

export type ComponentRow =
  | { kind: 'group'; group: string; title: string; well: number; total: number }
  | { kind: 'component'; component: ComponentView };

export function isWell(component: ComponentView): boolean {
  return component.state.severity === 'ok' || component.state.id === 'completed';
}

const hostWord = /(?:^|\s)host:(\S*)/i;

export function hostFilter(filter: string): { host: string; rest: string } {
  const host = hostWord.exec(filter)?.[1] ?? '';
  return { host, rest: filter.replace(hostWord, ' ').trim() };
}

export function withHost(filter: string, host: string): string {
  const { rest } = hostFilter(filter);
  return [host === '' ? '' : `host:${host}`, rest].filter(Boolean).join(' ');
}

/** Matches partial host names, such as `na` of `nas`. `nas` includes its further engines, but not `nas-2` when there is a host `nas`. */
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
    (component) => component.state.label,
    (component) => component.project,
    (component) => component.host,
  ]);
}

export type Grouping = 'kind' | 'host';

/** Returns the list with its headings. Headings count all components of the group, regardless of the filter. */
export function componentRows(components: readonly ComponentView[], filter: string, grouping: Grouping = 'kind'): ComponentRow[] {
  const groupOf = ({ group, host }: ComponentView) => (grouping === 'host' ? host : group);
  const all = Map.groupBy(components, groupOf);
  const groups = [...Map.groupBy(matchingComponents(components, filter), groupOf)];
  if (grouping === 'host') groups.sort(([one], [other]) => one.localeCompare(other));
  return groups.flatMap(([group, members]): ComponentRow[] => {
    const title = grouping === 'host' ? cleanLine(group) : (groupTitles[group as Group] ?? group);
    const whole = all.get(group) ?? [];
    return [
      { kind: 'group', group, title, well: whole.filter(isWell).length, total: whole.length },
      ...members.map((component) => ({ kind: 'component' as const, component })),
    ];
  });
}

export function portKey(port: PortView): string {
  return `${port.host}/${port.address}/${port.port}/${port.protocol}/${port.owner}`;
}

export const matchingPorts = rememberedFor((ports: readonly PortView[], filter: string) =>
  matching(ports, filter, [
    (port) => String(port.port),
    (port) => port.address,
    (port) => port.owner,
    (port) => port.exposure,
    (port) => port.role ?? '',
    (port) => (port.conflictWith.length > 0 ? 'conflict' : ''),
  ]),
);

export const rowsFor = rememberedFor(componentRows);

export function componentsOf(rows: readonly ComponentRow[]): ComponentView[] {
  return rows.flatMap((row) => (row.kind === 'component' ? [row.component] : []));
}

/** Found by key, so that it stays selected when an update moves it; otherwise the component that is now in its position. */
export function selectedIn(rows: readonly ComponentRow[], key: string | undefined, row: number): ComponentView | undefined {
  const components = componentsOf(rows);
  return components.find((component) => component.key === key) ?? components[Math.min(row, components.length - 1)];
}

/** The id, with a distinguishing part where two are equal. */
export const namesOf = rememberedFor((components: readonly ComponentView[]) => namesAmong(components, false));

/** Where the host is shown anyway, it is not repeated. */
export const namesBesideHost = rememberedFor((components: readonly ComponentView[]) => namesAmong(components, true));

function namesAmong(components: readonly ComponentView[], besideHost: boolean): ReadonlyMap<string, string> {
  const sameId = Map.groupBy(components, ({ host, id }) => (besideHost ? `${host}/${id}` : id));
  const container = ({ services }: ComponentView) => (services.find((service) => service.main) ?? services[0])?.containerName ?? '';
  const marks: ((component: ComponentView) => string)[] = [
    (component) => component.project || container(component),
    container,
    ({ host }) => host,
  ];
  const result = new Map<string, string>();
  for (const alike of sameId.values()) {
    const markOf = marks.find((mark) => new Set(alike.map(mark)).size === alike.length) ?? (({ key }: ComponentView) => key);
    for (const component of alike) {
      const { id } = component;
      const more = alike.length > 1 ? markOf(component) : '';
      result.set(component.key, cleanLine(more === '' || more === id ? id : `${id} (${more})`));
    }
  }
  return result;
}
