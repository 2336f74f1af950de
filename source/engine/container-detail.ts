import { plainWords } from '../text/program-words.ts';
import { addressesOf, fullImageId, healthOf, type NetworkEndpoint, protocolOf, runStateOf } from './container-facts.ts';
import type { ContainerDetail, PublishedPort } from './engine.ts';

type PortBindings = Record<string, { HostIp?: string; HostPort?: string }[] | null> | null;

/** Times are in nanoseconds; 0 or a missing value means the engine's default. */
interface HealthCheck {
  Test?: string[] | null;
  Interval?: number;
  Timeout?: number;
  Retries?: number;
  StartPeriod?: number;
}

const defaultCheck = { intervalNs: 30e9, timeoutNs: 30e9, retries: 3 };

/** The fields used from `GET /containers/{id}/json`, Docker's and Podman's. */
export interface InspectedContainer {
  Id: string;
  Name?: string;
  Created?: string;
  Path?: string;
  Args?: string[] | null;
  Image?: string;
  RestartCount?: number;
  State?: {
    Status?: string;
    ExitCode?: number;
    OOMKilled?: boolean;
    Error?: string;
    StartedAt?: string;
    FinishedAt?: string;
    Health?: { Status?: string; Log?: { Output?: string }[] | null } | null;
  };
  Config?: {
    Image?: string;
    Tty?: boolean;
    ExposedPorts?: Record<string, unknown> | null;
    Env?: string[] | null;
    Labels?: Record<string, string> | null;
    Healthcheck?: HealthCheck | null;
    /** Docker reports it if it differs from its default of 10. */
    StopTimeout?: number | null;
  } | null;
  HostConfig?: {
    NetworkMode?: string;
    RestartPolicy?: { Name?: string } | null;
    Devices?: { PathOnHost?: string }[] | null;
    Runtime?: string;
    DeviceRequests?: { Driver?: string; Capabilities?: string[][] | null }[] | null;
    PortBindings?: PortBindings;
  } | null;
  NetworkSettings?: { Ports?: PortBindings; Networks?: Record<string, NetworkEndpoint | null> | null } | null;
  Mounts?: { Type?: string; Name?: string; Source?: string; Destination?: string; RW?: boolean }[] | null;
}

export interface LibpodInspected {
  State?: { StoppedByUser?: boolean };
  /** Seconds. */
  Config?: { StopTimeout?: number };
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each field has its own default for what an engine leaves out
export function inspectedDetail(raw: InspectedContainer, libpod: LibpodInspected | undefined): ContainerDetail {
  const { State: state = {}, Config: config, HostConfig: host, NetworkSettings: network } = raw;
  const startedMs = momentOf(state.StartedAt);
  const finishedMs = momentOf(state.FinishedAt);
  const runState = runStateOf(state.Status, startedMs !== undefined);
  // Podman reports `created` after its host went down: no exit code was recorded, or that of an earlier run.
  const isReset = runState === 'exited' && runStateOf(state.Status, false) === 'created';
  const isEndLost = isReset && (finishedMs === undefined || finishedMs < (startedMs ?? 0));
  const running = runState === 'running' || runState === 'paused';
  const error = plainWords(state.Error ?? '');
  const endpoints = Object.entries(network?.Networks ?? {}).map(([name, one]) => ({ network: name, addresses: addressesOf([one]) }));
  const argv = [raw.Path ?? '', ...(raw.Args ?? [])].filter((word, index) => index > 0 || word !== '');
  return {
    id: raw.Id,
    name: (raw.Name ?? raw.Id.slice(0, 12)).replace(/^\//, ''),
    image: config?.Image || raw.Image || '',
    imageId: fullImageId(raw.Image ?? ''),
    createdMs: momentOf(raw.Created) ?? 0,
    state: runState,
    health: running ? healthOf(state.Health?.Status) : 'none',
    statusText: '',
    // Configured ports stay while the container is stopped; bound ports are reported only while it runs.
    ports: host?.NetworkMode?.startsWith('container:') ? [] : portsOf(running ? network?.Ports : host?.PortBindings),
    labels: config?.Labels ?? {},
    networkMode: host?.NetworkMode ?? '',
    networkAddresses: endpoints.length === 1 && endpoints[0] ? endpoints[0].addresses : endpoints.flatMap(({ addresses }) => addresses),
    // Docker reports 0 for a container that never ended; for one that could not be started it reports the reason, and 127 or similar.
    exitCode: running || isEndLost || runState === 'removing' || (runState === 'created' && !error) ? undefined : state.ExitCode,
    startedMs,
    finishedMs,
    restartCount: raw.RestartCount ?? 0,
    restartPolicy: restartPolicyOf(host?.RestartPolicy?.Name),
    outOfMemory: state.OOMKilled === true,
    error,
    verdictWithinMs: verdictWithin(config?.Healthcheck),
    stopTimeoutSeconds: config?.StopTimeout ?? undefined,
    stoppedByUser: libpod?.State?.StoppedByUser,
    tty: config?.Tty === true,
    env: (config?.Env ?? []).map(splitVariable),
    mounts: (raw.Mounts ?? []).map((mount) => ({
      kind: mount.Type ?? 'bind',
      source: (mount.Type === 'volume' && mount.Name) || mount.Source || '',
      target: mount.Destination ?? '',
      readOnly: mount.RW === false,
    })),
    devices: [
      ...(host?.Runtime === 'nvidia' ? ['nvidia'] : []),
      ...(host?.Devices ?? []).flatMap((device) => device.PathOnHost ?? []),
      ...(host?.DeviceRequests ?? []).map(({ Driver, Capabilities }) => Driver || Capabilities?.flat().join(',') || 'device'),
    ],
    healthOutputs: (state.Health?.Log ?? []).map(({ Output }) => Output ?? ''),
    argv,
    networks: endpoints.map(({ network: name }) => name),
    exposed: exposedBy(config?.ExposedPorts),
    endpoints,
    raw,
  };
}

function verdictWithin(check: HealthCheck | null | undefined): number | undefined {
  if (!check?.Test?.length || check.Test[0] === 'NONE') return undefined;
  const { Interval, Timeout, Retries, StartPeriod = 0 } = check;
  const eachNs = (Interval || defaultCheck.intervalNs) + (Timeout || defaultCheck.timeoutNs);
  return (StartPeriod + (Retries || defaultCheck.retries) * eachNs) / 1e6;
}

/** Both engines write `0001-01-01T00:00:00Z` for never. */
export function momentOf(text: string | undefined): number | undefined {
  if (!text || text.startsWith('0001-')) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms <= 0 ? undefined : ms;
}

function restartPolicyOf(name: string | undefined): ContainerDetail['restartPolicy'] {
  return name === 'always' || name === 'unless-stopped' || name === 'on-failure' ? name : 'no';
}

function splitVariable(variable: string): readonly [string, string] {
  const at = variable.indexOf('=');
  return at < 0 ? [variable, ''] : [variable.slice(0, at), variable.slice(at + 1)];
}

function exposedBy(ports: Record<string, unknown> | null | undefined): ContainerDetail['exposed'] {
  const named = Object.fromEntries(Object.keys(ports ?? {}).map((key) => [key, null]));
  return portsOf(named).map(({ containerPort, protocol }) => ({ containerPort, protocol }));
}

function portsOf(bindings: PortBindings | undefined): PublishedPort[] {
  return Object.entries(bindings ?? {}).flatMap(([key, engines]): PublishedPort[] => {
    const [port = '', protocol] = key.split('/');
    const containerPort = Number(port);
    if (!Number.isInteger(containerPort)) return [];
    const exposed = { containerPort, protocol: protocolOf(protocol) };
    if (!engines?.length) return [{ address: undefined, hostPort: undefined, ...exposed }];
    return engines.map(({ HostIp, HostPort }) => ({
      address: HostIp || '0.0.0.0',
      // Empty or 0: the engine picks one at each start.
      hostPort: Number(HostPort) || undefined,
      ...exposed,
    }));
  });
}
