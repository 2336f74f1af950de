import type { Container, PortBinding } from './container.ts';
import { humanDuration, momentText } from './durations.ts';
import type { Machine } from './machine.ts';

/** `Up 4 seconds (healthy)`, as Docker words it. */
export function statusText({ state: { status, exitCode, finishedMs, startedMs, health } }: Container): string {
  const since = (ms: number | undefined) => humanDuration(Date.now() - (ms ?? Date.now()));
  if (status === 'created') return 'Created';
  if (status === 'restarting') return `Restarting (${exitCode}) ${since(finishedMs)} ago`;
  if (status === 'exited') return `Exited (${exitCode}) ${since(finishedMs)} ago`;
  const up = `Up ${since(startedMs)}`;
  if (status === 'paused') return `${up} (Paused)`;
  return health === undefined ? up : `${up} (${health === 'starting' ? 'health: starting' : health})`;
}

export function listedContainer(container: Container, machine: Machine): object {
  const { spec, state } = container;
  return {
    Id: container.id,
    Names: [`/${container.name}`],
    // A tag that has moved on, or is gone, leaves the id.
    Image: machine.images.find(spec.image)?.id === spec.imageId ? spec.image : spec.imageId,
    ImageID: spec.imageId,
    Command: container.argv.map((word, index) => (index > 0 && /[\s;'"$]/.test(word) ? `'${word}'` : word)).join(' '),
    Created: Math.floor(container.createdMs / 1000),
    Ports: listedPorts(container),
    Labels: spec.labels,
    State: state.status,
    Status: statusText(container),
    HostConfig: { NetworkMode: spec.networkMode },
    Health: { Status: (container.isUp && state.health) || 'none', FailingStreak: state.failingStreak },
    NetworkSettings: { Networks: networksJson(container, machine) },
    Mounts: mountsJson(container),
  };
}

/** An empty address is every address, of both families. */
const addressesOf = ({ hostIp }: PortBinding): string[] => (hostIp === '' ? ['0.0.0.0', '::'] : [hostIp]);

function listedPorts(container: Container): object[] {
  if (!container.isUp || container.networkOwner !== undefined) return [];
  return container.spec.ports.flatMap((port): object[] => {
    const { containerPort: PrivatePort, protocol: Type } = port;
    const PublicPort = boundTo(container, port);
    if (PublicPort === undefined) return [{ PrivatePort, Type }];
    return container.spec.networkMode === 'host' ? [] : addressesOf(port).map((IP) => ({ IP, PrivatePort, PublicPort, Type }));
  });
}

function boundTo({ bound }: Container, { containerPort, protocol, hostIp }: PortBinding): number | undefined {
  return bound.find((port) => port.containerPort === containerPort && port.protocol === protocol && port.hostIp === hostIp)?.hostPort;
}

function networksJson({ spec, isUp, networkAddress }: Container, machine: Machine): object {
  const names = spec.networkMode === 'host' || spec.networkMode === 'none' ? [spec.networkMode] : spec.networks;
  const endpoint = (name: string) => ({ NetworkID: machine.networks.get(name)?.id ?? '', IPAddress: isUp ? networkAddress : '' });
  return Object.fromEntries(names.map((name) => [name, endpoint(name)]));
}

function mountsJson({ spec }: Container): object[] {
  return spec.mounts.map(({ type, name, source, target, readOnly }) => ({
    Type: type,
    ...(name !== undefined && { Name: name, Driver: 'local' }),
    Source: source,
    Destination: target,
    Mode: readOnly ? 'ro' : 'rw',
    RW: !readOnly,
  }));
}

export function inspectedContainer(container: Container, machine: Machine): object {
  const { spec, state } = container;
  const [path = '', ...args] = container.argv;
  const keyed = <Value>(ports: readonly PortBinding[], value: (port: PortBinding) => Value) =>
    Object.fromEntries((container.hasNetwork ? ports : []).map((port) => [`${port.containerPort}/${port.protocol}`, value(port)]));
  return {
    Id: container.id,
    Created: momentText(container.createdMs, 123_456),
    Path: path,
    Args: args,
    State: {
      Status: state.status,
      Running: container.isUp || state.status === 'restarting',
      Paused: state.status === 'paused',
      Restarting: state.status === 'restarting',
      OOMKilled: false,
      Pid: state.pid,
      ExitCode: state.exitCode,
      Error: state.error,
      StartedAt: momentText(state.startedMs, 204_117),
      FinishedAt: momentText(state.finishedMs, 881_203),
      ...(state.health !== undefined && {
        Health: { Status: container.isUp ? state.health : 'unhealthy', FailingStreak: state.failingStreak, Log: healthLog(container) },
      }),
    },
    Image: spec.imageId,
    Name: `/${container.name}`,
    RestartCount: container.restartCount,
    Driver: 'overlay2',
    HostConfig: {
      LogConfig: { Type: spec.logDriver, Config: {} },
      NetworkMode: spec.networkMode,
      PortBindings: keyed(
        spec.ports.filter(({ hostPort }) => hostPort !== undefined),
        ({ hostIp, hostPort }) => [{ HostIp: hostIp, HostPort: hostPort ? String(hostPort) : '' }],
      ),
      RestartPolicy: { Name: spec.restartPolicy.name, MaximumRetryCount: spec.restartPolicy.maximum },
      Memory: spec.memoryLimitBytes,
      Devices: spec.devices.map((device) => {
        const [host = device, inside = host] = device.split(':');
        return { PathOnHost: host, PathInContainer: inside, CgroupPermissions: 'rwm' };
      }),
    },
    Mounts: mountsJson(container),
    Config: {
      Hostname: container.hostname,
      ExposedPorts: Object.fromEntries(spec.ports.map(({ containerPort, protocol }) => [`${containerPort}/${protocol}`, {}])),
      Tty: spec.tty,
      Env: Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
      Cmd: spec.command,
      ...(spec.healthcheck && { Healthcheck: { Test: spec.healthcheck.test, Interval: spec.healthcheck.intervalMs * 1e6 } }),
      Image: spec.image,
      Entrypoint: spec.entrypoint.length === 0 ? null : spec.entrypoint,
      Labels: spec.labels,
    },
    NetworkSettings: {
      Ports: keyed(container.isUp ? spec.ports : [], (port) => {
        const bound = boundTo(container, port);
        return bound === undefined ? null : addressesOf(port).map((HostIp) => ({ HostIp, HostPort: String(bound) }));
      }),
      Networks: networksJson(container, machine),
    },
  };
}

/** The last check, when it was due: no timer runs for it. */
function healthLog({ spec, state }: Container): object[] {
  const intervalMs = spec.healthcheck?.intervalMs ?? 30_000;
  const startedMs = state.startedMs ?? Date.now();
  const checks = Math.floor((Date.now() - startedMs) / intervalMs);
  if (checks === 0) return [];
  const [Start, End] = [0, 61].map((ms) => momentText(startedMs + checks * intervalMs + ms, 412_001));
  return [{ Start, End, ExitCode: state.health === 'healthy' ? 0 : 1, Output: state.healthOutput }];
}
