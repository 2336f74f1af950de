import { runCall } from '../calls/run-call.ts';
import type { ContainerFacts } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import { readServices, serviceOf } from '../stack/service-changes.ts';
import { cleanLine } from '../text/clean.ts';
import { objectOf, textOf } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { targetOf } from './secret-proof.ts';
import { secretName } from './stack-facts.ts';
import { type Standing, standing } from './standing.ts';

/** A tunnel needs a moment to come up, and its address another. */
const tunnelLimitMs = 60_000;
const againMs = 1_000;

/** A VPN gateway of this host that was deployed from here. */
export interface Gateway extends LeftGateway {
  /** It runs. */
  container: ContainerFacts;
}

/** One that somebody leaves: it need not run for that. */
export interface LeftGateway {
  id: string;
  standing: Standing;
  /** The service whose network the others are in. */
  service: string;
}

export interface Proof {
  /** `185.65.134.66 (Sweden)`; undefined where it could not be asked for. */
  address: string | undefined;
  /** Why it is not so, half a sentence. */
  problem: string | undefined;
}

/** Which of its services is meant. Throws `refused.route` for one that talks to its siblings: they are in another network afterwards. */
export function routedService({ facts }: Standing, { options }: FlowInput): string {
  const { entry, deployment } = facts;
  const services = readServices(deployment?.compose ?? '');
  const named = options['service'];
  const service = typeof named === 'string' ? named : (entry.services.find(({ main }) => main)?.name ?? Object.keys(services)[0] ?? '');
  const found = services[service];
  if (!found)
    throw new Fault({
      code: 'usage.service',
      message: `${entry.id} has no service "${cleanLine(service)}".`,
      remedy: nameRemedy(service, Object.keys(services), 'It has none.'),
    });
  const names = Object.keys(services).filter((name) => name !== service);
  const needed = Object.keys(
    Array.isArray(found['depends_on'])
      ? Object.fromEntries(found['depends_on'].map((name) => [String(name), 1]))
      : ((found['depends_on'] as object | undefined) ?? {}),
  );
  const needs = names.filter((name) => needed.includes(name));
  if (needs.length > 0)
    throw new Fault({
      code: 'refused.route',
      message: `${service} of ${entry.id} uses ${needs.join(', ')} by name, and would not find ${needs.length === 1 ? 'it' : 'them'} from the gateway's network.`,
      remedy: 'Route a component that stands alone, such as a download client.',
    });
  return service;
}

/** The gateway that is meant; for what is routed already the one that it goes through. Throws `refused.noGateway` and `refused.route`. */
export async function gatewayOf(session: Session, input: FlowInput, world: FlowWorld, present: string | undefined): Promise<Gateway> {
  const wanted = input.options['through'];
  const there = gatewaysOn(world, input.place);
  const named = typeof wanted === 'string' ? there.filter(({ id, key }) => id === wanted || key === wanted) : there;
  const found = present === undefined ? named : named.filter((one) => isIn(one, present));
  if (found.length === 0 && present !== undefined && named.length > 0)
    throw new Fault({
      code: 'refused.route',
      message: `${componentName(input)} goes through ${cleanLine(present)}, and not through ${named.map(({ id }) => id).join(' or ')}.`,
      remedy: `Give it its own network first: quarterdeck route ${componentName(input)} --direct`,
    });
  if (found.length === 0)
    throw new Fault({
      code: 'refused.noGateway',
      message:
        typeof wanted === 'string'
          ? `There is no VPN gateway "${cleanLine(wanted)}" on ${input.place}.`
          : `There is no VPN gateway on ${input.place}.`,
      remedy: `Deploy one: quarterdeck deploy ${gatewayIds(world)[0] ?? 'vpn-client-gateway'}`,
    });
  const id =
    found.length === 1 || !session.attended
      ? found[0]?.id
      : await session.ask.choice({
          id: 'gateway',
          label: 'Through which gateway?',
          choices: found.map((one) => ({ value: one.id, label: one.id, detail: one.word })),
        });
  if (id === undefined) throw new Error('one was found');
  const left = await leftGateway(session, world, input.place, id);
  const container = left.standing.facts.containers.find((one) => serviceOf(one) === left.service);
  if (container?.state !== 'running')
    throw new Fault({
      code: 'refused.noGateway',
      message: `${id} is not running: nothing can be in its network.`,
      remedy: `Start it: quarterdeck start ${id}`,
    });
  return { ...left, container };
}

/** The gateway that something goes through by now; undefined where there is none any more, or others deployed it. Its record says so: the fleet may not have read it yet. */
export async function gatewayLeft(
  session: Session,
  { place }: FlowInput,
  world: FlowWorld,
  container: string,
): Promise<LeftGateway | undefined> {
  const found = gatewaysOn(world, place).find((one) => isIn(one, container));
  if (!found) return undefined;
  try {
    return await leftGateway(session, world, place, found.id);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'refused.notOurs') return undefined;
    throw thrown;
  }
}

async function leftGateway(session: Session, world: FlowWorld, place: string, id: string): Promise<LeftGateway> {
  const one = await standing(session, world, place, id);
  return { id, standing: one, service: one.facts.entry.services.find(({ main }) => main)?.name ?? '' };
}

const gatewayIds = (world: FlowWorld) => world.catalog.entries.filter(({ speaks }) => speaks?.api === 'gluetun').map(({ id }) => id);

function gatewaysOn(world: FlowWorld, place: string): ComponentView[] {
  const ids = gatewayIds(world);
  return world.fleet.snapshot().components.filter(({ host, id, entry, known }) => host === place && known && ids.includes(entry ?? id));
}

/** Is it a container of this one, by the name that it has or that compose would give it? */
function isIn({ id, services }: ComponentView, container: string): boolean {
  return services.some(
    ({ name, containerName, containerId }) =>
      containerName === container ||
      container === `${id}-${name}-1` ||
      container === `${id}_${name}_1` ||
      (container.length >= 12 && containerId?.startsWith(container)),
  );
}

const componentName = ({ component }: FlowInput) => component?.id ?? 'It';

/** Is its network that of the gateway which runs now, and at which address does that leave? */
export async function proofOf(
  session: Session,
  world: FlowWorld,
  { place }: FlowInput,
  { one, gateway }: { one: Standing; gateway: Gateway },
  service: string,
): Promise<Proof> {
  const { signal } = session;
  const { entry } = one.facts;
  const [target, front] = await Promise.all([
    targetOf(world, place, entry, signal),
    targetOf(world, place, gateway.standing.facts.entry, signal),
  ]);
  const container = target.containers.get(service);
  const own = front.containers.get(gateway.service);
  const shares = own !== undefined && (target.gateways ?? []).some(({ id }) => id === own.id) && container?.state === 'running';
  session.show({
    kind: 'item',
    id: 'network',
    title: `The network of ${entry.id} is that of ${gateway.id}`,
    state: shares ? 'ok' : 'blocked',
    evidence: shares ? `container ${own.name}` : `its network mode is ${container?.networkMode ?? 'none'}`,
  });
  if (!shares) return { address: undefined, problem: 'its network is not that of the gateway.' };
  const address = await outgoingAddress(session, world, place, gateway);
  session.show({
    kind: 'item',
    id: 'address',
    title: 'What it sends leaves through the tunnel',
    state: address === undefined ? 'warning' : 'ok',
    evidence: address === undefined ? 'the gateway could not be asked at which address' : `at ${address}`,
  });
  return { address, problem: undefined };
}

/** The gateway asks for its own address through the tunnel, so nobody else has to be asked. */
async function outgoingAddress(session: Session, world: FlowWorld, place: string, gateway: Gateway): Promise<string | undefined> {
  const { entry } = gateway.standing.facts;
  const call = entry.calls['publicaddress'];
  const key = await keyOf(session, world, place, gateway.id);
  if (!call || key === undefined) return undefined;
  session.hide(key);
  const answer = await session.act({
    id: 'ask for the address',
    right: 'operate',
    request: `GET ${call.http?.path ?? ''} of ${gateway.id}, with its key`,
    target: { host: place, component: gateway.id },
    run: async (grant) => {
      for (const deadline = performance.now() + tunnelLimitMs; ; await pauseFor(againMs, grant.signal)) {
        const front = await targetOf(world, place, entry, grant.signal);
        const { ok, status, json } = await runCall(front, {
          name: 'publicaddress',
          call,
          inputs: { CONTROL_API_KEY: key },
          signal: grant.signal,
          grant,
        });
        const said = objectOf(json);
        const address = textOf(said?.['public_ip']) || textOf(said?.['ip']);
        if (ok && status === 200 && address !== '') return { address, country: textOf(said?.['country']) };
        if (status === 401 || status === 403 || performance.now() >= deadline) return undefined;
        session.progress({ id: 'tunnel', label: 'The tunnel is coming up' });
      }
    },
  });
  session.progress({ id: 'tunnel', label: 'Asked', done: true });
  return answer && cleanLine(answer.country === '' ? answer.address : `${answer.address} (${answer.country})`);
}

async function keyOf(session: Session, world: FlowWorld, place: string, id: string): Promise<string | undefined> {
  try {
    return await (await world.vault(session)).read(secretName(place, id, 'CONTROL_API_KEY'), session.signal);
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    return undefined;
  }
}
