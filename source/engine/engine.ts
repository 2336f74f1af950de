import type { Duplex, Readable, Writable } from 'node:stream';
import type { Grant } from '../grants/grant.ts';
import type { LogBatch } from './log-batch.ts';

export type EngineKind = 'docker' | 'podman';

/** Where an engine listens, and who said so. */
export interface EngineAddress {
  /** `unix:///run/podman/podman.sock`, `tcp://10.0.0.2:2376`. */
  url: string;
  /** Shown to the operator: `DOCKER_HOST`, `context "nas"`, `default Docker socket`, ... */
  origin: string;
  /** TLS material of a context or of DOCKER_CERT_PATH. */
  tls?: { folder: string; verify: boolean };
  /** What the operator calls the machine, where that is not this one. */
  machine?: string;
}

/** What the engine says about itself, once per connection. */
export interface EngineFacts {
  kind: EngineKind;
  /** `28.5.1`, `5.8.0`; for Podman the version of Podman itself, not of its Docker-compatible face. */
  version: string;
  /** Negotiated, for example `1.41`. */
  apiVersion: string;
  rootless: boolean;
  operatingSystem: string;
  /** Where it keeps images and volumes on its host, where it tells: `/var/lib/docker`. */
  rootFolder?: string;
  /** When it began to accept requests, by its machine's clock, where it tells: Docker creates its default network at each start. */
  startedMs?: number;
  swarmManager: boolean;
}

export type ContainerRunState = 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead';
export type ContainerHealth = 'healthy' | 'unhealthy' | 'starting' | 'none';

export interface PublishedPort {
  /** `0.0.0.0`, `127.0.0.1`, `::`; undefined when the port is exposed but not published. */
  address: string | undefined;
  /** Published on every IPv6 address too, where a list of ports was made of one for each family. */
  ipv6?: boolean;
  hostPort: number | undefined;
  containerPort: number;
  protocol: 'tcp' | 'udp' | 'sctp';
}

/** One container, as a list tells it, the same for every engine. All text is as it came: clean before showing. */
export interface ContainerFacts {
  id: string;
  /** Without the leading slash. */
  name: string;
  /** The name it was started under where known, otherwise an id. */
  image: string;
  imageId: string;
  command: string;
  createdMs: number;
  state: ContainerRunState;
  health: ContainerHealth;
  /** As the engine words it: `Up 4 seconds (healthy)`. */
  statusText: string;
  ports: PublishedPort[];
  /** Labels that the image's config carries too are not in here: they are no claim of whoever made the container. */
  labels: Readonly<Record<string, string>>;
  networkMode: string;
  /** Addresses on the engine's own networks. */
  networkAddresses: readonly string[];
}

/** What only an inspect tells. */
export interface ContainerDetail extends ContainerFacts {
  exitCode: number | undefined;
  startedMs: number | undefined;
  finishedMs: number | undefined;
  restartCount: number;
  restartPolicy: 'no' | 'always' | 'unless-stopped' | 'on-failure';
  outOfMemory: boolean;
  /** How long after a start its health check has answered at the latest: start period, and each retry with its interval and timeout. Undefined without a check. */
  verdictWithinMs?: number;
  /** How long its program may take to end before it is killed; negative where it never is. Undefined where the engine decides. */
  stopTimeoutSeconds?: number;
  /** The engine's own sentence about a failed start, empty otherwise. */
  error: string;
  /** True where Podman 5 says so; undefined everywhere else: no engine says that it was not. */
  stoppedByUser: boolean | undefined;
  tty: boolean;
  /** Environment in order. Values can be secrets: masked by whoever shows them. */
  env: readonly (readonly [string, string])[];
  /** The networks that it is in, with its addresses there. */
  endpoints: readonly { network: string; addresses: readonly string[] }[];
  /** What its image or its configuration says that it listens on, published or not. */
  exposed: readonly Pick<PublishedPort, 'containerPort' | 'protocol'>[];
  mounts: readonly { kind: string; source: string; target: string; readOnly: boolean }[];
  devices: readonly string[];
  capabilitiesAdded: readonly string[];
  healthLog: readonly { atMs: number; exitCode: number; output: string }[];
  argv: readonly string[];
  networks: readonly string[];
  /** The whole answer, for the inspect tab. */
  raw: unknown;
}

export type EngineEventAction =
  | 'create'
  | 'start'
  | 'die'
  | 'kill'
  | 'stop'
  | 'pause'
  | 'unpause'
  | 'restart'
  | 'remove'
  | 'rename'
  | 'oom'
  | 'health'
  | 'update'
  | 'network'
  | 'image'
  | 'other';

/** One event, the same words for every engine and API version. Execs of health checks never arrive here. */
export interface EngineEvent {
  kind: 'container' | 'image' | 'network' | 'volume' | 'other';
  action: EngineEventAction;
  /** Container id for containers. */
  id: string;
  timeMs: number;
  /** Of `die`. */
  exitCode?: number;
  /** Of `kill`, as the engine gives it: `15`, `SIGTERM`. */
  signal?: string;
  /** Of `health`. */
  health?: ContainerHealth;
  attributes: Readonly<Record<string, string>>;
}

export interface LogOptions {
  signal: AbortSignal;
  follow: boolean;
  /** Number of lines from the end; undefined is all. */
  tail?: number;
  sinceMs?: number;
  untilMs?: number;
  tty: boolean;
}

/** One line of a log, without its newline. Raw: clean before showing. */
export interface LogLine {
  /** Undefined where the engine gave none. Nanoseconds are cut to milliseconds. */
  timeMs: number | undefined;
  /** The engine's timestamp to the letter, for going on exactly where a follow broke off. */
  stamp: string;
  stream: 'stdout' | 'stderr';
  text: string;
  /** True for a line that was longer than the limit and was cut. */
  cut?: boolean;
}

export interface StatsSample {
  timeMs: number;
  /** 100 is one core, as `docker stats` counts. Undefined in the first sample of an engine that gives no earlier one. */
  cpuPercent: number | undefined;
  memoryBytes: number;
  /** 0 when there is no limit. */
  memoryLimitBytes: number;
  rxBytes: number;
  txBytes: number;
}

export interface ImageFacts {
  id: string;
  tags: readonly string[];
  sizeBytes: number;
  createdMs: number;
  labels: Readonly<Record<string, string>>;
  dangling: boolean;
}

export interface DiskUsage {
  images: readonly (ImageFacts & { containers: number; sharedBytes: number })[];
  containers: readonly { id: string; name: string; state: string; sizeBytes: number }[];
  volumes: readonly { name: string; sizeBytes: number | undefined; usedBy: number; anonymous: boolean }[];
  buildCache: readonly { id: string; sizeBytes: number; inUse: boolean }[];
  /** All images together, layers that several share counted once; undefined where the engine does not tell (Podman says 0). */
  layersBytes?: number;
}

export interface ExecResult {
  exitCode: number;
  stdout: Uint8Array;
  stderr: Uint8Array;
  cut: boolean;
}

/** A program with a terminal of its own inside a container. */
export interface TerminalSession {
  stream: Duplex;
  resize(columns: number, rows: number): Promise<void>;
  /** Settles when the program has ended. */
  exitCode(): Promise<number>;
}

/** A program in a container whose output and input flow, so that they may be larger than memory. */
export interface ExecStream {
  /** Undefined where no input was asked for; to be ended otherwise. */
  stdin: Writable | undefined;
  /** To be read to its end. */
  stdout: Readable;
  /** Settles after the output's end. `stderr` is its last 16 KiB, raw. */
  ended: Promise<{ exitCode: number; stderr: string }>;
}

/** On containers that a flow makes for itself for a while: they are no component of anything. */
export const helperLabel = 'quarterdeck.helper';

/** A short-lived container that sees one volume, or folder of the host, and nothing else. */
export interface BesidePlan {
  mount: { source: string; target: string };
  image: string;
}
export interface ContainerBeside {
  id: string;
  /** Takes it away, whatever runs in it; also after the grant has ended. */
  close(): Promise<void>;
}

/** All layers of one pull together. */
export interface PullProgress {
  /** 0..1 of what is known to come; undefined until the engine has said how much that is. */
  fraction: number | undefined;
  /** `3 of 7 layers, 41 MB of 120 MB`. */
  text: string;
}

export interface ImageDetail {
  id: string;
  tags: readonly string[];
  /** `vaultwarden/server@sha256:…`; empty for images that were built here. */
  digests: readonly string[];
  architecture: string;
  sizeBytes: number;
  createdMs: number;
  labels: Readonly<Record<string, string>>;
}

export interface NetworkFacts {
  id: string;
  name: string;
  driver: string;
  labels: Readonly<Record<string, string>>;
  subnets: readonly string[];
}

export interface VolumeFacts {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Where it is on the host, as far as the engine tells. */
  mountpoint: string;
}

/** What changes something. Every method asks for a grant and takes its signal. */
export interface EngineWriter {
  start(id: string): Promise<'done' | 'already'>;
  stop(id: string, options?: { graceSeconds?: number }): Promise<'done' | 'already'>;
  restart(id: string, options?: { graceSeconds?: number }): Promise<void>;
  pause(id: string): Promise<void>;
  unpause(id: string): Promise<void>;
  remove(id: string, options: { force: boolean; volumes: boolean }): Promise<void>;
  openTerminal(id: string, argv: readonly string[], size: { columns: number; rows: number }): Promise<TerminalSession>;
  exec(id: string, argv: readonly string[], options?: { stdin?: Uint8Array }): Promise<ExecResult>;
  /** Like `exec`, for what is large: ends with the grant. */
  execStream(id: string, argv: readonly string[], options?: { input?: boolean }): Promise<ExecStream>;
  /** A container that waits, as root and without a network, for programs to be run in it. To be closed. */
  openBeside(plan: BesidePlan): Promise<ContainerBeside>;
  /** A tar archive, unpacked at `folder` inside the container. */
  putArchive(id: string, folder: string, archive: NodeJS.ReadableStream): Promise<void>;
  /** All of it that no build uses. Everything else is removed by name: what an engine's own prune takes depends on its make and age. */
  pruneBuildCache(): Promise<void>;
  /** Fetches one image by tag or digest; `told` hears of each layer as it comes. Throws `engine.pull` with the registry's own reason. */
  pull(reference: string, told: (progress: PullProgress) => void): Promise<void>;
  tagImage(id: string, reference: string): Promise<void>;
  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<void>;
  removeNetwork(name: string): Promise<void>;
  removeImage(id: string): Promise<void>;
  removeVolume(name: string): Promise<void>;
}

/** One container engine, spoken to over its API, whatever its make and age. */
export interface Engine {
  readonly address: EngineAddress;
  /**
   * Connects and negotiates; `greeted` is called when the engine has said which version it speaks, and what it answers is waited for before the engine is asked
   * what else it is. Throws `unreachable.engine` with the reason (none, dead socket, no permission, hangs, rubbish).
   */
  connect(signal: AbortSignal, greeted?: () => Promise<void>): Promise<EngineFacts>;
  list(signal: AbortSignal): Promise<ContainerFacts[]>;
  /** Undefined when there is no such container (any more). */
  inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined>;
  /** Endless until the signal; ends by throwing `unreachable.engine` when the connection breaks. */
  events(options: { sinceMs?: number; signal: AbortSignal }): AsyncIterable<EngineEvent>;
  /** Lines in batches as they arrive; ends when the container's log ends (or never, when following). */
  logs(id: string, options: LogOptions): AsyncIterable<LogBatch>;
  /** About one sample a second until the signal. Ends when the container stops, at once where the engine has no figures (rootless on cgroup v1). */
  stats(id: string, signal: AbortSignal): AsyncIterable<StatsSample>;
  images(signal: AbortSignal): Promise<ImageFacts[]>;
  /** By tag, digest or id; undefined where it is not on this host. */
  image(reference: string, signal: AbortSignal): Promise<ImageDetail | undefined>;
  /** Digest of what the registry has under this tag now; undefined where this engine cannot ask (Podman) or may not. */
  registryDigest(reference: string, signal: AbortSignal): Promise<string | undefined>;
  networks(signal: AbortSignal): Promise<NetworkFacts[]>;
  volumes(signal: AbortSignal): Promise<VolumeFacts[]>;
  diskUsage(signal: AbortSignal): Promise<DiskUsage>;
  /** What is declared as reading only: a component.yaml's probe. Not available in read-only mode (R32). */
  execReading(id: string, argv: readonly string[], options: { signal: AbortSignal; limitBytes?: number }): Promise<ExecResult>;
  /** A file out of the container, undefined when missing. */
  readFile(id: string, path: string, options: { signal: AbortSignal; limitBytes?: number }): Promise<Uint8Array | undefined>;
  /** A tar archive of what is at `path`. */
  getArchive(id: string, path: string, signal: AbortSignal): Promise<NodeJS.ReadableStream>;
  writer(grant: Grant): EngineWriter;
  close(): void;
}
