import { createHash, randomBytes } from 'node:crypto';
import type { Catalog, CatalogEntry, CatalogService } from '../../catalog/catalog.ts';
import { interpolate, variablesIn } from '../../catalog/interpolation.ts';
import { durationMs } from '../../text/quantities.ts';
import { composeLabels } from '../compose/project.ts';
import type { Container, ContainerMount, ContainerSpec, PortBinding } from '../engine/container.ts';
import { createContainer, type SpecRequest, volumeMount } from '../engine/create-container.ts';
import { familiar, repositoryOf } from '../engine/images.ts';
import type { Machine } from '../engine/machine.ts';
import type { Program } from '../engine/program.ts';
import type { DeployedComponent, ImagePin, PracticeProduct } from '../practice.ts';
import type { PracticeComponent, PracticeService } from './component-schema.ts';
import { SimulatedProgram } from './simulated-program.ts';

export interface SimulatedService {
  component: string;
  service: string;
  container: Container;
  program: SimulatedProgram;
}

export type Simulation = Awaited<ReturnType<typeof buildSimulation>>;

type Products = Readonly<Record<string, PracticeProduct>>;

interface Stack {
  components: readonly PracticeComponent[];
  cluster: PracticeProduct;
  stackFolder: string;
  longestBootMs: number | undefined;
}

/** Adds components to a machine, each with its past; the others can be deployed. */
export async function buildSimulation(
  machine: Machine,
  catalog: Catalog,
  products: Products,
  { components: all, cluster, stackFolder, longestBootMs }: Stack,
) {
  const components = longestBootMs === undefined ? all : all.map((one) => bootingWithin(one, longestBootMs));
  const services: SimulatedService[] = [];
  const deployed: DeployedComponent[] = [];
  for (const component of components) {
    const { past, hostPorts = {}, files = {} } = component;
    const entry = catalog.get(component.component);
    if (!entry || !past) continue;
    const values: Record<string, string> = { ...component.values };
    const images: Record<string, ImagePin> = {};
    for (const service of entry.services) {
      const behaviour = component.services[service.name];
      if (!behaviour) continue;
      const product = service.main ? products[entry.id] : undefined;
      const added = await addService(machine, { entry, service, component, past, behaviour, product, values, stackFolder });
      const { image, imageId: id } = added.container.spec;
      images[service.name] = { reference: image, id, digest: machine.images.image(id).digests[0] };
      services.push(added);
    }
    if (!component.byHand) deployed.push({ component: entry.id, atMs: ago(past.created), values, hostPorts, images, files });
  }
  machine.cast = (spec) => programOf(machine, { components, catalog, products }, spec);
  services.push(await addCluster(machine, cluster));
  addLeftovers(machine);
  return {
    services,
    /** All components except those that were started by hand. */
    deployed,
    /** Returns a component's service, by default its main one. */
    service: (component: string, name?: string) => {
      const main = catalog.get(component)?.services.find((service) => service.main)?.name;
      return services.find((service) => service.component === component && service.service === (name ?? main));
    },
  };
}

/** What an upgrade and an experiment left behind, for `prune`. */
function addLeftovers(machine: Machine): void {
  machine.images.load(undefined, { sizeBytes: 311_427_072, createdMs: ago('60d') });
  machine.images.add('nextcloud:31-apache', { createdMs: ago('75d'), sizeBytes: 1_422_917_632 });
  const labels = { 'com.docker.compose.project': 'old-wiki', 'com.docker.compose.volume': 'data' };
  machine.addVolume('old-wiki_data', labels, ago('200d'), 734_003_200);
  machine.addVolume(hashOf('practice anonymous volume'), { 'com.docker.volume.anonymous': '' }, ago('33d'), 48_234_496);
}

const ago = (duration: string): number => Date.now() - durationMs(duration);

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A one-shot service: ends at once, with 0. */
const job: Program = { start: (run) => setImmediate(() => run.signal.aborted || run.exit(0)) };

function bootingWithin(component: PracticeComponent, longestMs: number): PracticeComponent {
  const hastened = ({ boot, ...service }: PracticeService) => ({
    ...service,
    boot: boot !== undefined && durationMs(boot) < longestMs ? boot : `${longestMs}ms`,
  });
  const services = Object.entries(component.services).map(([name, service]) => [name, hastened(service)]);
  return { ...component, services: Object.fromEntries(services) };
}

interface Known {
  components: readonly PracticeComponent[];
  catalog: Catalog;
  products: Products;
}

function programOf(machine: Machine, { components, catalog, products }: Known, spec: ContainerSpec): Program | undefined {
  const wanted = spec.labels['com.docker.compose.service'] ?? '';
  const own = components.filter(({ component }) => component === spec.labels['com.docker.compose.project']);
  // A project of another name is recognized by its services.
  for (const component of [...own, ...components]) {
    const entry = catalog.get(component.component);
    const behaviour = component.services[wanted];
    const service = entry?.services.find(({ name, image }) => name === wanted && repository(interpolate(image)) === repository(spec.image));
    if (!entry || !service || !behaviour) continue;
    if (behaviour.finished) return job;
    const product = service.main ? products[entry.id] : undefined;
    return new SimulatedProgram(behaviour, { seed: spec.name, product, machine, opens: bindingsOf(entry, service, component) });
  }
  return undefined;
}

/** `postgres` of `docker.io/library/postgres:16-alpine@sha256:...`. */
const repository = (image: string): string => familiar(repositoryOf(image.replace(/@.*$/, '')));

/** A cluster in a container, as `kind` creates one: no component of the catalog. */
async function addCluster(machine: Machine, product: PracticeProduct): Promise<SimulatedService> {
  const createdMs = ago('11d');
  const [port = 6443] = Object.keys(product.listeners).map(Number);
  const behaviour: PracticeService = {
    figures: { cpuPercent: [9, 4], memoryMb: [980, 60] },
    processes: ['/sbin/init', '/usr/bin/containerd', '/usr/bin/kubelet', 'kube-apiserver', 'etcd'],
  };
  machine.addNetwork('kind', {}, createdMs);
  const image = 'kindest/node:v1.31.6';
  machine.images.add(image, { createdMs: createdMs - durationMs('30d'), sizeBytes: 1_036_255_232 });
  const program = new SimulatedProgram(behaviour, { seed: 'practice cluster', product, machine });
  const request: SpecRequest = {
    name: 'practice-control-plane',
    image,
    entrypoint: ['/usr/local/bin/entrypoint'],
    command: ['/sbin/init'],
    labels: { 'io.x-k8s.kind.cluster': 'practice', 'io.x-k8s.kind.role': 'control-plane' },
    ports: [{ containerPort: port, protocol: 'tcp', hostIp: '127.0.0.1', hostPort: port }],
    networkMode: 'kind',
    restartPolicy: { name: 'on-failure', maximum: 1 },
  };
  const container = createContainer(machine, request, { program, createdMs, seed: 'practice cluster' });
  program.remember(container.log, { startedMs: createdMs });
  await machine.start(container, createdMs);
  return { component: 'cluster', service: 'control-plane', container, program };
}

interface Addition {
  entry: CatalogEntry;
  service: CatalogService;
  component: PracticeComponent;
  past: NonNullable<PracticeComponent['past']>;
  behaviour: PracticeService;
  product: PracticeProduct | undefined;
  /** Of variables, shared by the services of a component. */
  values: Record<string, string>;
  stackFolder: string;
}

async function addService(machine: Machine, addition: Addition): Promise<SimulatedService> {
  const { entry, service, past, behaviour, product } = addition;
  const createdMs = ago(past.created);
  const startedMs = ago(past.started);
  const request = requestOf(machine, addition, createdMs);
  const program = new SimulatedProgram(behaviour, { seed: request.name, product, machine });
  const container = createContainer(machine, request, { program, createdMs, seed: `practice ${request.name}` });
  if (behaviour.finished || past.stopped) {
    const [exitCode, finishedMs] = behaviour.finished ? [0, startedMs + 900] : [143, ago(past.stopped ?? '0s')];
    program.remember(container.log, { startedMs, endedMs: finishedMs });
    Object.assign(container.state, { status: 'exited', exitCode, startedMs, finishedMs });
    if (!behaviour.finished) {
      container.stopped = true;
      machine.tell(container, 'kill', { signal: '15' }, finishedMs - 400);
      machine.tell(container, 'die', { exitCode: String(exitCode) }, finishedMs);
      machine.tell(container, 'stop', {}, finishedMs + 20);
    }
  } else {
    machine.tell(container, 'start', {}, startedMs);
    program.remember(container.log, { startedMs });
    await machine.start(container, startedMs);
  }
  return { component: entry.id, service: service.name, container, program };
}

function requestOf(machine: Machine, addition: Addition, createdMs: number): SpecRequest {
  const { entry, service, component, behaviour, values, stackFolder } = addition;
  const folder = `${stackFolder}/${entry.id}`;
  const fill = (text: string) => {
    // A required variable without a value is a secret, random at every start.
    for (const { name, operator } of variablesIn(text)) if (operator === '?') values[name] ??= randomBytes(24).toString('hex');
    return interpolate(text, values);
  };
  const image = fill(service.image);
  const imageId = machine.images.add(image, { createdMs: createdMs - durationMs('4d'), command: service.command.map(fill) }).id;
  const argv = behaviour.processes?.[0].split(' ') ?? [service.name];
  const project = component.byHand ? undefined : entry.id;
  const networkMode = service.networkMode === 'host' ? 'host' : project === undefined ? 'bridge' : `${project}_default`;
  const projectLabels = { 'com.docker.compose.project': entry.id };
  if (networkMode !== 'host' && !machine.networks.has(networkMode))
    machine.addNetwork(networkMode, { ...projectLabels, 'com.docker.compose.network': 'default' }, createdMs);
  return {
    name: project === undefined ? 'adguardhome' : `${project}-${service.name}-1`,
    image,
    entrypoint: service.command[0]?.startsWith('-') ? argv.slice(0, 1) : [],
    command: service.command.length > 0 ? service.command.map(fill) : argv,
    environment: Object.fromEntries(Object.entries(service.environment).map(([name, value]) => [name, fill(value)])),
    labels:
      project === undefined
        ? {}
        : composeLabels({
            ...{ project, service: service.name, imageId, folder, file: `${folder}/compose.yaml` },
            hash: hashOf(`${project} ${service.name}`),
            dependsOn: service.dependsOn.map((name) => ({ name, condition: 'service_started' })),
          }),
    tty: behaviour.tty === true,
    ports: bindingsOf(entry, service, component),
    mounts: service.mounts.map((mount): ContainerMount => {
      if (/^[/.]/.test(mount.source)) return { type: 'bind', ...mount, source: mount.source.replace(/^\./, folder) };
      const name = `${project ?? 'adguard'}_${mount.source}`;
      const sizeBytes = 2_000_000 + (Number.parseInt(hashOf(name).slice(0, 7), 16) % 900_000_000);
      const labels = project === undefined ? {} : { ...projectLabels, 'com.docker.compose.volume': mount.source };
      machine.addVolume(name, labels, createdMs, sizeBytes);
      return volumeMount({ ...mount, source: name });
    }),
    networkMode,
    restartPolicy: { name: service.oneShot ? 'no' : 'unless-stopped', maximum: 0 },
    devices: service.devices,
  };
}

function bindingsOf(entry: CatalogEntry, service: CatalogService, component: PracticeComponent): PortBinding[] {
  return entry.ports
    .filter((port) => port.service === service.name)
    .map((port) => ({
      containerPort: port.container,
      protocol: port.protocol,
      hostIp: port.exposure === 'loopback' ? '127.0.0.1' : '',
      hostPort: port.host === undefined ? undefined : (component.hostPorts?.[port.container] ?? port.host),
    }));
}
