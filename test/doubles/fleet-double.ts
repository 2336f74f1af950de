import { stateId } from '../../source/catalog/state.ts';
import type { ContainerDetail } from '../../source/engine/engine.ts';
import type {
  ComponentView,
  EngineView,
  Fleet,
  FleetSnapshot,
  PortView,
  ServiceStateId,
  ServiceView,
  Severity,
  State,
} from '../../source/fleet/model.ts';

export function serviceView(name: string, overrides: Partial<ServiceView> = {}): ServiceView {
  return {
    key: `local/stack/${name}`,
    name,
    containerId: `id-of-${name}`,
    containerName: name,
    image: `${name}:1`,
    state: 'running',
    severity: 'ok',
    detail: 'up; it declares no health check',
    health: 'none',
    sinceMs: undefined,
    exitCode: undefined,
    restarts: 0,
    ports: [],
    tty: false,
    main: false,
    ...overrides,
  };
}

/** Of a component whose state is that of its services. */
export function inState(id: ServiceStateId, severity: Severity = 'ok'): Pick<ComponentView, 'state' | 'serviceState'> {
  return { state: { id, label: id, severity }, serviceState: id };
}

/** The state with this label, as the catalog would declare it. */
export function stateOf(label: string, severity: Severity = 'ok'): State {
  return { id: stateId(label), label, severity };
}

export function componentView(id: string, overrides: Partial<ComponentView> = {}): ComponentView {
  return {
    key: `local/stack/${id}`,
    host: 'local',
    project: 'stack',
    id,
    known: true,
    group: 'security',
    kind: '',
    product: id,
    speaks: undefined,
    state: { id: 'running', label: 'running', severity: 'ok' },
    serviceState: 'running',
    detail: '',
    health: 'none',
    sinceMs: undefined,
    restarts: 0,
    services: [serviceView(id, { main: true })],
    probe: undefined,
    findings: [],
    deployed: false,
    setupTasks: [],
    backup: undefined,
    origin: '',
    url: undefined,
    ...overrides,
  };
}

export function engineView(name = 'local', overrides: Partial<EngineView> = {}): EngineView {
  return {
    name,
    machine: name,
    hostKind: 'local',
    engine: {
      kind: 'docker',
      version: '28.5.1',
      apiVersion: '1.51',
      rootless: false,
      address: 'unix:///var/run/docker.sock',
      origin: 'default Docker socket',
      reachable: true,
    },
    link: { state: 'connected', sinceMs: 0, message: undefined, remedy: undefined, retryAtMs: undefined },
    notes: [],
    ...overrides,
  };
}

export function portView(port: number, owner: string, overrides: Partial<PortView> = {}): PortView {
  return {
    host: 'local',
    address: '127.0.0.1',
    port,
    protocol: 'tcp',
    exposure: 'loopback',
    owner,
    component: undefined,
    service: undefined,
    containerPort: undefined,
    role: undefined,
    open: true,
    conflictWith: [],
    note: undefined,
    ...overrides,
  };
}

/** The view of containers that an engine double has, one component of them all. */
export function componentOf(
  id: string,
  details: readonly ContainerDetail[],
  state: ServiceStateId = 'running',
  severity: Severity = 'ok',
): ComponentView {
  return componentView(id, {
    serviceState: state,
    services: details.map((detail, index) => serviceView(detail.name, { containerId: detail.id, state, severity, main: index === 0 })),
  });
}

export class FleetDouble implements Fleet {
  readonly refreshed: (string | undefined)[] = [];
  current: FleetSnapshot;

  constructor(facts: Partial<FleetSnapshot> = {}) {
    this.current = { revision: 1, settled: true, engines: [engineView()], components: [], ports: [], ...facts };
  }
  snapshot() {
    return this.current;
  }
  subscribe() {
    return () => {};
  }
  async asked(): Promise<void> {}

  async settle() {
    return this.current;
  }
  watchStats() {
    return () => {};
  }
  stats() {
    return undefined;
  }
  readonly retried: string[] = [];
  retry(engineName: string): void {
    this.retried.push(engineName);
  }
  readonly stops: string[] = [];
  async whileStopping<T>(containerId: string, stop: () => Promise<T>): Promise<T> {
    this.stops.push(containerId);
    return stop();
  }
  refresh(key?: string) {
    this.refreshed.push(key);
  }
  close() {}
}
