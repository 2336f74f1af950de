import type { ContainerFacts, ContainerHealth, ContainerRunState, PublishedPort } from './engine.ts';

export interface ListedContainer {
  Id: string;
  Names?: string[] | null;
  Image?: string;
  ImageID?: string;
  Created?: number;
  Ports?: { IP?: string; PrivatePort: number; PublicPort?: number; Type?: string }[] | null;
  Labels?: Record<string, string> | null;
  State?: string;
  Status?: string;
  /** From API 1.52. */
  Health?: { Status?: string } | null;
  HostConfig?: { NetworkMode?: string } | null;
  NetworkSettings?: { Networks?: Record<string, NetworkEndpoint | null> | null } | null;
}

export interface NetworkEndpoint {
  IPAddress?: string;
  GlobalIPv6Address?: string;
}

export interface LibpodContainer {
  Id: string;
  /** Health, unlike the text in Docker's field of this name. Missing before 4.x. */
  Status?: string;
  /** Ranges stay together: the Docker-compatible list shows only their first port. */
  Ports?: { host_ip?: string; container_port: number; host_port?: number; range?: number; protocol?: string }[] | null;
  /** Its own networks: empty for a container in the network of another one. */
  Networks?: string[] | null;
  /** Unix seconds, far below 0 for never. */
  StartedAt?: number;
}

export const containerStates = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const;

const runStates: Record<string, ContainerRunState> = {
  ...Object.fromEntries(containerStates.map((state) => [state, state])),
  configured: 'created',
  initialized: 'created',
  stopped: 'exited',
  stopping: 'running',
  unknown: 'dead',
};

/** Podman reports `created` for everything that was running when its host went down: `hasRun` tells whether it was ever started. */
export function runStateOf(word: string | undefined, hasRun: boolean): ContainerRunState {
  const state = runStates[(word ?? '').toLowerCase()] ?? 'dead';
  return state === 'created' && hasRun ? 'exited' : state;
}

export function healthOf(word: string | undefined | null): ContainerHealth {
  return word === 'healthy' || word === 'unhealthy' || word === 'starting' ? word : 'none';
}

/** Reads the health that a list has inside the status text: `Up 4 seconds (healthy)`, `(unhealthy)`, `(health: starting)`. */
export function healthInStatus(status: string): ContainerHealth {
  const said = /\((?:health: )?(healthy|unhealthy|starting)\)\s*$/.exec(status)?.[1];
  return healthOf(said);
}

const shortUnits: Readonly<Record<string, string>> = { minute: 'm', hour: 'h', day: 'd', week: 'w', month: 'mo', year: 'y' };

/** Reads `3w` in `Up 3 weeks (healthy)`: engines round it to one unit. Undefined in the first minute. */
export function uptimeInStatus(status: string): string | undefined {
  const [, count, unit = ''] = /^Up (?:(\d+)|About an?) (minute|hour|day|week|month|year)/.exec(status) ?? [];
  return shortUnits[unit] && `${count ?? 1}${shortUnits[unit]}`;
}

export function listedFacts(listed: ListedContainer, libpod: LibpodContainer | undefined): ContainerFacts {
  const statusText = listed.Status ?? '';
  const listHealth = listed.Health ? healthOf(listed.Health.Status) : healthInStatus(statusText);
  const state = runStateOf(listed.State, (libpod?.StartedAt ?? 0) > 0);
  const endpoints = Object.values(listed.NetworkSettings?.Networks ?? {});
  return {
    id: listed.Id,
    name: (listed.Names?.[0] ?? listed.Id.slice(0, 12)).replace(/^\//, ''),
    image: listed.Image ?? listed.ImageID ?? '',
    imageId: fullImageId(listed.ImageID ?? ''),
    createdMs: (listed.Created ?? 0) * 1000,
    state,
    // A stopped container has no health; Podman keeps the last result of its check.
    health: state === 'running' || state === 'paused' ? (libpod?.Status ? healthOf(libpod.Status) : listHealth) : 'none',
    statusText,
    ports: libpod?.Ports ? libpod.Ports.flatMap(libpodPorts) : (listed.Ports ?? []).map(listedPort),
    labels: listed.Labels ?? {},
    networkMode: listed.HostConfig?.NetworkMode ?? '',
    // Podman reports those of the container whose network this one uses.
    networkAddresses: libpod?.Networks?.length === 0 ? [] : addressesOf(endpoints),
  };
}

export function addressesOf(endpoints: readonly (NetworkEndpoint | null | undefined)[]): string[] {
  const addresses = endpoints.flatMap((endpoint) => [endpoint?.IPAddress, endpoint?.GlobalIPv6Address]);
  // Copied: a list that grew keeps space for 17 items.
  return addresses.filter((address): address is string => Boolean(address)).slice();
}

/** Podman omits `sha256:` in some responses. */
export const fullImageId = (id: string): string => (/^[0-9a-f]{64}$/.test(id) ? `sha256:${id}` : id);

function listedPort({ IP, PrivatePort, PublicPort, Type }: NonNullable<ListedContainer['Ports']>[number]): PublishedPort {
  // Podman sends no address for a wildcard bind.
  const address = PublicPort === undefined ? undefined : IP || '0.0.0.0';
  return { address, hostPort: PublicPort, containerPort: PrivatePort, protocol: protocolOf(Type) };
}

function libpodPorts({
  host_ip,
  container_port,
  host_port,
  range = 1,
  protocol = 'tcp',
}: NonNullable<LibpodContainer['Ports']>[number]): PublishedPort[] {
  const ports: PublishedPort[] = [];
  for (const name of protocol.split(',')) {
    for (let step = 0; step < Math.min(Math.max(range, 1), 65_536); step++) {
      ports.push({
        address: host_port ? host_ip || '0.0.0.0' : undefined,
        hostPort: host_port ? host_port + step : undefined,
        containerPort: container_port + step,
        protocol: protocolOf(name),
      });
    }
  }
  return ports;
}

export function protocolOf(name: string | undefined): PublishedPort['protocol'] {
  return name === 'udp' || name === 'sctp' ? name : 'tcp';
}
