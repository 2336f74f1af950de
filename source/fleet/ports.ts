import ipaddr from 'ipaddr.js';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { listeningOf } from '../catalog/listening-port.ts';
import type { ContainerDetail, EngineFacts } from '../engine/engine.ts';
import type { Listener } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { inNaturalOrder } from '../text/natural-order.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import type { OnLan } from './engine-watch.ts';
import type { ComponentView, PortView, ServiceView } from './model.ts';
import { isServing } from './service-state.ts';

type Exposure = PortView['exposure'];

const onHostNetwork = 'on the host network: the program listens directly and no port is published';
const onOwnAddress = 'on its own address (macvlan or ipvlan): no port is published, and the host firewall does not block access';

/** Programs through which engines hold published ports open; the container counts as the owner, not the program. */
const forwarders = new Set(
  'docker-proxy rootlessport rootlessport-chi rootlesskit slirp4netns pasta pasta.avx2 conmon exe vpnkit com.docker.backend limactl gvproxy'.split(
    ' ',
  ),
);

/** Returns from where a listening address can be reached. A host with a public address is reachable from anywhere on 0.0.0.0. */
export function exposureOf(address: string, hostAddresses: readonly string[]): Exposure {
  const range = rangeOf(address);
  if (range === 'loopback') return 'loopback';
  if (range === 'unspecified') {
    // A socket on :: accepts IPv4 too, one on 0.0.0.0 only IPv4: a home network has public IPv6 addresses behind a private IPv4 one.
    if (hostAddresses.length === 0) return 'unknown';
    const reaching = address === '0.0.0.0' ? hostAddresses.filter((own) => !own.includes(':')) : hostAddresses;
    return reaching.some((own) => rangeOf(own) === 'unicast') ? 'public' : 'lan';
  }
  if (range === 'invalid') return 'unknown';
  return range === 'unicast' ? 'public' : 'lan';
}

const ranges = new Map<string, string>();

/** Cached: every commit checks the same few addresses. */
function rangeOf(address: string): string {
  let range = ranges.get(address);
  if (range === undefined) {
    range = unlessThrown(() => ipaddr.process(address.replace(/%.*$/, '')).range(), 'invalid');
    if (ranges.size > 1_000) ranges.clear();
    ranges.set(address, range);
  }
  return range;
}

/** R88: a wildcard address overlaps all addresses, any other only itself. */
export function addressesOverlap(one: string, other: string): boolean {
  const every = (address: string) => address === '0.0.0.0' || address === '::' || address === '*';
  return one === other || every(one) || every(other);
}

interface PortFacts {
  /** The name of the host, or of its first engine: the owner of programs that belong to no engine. */
  host: string;
  hostAddresses: readonly string[];
  listeners: readonly Listener[];
  components: readonly ComponentView[];
  entries: ReadonlyMap<string, CatalogEntry>;
  /** By key: services on the host's own network, with their container's details: they publish nothing and listen by themselves. */
  hostNetwork: ReadonlyMap<string, ContainerDetail | undefined>;
  /** By key: addresses that the containers of services have on the host's network (macvlan, ipvlan). */
  ownAddresses?: ReadonlyMap<string, OnLan>;
  engines: ReadonlyMap<string, EngineFacts | undefined>;
}

/** Returns every port of one host: published ports of its engines, ports of host-network components, and every other socket, each once. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: sockets that one kind of port claims are left out of the next
export function portViews(facts: PortFacts): PortView[] {
  const { host, hostAddresses, listeners, components, entries, hostNetwork, ownAddresses = new Map(), engines } = facts;
  const views: PortView[] = [];
  const claimed = new Set<Listener>();
  const listening = (address: string, port: number, protocol: string) =>
    listeners.filter((listener) => listener.port === port && listener.protocol === protocol && addressesOverlap(listener.address, address));

  for (const component of components) {
    const entry = entries.get(component.key);
    for (const service of component.services) {
      for (const port of service.ports) {
        if (port.hostPort === undefined) continue;
        const address = port.address ?? '0.0.0.0';
        const up = isServing(service.state) || service.state === 'paused';
        const sockets = listening(address, port.hostPort, port.protocol);
        // Until the engine is reachable again, or the next start of a loop, a forwarder that holds the port belongs to the container.
        const between = service.state === 'unknown' || service.state === 'restarting' || service.state === 'removing';
        const own = up || between ? sockets.filter((socket) => !socket.process || forwarders.has(socket.process.name)) : [];
        for (const socket of own) claimed.add(socket);
        const annotation = entry?.ports.find(
          (candidate) => candidate.container === port.containerPort && candidate.protocol === port.protocol,
        );
        views.push({
          ...ownedBy(component, service),
          ...{ address, port: port.hostPort, protocol: port.protocol },
          exposure: exposureOf(port.ipv6 ? '::' : address, hostAddresses),
          containerPort: port.containerPort,
          role: annotation?.role,
          // Engines without a userland proxy forward in the kernel: a running container is proof enough.
          open: up || (between && own.length > 0),
          note: undefined,
        });
      }
    }
    for (const service of component.services)
      views.push(...viewsOnOwnAddresses(component, service, entry, ownAddresses.get(service.key), hostAddresses));
    for (const port of entry?.ports ?? []) {
      const service = component.services.find(
        (candidate) => hostNetwork.has(candidate.key) && (candidate.name === port.service || candidate.main),
      );
      if (!entry || !service || port.host === undefined) continue;
      const { port: number, address: reported } = listeningOf(entry, port, hostNetwork.get(service.key));
      const sockets = listeners.filter(
        (listener) =>
          listener.port === number &&
          listener.protocol === port.protocol &&
          !claimed.has(listener) &&
          (listener.process?.container ?? service.containerId) === service.containerId,
      );
      const up = isServing(service.state);
      if (up) for (const socket of sockets) claimed.add(socket);
      const address = sockets[0]?.address ?? reported ?? '0.0.0.0';
      views.push({
        ...ownedBy(component, service),
        ...{ address, port: number, protocol: port.protocol, exposure: exposureOf(address, hostAddresses) },
        ...{ containerPort: port.container, role: port.role, open: up && sockets.length > 0, note: onHostNetwork },
      });
    }
  }

  const containers = new Map(
    components.flatMap((component) => component.services.flatMap((service) => [[service.containerId, { component, service }] as const])),
  );
  const seen = new Set<string>();
  for (const listener of listeners) {
    if (claimed.has(listener)) continue;
    const program = listener.process && cleanLine(listener.process.name);
    const inside = listener.process?.container === undefined ? undefined : containers.get(listener.process.container);
    const owner = inside?.component.id ?? program ?? 'unknown';
    const key = `${listener.address === '::' ? '0.0.0.0' : listener.address}/${listener.port}/${listener.protocol}/${owner}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const { address, port, protocol } = listener;
    views.push({
      ...{ host: inside?.component.host ?? host, address, port, protocol, exposure: exposureOf(address, hostAddresses), owner },
      ...{ component: inside?.component.key, service: inside?.service.name, containerPort: undefined },
      role: listener.process && (inside ? program : `process ${listener.process.pid}`),
      open: true,
      conflictWith: [],
      note:
        inside && hostNetwork.has(inside.service.key)
          ? onHostNetwork
          : listener.process
            ? undefined
            : 'unknown: a program of another user (visible to root), or in another namespace',
    });
  }

  const rivals = Map.groupBy(views, ({ port, protocol }) => `${port}/${protocol}`);
  const noted = views.map((view) => ({
    ...view,
    conflictWith: conflictsOf(view, rivals.get(`${view.port}/${view.protocol}`) ?? []),
    note: view.note ?? noteOf(view, engines.get(view.host)),
  }));
  return noted.sort(
    (one, other) => one.port - other.port || inNaturalOrder(one.protocol, other.protocol) || inNaturalOrder(one.address, other.address),
  );
}

/** Ports that its image exposes and those of the catalog: the host cannot see which of them it listens on. */
function viewsOnOwnAddresses(
  component: ComponentView,
  service: ServiceView,
  entry: CatalogEntry | undefined,
  { addresses, exposed }: OnLan = { addresses: [], exposed: [] },
  hostAddresses: readonly string[],
): PortView[] {
  const known = entry?.ports.filter((port) => port.service === (service.declared ?? service.name)) ?? [];
  const ports = new Map<string, { number: number; protocol: PortView['protocol']; role: string | undefined }>();
  for (const { containerPort: number, protocol } of exposed) ports.set(`${number}/${protocol}`, { number, protocol, role: undefined });
  for (const { container: number, protocol, role } of known) ports.set(`${number}/${protocol}`, { number, protocol, role });
  const all = addresses.flatMap((address) => [...ports.values()].map((port) => ({ address, ...port })));
  return all.map(({ address, number, protocol, role }) => ({
    ...ownedBy(component, service),
    ...{ address, port: number, protocol, exposure: exposureOf(address, hostAddresses), containerPort: number, role },
    ...{ open: isServing(service.state), ownAddress: true, note: onOwnAddress },
  }));
}

function ownedBy(component: ComponentView, service: ServiceView) {
  return { host: component.host, owner: component.id, component: component.key, service: service.name, conflictWith: [] };
}

/** @param rivals all with its port and protocol */
function conflictsOf(view: PortView, rivals: readonly PortView[]): string[] {
  const owners = rivals
    .filter(
      (other) =>
        other !== view &&
        // Two programs on one port without a component share it on purpose (SO_REUSEPORT, IPv4 and IPv6): no conflict is reported.
        (other.component !== undefined || view.component !== undefined) &&
        (other.component !== view.component || other.service !== view.service) &&
        (other.ownAddress || view.ownAddress ? other.address === view.address : addressesOverlap(other.address, view.address)),
    )
    .map((other) => other.owner);
  return [...new Set(owners)];
}

function noteOf(view: PortView, engine: EngineFacts | undefined): string | undefined {
  if (view.component === undefined || !view.open || !engine) return undefined;
  if (view.exposure === 'loopback')
    return loopbackLeaks(engine) ? 'before Docker 28, hosts on the same network segment can reach this loopback port' : undefined;
  return !engine.rootless ? 'published: a firewall such as ufw or firewalld does not block it' : undefined;
}

/** Before moby 28.0, a neighbour could route to 127.0.0.1 ports through the bridge. Rootless engines forward in user space. */
function loopbackLeaks(engine: EngineFacts): boolean {
  return engine.kind === 'docker' && !engine.rootless && Number.parseInt(engine.version, 10) < 28;
}

/** Returns permanent remarks about an engine's ports, for the ports pane. Rootful engines write NAT rules that precede the host's filter. */
export function engineNotes(engine: EngineFacts): string[] {
  return [
    engine.rootless
      ? 'Rootless: published ports are ordinary sockets of your user, so the host firewall applies to them.'
      : 'Published ports bypass the host firewall, because the NAT rules of the engine come first. Publish on 127.0.0.1 unless others need access.',
    ...(loopbackLeaks(engine)
      ? [
          'Before Docker 28, hosts on the same network segment can reach ports published on 127.0.0.1. Upgrade Docker, or block this access in the DOCKER-USER chain.',
        ]
      : []),
  ];
}
