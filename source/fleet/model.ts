import type { Severity, State } from '../catalog/state.ts';
import type { ContainerHealth, EngineKind, PublishedPort } from '../engine/engine.ts';
import type { FaultCode } from '../faults/fault.ts';
import type { HostLinkView } from '../hosts/host.ts';
import type { severities } from './service-state.ts';

export type { Severity, State } from '../catalog/state.ts';

/**
 * The states of the container layer (issue and R5). The probe's result is on top of them, in the state of the component. `restarting`: in
 * a loop. `stopped`: by an operator, or there is no record of why. `failed`: ended by itself with an error, or went down with its engine
 * or host. `killed`: by a signal that did not come through the engine, or out of memory. `completed`: a job that ended successfully.
 * `missing`: declared, but no container. `unknown`: the engine is unreachable, this is the last known data.
 */
export type ServiceStateId = keyof typeof severities;

export interface ServiceView {
  key: string;
  name: string;
  containerId: string | undefined;
  containerName: string;
  image: string;
  state: ServiceStateId;
  severity: Severity;
  /** Half a sentence: `failed with exit code 1, 2 minutes ago`. */
  detail: string;
  health: ContainerHealth;
  sinceMs: number | undefined;
  /** `3w`, as its engine's list tells it: until an inspect shows since when. */
  upFor?: string;
  exitCode: number | undefined;
  restarts: number;
  ports: readonly PublishedPort[];
  tty: boolean;
  /** Why it has no container, where known: it was seen to be removed, or its project was only partly created. */
  absence?: 'removed' | 'not created';
  /** While its health check is pending: the latest time for its first result, epoch milliseconds. */
  verdictMs?: number;
  causeUnknown?: true;
  /** Set together with `causeUnknown`: its host went down about then, which may be the reason. */
  mayBeMissed?: true;
  /** Its restart policy keeps it running unless a user stops it. Undefined while that is unknown. */
  kept?: boolean;
  /** Why it has no network though it runs: the container whose network it uses (R15) is missing, down, or was started later. */
  cutOff?: CutOff;
  dependsOn?: readonly string[];
  /** The service that the component is named after; the others support it. */
  main: boolean;
  /** The catalog's name of this service, where its entry knows it. */
  declared?: string;
}

export interface CutOff {
  why: string;
  /** Whether the other container runs by now or is permanently gone. Then recreating this one is the only step left. */
  stale: boolean;
}

export interface FindingView {
  check: string;
  level: 'error' | 'warning' | 'notice';
  message: string;
  remedy: string;
  /** Id of the operation that the remedy names. */
  operation?: string;
}

export interface ProbeView {
  /** The probe's state, shown instead of the container's: `sealed 0/3`. Undefined when it adds nothing. */
  state: State | undefined;
  detail: string;
  atMs: number;
  version: string | undefined;
  failure: string | undefined;
  /** What one would open the page for: `3 streams`. `staleMs`: the time of the value, if the last probe could not renew it. */
  status?: { text: string; staleMs?: number } | undefined;
}

export interface SetupTaskView {
  id: string;
  title: string;
  detail: string;
  done: boolean;
  /** `observed`: read from the running product. `hand`: cannot be observed; an operator confirms it. */
  by: 'observed' | 'hand';
  /** Anyone can log in until it is done: default credentials, or none (R47). */
  urgent: boolean;
  /** Path of the page in the component where it is done (R38). */
  page?: string;
}

/**
 * `pretended`: the data in its volumes is simulated. `incomplete`: there are backups, and each omits data. `noDestination`: the settings
 * have none for its host, so it is unknown whether there are backups.
 */
export interface BackupView {
  atMs: number | undefined;
  incomplete?: true;
  noDestination?: true;
  pretended?: true;
}

export interface ComponentView {
  key: string;
  host: string;
  project: string;
  /** Cleaned, and unique on its engine: the catalog's id or the main service's name, `secrets-manager@lab` if several share it. */
  id: string;
  entry?: string;
  known: boolean;
  group: string;
  kind: string;
  product: string;
  /** The API that procedures use, as in component.yaml (`api`). */
  speaks: string | undefined;
  /** The state shown in its row: from its probe, or from its services. */
  state: State;
  serviceState: ServiceStateId;
  detail: string;
  health: ContainerHealth;
  sinceMs: number | undefined;
  restarts: number;
  services: readonly ServiceView[];
  probe: ProbeView | undefined;
  findings: readonly FindingView[];
  deployed: boolean;
  setupTasks: readonly SetupTaskView[];
  /** For components that Quarterdeck deployed and that have data: time of the last backup, epoch milliseconds. Undefined if unknown. */
  backup: BackupView | undefined;
  /** Another owner of this project, as it declares itself (`docker compose` in /srv/x, systemd unit, ...). */
  origin: string;
  /** URL of its page, if it has one and it is published: `http://127.0.0.1:8200`. */
  url: string | undefined;
}

export interface PortView {
  host: string;
  address: string;
  port: number;
  protocol: 'tcp' | 'udp' | 'sctp';
  /** `unknown` while the addresses of its host are unknown. */
  exposure: 'loopback' | 'lan' | 'public' | 'unknown';
  /** Component id, container or program that listens; `unknown` if it is not visible. */
  owner: string;
  component: string | undefined;
  service: string | undefined;
  containerPort: number | undefined;
  role: string | undefined;
  open: boolean;
  conflictWith: readonly string[];
  /** On an address of the container's own (macvlan, ipvlan), where the host's ports cannot conflict. */
  ownAddress?: true;
  note: string | undefined;
}

export interface LinkView {
  state: 'connecting' | 'connected' | 'away';
  sinceMs: number;
  message: string | undefined;
  remedy: string | undefined;
  retryAtMs: number | undefined;
  /** Of the fault whose message this is. */
  code?: FaultCode;
  cause?: unknown;
}

/** State of the connection to a machine over ssh. `asleep`: unreachable, and it does not respond at all. */
export interface ConnectionView extends Pick<LinkView, 'sinceMs' | 'message' | 'remedy' | 'retryAtMs'> {
  state: HostLinkView['state'] | 'asleep';
  /** Approximate: stays unchanged while the value hardly changes. */
  roundTripMs: number | undefined;
}

/** An engine on a host. `name` is the host's name, followed by the engine's where the host has several. */
export interface EngineView {
  name: string;
  machine: string;
  hostKind: 'local' | 'ssh';
  connection?: ConnectionView;
  /** Offset by which the machine's clock is ahead of ours, if significant; times of its containers are shown by our clock. */
  clockAheadMs?: number;
  engine: {
    kind: EngineKind | undefined;
    version: string;
    apiVersion: string;
    rootless: boolean;
    address: string;
    origin: string;
    reachable: boolean;
  };
  link: LinkView;
  /** Permanent remarks: published ports bypass the firewall; what loopback means on Docker before 28. */
  notes: readonly string[];
}

/** All domain data of the console, immutable, replaced at most once per frame. */
export interface FleetSnapshot {
  revision: number;
  settled: boolean;
  engines: readonly EngineView[];
  /** In display order: by group in the order of the specification, then by id. */
  components: readonly ComponentView[];
  ports: readonly PortView[];
}

export interface StatsHistory {
  /** Oldest first, at most 120; percent of one core. */
  cpuPercent: readonly number[];
  memoryBytes: readonly number[];
  memoryLimitBytes: number;
}

/**
 * What is known of every engine, or that it did not respond: `listed`: its containers; `settled`: its facts too; `states`: all that states
 * depend on, probes included; `complete`: also the inspects of the other containers, and the sockets.
 */
export type FleetStage = 'listed' | 'settled' | 'states' | 'complete';

/** The only store of domain data. Writers are inside `fleet/`; all other code selects from it. */
export interface Fleet {
  snapshot(): FleetSnapshot;
  /** Called after each commit. */
  subscribe(listener: () => void): () => void;
  /** Until `settled` by default. With `states`, details of other containers are not read until `complete` is requested. */
  settle(signal: AbortSignal, until?: FleetStage): Promise<FleetSnapshot>;
  /** Waits, at most this long, until every engine has been sent its container query: slow work can start while answers are pending. */
  asked(limitMs: number): Promise<void>;
  watchStats(componentKey: string): () => void;
  stats(componentKey: string): StatsHistory | undefined;
  refresh(componentKey?: string): void;
  retry(engineName: string): void;
  /** Stops a container and records that Quarterdeck did it, unless the engine refuses: not every engine reports it afterwards (R5). */
  whileStopping<T>(containerId: string, stop: () => Promise<T>): Promise<T>;
  close(): void;
}
