import type { ContainerFacts } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { composeLabel, labelledDependencies } from '../../fleet/grouping.ts';
import type { ComponentView, ServiceStateId, ServiceView } from '../../fleet/model.ts';
import { isUpState } from '../../fleet/service-state.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';
import { optionOf } from '../flow-options.ts';

export interface Dependency {
  name: string;
  until: 'started' | 'healthy' | 'completed';
}

export interface ServiceTarget {
  service: ServiceView;
  id: string;
  /** The name of its container for operator and engine. Cleaned. */
  name: string;
  dependsOn: readonly Dependency[];
}

const downStates: ReadonlySet<ServiceStateId> = new Set(['stopped', 'failed', 'killed', 'completed', 'created']);

export const isUp = (service: ServiceView) => service.containerId !== undefined && isUpState(service.state);
export const isDown = (service: ServiceView) => service.containerId !== undefined && downStates.has(service.state);
export const isPaused = (service: ServiceView) => service.containerId !== undefined && service.state === 'paused';
export const hasContainer = (service: ServiceView) => service.containerId !== undefined && service.state !== 'unknown';

export function componentOf(input: FlowInput): ComponentView {
  if (input.component) return input.component;
  throw new Fault('usage.component', 'A component is required.', 'List components: quarterdeck status');
}

function servicesMeant(component: ComponentView, wanted: string | undefined): readonly ServiceView[] {
  if (wanted === undefined) return component.services;
  const found = component.services.filter(({ name, containerName }) => name === wanted || containerName === wanted);
  if (found.length > 0) return found;
  const message = `${component.id} has no service "${wanted}".`;
  throw new Fault('usage.service', message, `Services of ${component.id}: ${component.services.map(({ name }) => name).join(', ')}.`);
}

/** Returns all selected services that have a container, in start order. Throws `failed.noContainer` if none has one. */
export async function serviceTargets({ engine, signal }: EngineScope, input: FlowInput): Promise<ServiceTarget[]> {
  const component = componentOf(input);
  const meant = servicesMeant(component, input.service ?? optionOf(input, 'service'));
  const containers = new Map((await engine.list(signal)).map((container) => [container.id, container]));
  const targets: ServiceTarget[] = [];
  for (const service of meant) {
    const container = service.containerId === undefined ? undefined : containers.get(service.containerId);
    // The list is newer than the view: a container missing there is gone.
    if (container)
      targets.push({ service, id: container.id, name: cleanLine(service.containerName), dependsOn: dependenciesOf(service, container) });
  }
  if (targets.length === 0) throw noContainer(component, meant);
  const nameOf = ({ id, service }: ServiceTarget) => composeLabel(containers.get(id) as ContainerFacts, 'service') ?? service.name;
  return startOrder(targets, nameOf, ({ dependsOn }) => dependsOn.map(({ name }) => name));
}

function noContainer(component: ComponentView, services: readonly ServiceView[]): Fault {
  const [only] = services;
  const what = services.length === 1 && only && only.name !== component.id ? `${only.name} of ${component.id}` : component.id;
  const remedy = component.origin
    ? `Create the container with the tool that created the component (${component.origin}).`
    : `Deploy ${component.id} first.`;
  return new Fault('failed.noContainer', `${what} has no container.`, remedy);
}

const conditions = new Map<string, Dependency['until']>([
  ['service_healthy', 'healthy'],
  ['service_completed_successfully', 'completed'],
]);

/** What docker compose's label says, and what the fleet knows. */
function dependenciesOf(service: ServiceView, container: ContainerFacts): Dependency[] {
  const found = new Map<string, Dependency['until']>((service.dependsOn ?? []).map((name) => [name, 'started']));
  for (const { name, condition } of labelledDependencies(container)) found.set(name, conditions.get(condition) ?? 'started');
  return [...found].map(([name, until]) => ({ name, until }));
}

/** Sorts dependencies first. The order within circular dependencies does not matter: the engine accepts any. */
export function startOrder<T>(targets: readonly T[], nameOf: (target: T) => string, namesNeeded: (target: T) => readonly string[]): T[] {
  const ordered: T[] = [];
  const entered = new Set<T>();
  const visit = (target: T) => {
    if (entered.has(target)) return;
    entered.add(target);
    for (const name of namesNeeded(target)) for (const other of targets) if (nameOf(other) === name) visit(other);
    ordered.push(target);
  };
  for (const target of targets) visit(target);
  return ordered;
}

/** Returns the one selected service: named, the main one, the only one, or prompted for. Throws `failed.notRunning` and `usage.service`. */
export async function oneTarget(scope: EngineScope, input: FlowInput, { running }: { running: boolean }): Promise<ServiceTarget> {
  const { session, engine } = scope;
  const component = componentOf(input);
  const targets = await serviceTargets(scope, input);
  const [only] = targets;
  let chosen = targets.length === 1 ? only : targets.find(({ service }) => service.main);
  if (!chosen) {
    const name = await session.ask.choice({
      id: 'service',
      label: `Service of ${component.id}`,
      choices: targets.map(({ service }) => ({ value: service.name, label: service.name, detail: service.image })),
    });
    chosen = targets.find(({ service }) => service.name === name);
  }
  if (!chosen) throw noContainer(component, component.services);
  if (running) {
    const detail = await engine.inspect(chosen.id, session.signal);
    if (detail?.state !== 'running') {
      const state = detail?.state ?? 'no longer exists';
      const [act, verb] =
        state === 'paused' ? ['Unpause', 'unpause'] : state === 'restarting' ? ['Check the log of', 'logs'] : ['Start', 'start'];
      const message = `${chosen.name} is not running (${state}).`;
      throw new Fault('failed.notRunning', message, `${act} the component: quarterdeck ${verb} ${component.id}`);
    }
  }
  return chosen;
}

/** Returns the component, or the service that was selected: `db of vault`. */
export function subjectOf(input: FlowInput): string {
  const service = input.service ?? optionOf(input, 'service');
  return service === undefined ? componentOf(input).id : `${service} of ${componentOf(input).id}`;
}

/** Formats `Stopped vault: db and web.`; a component that is one container of the same name is named once. */
export function sentenceAbout(component: string, names: readonly string[], verb: string): string {
  const subject = namesText(names);
  return subject === component ? `${verb} ${subject}.` : `${verb} ${component}: ${subject}.`;
}
