import type { Container, ContainerMount, ContainerSpec, PortBinding } from './container.ts';
import type { Machine } from './machine.ts';
import type { Program } from './program.ts';
import { Refusal } from './request.ts';
import { scriptedProgram } from './scripted-program.ts';

/** What a request sets; the image and Docker's defaults set the rest. */
export type SpecRequest = Pick<ContainerSpec, 'name' | 'image'> & Partial<Omit<ContainerSpec, 'imageId'>>;

function completeSpec(machine: Machine, request: SpecRequest): ContainerSpec {
  const image = machine.images.image(request.image);
  const { networks = [] } = request;
  const owner = /^container:(.+)$/.exec(request.networkMode ?? '')?.[1];
  // The network of another container has its id from then on.
  const networkMode = owner === undefined ? (request.networkMode ?? 'bridge') : `container:${machine.container(owner).id}`;
  const isOwn = networkMode !== 'none' && networkMode !== 'host' && !networkMode.startsWith('container:');
  return {
    ...{ entrypoint: image.entrypoint, command: image.command, tty: false, ports: [], mounts: [], devices: [], memoryLimitBytes: 0 },
    ...{ restartPolicy: { name: 'no', maximum: 0 }, logDriver: 'json-file', healthcheck: undefined },
    ...request,
    imageId: image.id,
    environment: { ...image.environment, ...request.environment },
    labels: { ...image.labels, ...request.labels },
    networkMode,
    networks: isOwn ? [...new Set([networkMode, ...networks])] : [],
  };
}

/** Creates a container whose program is chosen by its image, or runs its command. The options are for one that was created before the practice. */
export function createContainer(
  machine: Machine,
  request: SpecRequest,
  { program: given, ...identity }: { program?: Program; createdMs?: number; seed?: string } = {},
): Container {
  const spec = completeSpec(machine, request);
  const missing = spec.networks.find((network) => !machine.networks.has(network));
  if (missing !== undefined) throw new Refusal(404, `network ${missing} not found`);
  const program = given ?? machine.cast(spec) ?? scriptedProgram(spec);
  const healthcheck =
    program.healthcheck && !('healthcheck' in request) ? { test: program.healthcheck, intervalMs: 30_000 } : spec.healthcheck;
  const ports = spec.networkMode === 'host' ? (program.opens ?? spec.ports) : spec.ports;
  return machine.create({ ...spec, healthcheck, ports }, program, identity);
}

export interface CreateBody {
  Image: string;
  Cmd: string | readonly string[] | null;
  Entrypoint: string | readonly string[] | null;
  Env: readonly string[] | null;
  Labels: Record<string, string> | null;
  Tty: boolean;
  ExposedPorts: Record<string, unknown> | null;
  Healthcheck: { Test?: readonly string[]; Interval?: number } | null;
  HostConfig: {
    NetworkMode?: string;
    PortBindings?: Record<string, readonly { HostIp?: string; HostPort?: string }[] | null> | null;
    Binds?: readonly string[] | null;
    RestartPolicy?: { Name?: string; MaximumRetryCount?: number };
    Memory?: number;
    LogConfig?: { Type?: string };
  } | null;
  NetworkingConfig: { EndpointsConfig?: Record<string, unknown> | null } | null;
}

export function specRequestOf({ images }: Machine, name: string, body: Partial<CreateBody>): SpecRequest {
  const { Image = '', Cmd, Entrypoint, Healthcheck: health } = body;
  const host = body.HostConfig ?? {};
  const { NetworkMode: mode = '', RestartPolicy: policy, LogConfig: log } = host;
  const bindings = host.PortBindings ?? {};
  const exposed = new Set([...Object.keys(body.ExposedPorts ?? {}), ...(images.find(Image)?.exposed ?? []), ...Object.keys(bindings)]);
  const interval = (health?.Interval ?? 0) / 1e6 || 30_000;
  return {
    name,
    image: Image,
    ...(Entrypoint != null && { entrypoint: [Entrypoint].flat() }),
    ...(Cmd != null && { command: [Cmd].flat() }),
    environment: variablesOf(body.Env),
    labels: body.Labels ?? {},
    tty: body.Tty === true,
    ports: [...exposed].flatMap((key) => portsOf(key, bindings[key] ?? [])),
    mounts: (host.Binds ?? []).map(mountOf),
    networkMode: mode === 'default' || mode === '' ? 'bridge' : mode,
    networks: Object.keys(body.NetworkingConfig?.EndpointsConfig ?? {}),
    restartPolicy: {
      name: restartNameOf(policy?.Name),
      maximum: policy?.MaximumRetryCount ?? 0,
    },
    memoryLimitBytes: host.Memory ?? 0,
    logDriver: log?.Type || 'json-file',
    ...(health?.Test?.length && { healthcheck: health.Test[0] === 'NONE' ? undefined : { test: health.Test, intervalMs: interval } }),
  };
}

export function restartNameOf(name: unknown): ContainerSpec['restartPolicy']['name'] {
  return (['always', 'unless-stopped', 'on-failure'] as const).find((known) => known === name) ?? 'no';
}

/** Ports of `80/tcp` and its bindings. */
function portsOf(key: string, bindings: readonly { HostIp?: string; HostPort?: string }[]): PortBinding[] {
  const [port, protocol] = key.split('/');
  const exposed = { containerPort: Number(port), protocol: protocol === 'udp' ? ('udp' as const) : ('tcp' as const) };
  if (bindings.length === 0) return [{ ...exposed, hostIp: '', hostPort: undefined }];
  return bindings.map(({ HostIp = '', HostPort }) => ({ ...exposed, hostIp: HostIp, hostPort: Number(HostPort) || 0 }));
}

export function variablesOf(lines: readonly string[] | null | undefined): Record<string, string> {
  return Object.fromEntries((lines ?? []).map((line) => /^([^=]*)=?(.*)$/s.exec(line)?.slice(1) ?? []));
}

/** `source:target:ro`, as in `docker run --volume`. */
export function mountOf(bind: string): ContainerMount {
  const [source = '', target = source, mode = ''] = bind.split(':');
  const mount = { source, target, readOnly: mode.split(',').includes('ro') };
  return source.startsWith('/') ? { type: 'bind', ...mount } : volumeMount(mount);
}

/** Mounts a volume: its name is the source. */
export function volumeMount({ source: name, target, readOnly }: Pick<ContainerMount, 'source' | 'target' | 'readOnly'>): ContainerMount {
  return { type: 'volume', name, source: `/var/lib/docker/volumes/${name}/_data`, target, readOnly };
}
