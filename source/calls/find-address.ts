import type { CatalogPort } from '../catalog/catalog.ts';
import { listeningOf } from '../catalog/listening-port.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import type { CallTarget } from './call.ts';

/** Where a port of a component can be reached from the machine it runs on. */
export interface PortAddress {
  host: string;
  port: number;
  /** On loopback, or inside the engine's own network: nobody else can answer there. */
  near: boolean;
}

/**
 * The address that a port of the catalog has in this deployment, which may have been remapped. A sentence when there is none.
 * Loopback first; a port that is not published is reached on the engine's network where that is routed to the host.
 */
export function findAddress(target: CallTarget, portName: string): PortAddress | string {
  const candidates = target.entry.ports.filter(({ name }) => name === portName);
  const port = candidates.find(({ protocol }) => protocol === 'tcp') ?? candidates[0];
  if (!port) return `The catalog knows no port ${portName} of ${target.entry.id}.`;
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

/** What runs in a cluster has a port here only while one is forwarded to it, under the number that the catalog gives it (R74). */
export function isForwarded({ deploy }: CallTarget['entry']): boolean {
  return deploy === 'cluster';
}

/** A container in another one's network has its ports published there (R15). */
function throughGateway(target: CallTarget, container: ContainerDetail, port: CatalogPort): PortAddress | undefined {
  if (!/^(?:container|service):/.test(container.networkMode)) return undefined;
  for (const other of [...target.containers.values(), ...(target.gateways ?? [])]) {
    const found = other === container || other.state !== 'running' ? undefined : publishedOn(other, port);
    if (found) return found;
  }
  return undefined;
}

function publishedOn({ ports }: ContainerDetail, port: CatalogPort): PortAddress | undefined {
  const found = ports
    .filter(
      ({ containerPort, protocol, hostPort }) =>
        containerPort === port.container && protocol === port.protocol && hostPort !== undefined && hostPort > 0,
    )
    .map(({ address = '', hostPort = 0 }) => ({ ...reach(address), port: hostPort }))
    .sort((a, b) => a.rank - b.rank)[0];
  return found && { host: found.host, port: found.port, near: found.rank < 4 };
}

/** Lower ranks are tried first. */
function reach(address: string): { host: string; rank: number } {
  if (address === '127.0.0.1') return { host: address, rank: 0 };
  if (address === '0.0.0.0' || address === '') return { host: '127.0.0.1', rank: 1 };
  if (address === '::1' || address === '::') return { host: '::1', rank: 2 };
  if (address.startsWith('127.')) return { host: address, rank: 3 };
  return { host: address, rank: 4 };
}

/**
 * Only a rootful engine on Linux puts its networks into the host's routes. Elsewhere the same address may belong to somebody else, so
 * nothing is sent there.
 */
function reachesContainers({ engineFacts }: CallTarget): boolean {
  return engineFacts !== undefined && !engineFacts.rootless && !/desktop|colima|orbstack|rancher/i.test(engineFacts.operatingSystem);
}
