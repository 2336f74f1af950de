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

function matching<T>(items: readonly T[], filter: string, keys: readonly ((item: T) => string)[]): readonly T[] {
  const words = filter.trim();
  if (words === '') return items;
  const found = new Set(fuzzysort.go(words, items, { keys, threshold: 0.28, limit: 0 }).map((result) => result.obj));
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

/** The list with its headings. Headings count all components of the group, whatever the filter hides. */
export function componentRows(components: readonly ComponentView[], filter: string): ComponentRow[] {
  const counts = new Map<string, { well: number; total: number }>();
  for (const component of components) {
    const count = counts.get(component.group) ?? { well: 0, total: 0 };
    count.total++;
    if (isWell(component)) count.well++;
    counts.set(component.group, count);
  }
  const byGroup = new Map<string, ComponentView[]>();
  for (const component of matchingComponents(components, filter)) {
    const members = byGroup.get(component.group);
    if (members) members.push(component);
    else byGroup.set(component.group, [component]);
  }
  const rows: ComponentRow[] = [];
  for (const [group, members] of byGroup) {
    rows.push({ kind: 'group', group, title: groupTitle(group), ...(counts.get(group) ?? { well: 0, total: 0 }) });
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

const cached = new WeakMap<readonly ComponentView[], { filter: string; rows: ComponentRow[] }>();

/** `componentRows`, computed once per snapshot and filter. */
export function rowsFor(components: readonly ComponentView[], filter: string): ComponentRow[] {
  const known = cached.get(components);
  if (known?.filter === filter) return known.rows;
  const rows = componentRows(components, filter);
  cached.set(components, { filter, rows });
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

/** How components are called where several are listed: by id, and where two have the same one, by what tells them apart. */
export function namesOf(components: readonly ComponentView[]): ReadonlyMap<string, string> {
  const known = names.get(components);
  if (known) return known;
  const sameId = new Map<string, ComponentView[]>();
  for (const component of components) sameId.set(component.id, [...(sameId.get(component.id) ?? []), component]);
  const container = ({ services }: ComponentView) => (services.find((service) => service.main) ?? services[0])?.containerName ?? '';
  const marks: ((component: ComponentView) => string)[] = [
    (component) => component.project || container(component),
    container,
    ({ host }) => host,
  ];
  const result = new Map<string, string>();
  for (const [id, alike] of sameId) {
    const telling = marks.find((mark) => new Set(alike.map(mark)).size === alike.length) ?? (({ key }: ComponentView) => key);
    for (const component of alike) {
      const more = alike.length > 1 ? telling(component) : '';
      result.set(component.key, cleanLine(more === '' || more === id ? id : `${id} (${more})`));
    }
  }
  names.set(components, result);
  return result;
}
