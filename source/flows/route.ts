import { Fault, messageOf } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import {
  gatewayWith,
  gatewayWithout,
  outOfPods,
  type Routed,
  renameGateway,
  routeDirectly,
  routesOf,
  routeThrough,
} from '../stack/gateway-route.ts';
import { listHalted, removeHalted, writeHalted } from '../stack/halted-journal.ts';
import { planJson } from '../stack/plan-text.ts';
import { cleanLine } from '../text/clean.ts';
import { routeAbout } from './about-route.ts';
import { applyPlans } from './apply-plans.ts';
import { operatorOf } from './backup.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { rejoining, withJoined } from './joined-services.ts';
import { unlessLeft } from './left-early.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { reviewTogether } from './review-together.ts';
import { type Gateway, gatewayLeft, gatewayOf, type LeftGateway, type Proof, proofOf, routedService } from './route-gateway.ts';
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
    const direct = input.options['direct'] === true || (now !== undefined && (await wantsOut(session, input, component.id, now.container)));
    if (direct) {
      if (!now) return { message: `${component.id} has a network of its own already.`, data: { component: component.id, routed: false } };
      return change(session, world, {
        input,
        one,
        service,
        gateway: await gatewayLeft(session, input, world, now.container),
        way: 'direct',
      });
    }
    const gateway = await gatewayOf(session, input, world, now?.container);
    if (!now) return change(session, world, { input, one, service, gateway, way: 'through' });
    return again(session, world, { input, one, service, gateway }, now.container);
  },
};

/** Where nobody said it and somebody can be asked: what goes through a gateway already may be meant to leave it. */
async function wantsOut(session: Session, { options }: FlowInput, id: string, container: string): Promise<boolean> {
  if (!session.attended || options['through'] !== undefined) return false;
  const way = await unlessLeft(
    () =>
      session.ask.choice({
        id: 'way',
        label: `What is ${id} to do?`,
        help: `It goes through ${cleanLine(container)}. Nothing is changed before you have seen what would be.`,
        choices: [
          { value: 'direct', label: 'Get its own network and ports back', detail: 'as --direct does' },
          { value: 'again', label: "Be put into the gateway's network anew", detail: 'where it has none any more' },
        ],
      }),
    { message: `Nothing was changed: ${id} is as before.`, remedy: 'Start it again whenever you like.' },
  );
  return way === 'direct';
}

interface Wish {
  input: FlowInput;
  one: Standing;
  service: string;
  gateway: Gateway;
}

type Change = (Wish & { way: 'through' }) | (Omit<Wish, 'gateway'> & { gateway: LeftGateway | undefined; way: 'direct' });

/** All at once, as one transaction: the gateway first, since the ports have to be free; whatever is behind it comes after, and joins its new network. */
async function change(session: Session, world: FlowWorld, wish: Change): Promise<FlowOutcome> {
  const { input, one, service, gateway, way } = wish;
  const { deployment, entry } = one.facts;
  if (!deployment) throw new Error('what stands has a folder');
  const file = `${deployment.folder}/compose.yaml`;
  const plan = (of: Standing, text: string) =>
    planComponent(session, world, of.facts, of.answers, { kind: 'change', edited: { 'compose.yaml': text } });
  const routed =
    way === 'through'
      ? routeThrough(deployment.compose, file, service, wish.gateway.container.name, deployment.env)
      : routeDirectly(deployment.compose, file, service, deployment.env);
  const ready = await withJoined(session, world, [
    ...(gateway ? [await plan(gateway.standing, gatewayText(gateway, routed, way))] : []),
    freed(await plan(one, routed.text), gateway?.id),
  ]);
  const others = ready.filter(({ plan: { kind } }) => kind === 'rejoin').map(({ plan: { component } }) => component);
  const data = { component: entry.id, host: input.place, gateway: gateway?.id, routed: way === 'through', ports: routed.ports };
  const title =
    way === 'through'
      ? `Route ${entry.id} through ${wish.gateway.id}`
      : gateway
        ? `Take ${entry.id} out of the network of ${gateway.id}`
        : `Give ${entry.id} a network of its own`;
  const rehearsed = await reviewed(session, noted(ready, gateway?.id, others, way), title, entry.id);
  if (rehearsed) return { ...rehearsed, data: { ...data, ...rehearsed.data } };
  const rest = others.length > 0 ? ` Made again, since they are behind it too: ${others.join(', ')}.` : '';
  if (way === 'direct') {
    await applyPlans(session, world, ready);
    return { message: `${entry.id} has its own network and ports again.${rest}`, data };
  }
  await applyFreed(session, world, wish, ready);
  return proved(entry.id, await proofOf(session, world, input, wish, service), data, `${entry.id} goes through ${wish.gateway.id}.${rest}`);
}

function gatewayText({ standing: { facts }, service }: LeftGateway, routed: Routed, way: 'through' | 'direct'): string {
  const { deployment, tool } = facts;
  if (!deployment) throw new Error('what stands has a folder');
  const { compose, folder, env } = deployment;
  const file = `${folder}/compose.yaml`;
  if (way === 'direct') return gatewayWithout(compose, file, service, routed);
  const text = gatewayWith(compose, file, service, routed, env);
  return tool?.kind === 'podman-compose' ? outOfPods(text, file) : text;
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

/** What the gateway publishes now is free by then. */
function freed(ready: ReadyPlan, gateway: string | undefined): ReadyPlan {
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
  const { host, stackFolder } = one.facts;
  const startedAt = new Date().toISOString();
  const halted = {
    ...{ schema: 1 as const, flow: 'route', component: target.component, startedAt },
    run: `route-${startedAt.replaceAll(/\D/g, '')}-${target.component}`,
    by: await operatorOf(world, input.place, session.signal),
  };
  if (container?.state === 'running')
    await session.act({
      id: 'free its ports',
      right: 'operate',
      request: `POST /containers/${container.name}/stop`,
      target,
      done: async () => (await engine.inspect(container.id, session.signal))?.state !== 'running',
      run: async (grant) => {
        await writeHalted(grant, host, stackFolder, {
          ...halted,
          containers: [{ id: container.id, name: container.name, how: 'stopped' }],
        });
        await world.fleet.whileStopping(container.id, () => engine.writer(grant).stop(container.id));
      },
    });
  try {
    await applyPlans(session, world, ready);
    if (container)
      await session.act({
        id: 'forget that it was stopped',
        right: 'operate',
        request: `note that ${container.name} was replaced`,
        target,
        done: async () => !(await listHalted(host, stackFolder, session.signal)).some(({ run }) => run === halted.run),
        run: (grant) => removeHalted(grant, host, stackFolder, halted.run),
      });
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
          run: async (grant) => {
            await engine.writer(grant).start(container.id);
            await removeHalted(grant, host, stackFolder, halted.run);
          },
        })
        .catch((again: unknown) => session.show({ kind: 'text', text: `It could not be started as before: ${messageOf(again)}` }));
    throw thrown;
  }
}

/** It is routed already: the gateway may have been made anew since, and then its network is gone; by another compose program, and then its name is another. */
async function again(session: Session, world: FlowWorld, wish: Wish, container: string): Promise<FlowOutcome> {
  const { input, one, gateway, service } = wish;
  const { entry, deployment } = one.facts;
  const { id } = entry;
  const data = { component: id, host: input.place, gateway: gateway.id, routed: true };
  const { name } = gateway.container;
  const renamed =
    deployment && container !== name ? renameGateway(deployment.compose, `${deployment.folder}/compose.yaml`, service, name) : undefined;
  const ready =
    renamed === undefined
      ? await rejoining(session, world, input.place, { component: id, services: [service] }, gateway.id)
      : await planComponent(session, world, one.facts, one.answers, { kind: 'change', edited: { 'compose.yaml': renamed } });
  const rehearsed = await reviewed(session, [ready], `Put ${id} into the network of ${gateway.id} anew`, id);
  if (rehearsed) return { ...rehearsed, data: { ...data, ...rehearsed.data } };
  await applyPlans(session, world, [ready]);
  return proved(id, await proofOf(session, world, input, wish, service), data, `${id} goes through ${gateway.id}.`);
}

function proved(id: string, proof: Proof, data: object, message: string): FlowOutcome {
  if (proof.problem !== undefined)
    throw new Fault({
      code: 'failed.route',
      message: `${message} But ${proof.problem}`,
      remedy: `Look at both: quarterdeck status. The way back: quarterdeck route ${id} --direct`,
    });
  return {
    message: `${message} ${proof.address === undefined ? 'The address that it leaves at could not be asked for.' : `It leaves at ${proof.address}.`}`,
    data: { ...data, ...(proof.address !== undefined && { address: proof.address }) },
  };
}

/** What there is to know stands with the gateway, which comes first. */
function noted(
  ready: readonly ReadyPlan[],
  gateway: string | undefined,
  others: readonly string[],
  way: 'through' | 'direct',
): ReadyPlan[] {
  const notes = [
    ...(way === 'through' ? ['The gateway publishes the ports from now on (R15).'] : []),
    ...(others.length > 0 ? ['None of those behind it has a network meanwhile.'] : []),
  ];
  return ready.map((one) =>
    one.plan.component === gateway ? { ...one, plan: { ...one.plan, notes: [...notes, ...one.plan.notes] } } : one,
  );
}
