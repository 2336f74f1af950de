import { runCall } from '../../calls/run-call.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { readServices } from '../../stack/plan/compose-document.ts';
import { serviceOf } from '../../stack/plan/service-changes.ts';
import { cleanLine } from '../../text/clean.ts';
import { objectOf, textOf } from '../../text/json-value.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { targetOf } from '../call-target.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';
import { optionOf } from '../flow-options.ts';
import { keptSecret } from '../secrets/kept-secret.ts';
import { type Deployed, deployed } from './stack-facts.ts';

/** Time until a tunnel is up and its address is known. */
const tunnelLimitMs = 60_000;
const againMs = 1_000;

export interface Gateway extends LeftGateway {
  container: ContainerFacts;
}

/** A gateway that a component leaves: it need not run for that. */
export interface LeftGateway {
  id: string;
  deployed: Deployed;
  /** The service whose network the other components share. */
  service: string;
}

export interface Proof {
  /** `185.65.134.66 (Sweden)`; undefined if it is unknown. */
  address: string | undefined;
  /** Why the route does not work, as half a sentence. */
  problem: string | undefined;
}

/** Throws `refused.route` for a service that uses others of its component: after the change they are in different networks. */
export function routedService({ facts: { entry }, deployment }: Deployed, input: FlowInput): string {
  const services = readServices(deployment.compose);
  const main = entry.services.find((one) => one.main)?.name ?? Object.keys(services)[0] ?? '';
  const service = optionOf(input, 'service') ?? main;
  const found = services[service];
  if (!found) {
    const message = `${entry.id} has no service "${cleanLine(service)}".`;
    throw new Fault('usage.service', message, nameRemedy(service, Object.keys(services), 'The component has no services.'));
  }
  const names = Object.keys(services).filter((name) => name !== service);
  const dependencies = found['depends_on'] ?? [];
  const needed = Array.isArray(dependencies) ? dependencies.map(String) : Object.keys(dependencies);
  const needs = names.filter((name) => needed.includes(name));
  if (needs.length > 0) {
    const message = `${service} of ${entry.id} uses ${needs.join(', ')} by name, and cannot reach ${needs.length === 1 ? 'it' : 'them'} from the gateway's network.`;
    throw new Fault('refused.route', message, 'Route a component without such dependencies, such as a download client.');
  }
  return service;
}

/** For a component that is already routed, its current gateway. Throws `refused.noGateway` and `refused.route`. */
export async function gatewayOf(scope: EngineScope, input: FlowInput, present: string | undefined): Promise<Gateway> {
  const { session, engineName } = scope;
  const wanted = optionOf(input, 'through');
  const there = gatewaysOn(scope);
  const named = wanted !== undefined ? there.filter(({ id, key }) => id === wanted || key === wanted) : there;
  const found = present === undefined ? named : named.filter((one) => isIn(one, present));
  if (found.length === 0 && present !== undefined && named.length > 0)
    throw new Fault(
      'refused.route',
      `${componentName(input)} is routed through ${cleanLine(present)}, not through ${named.map(({ id }) => id).join(' or ')}.`,
      `Move the component to its own network first: quarterdeck route ${componentName(input)} --direct`,
    );
  const [first, ...others] = found;
  if (!first) {
    const message = `No VPN gateway${wanted === undefined ? '' : ` "${cleanLine(wanted)}"`} is deployed on ${engineName}.`;
    const deploying = `Deploy a gateway: quarterdeck deploy ${gatewayIds(scope)[0] ?? 'vpn-client-gateway'}`;
    throw new Fault('refused.noGateway', message, there.length > 0 ? `Gateways: ${there.map(({ id }) => id).join(', ')}.` : deploying);
  }
  const id =
    others.length === 0
      ? first.id
      : await session.ask.choice({
          id: 'through',
          label: 'Gateway',
          choices: found.map((one) => ({ value: one.id, label: one.id, detail: one.state.label })),
        });
  const left = await leftGateway(scope, id);
  const container = left.deployed.facts.containers.find((one) => serviceOf(one) === left.service);
  if (container?.state !== 'running')
    throw new Fault('refused.noGateway', `${id} is not running, so nothing can join its network.`, `Start it: quarterdeck start ${id}`);
  return { ...left, container };
}

/** Undefined if it is gone, or was not deployed by Quarterdeck. Decided by its record: the fleet may not have read it yet. */
export async function gatewayLeft(scope: EngineScope, container: string): Promise<LeftGateway | undefined> {
  const found = gatewaysOn(scope).find((one) => isIn(one, container));
  return found && unlessCode(leftGateway(scope, found.id), ['refused.notOurs'], undefined);
}

async function leftGateway(scope: EngineScope, id: string): Promise<LeftGateway> {
  const one = await deployed(scope, id);
  return { id, deployed: one, service: one.facts.entry.services.find(({ main }) => main)?.name ?? '' };
}

const gatewayIds = ({ context }: EngineScope) => context.catalog.entries.filter(({ api }) => api?.name === 'gluetun').map(({ id }) => id);

function gatewaysOn(scope: EngineScope): ComponentView[] {
  const ids = gatewayIds(scope);
  const { components } = scope.context.fleet.snapshot();
  return components.filter(({ host, id, entry, known }) => host === scope.engineName && known && ids.includes(entry ?? id));
}

/** Returns whether the container belongs to this component, by its name or by the name that compose would use. */
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

/** Checks whether the service shares the network of the gateway's current container, and returns the public address. */
export async function proofOf({ one, gateway, service }: { one: Deployed; gateway: Gateway; service: string }): Promise<Proof> {
  const { scope } = one.facts;
  const { session, context, engineName, signal } = scope;
  const { entry } = one.facts;
  const [target, front] = await Promise.all([
    targetOf(context, engineName, entry, signal),
    targetOf(context, engineName, gateway.deployed.facts.entry, signal),
  ]);
  const container = target.containers.get(service);
  const own = front.containers.get(gateway.service);
  const isUp = container?.state === 'running';
  const shares = isUp && own !== undefined && (target.gateways ?? []).some(({ id }) => id === own.id);
  session.show({
    kind: 'item',
    id: 'network',
    title: `${entry.id} uses the network of ${gateway.id}`,
    state: shares ? 'ok' : 'blocked',
    evidence: shares ? `container ${own.name}` : isUp ? `its network mode is ${container.networkMode}` : 'its container is not running',
  });
  const problem = isUp ? 'it does not use the network of the gateway.' : 'its container is not running.';
  if (!shares) return { address: undefined, problem };
  const address = await outgoingAddress(scope, gateway);
  session.show({
    kind: 'item',
    id: 'address',
    title: 'Traffic leaves through the tunnel',
    state: address === undefined ? 'warning' : 'ok',
    evidence: address === undefined ? 'the public address of the gateway could not be determined' : `from ${address}`,
  });
  return { address, problem: undefined };
}

/** Queries the public address through the gateway itself, so no outside service is needed. */
async function outgoingAddress(scope: EngineScope, gateway: Gateway): Promise<string | undefined> {
  const { session, context, engineName } = scope;
  const { entry } = gateway.deployed.facts;
  const call = entry.calls['publicaddress'];
  const key = await keptSecret(session, context, { host: engineName, id: gateway.id }, 'CONTROL_API_KEY');
  if (!call || key === undefined) return undefined;
  session.hide(key);
  const seen = await session.act({
    id: 'ask for the address',
    right: 'operate',
    request: `GET ${call.http?.path ?? ''} on ${gateway.id}, with its API key`,
    target: { host: engineName, component: gateway.id },
    run: async (grant) => {
      for (const deadline = performance.now() + tunnelLimitMs; ; await pauseFor(againMs, grant.signal)) {
        const front = await targetOf(context, engineName, entry, grant.signal);
        const request = { name: 'publicaddress', call, inputs: { CONTROL_API_KEY: key }, signal: grant.signal, grant };
        const { ok, status, json } = await runCall(front, request);
        const answer = objectOf(json);
        const address = textOf(answer?.['public_ip']) || textOf(answer?.['ip']);
        if (ok && status === 200 && address !== '') return { address, country: textOf(answer?.['country']) };
        if (status === 401 || status === 403 || performance.now() >= deadline) return undefined;
        session.progress({ id: 'tunnel', label: 'Waiting for the tunnel' });
      }
    },
  });
  session.progress({ id: 'tunnel', label: 'Checked the tunnel', done: true });
  return seen && cleanLine(seen.country === '' ? seen.address : `${seen.address} (${seen.country})`);
}
