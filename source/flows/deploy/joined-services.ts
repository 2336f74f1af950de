import type { ContainerFacts } from '../../engine/engine.ts';
import { type Finding, warning } from '../../stack/finding.ts';
import type { Deployment, Plan, PlannedSecret } from '../../stack/model.ts';
import { containerNames, routesOf } from '../../stack/plan/gateway-route.ts';
import { projectOf, serviceOf } from '../../stack/plan/service-changes.ts';
import { cleanLine } from '../../text/clean.ts';
import type { EngineScope } from '../engine-scope.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { deployed } from './stack-facts.ts';

export interface Joined {
  component: string;
  services: readonly string[];
}

export function joinedTo(
  { component, compose }: Pick<Deployment, 'component' | 'compose'>,
  services: readonly string[],
  others: readonly Deployment[],
  containers: readonly ContainerFacts[] = [],
): Joined[] {
  const own = containers.filter((one) => projectOf(one) === component && services.includes(serviceOf(one)));
  const names = new Set([...services.flatMap((service) => containerNames(compose, component, service)), ...own.map(({ name }) => name)]);
  const isOne = (container: string) => names.has(container) || (container.length >= 12 && own.some(({ id }) => id.startsWith(container)));
  return others.flatMap((other) => {
    const joined = other.record ? routesOf(other.compose).filter(({ container }) => isOne(container)) : [];
    return joined.length > 0 ? [{ component: other.component, services: joined.map(({ service }) => service) }] : [];
  });
}

/** Recreates, in the same transaction, all components in the network of a recreated container: a network does not outlive it. */
export async function withJoined(ready: readonly ReadyPlan[]): Promise<ReadyPlan[]> {
  const fronts: ReadyPlan[] = [];
  const joining = new Map<string, { gateway: string; services: string[] }>();
  for (const one of ready) {
    const { plan, facts } = one;
    const { deployment, others, allContainers, containers } = facts;
    const runs = (name: string) => containers.some((container) => serviceOf(container) === name && container.state === 'running');
    const anew = plan.services.filter(({ change, name }) => change !== 'keep' || !runs(name)).map(({ name }) => name);
    const joined = deployment && anew.length > 0 ? joinedTo(deployment, anew, others, allContainers) : [];
    for (const { component, services } of joined) joining.set(component, { gateway: plan.component, services: [...services] });
    const unmanaged = deployment ? findUnmanagedContainers(plan, anew, allContainers, [...others, deployment]) : [];
    const made =
      joined.length > 0 ? [`Also recreated because of the shared network: ${joined.map(({ component }) => component).join(', ')}.`] : [];
    fronts.push({ ...one, plan: { ...plan, notes: [...made, ...plan.notes] }, findings: [...one.findings, ...unmanaged] });
  }
  const [first] = ready;
  if (!first || joining.size === 0) return fronts;
  const behind: ReadyPlan[] = [];
  for (const [component, { gateway, services }] of joining) {
    const own = fronts.find(({ plan }) => plan.component === component);
    behind.push(own ? joins(own, gateway, services) : await rejoining(first.facts.scope, { component, services }, gateway, first));
  }
  return [...fronts.filter(({ plan }) => !joining.has(plan.component)), ...behind];
}

/** Plans to recreate a component unchanged, in the network of the gateway's current container. */
export async function rejoining(
  scope: EngineScope,
  { component, services }: Joined,
  gateway: string,
  like?: Pick<ReadyPlan, 'facts' | 'asked'>,
): Promise<ReadyPlan> {
  const { facts, answers } = await deployed(scope, component, like?.facts);
  const planned = await planComponent(facts, answers, { kind: 'change' }, like?.asked);
  const recorded = facts.deployment?.record?.secrets ?? {};
  // Other changes of the component were not requested: files, record and secrets stay.
  const secrets = planned.plan.secrets.map(({ variable, label }): PlannedSecret => {
    const version = recorded[variable];
    return { variable, label, what: version === undefined ? 'none' : 'keep', version };
  });
  const plan: Plan = {
    ...planned.plan,
    kind: 'rejoin',
    files: [],
    after: [],
    networks: [],
    secrets,
    notes: [],
    services: planned.plan.services.flatMap((service) =>
      service.change === 'remove' ? [] : [{ ...service, change: 'keep' as const, why: 'unchanged' }],
    ),
  };
  const blocking = planned.findings.filter(({ id }) => id.startsWith('unfinished:'));
  return joins({ ...planned, plan, findings: blocking }, gateway, services);
}

function joins(ready: ReadyPlan, gateway: string, services: readonly string[]): ReadyPlan {
  const { plan, facts } = ready;
  const own = facts.containers.filter((one) => services.includes(serviceOf(one)));
  const starts = own.length === 0 || own.some(({ state }) => state === 'running' || state === 'restarting') || own.some(wasCutOff);
  return {
    ...ready,
    plan: {
      ...plan,
      joins: { gateway, services, starts },
      services: plan.services.map((service) =>
        services.includes(service.name) && service.change !== 'remove'
          ? { ...service, change: 'recreate', why: service.change === 'keep' ? `shares the network of ${gateway}` : service.why }
          : service,
      ),
    },
  };
}

/** Docker's exit code 128 means that there was no network to join, not that the container was stopped. */
const wasCutOff = ({ state, statusText }: ContainerFacts) => state === 'created' || (state === 'exited' && statusText.includes('(128)'));

function findUnmanagedContainers(
  { component }: Plan,
  services: readonly string[],
  containers: readonly ContainerFacts[],
  ours: readonly Deployment[],
): Finding[] {
  const own = containers.filter((one) => projectOf(one) === component && services.includes(serviceOf(one)));
  const projects = new Set(ours.filter(({ record }) => record).map((one) => one.component));
  const found = containers.filter(({ networkMode, labels }) => {
    const [, owner = ''] = /^container:(.+)$/.exec(networkMode) ?? [];
    return owner !== '' && !projects.has(projectOf({ labels })) && own.some(({ id, name }) => name === owner || id === owner);
  });
  if (found.length === 0) return [];
  const names = found.map(({ name }) => cleanLine(name)).join(', ');
  return [
    warning(
      `joined-by-others:${component}`,
      `${names} ${found.length === 1 ? 'uses' : 'use'} the network of ${component}, but ${found.length === 1 ? 'is' : 'are'} not managed by Quarterdeck. The network connection is lost when ${component} is recreated.`,
      'Afterwards, recreate the container with the tool that created it. With Podman, remove it before the change.',
      { rule: 'R15' },
    ),
  ];
}

export function rejoinedSentence(ready: readonly ReadyPlan[]): string {
  const again = ready.filter(({ plan }) => plan.kind === 'rejoin').map(({ plan }) => plan.component);
  return again.length === 0 ? '' : ` Also recreated because of the shared network: ${again.join(', ')}.`;
}
