import type { CatalogEntry, CatalogPort, CatalogService } from '../../source/catalog/catalog.ts';
import type { ContainerDetail } from '../../source/engine/engine.ts';

/** A running container without a health check, inspected; the test says what is different. */
export function containerDetail(overrides: Partial<ContainerDetail> = {}): ContainerDetail {
  return {
    id: overrides.name ? `id-of-${overrides.name}` : 'c0ffee',
    name: 'box',
    image: 'busybox:latest',
    imageId: 'sha256:1',
    createdMs: 0,
    state: 'running',
    health: 'none',
    statusText: 'Up 3 hours',
    ports: [],
    labels: {},
    networkMode: 'bridge',
    networkAddresses: [],
    exitCode: undefined,
    startedMs: 0,
    finishedMs: undefined,
    restartCount: 0,
    restartPolicy: 'unless-stopped',
    outOfMemory: false,
    error: '',
    stoppedByUser: undefined,
    tty: false,
    env: [],
    mounts: [],
    devices: [],
    healthOutputs: [],
    argv: [],
    networks: [],
    endpoints: [],
    exposed: [],
    raw: {},
    ...overrides,
  };
}

/** Labels as `docker compose` writes them. */
export function composeLabels(project: string, service: string, dependsOn: readonly string[] = []): Record<string, string> {
  return {
    'com.docker.compose.project': project,
    'com.docker.compose.service': service,
    'com.docker.compose.project.working_dir': `/srv/${project}`,
    'com.docker.compose.project.config_files': `/srv/${project}/compose.yaml`,
    'com.docker.compose.depends_on': dependsOn.map((name) => `${name}:service_started:true`).join(','),
  };
}

/** A catalog entry with the services and ports a test is about. */
export function catalogEntry(
  id: string,
  services: Record<string, { image: string; main?: boolean; oneShot?: boolean; optional?: boolean; dependsOn?: string[] }>,
  overrides: Partial<CatalogEntry> & { ports?: CatalogPort[] } = {},
): CatalogEntry {
  const list: CatalogService[] = Object.entries(services).map(([name, service]) => ({
    name,
    image: `${service.image}:latest`,
    repositories: [service.image.includes('/') ? `docker.io/${service.image}` : `docker.io/library/${service.image}`],
    main: service.main ?? false,
    role: name,
    oneShot: service.oneShot ?? false,
    optional: service.optional ?? false,
    dependsOn: service.dependsOn ?? [],
    networkMode: '',
    environment: {},
    mounts: [],
    devices: [],
    capAdd: [],
    command: [],
  }));
  return {
    id,
    group: 'security',
    kind: `${id} kind`,
    deploy: 'compose',
    product: { name: id, alternatives: [] },
    services: list,
    ports: [],
    fields: [],
    oneOf: [],
    volumes: {},
    chain: [],
    websocket: false,
    auth: 'none',
    calls: {},
    operations: [],
    checks: [],
    transitions: [],
    limits: [],
    cli: [],
    keywords: [],
    objects: [],
    errors: [],
    events: [],
    beforeStart: [],
    firstRun: [],
    backup: [],
    dependsOn: [],
    notes: [],
    justifies: {},
    image: list.find((service) => service.main)?.image ?? '',
    folder: id,
    own: false,
    ...overrides,
  };
}
