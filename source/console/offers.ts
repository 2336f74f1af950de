import type { QuarterdeckApp } from '../app/app.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentView, EngineView } from '../fleet/model.ts';
import { mainRuns } from '../fleet/service-state.ts';
import type { Flow } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';
import type { KeyBinding, Keymap } from './keymap.ts';

/** Read-only sessions allow only flows that read. `host` is the host of a flow about a host. */
export function isOffered(app: QuarterdeckApp, flow: Flow, component: ComponentView | undefined, host = component?.host): boolean {
  if (app.options.readOnly && flow.right !== 'read') return false;
  if (flow.remote && component && app.fleet.snapshot().engines.find(({ name }) => name === component.host)?.hostKind !== 'ssh')
    return false;
  if (flow.speaks !== undefined && !(component?.speaks === flow.speaks && mainRuns(component))) return false;
  if (flow.ours && component && !isOurs(app, component)) return false;
  if (flow.about === 'host') return isOfferedOn(app, flow, host);
  if (flow.about === 'catalog') return component?.known === true && (flow.offered?.(component) ?? true);
  return component !== undefined && (flow.offered?.(component) ?? true);
}

/** Returns the only component to which a flow about its API can apply, whatever is selected. Undefined when there are several or none. */
export function onlyOneWithApi(app: QuarterdeckApp, flow: Flow): ComponentView | undefined {
  if (flow.speaks === undefined) return undefined;
  const [only, ...others] = app.fleet.snapshot().components.filter((component) => isOffered(app, flow, component));
  return others.length === 0 ? only : undefined;
}

function isOfferedOn(app: QuarterdeckApp, flow: Flow, host: string | undefined): boolean {
  const { engines, components, ports } = app.fleet.snapshot();
  const engineName = host ?? engines[0]?.name;
  if (engineName === undefined || !flow.offeredOn) return engines.length > 0;
  const here = ({ host }: { host: string }) => host === engineName;
  return flow.offeredOn(components.filter(here), ports.filter(here));
}

/** In practice every known component was deployed from here: its record is written when it is first needed. */
export function isOurs(app: QuarterdeckApp, { deployed, known }: ComponentView): boolean {
  return deployed || (known && app.options.practice !== undefined);
}

export function onHost(app: QuarterdeckApp, flow: Flow, host: string | undefined): string {
  return flow.offline || host === undefined || app.fleet.snapshot().engines.length < 2 ? '' : ` on ${cleanLine(host)}`;
}

export function engineFor(app: QuarterdeckApp, component: ComponentView | undefined): EngineView | undefined {
  const reachable = app.fleet.snapshot().engines.filter(({ engine }) => engine.reachable);
  return reachable.find(({ name }) => name === component?.host) ?? reachable[0];
}

export function entryOf(app: QuarterdeckApp, { known, entry, id }: ComponentView): CatalogEntry | undefined {
  return known ? app.catalog.get(entry ?? id) : undefined;
}

/** Returns the finding whose operation Enter runs. */
export const offeredFinding = ({ findings }: ComponentView) => findings.find(({ operation }) => operation !== undefined);

export const flowOf = (app: QuarterdeckApp, id: string): Flow | undefined => app.flows.find((flow) => flow.id === id);

export function offeredActs(app: QuarterdeckApp, keymap: Keymap, component: ComponentView | undefined): KeyBinding[] {
  return keymap.bindings.filter((binding) => {
    if (binding.context !== 'component' || component === undefined) return false;
    if (!binding.flow) return true;
    const flow = flowOf(app, binding.flow);
    return flow !== undefined && isOffered(app, flow, component);
  });
}
