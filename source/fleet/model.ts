import type { ContainerHealth, EngineKind, PublishedPort } from '../engine/engine.ts';
import type { HostLinkView } from '../hosts/host.ts';

/** How good or bad something is; decides colour and glyph, never alone: a word always goes with it. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle' | 'unknown';

/**
 * The states of the container layer (issue and R5). What a probe says stands above them in `word`.
 * `restarting`: in a loop. `stopped`: by an operator, or there is no record of why. `failed`: ended by itself, badly, or went down with its engine or host.
 * `killed`: by a signal that did not come through the engine, or because memory ran out. `finished`: a job that ended well.
 * `missing`: declared, but no container. `unknown`: the engine is away, this is what was seen last.
 */
export type StateName =
  | 'healthy'
  | 'running'
  | 'unhealthy'
  | 'starting'
  | 'restarting'
  | 'stopped'
  | 'failed'
  | 'killed'
  | 'finished'
  | 'paused'
  | 'created'
  | 'removing'
  | 'missing'
  | 'unknown';

export interface ServiceView {
  /** `host/project/service`; the key of every store. */
  key: string;
  name: string;
  /** Id of the container; undefined when missing. */
  containerId: string | undefined;
  containerName: string;
  image: string;
  state: StateName;
  tone: Tone;
  /** One sentence: `exited with code 137 (killed), 2 minutes ago`. */
  detail: string;
  health: ContainerHealth;
  /** Since when it is in this state, epoch milliseconds. */
  sinceMs: number | undefined;
  exitCode: number | undefined;
  restarts: number;
  ports: readonly PublishedPort[];
  tty: boolean;
  /** Why it has no container, where that is known: it was seen to be removed, or its project was created only in part. */
  absence?: 'removed' | 'not created';
  /** While its health check has not answered yet: when it has at the latest, epoch milliseconds. */
  verdictMs?: number;
  /** It ended, and there is no record of why. */
  causeUnknown?: true;
  /** With that: its host went down about then, and may be why. */
  mayBeMissed?: true;
  /** Its restart policy keeps it running unless somebody stops it. Undefined while that is not known. */
  kept?: boolean;
  /** Why it has no network though it runs: the container whose network it is in (R15) is gone, down, or was started after it. */
  cutOff?: CutOff;
  /** Names of services of this component that must be up before this one, where labels or the catalog tell. */
  dependsOn?: readonly string[];
  /** The service that the component is named after; the others serve it. */
  main: boolean;
  /** Of the catalog's annotation, where there is one. */
  role: string | undefined;
  /** The catalog's name of this service, where its entry knows it. */
  declared?: string;
}

export interface CutOff {
  /** One sentence. */
  why: string;
  /** Does the other one run by now, or is it gone for good? Then making this one again is all that is left to do. */
  stale: boolean;
}

/** A diagnostic: what is wrong, and what to do. */
export interface FindingView {
  check: string;
  level: 'error' | 'warning' | 'notice';
  message: string;
  remedy: string;
  rule: string | undefined;
}

export interface ProbeView {
  /** What the probe says, shown instead of the container's state: `sealed 0/3`. Empty when it has nothing to add. */
  word: string;
  tone: Tone;
  detail: string;
  atMs: number;
  /** Version that the product itself told, where the probe learnt it. */
  version: string | undefined;
  /** Why the probe could not ask, undefined when it could. */
  failure: string | undefined;
}

/** Something to do once, after the first start. */
export interface DutyView {
  id: string;
  /** Imperative: `Create the first account, then close signups`. */
  title: string;
  detail: string;
  done: boolean;
  /** `observed`: asked of the running product. `hand`: nobody can see it; an operator says so. */
  by: 'observed' | 'hand';
  /** Everybody gets in until it is done: default credentials, or none (R47). */
  urgent: boolean;
  /** Path of the component's page where it is done (R38). */
  page?: string;
}

/** Of the newest complete backup. `pretended`: what its volumes hold is made up, so that there is nothing to save. `incomplete`: there are backups, and each omits data. */
export interface BackupView {
  atMs: number | undefined;
  incomplete?: true;
  pretended?: true;
}

/** A row of the component list. */
export interface ComponentView {
  /** `host/project/name`. */
  key: string;
  host: string;
  /** Compose project, empty for a lone container. */
  project: string;
  /**
   * What it is called, on screens and in commands, unique on its engine: the catalog's id where known, otherwise the name of its main service or container. Where
   * several are called so, `secrets-manager@lab`. Cleaned.
   */
  id: string;
  /** Id of its catalog entry, where it has one. */
  entry?: string;
  /** In the catalog? */
  known: boolean;
  /** One of the seven groups, or `other`. */
  group: string;
  kind: string;
  product: string;
  /** The API that procedures drive, as component.yaml says (`speaks`). */
  speaks: string | undefined;
  state: StateName;
  tone: Tone;
  /** What the row says: the probe's word, or the state's. */
  word: string;
  /** One sentence for the detail pane. */
  detail: string;
  health: ContainerHealth;
  sinceMs: number | undefined;
  restarts: number;
  services: readonly ServiceView[];
  probe: ProbeView | undefined;
  findings: readonly FindingView[];
  /** Was it deployed from here? */
  deployed: boolean;
  duties: readonly DutyView[];
  /** Of what was deployed from here and has data: when it was last backed up, epoch milliseconds. Undefined where nobody can tell. */
  backup: BackupView | undefined;
  /** Who else says that it owns this project (`docker compose` in /srv/x, systemd unit, ...). */
  origin: string;
  /** Where its page is, when it has one and it is published: `http://127.0.0.1:8200`. */
  url: string | undefined;
}

export interface PortView {
  host: string;
  address: string;
  port: number;
  protocol: 'tcp' | 'udp' | 'sctp';
  /** `unknown` while the addresses of its host are. */
  exposure: 'loopback' | 'lan' | 'public' | 'unknown';
  /** Component id, container or program that listens; `unknown` when it cannot be seen. */
  owner: string;
  /** Key of the component, when a container owns it. */
  component: string | undefined;
  service: string | undefined;
  containerPort: number | undefined;
  role: string | undefined;
  /** Listening now? A published port of a stopped container is not. */
  open: boolean;
  /** Owners that want the same port on an overlapping address (R88). */
  conflictWith: readonly string[];
  /** On an address of the container's own (macvlan, ipvlan), where the host's ports are not in its way. */
  ownAddress?: true;
  /** One sentence when there is something to know about this exposure. */
  note: string | undefined;
}

export interface LinkView {
  state: 'connecting' | 'connected' | 'away';
  sinceMs: number;
  /** Of `away`: what happened and what to do. */
  message: string | undefined;
  remedy: string | undefined;
  /** When the next attempt will be made, epoch milliseconds. */
  retryAtMs: number | undefined;
  /** What is behind it, for who asks for more. */
  cause?: unknown;
}

/** How the way to a machine over ssh is. `asleep`: away, and it does not say anything at all. */
export interface WayView {
  state: HostLinkView['state'] | 'asleep';
  sinceMs: number;
  /** About: it stays as it was told while it hardly changes. */
  roundTripMs: number | undefined;
  /** Why it is away or refused, and what to do. */
  message: string | undefined;
  remedy: string | undefined;
  retryAtMs: number | undefined;
}

/** An engine on a host. `name` is the host's name, with the engine behind it where the host has several. */
export interface PlaceView {
  name: string;
  /** Of the machine: several engines can be on one. */
  machine: string;
  hostKind: 'local' | 'ssh';
  /** Missing for this machine. */
  way?: WayView;
  /** How far the machine's clock is ahead of ours, where that is worth telling; times of its containers are told by our clock. */
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
  /** Standing remarks: published ports bypass the firewall; what loopback means on Docker before 28. */
  notes: readonly string[];
}

/** Everything the console knows of the domain, immutable, replaced at most once per frame. */
export interface FleetSnapshot {
  revision: number;
  /** False until every place has answered or failed once. */
  settled: boolean;
  places: readonly PlaceView[];
  /** Ordered as shown: by group in the order of the specification, then by id. */
  components: readonly ComponentView[];
  ports: readonly PortView[];
}

export interface StatsHistory {
  /** Oldest first, at most 120; percent of one core. */
  cpuPercent: readonly number[];
  memoryBytes: readonly number[];
  memoryLimitBytes: number;
}

/** The one store of domain facts. Writers are inside `fleet/`; everybody else selects. */
export interface Fleet {
  snapshot(): FleetSnapshot;
  /** Called after each commit; returns the way to stop. */
  subscribe(listener: () => void): () => void;
  /**
   * Resolves when every place has answered or failed once; with `listed`, when its containers are known, which is before all is known of its engine; with
   * `complete`, when every container has been inspected and every probe asked too. Rejects with the signal's reason.
   */
  settle(signal: AbortSignal, how?: { listed?: boolean; complete?: boolean }): Promise<FleetSnapshot>;
  /**
   * Resolves when every engine has been asked for its containers, or cannot be, or so much time is over: the moment to do something that takes its time, while
   * the answers are on their way.
   */
  asked(limitMs: number): Promise<void>;
  /** Keeps stats of a component flowing while the returned function has not been called. */
  watchStats(componentKey: string): () => void;
  stats(componentKey: string): StatsHistory | undefined;
  /** Asks a component's probe and reads its facts again, now. */
  refresh(componentKey?: string): void;
  /** Goes to a place again now, also after a refusal, or reads it anew. */
  retry(place: string): void;
  /** Stops a container and remembers that it was from here, unless the engine refuses: not every engine tells afterwards (R5). */
  whileStopping<T>(containerId: string, stop: () => Promise<T>): Promise<T>;
  close(): void;
}
