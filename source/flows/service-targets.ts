import type { ContainerFacts, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { composeLabel } from '../fleet/grouping.ts';
import type { ComponentView, ServiceView, StateName } from '../fleet/model.ts';
import { isUpState } from '../fleet/service-state.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { namesText } from '../text/words.ts';
import type { FlowInput } from './flow.ts';

/** A service that must be there first, and how far it must have come. */
export interface Dependency {
  name: string;
  until: 'started' | 'healthy' | 'completed';
}

/** A container that a flow is about, and what must be up before it. */
export interface ServiceTarget {
  service: ServiceView;
  /** Of the container. */
  id: string;
  /** Its container, as the operator and the engine name it. Cleaned. */
  name: string;
  dependsOn: readonly Dependency[];
}

const downStates: ReadonlySet<StateName> = new Set(['stopped', 'failed', 'killed', 'finished', 'created']);

export const isUp = (service: ServiceView) => service.containerId !== undefined && isUpState(service.state);
export const isDown = (service: ServiceView) => service.containerId !== undefined && downStates.has(service.state);
export const isPaused = (service: ServiceView) => service.containerId !== undefined && service.state === 'paused';
export const hasContainer = (service: ServiceView) => service.containerId !== undefined && service.state !== 'unknown';

export function componentOf(input: FlowInput): ComponentView {
  if (input.component) return input.component;
  throw new Fault({ code: 'usage.component', message: 'No component was named.', remedy: 'Name one; "quarterdeck status" lists them.' });
}

/** The services that are meant: the named one, otherwise all. Throws `usage.service`. */
function servicesMeant(component: ComponentView, wanted: string | undefined): readonly ServiceView[] {
  if (wanted === undefined) return component.services;
  const found = component.services.filter(({ name, containerName }) => name === wanted || containerName === wanted);
  if (found.length > 0) return found;
  throw new Fault({
    code: 'usage.service',
    message: `${component.id} has no service "${wanted}".`,
    remedy: `Its services: ${component.services.map(({ name }) => name).join(', ')}.`,
  });
}

function wantedService(input: FlowInput): string | undefined {
  return input.service ?? (typeof input.options.service === 'string' ? input.options.service : undefined);
}

/** Everything the input means that has a container, in the order in which it is to be started. Throws `failed.noContainer` when nothing has. */
export async function serviceTargets(input: FlowInput, engine: Engine, signal: AbortSignal): Promise<ServiceTarget[]> {
  const component = componentOf(input);
  const meant = servicesMeant(component, wantedService(input));
  const containers = new Map((await engine.list(signal)).map((container) => [container.id, container]));
  const targets: ServiceTarget[] = [];
  for (const service of meant) {
    const container = service.containerId === undefined ? undefined : containers.get(service.containerId);
    // The list is newer than the view: what is gone there is gone.
    if (container)
      targets.push({ service, id: container.id, name: cleanLine(service.containerName), dependsOn: dependenciesOf(service, container) });
  }
  if (targets.length === 0) throw noContainer(component, meant);
  return startOrder(targets, (target) => composeLabel(containers.get(target.id) as ContainerFacts, 'service') ?? target.service.name);
}

function noContainer(component: ComponentView, services: readonly ServiceView[]): Fault {
  const [only] = services;
  const what = services.length === 1 && only && only.name !== component.id ? `${only.name} of ${component.id}` : component.id;
  return new Fault({
    code: 'failed.noContainer',
    message: `${what} has no container.`,
    remedy: component.origin ? `Create it with what manages it: ${component.origin}.` : 'Deploy it first.',
  });
}

/** `db:service_healthy:false,cache:service_started:true`, as docker compose labels it, together with what the fleet knows. */
function dependenciesOf(service: ServiceView, container: ContainerFacts): Dependency[] {
  const found = new Map<string, Dependency['until']>((service.dependsOn ?? []).map((name) => [name, 'started']));
  for (const part of (composeLabel(container, 'depends_on') ?? '').split(',')) {
    const [name, condition] = part.split(':');
    if (name)
      found.set(
        name,
        condition === 'service_healthy' ? 'healthy' : condition === 'service_completed_successfully' ? 'completed' : 'started',
      );
  }
  return [...found].map(([name, until]) => ({ name, until }));
}

/** What others depend on comes first. A circle is taken as it comes: the engine does not mind. */
export function startOrder(targets: readonly ServiceTarget[], serviceName: (target: ServiceTarget) => string): ServiceTarget[] {
  const ordered: ServiceTarget[] = [];
  const entered = new Set<ServiceTarget>();
  const visit = (target: ServiceTarget) => {
    if (entered.has(target)) return;
    entered.add(target);
    for (const { name } of target.dependsOn) for (const other of targets) if (serviceName(other) === name) visit(other);
    ordered.push(target);
  };
  for (const target of targets) visit(target);
  return ordered;
}

/** The one service that is meant: named, or the main one, or the only one, or asked for. Throws `failed.notRunning` and `usage.service`. */
export async function oneTarget(
  session: Session,
  input: FlowInput,
  engine: Engine,
  { running }: { running: boolean },
): Promise<ServiceTarget> {
  const component = componentOf(input);
  const targets = await serviceTargets(input, engine, session.signal);
  const [only] = targets;
  let chosen = targets.length === 1 ? only : targets.find(({ service }) => service.main);
  if (!chosen) {
    const name = await session.ask.choice({
      id: 'service',
      label: `Which service of ${component.id}?`,
      choices: targets.map(({ service }) => ({ value: service.name, label: service.name, detail: service.image })),
    });
    chosen = targets.find(({ service }) => service.name === name);
  }
  if (!chosen) throw noContainer(component, component.services);
  if (running) {
    const detail = await engine.inspect(chosen.id, session.signal);
    if (detail?.state !== 'running') {
      throw new Fault({
        code: 'failed.notRunning',
        message: `${chosen.name} is not running (${detail?.state ?? 'gone'}).`,
        remedy:
          detail?.state === 'paused'
            ? `Let it go on first: quarterdeck unpause ${component.id}`
            : `Start it first: quarterdeck start ${component.id}`,
      });
    }
  }
  return chosen;
}

/** `vault: db and web are stopped.`; a component that is one container of the same name is not named twice. */
export function sentenceAbout(component: string, names: readonly string[], predicate: string): string {
  const subject = namesText(names);
  return subject === component ? `${subject} ${predicate}` : `${component}: ${subject} ${predicate}`;
}
