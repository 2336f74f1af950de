import type { Container, PortBinding } from './container.ts';
import { humanDuration, momentText } from './durations.ts';
import type { Machine } from './machine.ts';

/** `Up 4 seconds (healthy)`, as Docker words it. */
export function statusText({ state }: Container, nowMs: number): string {
  switch (state.status) {
    case 'created':
      return 'Created';
    case 'removing':
      return 'Removal In Progress';
    case 'dead':
      return 'Dead';
    case 'restarting':
      return `Restarting (${state.exitCode}) ${humanDuration(nowMs - (state.finishedMs ?? nowMs))} ago`;
    case 'exited':
      return `Exited (${state.exitCode}) ${humanDuration(nowMs - (state.finishedMs ?? nowMs))} ago`;
    case 'running':
    case 'paused': {
      const up = `Up ${humanDuration(nowMs - (state.startedMs ?? nowMs))}`;
      if (state.status === 'paused') return `${up} (Paused)`;
      return state.health === undefined ? up : `${up} (${state.health === 'starting' ? 'health: starting' : state.health})`;
    }
  }
}

export function listedContainer(container: Container, machine: Machine, minor: number): object {
  const { spec, state } = container;
  return {
    Id: container.id,
    Names: [`/${container.name}`],
    // A tag that has moved on, or is gone, leaves the id.
    Image: machine.images.find(spec.image)?.id === spec.imageId ? spec.image : spec.imageId,
    ImageID: spec.imageId,
    Command: commandText(container.argv),
    Created: Math.floor(container.createdMs / 1000),
    Ports: listedPorts(container),
    Labels: spec.labels,
    State: state.status,
    Status: statusText(container, machine.now()),
    HostConfig: { NetworkMode: spec.networkMode },
    ...(minor >= 52 && { Health: { Status: state.health && container.isUp ? state.health : 'none', FailingStreak: state.failingStreak } }),
    NetworkSettings: { Networks: networksJson(container, machine) },
    Mounts: mountsJson(container),
  };
}

function commandText(argv: readonly string[]): string {
  return argv.map((word, index) => (index > 0 && /[\s;'"$]/.test(word) ? `'${word}'` : word)).join(' ');
}

function listedPorts(container: Container): object[] {
  if (!container.isUp || container.networkOwner !== undefined) return [];
  return container.spec.ports.flatMap((port): object[] => {
    const { containerPort: PrivatePort, protocol: Type, hostIp } = port;
    const bound = boundTo(container, port);
    if (bound === undefined) return [{ PrivatePort, Type }];
    if (container.spec.networkMode === 'host') return [];
    return (hostIp === '' ? ['0.0.0.0', '::'] : [hostIp]).map((IP) => ({ IP, PrivatePort, PublicPort: bound, Type }));
  });
}

function boundTo(container: Container, port: PortBinding): number | undefined {
  return container.bound.find(
    (one) => one.containerPort === port.containerPort && one.protocol === port.protocol && one.hostIp === port.hostIp,
  )?.hostPort;
}

function networksJson(container: Container, machine: Machine): object {
  const { networkMode, networks } = container.spec;
  const names = networkMode === 'host' || networkMode === 'none' ? [networkMode] : networks;
  return Object.fromEntries(
    names.map((name) => {
      const network = machine.networks.get(name);
      const address = container.isUp ? container.networkAddress : '';
      return [
        name,
        {
          IPAMConfig: null,
          Links: null,
          Aliases: container.spec.labels['com.docker.compose.service']
            ? [container.name, container.spec.labels['com.docker.compose.service']]
            : null,
          DriverOpts: null,
          GwPriority: 0,
          NetworkID: network?.id ?? '',
          EndpointID: container.isUp ? container.id.replace(/^./, 'e') : '',
          Gateway: address ? '172.18.0.1' : '',
          IPAddress: address,
          MacAddress: address ? '02:42:ac:12:00:02' : '',
          IPPrefixLen: address ? 16 : 0,
          IPv6Gateway: '',
          GlobalIPv6Address: '',
          GlobalIPv6PrefixLen: 0,
          DNSNames: null,
        },
      ];
    }),
  );
}

function mountsJson({ spec }: Container): object[] {
  return spec.mounts.map(({ type, name, source, target, readOnly }) => ({
    Type: type,
    ...(name !== undefined && { Name: name }),
    Source: source,
    Destination: target,
    ...(type === 'volume' && { Driver: 'local' }),
    Mode: readOnly ? 'ro' : type === 'volume' ? 'z' : 'rw',
    RW: !readOnly,
    Propagation: type === 'bind' ? 'rprivate' : '',
  }));
}

export function inspectedContainer(container: Container, machine: Machine, minor: number): object {
  const { spec, state } = container;
  const [path = '', ...args] = container.argv;
  const portKey = ({ containerPort, protocol }: PortBinding) => `${containerPort}/${protocol}`;
  const bindings = Object.fromEntries(
    !container.hasNetwork
      ? []
      : spec.ports
          .filter(({ hostPort }) => hostPort !== undefined)
          .map((port) => [portKey(port), [{ HostIp: port.hostIp, HostPort: port.hostPort ? String(port.hostPort) : '' }]]),
  );
  const open = Object.fromEntries(
    container.isUp && container.hasNetwork
      ? spec.ports.map((port) => {
          const bound = boundTo(container, port);
          const addresses = port.hostIp === '' ? ['0.0.0.0', '::'] : [port.hostIp];
          return [portKey(port), bound === undefined ? null : addresses.map((HostIp) => ({ HostIp, HostPort: String(bound) }))];
        })
      : [],
  );
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
      OOMKilled: state.outOfMemory,
      Dead: state.status === 'dead',
      Pid: state.pid,
      ExitCode: state.exitCode,
      Error: state.error,
      StartedAt: momentText(state.startedMs, 204_117),
      FinishedAt: momentText(state.finishedMs, 881_203),
      ...(state.health !== undefined && {
        Health: {
          Status: container.isUp ? state.health : 'unhealthy',
          FailingStreak: state.failingStreak,
          Log: healthLog(container, machine.now()),
        },
      }),
    },
    Image: spec.imageId,
    ResolvConfPath: `/var/lib/docker/containers/${container.id}/resolv.conf`,
    HostnamePath: `/var/lib/docker/containers/${container.id}/hostname`,
    HostsPath: `/var/lib/docker/containers/${container.id}/hosts`,
    LogPath: `/var/lib/docker/containers/${container.id}/${container.id}-json.log`,
    Name: `/${container.name}`,
    RestartCount: container.restartCount,
    Driver: 'overlay2',
    Platform: 'linux',
    MountLabel: '',
    ProcessLabel: '',
    AppArmorProfile: container.isUp ? 'docker-default' : '',
    ExecIDs: null,
    HostConfig: {
      Binds:
        spec.mounts.length === 0
          ? null
          : spec.mounts.map(({ name, source, target, readOnly }) => `${name ?? source}:${target}:${readOnly ? 'ro' : 'rw'}`),
      LogConfig: { Type: spec.logDriver, Config: {} },
      NetworkMode: spec.networkMode,
      PortBindings: bindings,
      RestartPolicy: { Name: spec.restartPolicy.name, MaximumRetryCount: spec.restartPolicy.maximum },
      AutoRemove: spec.autoRemove,
      CapAdd: spec.capAdd.length === 0 ? null : spec.capAdd.map((name) => `CAP_${name}`),
      CapDrop: null,
      Privileged: false,
      Memory: spec.memoryLimitBytes,
      NanoCpus: 0,
      Devices: spec.devices.map((device) => {
        const [host = device, inside = host] = device.split(':');
        return { PathOnHost: host, PathInContainer: inside, CgroupPermissions: 'rwm' };
      }),
      DeviceRequests: null,
    },
    Mounts: mountsJson(container),
    Config: {
      Hostname: container.hostname,
      Domainname: '',
      User: spec.user,
      AttachStdin: false,
      AttachStdout: true,
      AttachStderr: true,
      ExposedPorts: Object.fromEntries(spec.ports.map((port) => [portKey(port), {}])),
      Tty: spec.tty,
      OpenStdin: spec.openStdin,
      StdinOnce: false,
      Env: Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
      Cmd: spec.command,
      ...(spec.healthcheck && { Healthcheck: { Test: spec.healthcheck.test, Interval: spec.healthcheck.intervalMs * 1e6 } }),
      Image: spec.image,
      Volumes: null,
      WorkingDir: spec.workingFolder,
      Entrypoint: spec.entrypoint.length === 0 ? null : spec.entrypoint,
      Labels: spec.labels,
    },
    NetworkSettings: {
      ...(minor < 52 && { Bridge: '', IPAddress: '', Gateway: '', MacAddress: '' }),
      SandboxID: container.isUp ? container.id.replace(/^./, 'b') : '',
      SandboxKey: '',
      Ports: open,
      Networks: networksJson(container, machine),
    },
  };
}

/** The last five looks, made up from when they fell due: nobody has to wake for them. */
function healthLog({ spec, state }: Container, nowMs: number): object[] {
  const intervalMs = spec.healthcheck?.intervalMs ?? 30_000;
  const sinceMs = state.startedMs ?? nowMs;
  const looks = Math.floor((nowMs - sinceMs) / intervalMs);
  return Array.from({ length: Math.min(5, looks) }, (_, index) => {
    const beginMs = sinceMs + (looks - Math.min(5, looks) + index + 1) * intervalMs;
    const failed = state.health !== 'healthy';
    return {
      Start: momentText(beginMs, 412_001),
      End: momentText(beginMs + 61, 92_411),
      ExitCode: failed ? 1 : 0,
      Output: state.healthOutput,
    };
  });
}
