import { randomBytes } from 'node:crypto';
import { readMoment } from './durations.ts';
import { eventJson, type PracticeEvent } from './event-log.ts';
import { labelsMatch, readFilters } from './filters.ts';
import type { Machine, Network, Volume } from './machine.ts';
import { Refusal } from './refusal.ts';
import {
  apiVersion,
  type EngineRequest,
  engineVersion,
  isSet,
  oldestApiVersion,
  type Routes,
  readBody,
  sendJson,
  sendNothing,
} from './request.ts';

const eventFilters = [
  'config',
  'container',
  'daemon',
  'event',
  'id',
  'image',
  'label',
  'network',
  'node',
  'plugin',
  'scope',
  'secret',
  'service',
  'type',
  'volume',
];

function sendPing({ response, method }: EngineRequest): void {
  response.writeHead(200, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-cache, no-store, must-revalidate',
    Pragma: 'no-cache',
    'Builder-Version': '2',
    Swarm: 'inactive',
  });
  response.end(method === 'HEAD' ? undefined : 'OK');
}

const notManager =
  'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to swarm and try again.';
const noSwarm = () => {
  throw new Refusal(503, notManager);
};

export const systemRoutes: Routes = {
  'GET /_ping': sendPing,
  'HEAD /_ping': sendPing,
  'GET /version': (request) =>
    sendJson(request, {
      Platform: { Name: 'Quarterdeck practice stack' },
      Version: engineVersion,
      ApiVersion: apiVersion,
      MinAPIVersion: oldestApiVersion,
      Os: 'linux',
      Arch: 'amd64',
      KernelVersion: '6.12.48',
      GoVersion: 'go1.25.4',
      GitCommit: 'practice',
      BuildTime: '2025-11-14T16:35:34.000000000+00:00',
      Components: [
        {
          Name: 'Engine',
          Version: engineVersion,
          Details: { ApiVersion: apiVersion, MinAPIVersion: oldestApiVersion, Os: 'linux', Arch: 'amd64' },
        },
        { Name: 'containerd', Version: 'v2.2.0', Details: {} },
        { Name: 'runc', Version: '1.3.3', Details: {} },
      ],
    }),
  'GET /info': sendInfo,
  'GET /events': sendEvents,
  'GET /system/df': sendDiskUsage,
  'POST /build/prune': (request) => sendJson(request, { CachesDeleted: null, SpaceReclaimed: 0 }),
  'GET /volumes': (request) => {
    const { machine, query } = request;
    const filters = readFilters(query.get('filters'), ['dangling', 'driver', 'label', 'name']);
    const [dangling] = filters.get('dangling') ?? [];
    const found = [...machine.volumes.values()].filter(
      ({ name, labels }) =>
        labelsMatch(filters.get('label'), labels) &&
        (dangling === undefined || (machine.usersOf(name).length === 0) === isSet(dangling)) &&
        (!filters.has('name') || (filters.get('name') ?? []).some((wanted) => name.includes(wanted))),
    );
    sendJson(request, { Volumes: found.map((volume) => volumeJson(volume)), Warnings: null });
  },
  'POST /volumes/create': async (request) => {
    const body = await readBody(request.raw);
    const given = typeof body['Name'] === 'string' ? body['Name'] : '';
    const labels = { ...((body['Labels'] ?? {}) as Record<string, string>), ...(given === '' && { 'com.docker.volume.anonymous': '' }) };
    const volume = request.machine.addVolume(given || randomBytes(32).toString('hex'), labels, request.machine.now());
    request.machine.events.tell('volume', 'create', volume.name, { driver: 'local' }, request.machine.now());
    sendJson(request, volumeJson(volume), 201);
  },
  'GET /volumes/:': (request) => sendJson(request, volumeJson(volumeOf(request))),
  'DELETE /volumes/:': (request) => {
    const volume = volumeOf(request);
    const users = request.machine.usersOf(volume.name);
    if (users.length > 0) throw new Refusal(409, `remove ${volume.name}: volume is in use - [${users.map(({ id }) => id).join(', ')}]`);
    request.machine.volumes.delete(volume.name);
    request.machine.events.tell('volume', 'destroy', volume.name, { driver: 'local' }, request.machine.now());
    sendNothing(request);
  },
  'POST /volumes/prune': (request) => {
    const { machine, query } = request;
    const all = isSet(readFilters(query.get('filters'), ['all', 'label']).get('all')?.[0] ?? null);
    const gone = [...machine.volumes.values()].filter(
      ({ name, labels }) => machine.usersOf(name).length === 0 && (all || 'com.docker.volume.anonymous' in labels),
    );
    for (const { name } of gone) machine.volumes.delete(name);
    sendJson(request, {
      VolumesDeleted: gone.map(({ name }) => name),
      SpaceReclaimed: gone.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
    });
  },
  'GET /networks': (request) => {
    const filters = readFilters(request.query.get('filters'), ['dangling', 'driver', 'id', 'label', 'name', 'scope', 'type']);
    const found = [...request.machine.networks.values()].filter(
      ({ name, labels }) =>
        labelsMatch(filters.get('label'), labels) &&
        (!filters.has('name') || (filters.get('name') ?? []).some((wanted) => name.includes(wanted))),
    );
    sendJson(
      request,
      found.map((network) => networkJson(network, request.machine, false)),
    );
  },
  'GET /networks/:': (request) => sendJson(request, networkJson(networkOf(request), request.machine, true)),
  'POST /networks/create': async (request) => {
    const body = await readBody(request.raw);
    const name = String(body['Name'] ?? '');
    if (request.machine.networks.has(name)) throw new Refusal(409, `network with name ${name} already exists`);
    const network = request.machine.addNetwork(name, (body['Labels'] ?? {}) as Record<string, string>, request.machine.now());
    sendJson(request, { Id: network.id, Warning: '' }, 201);
  },
  'DELETE /networks/:': (request) => {
    const network = networkOf(request);
    const users = request.machine.containers().filter((one) => one.isUp && one.spec.networks.includes(network.name));
    if (users.length > 0)
      throw new Refusal(403, `error while removing network: network ${network.name} has active endpoints (name:"${users[0]?.name}")`);
    request.machine.networks.delete(network.name);
    sendNothing(request);
  },
  'POST /networks/prune': (request) => {
    const { machine } = request;
    const gone = [...machine.networks.values()].filter(
      ({ name }) => !['bridge', 'host', 'none'].includes(name) && !machine.containers().some(({ spec }) => spec.networks.includes(name)),
    );
    for (const { name } of gone) machine.networks.delete(name);
    sendJson(request, { NetworksDeleted: gone.length === 0 ? null : gone.map(({ name }) => name) });
  },
  'GET /services': noSwarm,
  'GET /tasks': noSwarm,
  'GET /nodes': noSwarm,
  'GET /swarm': noSwarm,
};

function sendInfo(request: EngineRequest): void {
  const { machine } = request;
  const count = (...states: readonly string[]) => machine.containers().filter(({ state }) => states.includes(state.status)).length;
  sendJson(request, {
    ID: 'practice',
    Containers: machine.containers().length,
    ContainersRunning: count('running'),
    ContainersPaused: count('paused'),
    ContainersStopped: count('created', 'exited', 'dead', 'restarting'),
    Images: machine.images.all().length,
    Driver: 'overlay2',
    DriverStatus: [['Backing Filesystem', 'extfs']],
    Plugins: {
      Volume: ['local'],
      Network: ['bridge', 'host', 'ipvlan', 'macvlan', 'null', 'overlay'],
      Authorization: null,
      Log: ['json-file', 'local'],
    },
    MemoryLimit: true,
    SwapLimit: true,
    CgroupDriver: 'systemd',
    CgroupVersion: '2',
    LoggingDriver: 'json-file',
    KernelVersion: '6.12.48',
    OperatingSystem: 'Quarterdeck practice',
    OSVersion: '1',
    OSType: 'linux',
    Architecture: 'x86_64',
    NCPU: machine.cpus,
    MemTotal: machine.memoryBytes,
    IndexServerAddress: 'https://index.docker.io/v1/',
    RegistryConfig: { IndexConfigs: {}, InsecureRegistryCIDRs: null, Mirrors: null },
    DockerRootDir: '/var/lib/docker',
    Name: machine.name,
    Labels: [],
    ServerVersion: engineVersion,
    Runtimes: { runc: { path: 'runc' } },
    DefaultRuntime: 'runc',
    Swarm: { NodeID: '', NodeAddr: '', LocalNodeState: 'inactive', ControlAvailable: false, Error: '', RemoteManagers: null },
    LiveRestoreEnabled: false,
    SecurityOptions: ['name=seccomp,profile=builtin', 'name=cgroupns'],
    Warnings: null,
  });
}

async function sendEvents({ machine, query, response, minor }: EngineRequest): Promise<void> {
  const filters = readFilters(query.get('filters'), eventFilters);
  const [since, until] = [readMoment(query.get('since')), readMoment(query.get('until'))];
  const any = (name: string, holds: (wanted: string) => boolean) => !filters.has(name) || (filters.get(name) ?? []).some(holds);
  const wanted = (event: PracticeEvent): boolean =>
    any('type', (type) => event.type === type) &&
    any('event', (action) => event.action === action || event.action.startsWith(`${action}:`)) &&
    any('container', (name) => event.type === 'container' && (event.id.startsWith(name) || event.attributes['name'] === name)) &&
    any('image', (name) => event.attributes['image'] === name || event.id === name) &&
    labelsMatch(filters.get('label'), event.attributes) &&
    (!until || event.ms <= until.ms);
  const line = (event: PracticeEvent) => `${JSON.stringify(eventJson(event, minor))}\n`;
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.flushHeaders();
  const past = since || until ? machine.events.past().filter((event) => (!since || event.ms >= since.ms) && wanted(event)) : [];
  if (past.length > 0) response.write(past.map(line).join(''));
  if (until && until.ms <= machine.now()) return void response.end();
  const stop = machine.events.listen((event) => {
    if (wanted(event)) response.write(line(event));
  });
  const timer = until && machine.later(Math.min(until.ms - machine.now(), 2 ** 31 - 1), () => response.end());
  response.once('close', () => {
    stop();
    machine.cancel(timer);
  });
}

function volumeOf({ machine, parts }: EngineRequest): Volume {
  const name = parts[0] ?? '';
  const volume = machine.volumes.get(name);
  if (!volume) throw new Refusal(404, `get ${name}: no such volume`);
  return volume;
}

function networkOf({ machine, parts }: EngineRequest): Network {
  const name = parts[0] ?? '';
  const network = machine.networks.get(name) ?? [...machine.networks.values()].find(({ id }) => id.startsWith(name));
  if (!network) throw new Refusal(404, `network ${name} not found`);
  return network;
}

function volumeJson({ name, labels, createdMs }: Volume): object {
  return {
    CreatedAt: new Date(createdMs).toISOString(),
    Driver: 'local',
    Labels: Object.keys(labels).length === 0 ? null : labels,
    Mountpoint: `/var/lib/docker/volumes/${name}/_data`,
    Name: name,
    Options: null,
    Scope: 'local',
  };
}

function networkJson({ id, name, labels, createdMs, driver, subnet }: Network, machine: Machine, detailed: boolean): object {
  const users = machine.containers().filter((one) => one.isUp && one.spec.networks.includes(name));
  return {
    Name: name,
    Id: id,
    Created: new Date(createdMs).toISOString(),
    Scope: 'local',
    Driver: driver,
    EnableIPv4: true,
    EnableIPv6: false,
    IPAM: {
      Driver: 'default',
      Options: null,
      Config: driver === 'bridge' ? [{ Subnet: `172.${subnet}.0.0/16`, Gateway: `172.${subnet}.0.1` }] : null,
    },
    Internal: false,
    Attachable: false,
    Ingress: false,
    ConfigFrom: { Network: '' },
    ConfigOnly: false,
    Options: {},
    Labels: labels,
    ...(detailed && {
      Containers: Object.fromEntries(
        users.map((one) => [
          one.id,
          { Name: one.name, EndpointID: one.id, MacAddress: '', IPv4Address: `${one.networkAddress}/16`, IPv6Address: '' },
        ]),
      ),
    }),
  };
}

function sendDiskUsage(request: EngineRequest): void {
  const { machine, minor, query } = request;
  const images = machine.images.all().map((image) => {
    const containers = machine.containers().filter(({ spec }) => spec.imageId === image.id).length;
    return {
      Id: image.id,
      ParentId: '',
      RepoTags: image.tags,
      RepoDigests: [],
      Created: Math.floor(image.createdMs / 1000),
      Size: image.sizeBytes,
      SharedSize: 0,
      Labels: image.labels,
      Containers: containers,
    };
  });
  const containers = machine.containers().map((one) => ({
    Id: one.id,
    Names: [`/${one.name}`],
    Image: one.spec.image,
    ImageID: one.spec.imageId,
    State: one.state.status,
    SizeRw: one.log.read({ stdout: true, stderr: true }).length * 90,
    SizeRootFs: 0,
    Created: Math.floor(one.createdMs / 1000),
    Labels: one.spec.labels,
  }));
  const volumes = [...machine.volumes.values()].map((volume) => ({
    ...volumeJson(volume),
    UsageData: { Size: volume.sizeBytes, RefCount: machine.usersOf(volume.name).length },
  }));
  const layers = images.reduce((total, { Size }) => total + Size, 0);
  const usage = (items: readonly object[], total: number, active: number) => ({
    ActiveCount: active,
    TotalCount: items.length,
    TotalSize: total,
    Reclaimable: 0,
    Items: items,
  });
  if (minor >= 52 && isSet(query.get('verbose'))) {
    sendJson(request, {
      ImagesUsage: usage(images, layers, images.filter(({ Containers }) => Containers > 0).length),
      ContainersUsage: usage(
        containers,
        containers.reduce((total, { SizeRw }) => total + SizeRw, 0),
        machine.containers().filter((one) => one.isUp).length,
      ),
      VolumesUsage: usage(
        volumes,
        volumes.reduce((total, { UsageData }) => total + UsageData.Size, 0),
        volumes.filter(({ UsageData }) => UsageData.RefCount > 0).length,
      ),
      BuildCacheUsage: usage([], 0, 0),
    });
    return;
  }
  sendJson(request, { LayersSize: layers, Images: images, Containers: containers, Volumes: volumes, BuildCache: [], BuilderSize: 0 });
}
