import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView, FleetSnapshot, ServiceView } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy, nearestName } from '../text/nearest-name.ts';

interface FoundComponent {
  component: ComponentView;
  /** Set when the name was that of a container or a service. */
  service: ServiceView | undefined;
}

/**
 * Finds the component of a name: the id of a component, `project/id`, `host/id`, `host/project/id`, `id (project)` as lists distinguish
 * equal ids, the name or the id of a container, or the beginning of an id that is unique. `named` is the value of `--host`: a machine has
 * the name of the first of its engines, which is used when several have the name. Throws `usage.ambiguous` with the candidates, and
 * `usage.component` with the nearest names.
 */
export function findComponent(written: string, { components }: FleetSnapshot, named?: string): FoundComponent {
  const whole = (found: ComponentView): FoundComponent => ({ component: found, service: undefined });
  const ids = components.filter(({ id }) => id === written);
  const steps: FoundComponent[][] = [
    ids.map(whole),
    components
      .filter(({ key, project, host, id }) => key === written || `${project}/${id}` === written || `${host}/${id}` === written)
      .map(whole),
    components.filter((component) => isShownAs(component, written)).map(whole),
    servicesWhere(components, ({ containerName }) => containerName === written),
    written.length >= 12 ? servicesWhere(components, ({ containerId }) => containerId?.startsWith(written) === true) : [],
    components.filter(({ project }) => project === written && project !== '').map(whole),
    components.filter(({ id }) => written !== '' && id.startsWith(written)).map(whole),
    servicesWhere(components, ({ name }) => name === written),
  ];
  for (const found of steps) {
    const [first, second] = found;
    if (first && !second) return first;
    const [there, other] = found.filter(({ component }) => component.host === named);
    if (there && !other) return there;
    if (first) throw ambiguous(written, found);
  }
  // A container may be meant; without a near match, only components are listed.
  const names = components.flatMap(({ id, services }) => [id, ...services.map(({ containerName }) => containerName).filter(Boolean)]);
  const near = nearestName(written, new Set(names));
  const others = new Set(components.map(({ id }) => id));
  const remedy =
    near === undefined
      ? nameRemedy(written, others, 'No containers found. Show the engines: quarterdeck status')
      : `Did you mean "${cleanLine(near)}"?`;
  throw new Fault('usage.component', `No component is named "${cleanLine(written)}".`, remedy);
}

function isShownAs({ id, project, host, services }: ComponentView, written: string): boolean {
  const [, shownId, mark = ''] = /^(\S+) \((.+)\)$/.exec(written) ?? [];
  return shownId === id && [project, host, ...services.map(({ containerName }) => containerName)].includes(mark);
}

function servicesWhere(components: readonly ComponentView[], wanted: (service: ServiceView) => boolean): FoundComponent[] {
  return components.flatMap((component) =>
    component.services.filter(wanted).map((service) => ({ component, service: component.services.length === 1 ? undefined : service })),
  );
}

function ambiguous(written: string, found: readonly FoundComponent[]): Fault {
  const hosts = new Set(found.map(({ component }) => component.host));
  const ids = new Set(found.map(({ component }) => component.id));
  const names = found.map(({ component, service }) => {
    if (service) return service.containerName;
    if (ids.size === found.length) return component.id;
    const name = component.project === '' ? component.id : `${component.project}/${component.id}`;
    // Three parts are read as a key; the key of a lone container has no middle part.
    return hosts.size > 1 ? component.key : name;
  });
  const message = `"${cleanLine(written)}" is ambiguous: ${[...new Set(names)].join(', ')}.`;
  return new Fault('usage.ambiguous', message, 'Use one of the full names.');
}

/** Throws `usage.component` with the nearest names, `usage.ambiguous` with the candidates. */
export function findEntry(written: string, catalog: Catalog): CatalogEntry {
  const exact = catalog.get(written);
  if (exact) return exact;
  const wanted = written.toLowerCase();
  const named = catalog.entries.filter(({ product }) => product.name.toLowerCase() === wanted);
  const begun = wanted === '' ? [] : catalog.entries.filter(({ id }) => id.startsWith(wanted));
  const [first, second] = named.length > 0 ? named : begun;
  if (first && !second) return first;
  if (first) {
    const message = `"${cleanLine(written)}" is ambiguous: ${[...named, ...begun].map(({ id }) => id).join(', ')}.`;
    throw new Fault('usage.ambiguous', message, 'Use the full name.');
  }
  const ids = catalog.entries.map(({ id }) => id);
  const remedy = nameRemedy(written, ids, 'Reinstall Quarterdeck.');
  throw new Fault('usage.component', `No component in the catalog is named "${cleanLine(written)}".`, remedy);
}

/** Our own deployment, in the project of that name, comes before an unmanaged one. */
export function deployedAs(entry: CatalogEntry, engineName: string, { components }: FleetSnapshot): ComponentView | undefined {
  const there = components.filter(
    (component) => component.known && (component.entry ?? component.id) === entry.id && component.host === engineName,
  );
  return there.find(({ project }) => project === entry.id) ?? there[0];
}

/** Throws `usage.component` without a name, and `usage.words` where there are too many words. */
export function subjectOf(flow: Flow, words: readonly string[]): { name: string; words: readonly string[] } {
  // A command that only reads may be about all components.
  const all = flow.all && flow.right === 'read' ? 'all' : undefined;
  const { name = all, words: rest } = flow.subject?.(words) ?? { name: words[0], words: words.slice(1) };
  if (name === undefined || name === '') {
    const usage = [`quarterdeck ${flow.verb} COMPONENT${flow.all ? '|all' : ''}`, flow.usage].filter(Boolean).join(' ');
    const remedy = `Usage: ${usage}. List the components: quarterdeck ${flow.about === 'catalog' ? 'catalog list' : 'status'}`;
    throw new Fault('usage.component', `${flow.verb} requires a component.`, remedy);
  }
  if (rest.length > 0 && !flow.usage) {
    const message = `${flow.verb} accepts one component: unexpected "${cleanLine(rest[0] ?? '')}".`;
    throw new Fault('usage.words', message, `Run the command once for each component.`);
  }
  return { name, words: rest };
}

/**
 * Does the same for a flow about a component with a certain API. With only one such component its name is optional, and a word that names
 * no component belongs to the flow (`vault read secret/db`). Throws `usage.component` when there is none or the choice is ambiguous.
 */
export function componentWithApi(flow: Flow, api: string, words: readonly string[], { components }: FleetSnapshot, named?: string) {
  const [name] = words;
  const speaking = components.filter(({ speaks }) => speaks === api);
  const there = speaking.filter(({ host }) => host === named);
  const [first, ...others] = there.length === 1 ? there : speaking;
  const isNamed =
    name !== undefined &&
    (flow.usage === undefined ||
      components.some(({ id, key, project, host }) => [id, key, `${project}/${id}`, `${host}/${id}`].includes(name)));
  if (isNamed) return subjectOf(flow, words);
  if (!first) {
    const remedy = 'List the components of all hosts: quarterdeck status --host all. List what can be deployed: quarterdeck catalog list';
    throw new Fault('usage.component', `No component supports "${flow.verb}".`, remedy);
  }
  if (others.length > 0) {
    const message = `"${flow.verb}" matches several components: ${namesAmong([first, ...others]).join(', ')}.`;
    throw new Fault('usage.component', message, `Specify one of these components after "${flow.verb}".`);
  }
  return { name: first.key, words };
}

/** Returns the names that distinguish components on a command line: their ids or, where two hosts have the same id, their keys. */
function namesAmong(components: readonly ComponentView[]): string[] {
  const ids = components.map(({ id }) => id);
  return (new Set(ids).size === ids.length ? ids : components.map(({ key }) => key)).map(cleanLine);
}
