import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import { addressesOverlap } from '../fleet/ports.ts';
import type { Listener } from '../hosts/host.ts';
import { hostPortOf } from './base-url.ts';
import type { Deployment, PlannedPort } from './model.ts';

/** Somebody who has a port of the host, or would have it. */
export interface PortUse {
  /** Component, container or program, for a sentence. */
  owner: string;
  component?: string;
  address: string;
  port: number;
  protocol: 'tcp' | 'udp';
  /** Listens in the host's own network: on every address, and no engine can move it. */
  hostNetwork?: boolean;
  /** Its protocol fixes it: of several components that have it so, one is chosen. */
  fixed?: boolean;
}

export interface PortConflict {
  port: PlannedPort;
  users: readonly PortUse[];
  /** A free port of loopback to take instead; undefined for one that its protocol fixes. */
  proposal: number | undefined;
  /** One sentence. */
  advice: string;
}

type Place = Pick<PortUse, 'address' | 'port' | 'protocol' | 'hostNetwork'>;

/** R88: the same protocol and number, on addresses that overlap. */
export function overlaps(one: Place, other: Place): boolean {
  if (one.port !== other.port || one.protocol !== other.protocol) return false;
  return one.hostNetwork === true || other.hostNetwork === true || addressesOverlap(one.address, other.address);
}

/** Ports of a component with these values. Its own container's published ports are left to whoever knows the containers. */
export function usesOfComponent(entry: CatalogEntry, values: Readonly<Record<string, string>>): PortUse[] {
  return entry.ports.flatMap((port): PortUse[] => {
    const number = hostPortOf(port, values);
    if (number === undefined) return [];
    const onHost = port.exposure === 'host-network' || entry.services.find(({ name }) => name === port.service)?.networkMode === 'host';
    const bind = values[portVariable(port.name).replace(/PORT$/, 'BIND')];
    const address = bind || (port.exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0');
    return [
      {
        ...{ owner: entry.id, component: entry.id, address, port: number, protocol: port.protocol },
        ...(onHost && { hostNetwork: true }),
        ...(port.fixed && { fixed: true }),
      },
    ];
  });
}

/** Of what stands in the stack already, running or not. */
export function usesOfDeployments(deployments: readonly Deployment[], catalog: Catalog): PortUse[] {
  return deployments.flatMap(({ component, env }) => {
    const entry = catalog.get(component);
    return entry ? usesOfComponent(entry, env) : [];
  });
}

const reserved = new WeakMap<Catalog, readonly PortUse[]>();

/** Of everything that could be deployed: what a proposal keeps away from. */
export function usesOfCatalog(catalog: Catalog): readonly PortUse[] {
  const known = reserved.get(catalog) ?? catalog.entries.flatMap((entry) => usesOfComponent(entry, {}));
  reserved.set(catalog, known);
  return known;
}

/** Sockets of the host. `own` are the ports that the component publishes now: to find those taken is no conflict. */
export function usesOfListeners(listeners: readonly Listener[], own: readonly Place[]): PortUse[] {
  return listeners
    .filter((listener) => !own.some((port) => overlaps(port, listener)))
    .map(({ address, port, protocol, process }) => ({ owner: process?.name ?? 'another program', address, port, protocol }));
}

/**
 * What keeps these ports from being opened (R88). `taken` is in use or promised; `reserved` (the catalog's own numbers) only keeps proposals away, so that
 * moving one component does not get into the way of the next.
 */
export function portConflicts(
  ports: readonly (PlannedPort & { hostNetwork?: boolean })[],
  taken: readonly PortUse[],
  reserved: readonly PortUse[] = [],
): PortConflict[] {
  const promised: PortUse[] = [];
  return ports.flatMap((port): PortConflict[] => {
    const place: Place = {
      address: port.address,
      port: port.host,
      protocol: port.protocol,
      ...(port.hostNetwork && { hostNetwork: true }),
    };
    const users = taken.filter((use) => overlaps(place, use));
    if (users.length === 0) return [];
    const names = [...new Set(users.map(({ owner }) => owner))];
    const owners = names.join(' and ');
    const several = names.length > 1;
    if (port.fixed) {
      // port-conflicts.md: servers of one protocol stand for each other.
      const isChoice = users.every(({ fixed }) => fixed);
      const advice = isChoice
        ? `${owners} ${several ? 'do' : 'does'} the same here: choose one of them, or bind one to an address of its own. Clients look for this port, so it cannot move.`
        : `Stop ${owners} or bind one of them to an address of its own: clients look for this port there, so it cannot move.`;
      return [{ port, users, proposal: undefined, advice }];
    }
    const proposal = freePort(port.host, (number) =>
      [...taken, ...reserved, ...promised].some((use) => overlaps({ ...place, address: '127.0.0.1', port: number }, use)),
    );
    if (proposal === undefined) return [{ port, users, proposal, advice: `Stop ${owners}, or choose a port by hand.` }];
    promised.push({ owner: '', address: '127.0.0.1', port: proposal, protocol: port.protocol });
    // port-conflicts.md: a tunnel can move, but every configuration that was handed out names the port.
    const told = /^(?:127\.|::1$)/.test(port.address) ? '' : ' Whoever connects from elsewhere has to be told the new one.';
    return [{ port, users, proposal, advice: `Move it to ${proposal}; ${owners} ${several ? 'keep' : 'keeps'} ${port.host}.${told}` }];
  });
}

/**
 * The port to move to: the same number 10000 or 20000 higher, then others with the same last three digits; always between 10000 and 32767, below what
 * systems give out by themselves (port-conflicts.md).
 */
export function freePort(port: number, isTaken: (port: number) => boolean): number | undefined {
  const candidates = [port + 10_000, port + 20_000];
  for (let thousands = 11; thousands <= 32; thousands++) candidates.push(thousands * 1000 + (port % 1000));
  return candidates.find((candidate) => candidate >= 10_000 && candidate <= 32_767 && !isTaken(candidate));
}

/**
 * Fields of other components that name a port of this one on the host (R89): what they have to say after it has moved. Those that reach it by its name on a
 * shared network name the container's port, which never moves.
 */
export function carriedInto(
  from: number,
  to: number,
  others: readonly Deployment[],
): { component: string; variable: string; before: string; value: string }[] {
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
