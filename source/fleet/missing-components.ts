import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentView, ServiceView } from './model.ts';

/** It went down with its host or engine, or could not be restarted, and no user stopped it; or it has no container. */
export function isMissed({ state, kept, mayBeMissed }: Pick<ServiceView, 'state' | 'kept' | 'mayBeMissed'>): boolean {
  return (
    state === 'missing' || mayBeMissed === true || (kept === true && (state === 'failed' || state === 'killed' || state === 'created'))
  );
}

/** Also those that run in a removed network. Removed components, and those that `recover` will create, are not waited for. */
export function missingComponents(
  components: readonly ComponentView[],
  unfinished: readonly { engineName: string; components: readonly string[] }[] = [],
): readonly ComponentView[] {
  return componentsToStart(components).filter(({ id, host, services }) => {
    const isChanging = unfinished.some((change) => change.engineName === host && change.components.includes(id));
    const isExpected = ({ state, absence }: ServiceView) => absence !== undefined || (isChanging && state === 'missing');
    return services.some((service) => (isMissed(service) && !isExpected(service)) || isStale(service));
  });
}

export function componentsToStart(components: readonly ComponentView[]): readonly ComponentView[] {
  return components.filter(({ deployed, services }) => deployed && services.some((service) => isMissed(service) || isStale(service)));
}

/** Runs, and has no network until it is recreated. */
export const isStale = ({ cutOff }: Pick<ServiceView, 'cutOff'>): boolean => cutOff?.stale === true;

/** Secrets managers that run and are sealed: each one is after every restart, and only an operator can unseal it. */
export function sealedManagers(components: readonly ComponentView[]): readonly ComponentView[] {
  return components.filter(isSealed);
}

export function isSealed({ speaks, state }: Pick<ComponentView, 'speaks' | 'state'>): boolean {
  return speaks === 'vault' && state.id === 'sealed';
}

/** Dependencies come before their users, gateways before the components in their network; otherwise by name, as in a circle. */
export function providersFirst<T extends { id: string }>(
  components: readonly T[],
  entryOf: (id: string) => CatalogEntry | undefined,
  gatewaysOf: (id: string) => readonly string[] = () => [],
): T[] {
  const byId = new Map([...components].sort((one, other) => (one.id < other.id ? -1 : 1)).map((component) => [component.id, component]));
  const ordered: T[] = [];
  const seen = new Set<string>();
  const visit = (id: string): void => {
    const component = byId.get(id);
    if (!component || seen.has(id)) return;
    seen.add(id);
    const entry = entryOf(id);
    for (const provider of [...(entry?.uses ?? []).map((use) => use.component), ...(entry?.dependsOn ?? []), ...gatewaysOf(id)])
      visit(provider);
    ordered.push(component);
  };
  for (const id of byId.keys()) visit(id);
  return ordered;
}
