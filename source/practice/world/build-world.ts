import { createHash, randomBytes } from 'node:crypto';
import type { Catalog, CatalogEntry, CatalogService } from '../../catalog/catalog.ts';
import { interpolate, variablesIn } from '../../catalog/interpolation.ts';
import type { Container, ContainerMount, ContainerSpec, PortBinding } from '../engine/container.ts';
import { familiar } from '../engine/images.ts';
import type { Machine } from '../engine/machine.ts';
import type { Program } from '../engine/program.ts';
import type { DeployedPart, PracticeProduct } from '../practice.ts';
import { days, type Part, type Play } from './part.ts';
import { dnsFilter, fileSync, llmProxy, mediaServer, modelRuntime, reverseProxy, rssReader } from './parts/applications.ts';
import { notDeployed } from './parts/not-deployed.ts';
import { type Products, productParts } from './parts/products.ts';
import { idpEnterprise, ldapDirectory, passwordVault, ssoPortal, vulnerabilityScanner } from './parts/security.ts';
import { PlayedProgram } from './played-program.ts';

/** A service that plays. */
export interface Actor {
  component: string;
  service: string;
  container: Container;
  program: PlayedProgram;
}

export interface World {
  actors: readonly Actor[];
  /** What counts as deployed into the stack's folder: everything but what somebody ran by hand. */
  deployed: readonly DeployedPart[];
  /** Of a component's service, its main one where none is named. */
  actor(component: string, service?: string): Actor | undefined;
}

/** Puts components into a machine, each as if it had been there for a while; what is left out can be deployed. */
export async function buildWorld(machine: Machine, catalog: Catalog, products: Products, stackFolder: string): Promise<World> {
  const parts: readonly Part[] = [
    reverseProxy,
    passwordVault(products.passwordVault),
    ssoPortal(products.ssoPortal),
    ldapDirectory,
    idpEnterprise,
    vulnerabilityScanner,
    mediaServer,
    rssReader,
    fileSync,
    modelRuntime,
    llmProxy,
    dnsFilter,
    ...productParts(products),
  ];
  const actors: Actor[] = [];
  const deployed: DeployedPart[] = [];
  for (const part of parts) {
    const entry = catalog.get(part.component);
    if (!entry) continue;
    const values: Record<string, string> = { ...part.values };
    for (const service of entry.services) {
      const play = part.plays[service.name];
      if (!play) continue;
      actors.push(await putOn(machine, { entry, service, part, play, values, stackFolder }));
    }
    if (part.project === entry.id) {
      const { component, createdAgoMs, hostPorts = {}, files = {} } = part;
      deployed.push({ component, atMs: machine.now() - createdAgoMs, values, hostPorts, services: Object.keys(part.plays), files });
    }
  }
  const absent = notDeployed(products);
  machine.cast = (spec) => castOf(machine, catalog, [...parts, ...absent], spec);
  if (products.cluster) actors.push(await putClusterOn(machine, products.cluster));
  // What an upgrade and an experiment have left behind, for whoever cleans up.
  const nowMs = machine.now();
  machine.images.load(undefined, { sizeBytes: 311_427_072, createdMs: nowMs - days(60) });
  machine.images.add('nextcloud:31-apache', { createdMs: nowMs - days(75), sizeBytes: 1_422_917_632 });
  machine.addVolume(
    'old-wiki_data',
    { 'com.docker.compose.project': 'old-wiki', 'com.docker.compose.volume': 'data' },
    nowMs - days(200),
    734_003_200,
  );
  machine.addVolume(
    createHash('sha256').update('practice anonymous volume').digest('hex'),
    { 'com.docker.volume.anonymous': '' },
    nowMs - days(33),
    48_234_496,
  );
  return {
    actors,
    deployed,
    actor: (component, service) => {
      const main = catalog.get(component)?.services.find((one) => one.main)?.name;
      return actors.find((actor) => actor.component === component && actor.service === (service ?? main));
    },
  };
}

/** Makes something ready for the others, and ends: in an instant, and well. */
const preparation: Program = { start: (run) => setImmediate(() => run.signal.aborted || run.exit(0)) };

/** What a catalog component's container plays, known by its image and its compose service: whoever deploys it meets it as it is. */
function castOf(machine: Machine, catalog: Catalog, parts: readonly Part[], spec: ContainerSpec): Program | undefined {
  const wanted = spec.labels['com.docker.compose.service'];
  for (const part of parts) {
    const entry = catalog.get(part.component);
    if (!entry) continue;
    const service = entry.services.find(
      ({ name, image }) => name === wanted && repositoryOf(interpolate(image)) === repositoryOf(spec.image),
    );
    const play = service && part.plays[service.name];
    if (!service || !play) continue;
    if (play.finished) return preparation;
    return new PlayedProgram(play, {
      seed: spec.name,
      product: service.main ? part.product : undefined,
      around: { later: (ms, call) => machine.later(ms, call), cancel: (timer) => machine.cancel(timer) },
      opens: bindingsOf(entry, service, part),
    });
  }
  return undefined;
}

/** `postgres` of `docker.io/library/postgres:16-alpine@sha256:...`. */
function repositoryOf(image: string): string {
  return familiar(image.replace(/@.*$/, '').replace(/:[^/:]*$/, ''));
}

interface Putting {
  entry: CatalogEntry;
  service: CatalogService;
  part: Part;
  play: Play;
  /** Of variables, shared by the services of a component. */
  values: Record<string, string>;
  stackFolder: string;
}

/** A cluster in a container, as `kind` makes one: no component of the catalog, and a row of its own all the same. */
async function putClusterOn(machine: Machine, product: PracticeProduct): Promise<Actor> {
  const nowMs = machine.now();
  const [port = 6443] = Object.keys(product.listeners).map(Number);
  const play: Play = {
    voice: { everyMs: Number.POSITIVE_INFINITY, happen: () => [] },
    figures: { cpuPercent: [9, 4], memoryMb: [980, 60] },
    bootMs: 300,
    processes: ['/sbin/init', '/usr/bin/containerd', '/usr/bin/kubelet', 'kube-apiserver', 'etcd'],
  };
  const program = new PlayedProgram(play, {
    seed: 'practice cluster',
    product,
    around: { later: (ms, call) => machine.later(ms, call), cancel: (timer) => machine.cancel(timer) },
  });
  const createdMs = nowMs - days(11);
  machine.addNetwork('kind', {}, createdMs);
  const image = machine.images.add('kindest/node:v1.31.6', { createdMs: createdMs - days(30), sizeBytes: 1_036_255_232 });
  const container = machine.create(
    {
      name: 'practice-control-plane',
      image: 'kindest/node:v1.31.6',
      imageId: image.id,
      entrypoint: ['/usr/local/bin/entrypoint'],
      command: ['/sbin/init'],
      environment: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      labels: { 'io.x-k8s.kind.cluster': 'practice', 'io.x-k8s.kind.role': 'control-plane' },
      tty: false,
      openStdin: false,
      ports: [{ containerPort: port, protocol: 'tcp', hostIp: '127.0.0.1', hostPort: port }],
      mounts: [],
      networkMode: 'kind',
      networks: ['kind'],
      restartPolicy: { name: 'on-failure', maximum: 1 },
      capAdd: [],
      devices: [],
      memoryLimitBytes: 0,
      logDriver: 'json-file',
      workingFolder: '/',
      user: '',
      autoRemove: false,
    },
    program,
    { createdMs, seed: 'practice cluster' },
  );
  program.remember(container.log, { startedMs: createdMs, nowMs });
  await machine.start(container, { startedMs: createdMs, quiet: true });
  return { component: 'cluster', service: 'control-plane', container, program };
}

async function putOn(machine: Machine, putting: Putting): Promise<Actor> {
  const { entry, service, part, play } = putting;
  const nowMs = machine.now();
  const createdMs = nowMs - part.createdAgoMs;
  const spec = specOf(machine, putting, createdMs);
  const program = new PlayedProgram(play, {
    seed: spec.name,
    product: service.main ? part.product : undefined,
    around: { later: (ms, call) => machine.later(ms, call), cancel: (timer) => machine.cancel(timer) },
  });
  const container = machine.create(spec, program, { createdMs, seed: `practice ${spec.name}` });
  const startedMs = nowMs - part.startedAgoMs;
  if (play.finished || part.stoppedAgoMs !== undefined) {
    const finishedMs = play.finished ? startedMs + 900 : nowMs - (part.stoppedAgoMs ?? 0);
    program.remember(container.log, { startedMs, endedMs: finishedMs, nowMs });
    Object.assign(container.state, { status: 'exited', exitCode: play.finished ? 0 : (play.ends?.exitCode ?? 137), startedMs, finishedMs });
    container.stopped = !play.finished;
    if (container.stopped) {
      machine.tell(container, 'kill', { signal: '15' }, finishedMs - 400);
      machine.tell(container, 'die', { exitCode: String(container.state.exitCode) }, finishedMs);
      machine.tell(container, 'stop', {}, finishedMs + 20);
    }
  } else {
    program.remember(container.log, { startedMs, nowMs });
    machine.tell(container, 'start', {}, startedMs);
    await machine.start(container, { startedMs, quiet: true });
  }
  return { component: entry.id, service: service.name, container, program };
}

function specOf(machine: Machine, { entry, service, part, play, values, stackFolder }: Putting, createdMs: number): ContainerSpec {
  const { project } = part;
  const folder = `${stackFolder}/${entry.id}`;
  const fill = (text: string) => {
    for (const { name, operator } of variablesIn(text)) {
      // Required, and not said by the part: a secret, made up anew at every start.
      if (operator === '?' && !Object.hasOwn(values, name)) values[name] = randomBytes(24).toString('hex');
    }
    return interpolate(text, values);
  };
  const environment = Object.fromEntries(
    Object.entries({ ...service.environment, ...play.environment }).map(([name, value]) => [name, fill(value)]),
  );
  const image = machine.images.add(fill(service.image), { createdMs: createdMs - days(4), command: service.command.map(fill) });
  const hostNetwork = service.networkMode === 'host';
  const ports = bindingsOf(entry, service, part);
  const name = project === undefined ? 'adguardhome' : `${project}-${service.name}-1`;
  const network = project === undefined ? 'bridge' : `${project}_default`;
  if (project !== undefined && !hostNetwork && !machine.networks.has(network)) {
    machine.addNetwork(network, { 'com.docker.compose.project': project, 'com.docker.compose.network': 'default' }, createdMs);
  }
  const argv = play.processes?.[0].split(' ') ?? [service.name];
  return {
    name,
    image: fill(service.image),
    imageId: image.id,
    entrypoint: service.command.length > 0 && service.command[0]?.startsWith('-') ? argv.slice(0, 1) : [],
    command: service.command.length > 0 ? service.command.map(fill) : argv,
    environment: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...environment },
    labels: project === undefined ? {} : composeLabels(project, service, image.id, folder),
    tty: play.tty === true,
    openStdin: false,
    ports,
    mounts: service.mounts.map(({ source, target, readOnly }) =>
      mountOf(machine, { source, target, readOnly, project, folder, createdMs }),
    ),
    networkMode: hostNetwork ? 'host' : network,
    networks: hostNetwork ? [] : [network],
    restartPolicy: { name: service.oneShot ? 'no' : 'unless-stopped', maximum: 0 },
    capAdd: service.capAdd,
    devices: service.devices,
    memoryLimitBytes: 0,
    logDriver: 'json-file',
    healthcheck: play.healthcheck && { test: play.healthcheck, intervalMs: 30_000 },
    workingFolder: '/',
    user: '',
    autoRemove: false,
  };
}

function bindingsOf(entry: CatalogEntry, service: CatalogService, part: Part): PortBinding[] {
  return entry.ports
    .filter((port) => port.service === service.name)
    .map((port) => ({
      containerPort: port.container,
      protocol: port.protocol,
      hostIp: port.exposure === 'loopback' ? '127.0.0.1' : '',
      hostPort: port.host === undefined ? undefined : (part.hostPorts?.[port.container] ?? port.host),
    }));
}

interface Mounting {
  source: string;
  target: string;
  readOnly: boolean;
  project: string | undefined;
  folder: string;
  createdMs: number;
}

function mountOf(machine: Machine, { source, target, readOnly, project, folder, createdMs }: Mounting): ContainerMount {
  if (source.startsWith('/')) return { type: 'bind', source, target, readOnly };
  if (source.startsWith('.')) return { type: 'bind', source: source.replace(/^\./, folder), target, readOnly };
  const name = `${project ?? 'adguard'}_${source}`;
  const sizeBytes = 2_000_000 + (Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 7), 16) % 900_000_000);
  machine.addVolume(
    name,
    project === undefined ? {} : { 'com.docker.compose.project': project, 'com.docker.compose.volume': source },
    createdMs,
    sizeBytes,
  );
  return { type: 'volume', name, source: `/var/lib/docker/volumes/${name}/_data`, target, readOnly };
}

function composeLabels(project: string, service: CatalogService, imageId: string, folder: string): Record<string, string> {
  return {
    'com.docker.compose.config-hash': createHash('sha256').update(`${project} ${service.name}`).digest('hex'),
    'com.docker.compose.container-number': '1',
    'com.docker.compose.depends_on': service.dependsOn.map((name) => `${name}:service_started:false`).join(','),
    'com.docker.compose.image': imageId,
    'com.docker.compose.oneoff': 'False',
    'com.docker.compose.project': project,
    'com.docker.compose.project.config_files': `${folder}/compose.yaml`,
    'com.docker.compose.project.working_dir': folder,
    'com.docker.compose.service': service.name,
    'com.docker.compose.version': '5.0.0',
  };
}
