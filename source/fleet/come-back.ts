import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentView, ServiceView } from './model.ts';

/**
 * Should it run, and does not? Something that the engine is told to keep running and that nobody stopped: it went down with its host or engine, or could not be
 * started again. What has no container at all counts too.
 */
export function isMissed({ state, kept, mayBeMissed }: Pick<ServiceView, 'state' | 'kept' | 'mayBeMissed'>): boolean {
  return (
    state === 'missing' || mayBeMissed === true || (kept === true && (state === 'failed' || state === 'killed' || state === 'created'))
  );
}

/** Components that were deployed from here, and did not come back: also those that run in a network that is gone. What was removed is not waited for, nor what `recover` is to create. */
export function notBack(
  components: readonly ComponentView[],
  unfinished: readonly { place: string; components: readonly string[] }[] = [],
): readonly ComponentView[] {
  return toBringUp(components).filter(({ id, host, services }) => {
    const isChanging = unfinished.some((change) => change.place === host && change.components.includes(id));
    const isExpected = ({ state, absence }: ServiceView) => absence !== undefined || (isChanging && state === 'missing');
    return services.some((service) => (isMissed(service) && !isExpected(service)) || isStale(service));
  });
}

/** The same, and what was removed or created only in part: `up` creates it again. */
export function toBringUp(components: readonly ComponentView[]): readonly ComponentView[] {
  return components.filter(({ deployed, services }) => deployed && services.some((service) => isMissed(service) || isStale(service)));
}

/** Runs, and has no network before it is made again. */
export const isStale = ({ cutOff }: Pick<ServiceView, 'cutOff'>): boolean => cutOff?.stale === true;

/** Secrets managers that run and are closed: each is after every restart, and nobody but people can open it. */
export function sealedManagers(components: readonly ComponentView[]): readonly ComponentView[] {
  return components.filter(isSealed);
}

export function isSealed({ speaks, word }: Pick<ComponentView, 'speaks' | 'word'>): boolean {
  return speaks === 'vault' && word.startsWith('sealed');
}

/** Who is used stands before who uses it, and a gateway before who is in its network (`gatewaysOf`); otherwise by name. Components that use each other in a circle stand in the order of their names. */
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
