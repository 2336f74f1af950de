import type { ContainerFacts } from '../engine/engine.ts';
import type { Session } from '../session/session.ts';
import type { Finding } from '../stack/finding.ts';
import { containerNames, routesOf } from '../stack/gateway-route.ts';
import type { Deployment, Plan, PlannedSecret } from '../stack/model.ts';
import { projectOf, serviceOf } from '../stack/service-changes.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowWorld } from './flow.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import type { HostLook } from './stack-facts.ts';
import { standing } from './standing.ts';

/** A component of the stack with services in the network of another's container (R15). */
export interface Joined {
  component: string;
  services: readonly string[];
}

/** Who is in the network of these services' containers, by what the compose files say. */
export function joinedTo(
  { component, compose }: Pick<Deployment, 'component' | 'compose'>,
  services: readonly string[],
  others: readonly Deployment[],
  containers: readonly ContainerFacts[] = [],
): Joined[] {
  const own = containers.filter((one) => projectOf(one) === component && services.includes(serviceOf(one)));
  const names = new Set([...services.flatMap((service) => containerNames(compose, component, service)), ...own.map(({ name }) => name)]);
  const isOne = (said: string) => names.has(said) || (said.length >= 12 && own.some(({ id }) => id.startsWith(said)));
  return others.flatMap((other) => {
    const joined = other.record ? routesOf(other.compose).filter(({ container }) => isOne(container)) : [];
    return joined.length > 0 ? [{ component: other.component, services: joined.map(({ service }) => service) }] : [];
  });
}

/**
 * The plans, and with them whoever is in the network of a container that they make anew: nobody keeps a network of which the container is gone, so these are
 * taken away first and made again behind it, all in one transaction. Who is among the plans already stands behind the gateway afterwards.
 */
export async function withJoined(session: Session, world: FlowWorld, ready: readonly ReadyPlan[]): Promise<ReadyPlan[]> {
  const fronts: ReadyPlan[] = [];
  const joining = new Map<string, { gateway: string; services: string[] }>();
  for (const one of ready) {
    const { plan, facts } = one;
    const { deployment, others, look, containers } = facts;
    const runs = (name: string) => containers.some((container) => serviceOf(container) === name && container.state === 'running');
    const anew = plan.services.filter(({ change, name }) => change !== 'keep' || !runs(name)).map(({ name }) => name);
    const joined = deployment && anew.length > 0 ? joinedTo(deployment, anew, others, look.containers) : [];
    for (const { component, services } of joined) joining.set(component, { gateway: plan.component, services: [...services] });
    const strangers = deployment ? strangersIn(plan, anew, look, [...others, deployment]) : [];
    const made =
      joined.length > 0 ? [`Made again with it, since it is in its network: ${joined.map(({ component }) => component).join(', ')}.`] : [];
    fronts.push({ ...one, plan: { ...plan, notes: [...made, ...plan.notes] }, findings: [...one.findings, ...strangers] });
  }
  if (joining.size === 0) return fronts;
  const behind: ReadyPlan[] = [];
  for (const [component, { gateway, services }] of joining) {
    const own = fronts.find(({ plan }) => plan.component === component);
    behind.push(
      own
        ? joins(own, gateway, services)
        : await rejoining(session, world, ready[0]?.facts.place ?? '', { component, services }, gateway, ready[0]),
    );
  }
  return [...fronts.filter(({ plan }) => !joining.has(plan.component)), ...behind];
}

/** The plan that makes one again as it is, in the network that the gateway's container has now. */
export async function rejoining(
  session: Session,
  world: FlowWorld,
  place: string,
  { component, services }: Joined,
  gateway: string,
  like?: Pick<ReadyPlan, 'facts' | 'asked'>,
): Promise<ReadyPlan> {
  const { facts, answers } = await standing(session, world, place, component, like?.facts.look);
  const planned = await planComponent(session, world, facts, answers, { kind: 'change' }, like?.asked);
  const recorded = facts.deployment?.record?.secrets ?? {};
  // What else could be changed of it is not asked for here: files, record and secrets stay.
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
      service.change === 'remove' ? [] : [{ ...service, change: 'keep' as const, why: 'nothing changes for it' }],
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
          ? { ...service, change: 'recreate', why: service.change === 'keep' ? `it is in the network of ${gateway}` : service.why }
          : service,
      ),
    },
  };
}

/** Docker ends with 128 what finds no network to join: nobody stopped that one. */
const wasCutOff = ({ state, statusText }: ContainerFacts) => state === 'created' || (state === 'exited' && statusText.includes('(128)'));

/** Containers that somebody else put into that network: they have to be made again by whoever made them. */
function strangersIn({ component }: Plan, services: readonly string[], { containers }: HostLook, ours: readonly Deployment[]): Finding[] {
  const own = containers.filter((one) => projectOf(one) === component && services.includes(serviceOf(one)));
  const projects = new Set(ours.filter(({ record }) => record).map((one) => one.component));
  const strange = containers.filter(({ networkMode, labels }) => {
    const [, said = ''] = /^container:(.+)$/.exec(networkMode) ?? [];
    return said !== '' && !projects.has(projectOf({ labels })) && own.some(({ id, name }) => name === said || id === said);
  });
  if (strange.length === 0) return [];
  const names = strange.map(({ name }) => cleanLine(name)).join(', ');
  return [
    {
      id: `joined-by-others:${component}`,
      level: 'warning',
      message: `${names} ${strange.length === 1 ? 'is in its network, and has' : 'are in its network, and have'} none once it is made anew; others made ${strange.length === 1 ? 'it' : 'them'}.`,
      advice: 'Make it again afterwards with what made it. Podman wants it removed before.',
      rule: 'R15',
    },
  ];
}

/** ` Made again with it, since ...`; empty where nobody was. */
export function rejoinedSentence(ready: readonly ReadyPlan[]): string {
  const again = ready.filter(({ plan }) => plan.kind === 'rejoin').map(({ plan }) => plan.component);
  return again.length === 0 ? '' : ` Made again with it, in its new network: ${again.join(', ')}.`;
}
