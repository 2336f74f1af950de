import { Fault, messageOf } from '../../faults/fault.ts';
import { composeLabel } from '../../fleet/grouping.ts';
import type { Session } from '../../session/session.ts';
import { listHalted, removeHalted, writeHalted } from '../../stack/backup/stopped-containers.ts';
import {
  gatewayWith,
  gatewayWithout,
  outOfPods,
  type Routed,
  renameGateway,
  routeDirectly,
  routesOf,
  routeThrough,
} from '../../stack/plan/gateway-route.ts';
import { cleanLine } from '../../text/clean.ts';
import { operatorOf } from '../backup/backup.ts';
import { componentOf } from '../components/service-targets.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowInput, FlowOutcome } from '../flow.ts';
import { cancelled, unlessCancelled } from '../prompt-cancelled.ts';
import { applyPlans } from './apply-plans.ts';
import { rejoining, withJoined } from './joined-services.ts';
import { planComponent, planData, type ReadyPlan, reviewTogether } from './plan-component.ts';
import { type Gateway, gatewayLeft, gatewayOf, type LeftGateway, type Proof, proofOf, routedService } from './route-gateway.ts';
import { type Deployed, deployed } from './stack-facts.ts';

export const route = onEngine(async (scope, input, session) => {
  const component = componentOf(input);
  const one = await deployed(scope, component.id);
  const service = routedService(one, input);
  const now = routesOf(one.deployment.compose).find((each) => each.service === service);
  const direct = input.options['direct'] === true || (now !== undefined && (await wantsOut(session, input, component.id, now.container)));
  if (direct) {
    if (!now) return { message: `${component.id} already has its own network.`, data: { component: component.id, routed: false } };
    return change({ one, service, gateway: await gatewayLeft(scope, now.container), direct });
  }
  const gateway = await gatewayOf(scope, input, now?.container);
  if (!now) return change({ one, service, gateway, direct });
  return again({ one, service, gateway }, now.container);
});

async function wantsOut(session: Session, { options }: FlowInput, id: string, container: string): Promise<boolean> {
  if (!session.attended || options['through'] !== undefined) return false;
  const answer = await unlessCancelled(session, `${id} was not changed.`, () =>
    session.ask.choice({
      id: 'way',
      label: `Routing of ${id}`,
      help: `Currently routed through ${cleanLine(container)}. The changes are shown before they are applied.`,
      choices: [
        { value: 'direct', label: "Restore the component's own network and ports", detail: 'same as --direct' },
        { value: 'again', label: "Join the gateway's network again", detail: 'if the component has lost its network' },
      ],
    }),
  );
  return answer === 'direct';
}

interface RouteRequest {
  one: Deployed;
  service: string;
  gateway: Gateway;
}

type Change = (RouteRequest & { direct: false }) | (Omit<RouteRequest, 'gateway'> & { gateway: LeftGateway | undefined; direct: true });

/** The gateway comes first, since the ports have to be free; the components behind it join its new network. */
async function change(request: Change): Promise<FlowOutcome> {
  const { one, service, gateway, direct } = request;
  const { deployment } = one;
  const { entry, scope } = one.facts;
  const file = `${deployment.folder}/compose.yaml`;
  const routed = direct
    ? routeDirectly(deployment.compose, file, service, deployment.env)
    : routeThrough(deployment.compose, file, service, request.gateway.container.name, deployment.env);
  const front = gateway ? [await planCompose(gateway.deployed, gatewayText(gateway, routed, direct))] : [];
  const own = await planCompose(one, routed.text);
  // Ports that the gateway publishes now are free by the time they are needed.
  const ready = await withJoined([
    ...front,
    { ...own, findings: own.findings.filter(({ id, owner }) => !(id.startsWith('port-taken:') && owner === gateway?.id)) },
  ]);
  const others = ready.filter(({ plan: { kind } }) => kind === 'rejoin').map(({ plan: { component } }) => component);
  const data = { component: entry.id, host: scope.engineName, gateway: gateway?.id, routed: !direct, ports: routed.ports };
  const taken = gateway ? `Disconnect ${entry.id} from the network of ${gateway.id}` : `Move ${entry.id} to its own network`;
  const title = direct ? taken : `Route ${entry.id} through ${request.gateway.id}`;
  const dryRunResult = await reviewed(scope, noted(ready, gateway?.id, others, direct), title, entry.id, data);
  if (dryRunResult) return dryRunResult;
  const rest = others.length > 0 ? ` Also recreated because of the shared network: ${others.join(', ')}.` : '';
  if (direct) {
    await applyPlans(ready);
    return { message: `${entry.id} uses its own network and ports again.${rest}`, data };
  }
  await applyFreed(request, ready);
  return proved(entry.id, await proofOf(request), data, `${entry.id} is routed through ${request.gateway.id}.${rest}`);
}

function planCompose({ facts, answers }: Deployed, text: string): Promise<ReadyPlan> {
  return planComponent(facts, answers, { kind: 'change', edited: { 'compose.yaml': text } });
}

function gatewayText({ deployed: { facts, deployment }, service }: LeftGateway, routed: Routed, direct: boolean): string {
  const { compose, folder, env } = deployment;
  const file = `${folder}/compose.yaml`;
  if (direct) return gatewayWithout(compose, file, service, routed);
  const text = gatewayWith(compose, file, service, routed, env);
  return facts.tool?.kind === 'podman-compose' ? outOfPods(text, file) : text;
}

/** Returns the outcome of a dry run; undefined if the plans are to be applied. Throws `interrupted.cancelled`. */
async function reviewed({ session }: EngineScope, ready: readonly ReadyPlan[], title: string, id: string, data: object) {
  const review = reviewTogether(ready, { title, label: ready.length === 1 ? 'Apply' : 'Apply all' });
  const choice = await session.review({ ...review, id: 'route' });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.', data: { ...data, plans: ready.map(planData) } };
  if (choice === 'apply') return undefined;
  throw cancelled(`${id} was not changed.`);
}

/** The ports are free only while the service is down. If the change fails, the service runs as before. */
async function applyFreed({ one: { facts }, service }: RouteRequest, ready: readonly ReadyPlan[]): Promise<void> {
  const { scope, stackFolder } = facts;
  const { session, context, engineName, engine, host } = scope;
  const container = facts.containers.find((each) => composeLabel(each, 'service') === service);
  const target = { host: engineName, component: facts.entry.id };
  const startedAt = new Date().toISOString();
  const halted = {
    ...{ schema: 1 as const, flow: 'route', component: target.component, startedAt },
    run: `route-${startedAt.replaceAll(/\D/g, '')}-${target.component}`,
    by: await operatorOf(scope),
  };
  if (container?.state === 'running')
    await session.act({
      id: 'free its ports',
      right: 'operate',
      request: `POST /containers/${container.name}/stop`,
      target,
      done: async () => (await engine.inspect(container.id, session.signal))?.state !== 'running',
      run: async (grant) => {
        const containers = [{ id: container.id, name: container.name, how: 'stopped' as const }];
        await writeHalted(grant, host, stackFolder, { ...halted, containers });
        await context.fleet.whileStopping(container.id, () => engine.writer(grant).stop(container.id));
      },
    });
  try {
    await applyPlans(ready);
    if (container)
      await session.act({
        id: 'forget that it was stopped',
        right: 'operate',
        request: `record that ${container.name} was replaced`,
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
        .catch((again: unknown) => session.show({ kind: 'text', text: `${container.name} could not be restarted: ${messageOf(again)}` }));
    throw thrown;
  }
}

/** The gateway may have been recreated, so that its network is gone, or by another compose program, so that its name differs. */
async function again(request: RouteRequest, container: string): Promise<FlowOutcome> {
  const { one, gateway, service } = request;
  const { compose, folder } = one.deployment;
  const { entry, scope } = one.facts;
  const { id } = entry;
  const data = { component: id, host: scope.engineName, gateway: gateway.id, routed: true };
  const { name } = gateway.container;
  const ready =
    container === name
      ? await rejoining(scope, { component: id, services: [service] }, gateway.id)
      : await planCompose(one, renameGateway(compose, `${folder}/compose.yaml`, service, name));
  const dryRunResult = await reviewed(scope, [ready], `Connect ${id} to the network of ${gateway.id} again`, id, data);
  if (dryRunResult) return dryRunResult;
  await applyPlans([ready]);
  return proved(id, await proofOf(request), data, `${id} is routed through ${gateway.id}.`);
}

function proved(id: string, proof: Proof, data: object, message: string): FlowOutcome {
  if (proof.problem !== undefined)
    throw new Fault(
      'failed.route',
      `${message} However, ${proof.problem}`,
      `Check the component and the gateway: quarterdeck status. To undo: quarterdeck route ${id} --direct`,
    );
  return {
    message: `${message} ${proof.address === undefined ? 'The public address of the gateway could not be determined.' : `Public address: ${proof.address}.`}`,
    data: { ...data, address: proof.address },
  };
}

/** Adds the notes to the gateway's plan, which is shown first. */
function noted(ready: readonly ReadyPlan[], gateway: string | undefined, others: readonly string[], direct: boolean): ReadyPlan[] {
  const notes = [
    ...(direct ? [] : ['The gateway publishes the ports of the component.']),
    ...(others.length > 0 ? ['All components that use the gateway have no network during the change.'] : []),
  ];
  return ready.map((one) =>
    one.plan.component === gateway ? { ...one, plan: { ...one.plan, notes: [...notes, ...one.plan.notes] } } : one,
  );
}
