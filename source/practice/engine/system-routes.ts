import { randomBytes } from 'node:crypto';
import { on } from 'node:events';
import { momentText, readMoment } from './durations.ts';
import { eventJson, type PracticeEvent } from './event-log.ts';
import { listedImages } from './image-routes.ts';
import type { Network, Volume } from './machine.ts';
import type { EngineRequest, Routes } from './request.ts';
import { apiVersion, engineVersion, oldestApiVersion, Refusal, readBody, readFilters, sendJson, untilClosed } from './request.ts';

interface Named {
  Name: string;
  Labels: Record<string, string> | null;
}

function sendPing({ response, method }: EngineRequest): void {
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8', 'Builder-Version': '2', Swarm: 'inactive' });
  response.end(method === 'HEAD' ? undefined : 'OK');
}

export const systemRoutes: Routes = {
  'GET /_ping': sendPing,
  'HEAD /_ping': sendPing,
  'GET /version': (request) => {
    const versions = { ApiVersion: apiVersion, MinAPIVersion: oldestApiVersion, Os: 'linux', Arch: 'amd64' };
    const Components = [{ Name: 'Engine', Version: engineVersion, Details: versions }];
    sendJson(request, { Platform: { Name: 'Quarterdeck practice stack' }, Version: engineVersion, ...versions, Components });
  },
  'GET /info': sendInfo,
  'GET /events': sendEvents,
  'GET /system/df': sendDiskUsage,
  'POST /build/prune': (request) => sendJson(request, { CachesDeleted: null, SpaceReclaimed: 0 }),
  'GET /volumes': (request) => sendJson(request, { Volumes: [...request.machine.volumes.values()].map(volumeJson), Warnings: null }),
  'POST /volumes/create': async (request) => {
    const { Name, Labels } = await readBody<Named>(request.raw);
    const labels = { ...Labels, ...(!Name && { 'com.docker.volume.anonymous': '' }) };
    sendJson(request, volumeJson(request.machine.addVolume(Name || randomBytes(32).toString('hex'), labels, Date.now())), 201);
  },
  'GET /volumes/:': (request) => sendJson(request, volumeJson(volumeOf(request))),
  'DELETE /volumes/:': (request) => {
    const { name } = volumeOf(request);
    const users = request.machine.usersOf(name);
    if (users.length > 0) throw new Refusal(409, `remove ${name}: volume is in use - [${users.map(({ id }) => id).join(', ')}]`);
    request.machine.volumes.delete(name);
    request.machine.events.tell('volume', 'destroy', name, { driver: 'local' });
  },
  'GET /networks': (request) => sendJson(request, [...request.machine.networks.values()].map(networkJson)),
  'GET /networks/:': (request) => sendJson(request, networkJson(request.machine.network(request.name))),
  'POST /networks/create': async (request) => {
    const { Name = '', Labels } = await readBody<Named>(request.raw);
    if (request.machine.networks.has(Name)) throw new Refusal(409, `network with name ${Name} already exists`);
    sendJson(request, { Id: request.machine.addNetwork(Name, Labels ?? {}, Date.now()).id, Warning: '' }, 201);
  },
  'DELETE /networks/:': ({ machine, name }) => machine.removeNetwork(name),
  'GET /services': () => {
    throw new Refusal(503, 'This node is not a swarm manager. Use "docker swarm init" to make it one and try again.');
  },
};

/** What the client reads, and little else. */
function sendInfo(request: EngineRequest): void {
  const { cpus, memoryBytes } = request.machine;
  sendJson(request, {
    ID: 'practice',
    Name: 'practice',
    ServerVersion: engineVersion,
    OperatingSystem: 'Quarterdeck practice',
    OSVersion: '1',
    OSType: 'linux',
    Architecture: 'x86_64',
    NCPU: cpus,
    MemTotal: memoryBytes,
    DockerRootDir: '/var/lib/docker',
    Swarm: { LocalNodeState: 'inactive', ControlAvailable: false },
  });
}

async function sendEvents({ machine, query, response }: EngineRequest): Promise<void> {
  const { event: wanted, type: types } = readFilters(query.get('filters'), ['event', 'type']);
  const [since, until] = [readMoment(query.get('since')), readMoment(query.get('until'))];
  const matches = ({ action, ms, type }: PracticeEvent): boolean =>
    (!types || types.includes(type)) &&
    (!wanted || wanted.some((name) => action === name || action.startsWith(`${name}:`))) &&
    (!until || ms <= until.ms);
  const send = (event: PracticeEvent) => matches(event) && response.write(`${JSON.stringify(eventJson(event))}\n`);
  const signal = untilClosed(response, until);
  const coming = on(machine.events, 'event', { signal });
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.flushHeaders();
  if (since || until) for (const event of machine.events.past) if (!since || event.ms >= since.ms) send(event);
  try {
    for await (const [event] of coming) send(event);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
  response.end();
}

function volumeOf({ machine, name }: EngineRequest): Volume {
  const volume = machine.volumes.get(name);
  if (!volume) throw new Refusal(404, `get ${name}: no such volume`);
  return volume;
}

function volumeJson({ name, labels, createdMs }: Volume) {
  return {
    CreatedAt: momentText(createdMs),
    Driver: 'local',
    Labels: labels,
    Mountpoint: `/var/lib/docker/volumes/${name}/_data`,
    Name: name,
    Scope: 'local',
  };
}

function networkJson({ id, name, labels, createdMs, driver, subnet }: Network): object {
  const Config = driver === 'bridge' ? [{ Subnet: `172.${subnet}.0.0/16`, Gateway: `172.${subnet}.0.1` }] : null;
  const IPAM = { Driver: 'default', Config };
  return { Name: name, Id: id, Created: momentText(createdMs), Scope: 'local', Driver: driver, IPAM, Labels: labels };
}

/** As of API 1.52, which lists the items if the request says `verbose`. */
function sendDiskUsage(request: EngineRequest): void {
  const { machine } = request;
  const containers = machine.containers().map((one) => ({
    Id: one.id,
    Names: [`/${one.name}`],
    Image: one.spec.image,
    State: one.state.status,
    SizeRw: one.log.read({ stdout: true, stderr: true }).length * 90,
    Created: Math.floor(one.createdMs / 1000),
    Labels: one.spec.labels,
  }));
  const volumes = [...machine.volumes.values()].map((volume) => ({
    ...volumeJson(volume),
    UsageData: { Size: volume.sizeBytes, RefCount: machine.usersOf(volume.name).length },
  }));
  const usage = <Item extends object>(items: readonly Item[], sizeOf: (item: Item) => number) => {
    const TotalSize = items.reduce((total, item) => total + sizeOf(item), 0);
    return { TotalCount: items.length, TotalSize, Reclaimable: 0, Items: items };
  };
  sendJson(request, {
    ImagesUsage: usage(listedImages(request), ({ Size }) => Size),
    ContainersUsage: usage(containers, ({ SizeRw }) => SizeRw),
    VolumesUsage: usage(volumes, ({ UsageData }) => UsageData.Size),
    BuildCacheUsage: usage([], () => 0),
  });
}
