import type { CatalogPort } from '../catalog/catalog.ts';
import { listeningOf, publishedFor } from '../catalog/listening-port.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { dialledHost, isLoopback } from '../text/loopback.ts';
import type { CallTarget } from './call.ts';

export interface PortAddress {
  host: string;
  port: number;
  /** On loopback, or inside the engine's own network: no other machine can answer there. */
  near: boolean;
}

/** The port may have been remapped. Loopback first; unpublished ones on the engine's network, if that is routed to the host. */
export function findAddress(target: CallTarget, portName: string): PortAddress | string {
  const candidates = target.entry.ports.filter(({ name }) => name === portName);
  const port = candidates.find(({ protocol }) => protocol === 'tcp') ?? candidates[0];
  if (!port) return `The catalog entry of ${target.entry.id} does not have a port ${portName}.`;
  if (isForwarded(target.entry)) return { host: '127.0.0.1', port: port.host ?? port.container, near: true };
  const container = target.containers.get(port.service);
  if (container?.state !== 'running') return `The service ${port.service} is not running.`;

  if (container.networkMode === 'host') {
    const { port: number, address = '' } = listeningOf(target.entry, port, container);
    const { host, rank } = reach(address);
    return { host, port: number, near: rank < 4 };
  }
  const published = publishedOn(container, port) ?? throughGateway(target, container, port);
  if (published) return published;

  const [inside] = container.networkAddresses;
  if (inside !== undefined && reachesContainers(target)) return { host: inside, port: port.container, near: true };
  return `Port ${port.container}/${port.protocol} of ${port.service} is not published.`;
}

/** In a cluster, a component has a port here only while it is forwarded, under the number in the catalog (R74). */
export const isForwarded = ({ deploy }: CallTarget['entry']): boolean => deploy === 'cluster';

/** Uses the gateway's ports: the ports of a container in another one's network are published there (R15). */
function throughGateway(target: CallTarget, container: ContainerDetail, port: CatalogPort): PortAddress | undefined {
  if (!/^(?:container|service):/.test(container.networkMode)) return undefined;
  for (const other of [...target.containers.values(), ...(target.gateways ?? [])]) {
    const found = other === container || other.state !== 'running' ? undefined : publishedOn(other, port);
    if (found) return found;
  }
  return undefined;
}

function publishedOn({ ports }: ContainerDetail, port: CatalogPort): PortAddress | undefined {
  const [found] = publishedFor(port, ports)
    .map(({ address = '', hostPort }) => ({ ...reach(address), port: hostPort }))
    .sort((a, b) => a.rank - b.rank);
  return found && { host: found.host, port: found.port, near: found.rank < 4 };
}

function reach(address: string): { host: string; rank: number } {
  const host = dialledHost(address);
  if (host === '127.0.0.1') return { host, rank: address === host ? 0 : 1 };
  if (host === '::1') return { host, rank: 2 };
  return { host, rank: isLoopback(host) ? 3 : 4 };
}

/** Only a rootful engine on Linux adds its networks to the host's routes. Elsewhere the address may belong to another machine. */
function reachesContainers({ engineFacts }: CallTarget): boolean {
  return engineFacts !== undefined && !engineFacts.rootless && !/desktop|colima|orbstack|rancher/i.test(engineFacts.operatingSystem);
}
