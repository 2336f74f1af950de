import type { CallTarget } from '../calls/call.ts';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { gatewaysOf } from '../engine/network-owners.ts';
import { CatalogIndex, composeLabel, groupContainers } from '../fleet/grouping.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { FlowContext } from './flow.ts';

export function entryOf({ catalog }: Pick<FlowContext, 'catalog'>, { id, entry }: ComponentView): CatalogEntry | undefined {
  return catalog.get(entry ?? id);
}

/** Returns the containers by the service names of the catalog; without `component`, of the one that Quarterdeck deployed under its id. */
export async function targetOf(
  context: FlowContext,
  engineName: string,
  entry: CatalogEntry,
  signal: AbortSignal,
  component: Pick<ComponentView, 'key' | 'project'> = { key: `${engineName}/${entry.id}/${entry.id}`, project: entry.id },
): Promise<CallTarget> {
  const { key } = component;
  const engine = context.engineOf(engineName);
  const all = await engine.list(signal);
  const containers = new Map<string, ContainerDetail>();
  for (const [service, id] of servicesOf(all, context.catalog, engineName, component)) {
    const detail = await engine.inspect(id, signal);
    if (detail) containers.set(service, detail);
  }
  const listed = gatewaysOf([...containers.values()], all);
  const gateways = (await Promise.all(listed.map(({ id }) => engine.inspect(id, signal)))).flatMap((detail) => detail ?? []);
  const name = context.fleet.snapshot().components.find((view) => view.key === key)?.id;
  const engineFacts = context.engineFactsOf(engineName);
  const target = { entry, host: context.hostOf(engineName), engine, engineFacts, containers, execAllowed: true, name };
  return gateways.length > 0 ? { ...target, gateways } : target;
}

function servicesOf(
  all: readonly ContainerFacts[],
  { entries }: Catalog,
  engineName: string,
  { key, project: named }: Pick<ComponentView, 'key' | 'project'>,
): ReadonlyMap<string, string> {
  const group = groupContainers(all, new CatalogIndex(entries)).find(({ project, name }) => `${engineName}/${project}/${name}` === key);
  const members = group
    ? group.members.map(({ container, known, service }) => ({ id: container.id, name: known?.name ?? service }))
    : all
        .filter((container) => composeLabel(container, 'project') === named)
        .map((container) => ({ id: container.id, name: composeLabel(container, 'service') ?? '' }));
  const found = new Map<string, string>();
  for (const { id, name } of members) if (!found.has(name)) found.set(name, id);
  return found;
}
