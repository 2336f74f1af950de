import { Fault, messageOf } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { gatewayWith, gatewayWithout, joinAnew, routeDirectly, routesOf, routeThrough } from '../stack/gateway-route.ts';
import { planJson } from '../stack/plan-text.ts';
import { routeAbout } from './about-route.ts';
import { applyPlans } from './apply-plans.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { reviewTogether } from './review-together.ts';
import { type Gateway, gatewayOf, type Proof, proofOf, routedService } from './route-gateway.ts';
import { componentOf } from './service-targets.ts';
import { type Standing, standing } from './standing.ts';

export const route: Flow = {
  ...routeAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const one = await standing(session, world, input.place, component.id);
    const service = routedService(one, input);
    const { deployment } = one.facts;
    if (!deployment) throw new Error('what stands has a folder');
    const now = routesOf(deployment.compose).find((each) => each.service === service);
    if (input.options['direct'] === true) {
      if (!now) return { message: `${component.id} has a network of its own already.`, data: { component: component.id, routed: false } };
      const gateway = await gatewayOf(session, input, world, now.container);
      return change(session, world, { input, one, service, gateway, way: 'direct' });
    }
    const gateway = await gatewayOf(session, input, world, now?.container);
    if (!now) return change(session, world, { input, one, service, gateway, way: 'through' });
    if (now.container !== gateway.container.name)
      throw new Fault({
        code: 'refused.route',
        message: `${component.id} goes through ${now.container}, and not through ${gateway.id}.`,
        remedy: `Give it its own network first: quarterdeck route ${component.id} --direct`,
      });
    return again(session, world, { input, one, service, gateway });
  },
};

interface Wish {
  input: FlowInput;
  one: Standing;
  service: string;
  gateway: Gateway;
}

/** All at once, as one transaction: the gateway first, since the ports have to be free; whatever is behind it comes after, and joins its new network. */
async function change(session: Session, world: FlowWorld, wish: Wish & { way: 'through' | 'direct' }): Promise<FlowOutcome> {
  const { input, one, service, gateway, way } = wish;
  const { facts } = one;
  const { deployment, entry } = facts;
  const front = gateway.standing.facts.deployment;
  if (!deployment || !front) throw new Error('what stands has a folder');
  const [file, frontFile] = [`${deployment.folder}/compose.yaml`, `${front.folder}/compose.yaml`];
  const routed =
    way === 'through'
      ? routeThrough(deployment.compose, file, service, gateway.container.name, deployment.env)
      : routeDirectly(deployment.compose, file, service, deployment.env);
  const frontText =
    way === 'through'
      ? gatewayWith(front.compose, frontFile, gateway.service, routed, front.env)
      : gatewayWithout(front.compose, frontFile, gateway.service, routed);
  const plan = (of: Standing, text: string) =>
    planComponent(session, world, of.facts, of.answers, { kind: 'change', edited: { 'compose.yaml': text } });
  const others = gateway.behind.filter(({ component, isRunning }) => isRunning && component !== entry.id);
  const ready = [
    noted(
      await plan(gateway.standing, frontText),
      others.map(({ component }) => component),
      way,
    ),
    freed(await plan(one, routed.text), gateway.id),
    ...(await planAnew(session, world, input, others)),
  ];
  const title = way === 'through' ? `Route ${entry.id} through ${gateway.id}` : `Take ${entry.id} out of the network of ${gateway.id}`;
  const data = { component: entry.id, host: input.place, gateway: gateway.id, routed: way === 'through', ports: routed.ports };
  const rehearsed = await reviewed(session, ready, title, entry.id);
  if (rehearsed) return { ...rehearsed, data: { ...data, ...rehearsed.data } };
  await applyFreed(session, world, wish, ready);
  const rest = others.length > 0 ? ` Made anew, since they are behind it too: ${others.map(({ component }) => component).join(', ')}.` : '';
  if (way === 'direct') return { message: `${entry.id} has its own network and ports again.${rest}`, data };
  return proved(await proofOf(session, world, input, wish, service), data, `${entry.id} goes through ${gateway.id}.${rest}`);
}

/** What a rehearsal answers; undefined where it is to be applied. Throws `interrupted.cancelled`. */
async function reviewed(
  session: Session,
  ready: readonly ReadyPlan[],
  title: string,
  id: string,
): Promise<{ message: string; data: object } | undefined> {
  const choice = await session.review({
    ...reviewTogether(ready, { title, label: ready.length === 1 ? 'Apply it' : 'Apply all of it' }),
    id: 'route',
  });
  if (session.rehearsing)
    return {
      message: 'Rehearsed: nothing was changed.',
      data: { plans: ready.map(({ plan, findings }) => planJson(plan, findings, false, session.withoutSecrets)) },
    };
  if (choice === 'apply') return undefined;
  throw new Fault({
    code: 'interrupted.cancelled',
    message: `Nothing was changed: ${id} is as before.`,
    remedy: 'Start it again whenever you like.',
  });
}

async function planAnew(session: Session, world: FlowWorld, { place }: FlowInput, all: Gateway['behind']): Promise<ReadyPlan[]> {
  const ready: ReadyPlan[] = [];
  for (const { component, service } of all) {
    const one = await standing(session, world, place, component);
    const { deployment } = one.facts;
    if (!deployment) continue;
    // Compose refuses a label that reads as a time.
    const text = joinAnew(deployment.compose, `${deployment.folder}/compose.yaml`, service, `t${Date.now()}`);
    ready.push(await planComponent(session, world, one.facts, one.answers, { kind: 'change', edited: { 'compose.yaml': text } }));
  }
  return ready;
}

/** What the gateway publishes now is free by then. */
function freed(ready: ReadyPlan, gateway: string): ReadyPlan {
  return {
    ...ready,
    findings: ready.findings.filter(({ id, message }) => !(id.startsWith('port-taken:') && message.endsWith(` is taken by ${gateway}.`))),
  };
}

/** Its ports are free only while it is down. What does not come about leaves it running as before. */
async function applyFreed(session: Session, world: FlowWorld, { input, one, service }: Wish, ready: readonly ReadyPlan[]): Promise<void> {
  const engine = world.engineOf(input.place);
  const container = one.facts.containers.find(
    (each) => (each.labels['com.docker.compose.service'] ?? each.labels['io.podman.compose.service']) === service,
  );
  const target = { host: input.place, component: one.facts.entry.id };
  if (container?.state === 'running')
    await session.act({
      id: 'free its ports',
      right: 'operate',
      request: `POST /containers/${container.name}/stop`,
      target,
      done: async () => (await engine.inspect(container.id, session.signal))?.state !== 'running',
      run: (grant) => world.fleet.whileStopping(container.id, () => engine.writer(grant).stop(container.id)),
    });
  try {
    await applyPlans(session, world, ready);
  } catch (thrown) {
    if (
      container &&
      !session.signal.aborted &&
      (await engine.inspect(container.id, session.signal).catch(() => undefined))?.state === 'exited'
    )
      await session
        .act({
          id: 'start it as before',
          right: 'operate',
          request: `POST /containers/${container.name}/start`,
          target,
          run: (grant) => engine.writer(grant).start(container.id),
        })
        .catch((again: unknown) => session.show({ kind: 'text', text: `It could not be started as before: ${messageOf(again)}` }));
    throw thrown;
  }
}

/** It is routed already: the gateway may have been made anew since, and then its network is gone. */
async function again(session: Session, world: FlowWorld, { input, one, gateway, service }: Wish): Promise<FlowOutcome> {
  const { id } = one.facts.entry;
  const data = { component: id, host: input.place, gateway: gateway.id, routed: true };
  const ready = await planAnew(session, world, input, [{ component: id, service, isRunning: true }]);
  const rehearsed = await reviewed(session, ready, `Put ${id} into the network of ${gateway.id} anew`, id);
  if (rehearsed) return { ...rehearsed, data: { ...data, ...rehearsed.data } };
  await applyPlans(session, world, ready);
  return proved(await proofOf(session, world, input, { one, gateway }, service), data, `${id} goes through ${gateway.id}.`);
}

function proved(proof: Proof, data: object, message: string): FlowOutcome {
  if (proof.problem !== undefined)
    throw new Fault({
      code: 'failed.route',
      message: `${message} But ${proof.problem}`,
      remedy: 'Look at both: quarterdeck status. The way back: quarterdeck route --direct.',
    });
  return {
    message: `${message} ${proof.address === undefined ? 'The address that it leaves at could not be asked for.' : `It leaves at ${proof.address}.`}`,
    data: { ...data, ...(proof.address !== undefined && { address: proof.address }) },
  };
}

function noted(ready: ReadyPlan, others: readonly string[], way: 'through' | 'direct'): ReadyPlan {
  const notes = [
    ...(way === 'through' ? ['The gateway publishes the ports from now on (R15).'] : []),
    ...(others.length > 0
      ? [`It is made anew, and with it what is behind it: ${others.join(', ')}. None of them has a network meanwhile.`]
      : []),
  ];
  return { ...ready, plan: { ...ready.plan, notes: [...notes, ...ready.plan.notes] } };
}
