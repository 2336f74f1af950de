import type { ContainerFacts, ContainerHealth, ContainerRunState, PublishedPort } from './engine.ts';

/** One entry of `GET /containers/json`, Docker's and Podman's. */
export interface ListedContainer {
  Id: string;
  Names?: string[] | null;
  Image?: string;
  ImageID?: string;
  Command?: string;
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

/** One entry of Podman's own `GET /libpod/containers/json`. */
export interface LibpodContainer {
  Id: string;
  /** Health, not the text that Docker calls so. Missing before 4.x. */
  Status?: string;
  /** Ranges stay together: the Docker-compatible list tells their first port alone. */
  Ports?: { host_ip?: string; container_port: number; host_port?: number; range?: number; protocol?: string }[] | null;
  /** Of its own: empty for one in the network of another container. */
  Networks?: string[] | null;
  /** Unix seconds, far below 0 for never. */
  StartedAt?: number;
}

const runStates: Record<string, ContainerRunState> = {
  created: 'created',
  running: 'running',
  paused: 'paused',
  restarting: 'restarting',
  removing: 'removing',
  exited: 'exited',
  dead: 'dead',
  // Podman's further words.
  configured: 'created',
  initialized: 'created',
  stopped: 'exited',
  stopping: 'running',
  unknown: 'dead',
};

/** @param hasRun whether it was ever started: Podman says `created` of all that was running when its host went down */
export function runStateOf(word: string | undefined, hasRun: boolean): ContainerRunState {
  const state = runStates[(word ?? '').toLowerCase()] ?? 'dead';
  return state === 'created' && hasRun ? 'exited' : state;
}

export function healthOf(word: string | undefined | null): ContainerHealth {
  return word === 'healthy' || word === 'unhealthy' || word === 'starting' ? word : 'none';
}

/** A list tells health inside the status text: `Up 4 seconds (healthy)`, `(unhealthy)`, `(health: starting)`. */
export function healthInStatus(status: string): ContainerHealth {
  const said = /\((?:health: )?(healthy|unhealthy|starting)\)\s*$/.exec(status)?.[1];
  return healthOf(said);
}

/** `images` are the names of a container's images by id, for lists that show an id where a tag has moved on. */
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
    command: listed.Command ?? '',
    createdMs: (listed.Created ?? 0) * 1000,
    state,
    // A container that does not run has no health; Podman keeps the last word of its check.
    health: state === 'running' || state === 'paused' ? (libpod?.Status ? healthOf(libpod.Status) : listHealth) : 'none',
    statusText,
    ports: libpod?.Ports ? libpod.Ports.flatMap(libpodPorts) : (listed.Ports ?? []).map(listedPort),
    labels: listed.Labels ?? {},
    networkMode: listed.HostConfig?.NetworkMode ?? '',
    // Podman tells those of the container in whose network this one is.
    networkAddresses: libpod?.Networks?.length === 0 ? [] : addressesOf(endpoints),
  };
}

export function addressesOf(endpoints: readonly (NetworkEndpoint | null | undefined)[]): string[] {
  return endpoints
    .flatMap((endpoint) => [endpoint?.IPAddress, endpoint?.GlobalIPv6Address])
    .filter((address): address is string => Boolean(address));
}

/** `sha256:` before every id: Podman leaves it out here and there. */
export function fullImageId(id: string): string {
  return /^[0-9a-f]{64}$/.test(id) ? `sha256:${id}` : id;
}

function listedPort({ IP, PrivatePort, PublicPort, Type }: NonNullable<ListedContainer['Ports']>[number]): PublishedPort {
  // Podman gives no address where it means every one.
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
