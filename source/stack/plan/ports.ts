import type { Catalog, CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import { portVariable } from '../../catalog/port-mapping.ts';
import { addressesOverlap } from '../../fleet/ports.ts';
import type { Listener } from '../../hosts/host.ts';
import { isLoopback } from '../../text/loopback.ts';
import type { Answers, Deployment, PlannedPort, Values } from '../model.ts';

export interface PortUse {
  /** Component, container or program, for a sentence. */
  owner: string;
  component?: string;
  address: string;
  port: number;
  protocol: 'tcp' | 'udp';
  /** Uses the host's own network: it listens on every address, and no engine can move it. */
  hostNetwork?: boolean;
  /** Fixed by its protocol: of several components with such a port, only one can be chosen. */
  fixed?: boolean;
}

export interface PortConflict {
  port: PlannedPort;
  users: readonly PortUse[];
  /** A port that is free on the same address; undefined for a port that its protocol fixes. */
  proposal: number | undefined;
  advice: string;
}

type Opening = Pick<PortUse, 'address' | 'port' | 'protocol' | 'hostNetwork'>;

/** R88: the same protocol and number, on addresses that overlap. */
export function overlaps(one: Opening, other: Opening): boolean {
  if (one.port !== other.port || one.protocol !== other.protocol) return false;
  return one.hostNetwork === true || other.hostNetwork === true || addressesOverlap(one.address, other.address);
}

export function usesOfComponent(entry: CatalogEntry, values: Values): PortUse[] {
  const onHost = (name: string, service: string) =>
    entry.ports.find((port) => port.name === name)?.exposure === 'host-network' ||
    entry.services.find((one) => one.name === service)?.networkMode === 'host';
  return publishedBy(entry, values).map(({ name = '', service, address, host, protocol, fixed }) => {
    return { owner: entry.id, component: entry.id, address, port: host, protocol, hostNetwork: onHost(name, service), fixed };
  });
}

export function usesOfDeployments(deployments: readonly Deployment[], catalog: Catalog): PortUse[] {
  return deployments.flatMap(({ component, env }) => {
    const entry = catalog.get(component);
    return entry ? usesOfComponent(entry, env) : [];
  });
}

export const usesOfCatalog = (catalog: Catalog): readonly PortUse[] => catalog.entries.flatMap((entry) => usesOfComponent(entry, {}));

/** Returns the ports of host sockets. `own` are the ports that the component publishes now: those are not conflicts. */
export function usesOfListeners(listeners: readonly Listener[], own: readonly Opening[]): PortUse[] {
  return listeners
    .filter((listener) => !own.some((port) => overlaps(port, listener)))
    .map(({ address, port, protocol, process }) => ({ owner: process?.name ?? 'another program', address, port, protocol }));
}

/**
 * Returns the conflicts that prevent these ports from being opened (R88). `taken` is in use or planned; `reserved` (the catalog's own
 * numbers) is only avoided in proposals, so that moving one component does not block the next.
 */
export function portConflicts(
  ports: readonly (PlannedPort & { hostNetwork?: boolean })[],
  taken: readonly PortUse[],
  reserved: readonly PortUse[] = [],
): PortConflict[] {
  const promised: PortUse[] = [];
  return ports.flatMap((port): PortConflict[] => {
    const { address, host, protocol, hostNetwork = false } = port;
    const opening: Opening = { address, port: host, protocol, hostNetwork };
    const users = taken.filter((use) => overlaps(opening, use));
    if (users.length === 0) return [];
    const names = [...new Set(users.map(({ owner }) => owner))];
    const owners = names.join(' and ');
    const several = names.length > 1;
    if (port.fixed) {
      // port-conflicts.md: servers of one protocol replace each other.
      const advice = users.every(({ fixed }) => fixed)
        ? `${owners} ${several ? 'serve' : 'serves'} the same purpose. Use only one of these components, or bind one to a separate address. Clients expect this port, so it cannot be changed.`
        : `Stop or remove ${owners}, or bind one of the components to a separate address. Clients expect this port, so it cannot be changed.`;
      return [{ port, users, proposal: undefined, advice }];
    }
    const proposal = freePort(port.host, (number) =>
      [...taken, ...reserved, ...promised].some((use) => overlaps({ ...opening, port: number }, use)),
    );
    if (proposal === undefined) return [{ port, users, proposal, advice: `Stop or remove ${owners}, or choose another port.` }];
    promised.push({ ...opening, owner: '', port: proposal });
    // port-conflicts.md: a tunnel can move, but every distributed configuration contains the port.
    const reported = isLoopback(port.address) ? '' : ' Update clients on other machines to use the new port.';
    return [
      { port, users, proposal, advice: `Use port ${proposal} instead; ${owners} ${several ? 'keep' : 'keeps'} ${port.host}.${reported}` },
    ];
  });
}

/** First 10000 or 20000 higher, always below the ephemeral range of systems (port-conflicts.md). */
export function freePort(port: number, isTaken: (port: number) => boolean): number | undefined {
  const others = Array.from({ length: 22 }, (_, index) => (11 + index) * 1000 + (port % 1000));
  return [port + 10_000, port + 20_000, ...others].find((candidate) => candidate >= 10_000 && candidate <= 32_767 && !isTaken(candidate));
}

/**
 * Returns fields of other components that contain a host port of this one (R89), with their values after it has moved. Components that
 * connect by name on a shared network use the container's port, which never moves.
 */
export function carriedInto(from: number, to: number, others: readonly Deployment[]) {
  const named = new RegExp(
    `(?<![\\w.-])((?:localhost|127\\.0\\.0\\.1|\\[::1\\]|host\\.containers\\.internal|host-gateway|host\\.docker\\.internal):)${from}(?!\\d)`,
    'g',
  );
  return others.flatMap(({ component, env }) =>
    Object.entries(env).flatMap(([variable, before]) => {
      const value = before.replaceAll(named, `$1${to}`);
      return value === before ? [] : [{ component, variable, before, value }];
    }),
  );
}

/** Returns the port that users open, and that the component's site forwards to. */
export function frontPort(entry: CatalogEntry): CatalogPort | undefined {
  return (
    entry.ports.find(({ name }) => name === entry.site?.port) ??
    entry.ports.find(({ web }) => web) ??
    entry.ports.find(({ protocol, exposure }) => protocol === 'tcp' && exposure === 'loopback')
  );
}

export const bindVariable = (name: string): string => portVariable(name).replace(/PORT$/, 'BIND');

export function hostPortOf(port: CatalogPort, values: Values): number | undefined {
  const set = Number(values[portVariable(port.name)]);
  return Number.isInteger(set) && set > 0 ? set : port.host;
}

export function publishedBy(entry: CatalogEntry, values: Values): PlannedPort[] {
  return entry.ports.flatMap((port): PlannedPort[] => {
    const { service, name, container, protocol, fixed } = port;
    const host = hostPortOf(port, values);
    const address = values[bindVariable(name)] || (port.exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0');
    return host === undefined ? [] : [{ service, name, address, host, container, protocol, fixed }];
  });
}

export function isSamePort(port: CatalogPort, { name, service, container, protocol }: PlannedPort): boolean {
  if (name !== undefined) return name === port.name;
  return service === port.service && container === port.container && protocol === port.protocol;
}

/** Returns the public URL: its site over HTTPS, or its port on this machine (R2, R31). */
export function baseUrlOf(entry: CatalogEntry, { values, site }: Pick<Answers, 'values' | 'site'>): string | undefined {
  if (site !== '') return `https://${site}`;
  const front = frontPort(entry);
  const port = front && hostPortOf(front, values);
  return port === undefined ? undefined : `${front?.tls ? 'https' : 'http'}://localhost:${port}`;
}
