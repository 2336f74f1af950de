import type { Duplex, Readable, Writable } from 'node:stream';
import type { Grant } from '../grants/grant.ts';
import type { ExecOutcome } from '../hosts/host.ts';
import type { containerStates } from './container-facts.ts';
import type { containerActions } from './events.ts';
import type { LogBatch } from './log-batch.ts';

export type EngineKind = 'docker' | 'podman';

export interface EngineAddress {
  /** `unix:///run/podman/podman.sock`, `tcp://10.0.0.2:2376`. */
  url: string;
  /** `DOCKER_HOST`, `context "nas"`, `default Docker socket`, ... */
  origin: string;
  tls?: { folder: string; verify: boolean };
  machine?: string;
}

export interface EngineFacts {
  kind: EngineKind;
  /** `28.5.1`, `5.8.0`; for Podman the version of Podman itself, not of its Docker-compatible API. */
  version: string;
  apiVersion: string;
  rootless: boolean;
  operatingSystem: string;
  /** Folder for images and volumes on its host, if reported: `/var/lib/docker`. */
  rootFolder?: string;
  /** When it began to accept requests, by its machine's clock, if known: Docker creates its default network at each start. */
  startedMs?: number;
}

export type ContainerRunState = (typeof containerStates)[number];
export type ContainerHealth = 'healthy' | 'unhealthy' | 'starting' | 'none';

export interface PublishedPort {
  /** `0.0.0.0`, `127.0.0.1`, `::`; undefined when the port is exposed but not published. */
  address: string | undefined;
  /** Also published on every IPv6 address, for a list that was merged from one for each family. */
  ipv6?: boolean;
  hostPort: number | undefined;
  containerPort: number;
  protocol: 'tcp' | 'udp' | 'sctp';
}

/** One container, as in a list, the same for every engine. All text is raw: clean it before showing. */
export interface ContainerFacts {
  id: string;
  name: string;
  /** The image name at creation if known, otherwise an id. */
  image: string;
  imageId: string;
  createdMs: number;
  state: ContainerRunState;
  health: ContainerHealth;
  /** In the engine's words: `Up 4 seconds (healthy)`. */
  statusText: string;
  ports: PublishedPort[];
  /** Without labels that come from the image's config: they say nothing about who created the container. */
  labels: Readonly<Record<string, string>>;
  networkMode: string;
  networkAddresses: readonly string[];
}

export interface ContainerDetail extends ContainerFacts {
  exitCode: number | undefined;
  startedMs: number | undefined;
  finishedMs: number | undefined;
  restartCount: number;
  restartPolicy: 'no' | 'always' | 'unless-stopped' | 'on-failure';
  outOfMemory: boolean;
  /** The latest time after a start for its first health result: start period and all retries. Undefined without a check. */
  verdictWithinMs?: number;
  /** Grace period before its program is killed; negative if it is never killed. Undefined if the engine decides. */
  stopTimeoutSeconds?: number;
  error: string;
  /** True if Podman 5 reports a stop; undefined in all other cases: no engine reports that it was not stopped. */
  stoppedByUser: boolean | undefined;
  tty: boolean;
  /** Environment in order. Values can be secrets: mask them before showing. */
  env: readonly (readonly [string, string])[];
  endpoints: readonly { network: string; addresses: readonly string[] }[];
  exposed: readonly Pick<PublishedPort, 'containerPort' | 'protocol'>[];
  mounts: readonly { kind: string; source: string; target: string; readOnly: boolean }[];
  /** Paths on the host, drivers of device requests, and `nvidia` if the NVIDIA runtime provides the GPUs. */
  devices: readonly string[];
  /** What the last health checks printed, oldest first; the fleet keeps only the last one. */
  healthOutputs: readonly string[];
  argv: readonly string[];
  networks: readonly string[];
  /** The engine's whole response. Undefined in what the fleet keeps. */
  raw: unknown;
}

export type EngineEventAction = (typeof containerActions)[number] | 'health' | 'network' | 'image' | 'other';

/** One event, normalized across engines and API versions. Execs of health checks are never included. */
export interface EngineEvent {
  kind: 'container' | 'image' | 'network' | 'volume' | 'other';
  action: EngineEventAction;
  id: string;
  timeMs: number;
  /** As the engine sends it: `15`, `SIGTERM`. */
  signal?: string;
  attributes: Readonly<Record<string, string>>;
}

export interface LogOptions {
  signal: AbortSignal;
  follow: boolean;
  /** Number of lines from the end; undefined reads all. */
  tail?: number;
  sinceMs?: number;
  untilMs?: number;
  tty: boolean;
  /** The times are not used. Docker, which sends a sixth more lines a second without them, then omits them where no line depends on them. */
  untimed?: boolean;
}

export interface LogLine {
  /** Undefined if the engine sent none. Nanoseconds are truncated to milliseconds. */
  timeMs: number | undefined;
  /** The engine's exact timestamp, for resuming precisely after an interruption. */
  stamp: string;
  stream: 'stdout' | 'stderr';
  text: string;
  cut?: boolean;
}

export interface StatsSample {
  timeMs: number;
  /** 100 is one core, as `docker stats` counts. Undefined in the first sample of an engine that sends no earlier one. */
  cpuPercent: number | undefined;
  memoryBytes: number;
  /** 0 without a limit. */
  memoryLimitBytes: number;
}

export interface ImageFacts {
  id: string;
  tags: readonly string[];
  sizeBytes: number;
  labels: Readonly<Record<string, string>>;
  dangling: boolean;
}

export interface DiskUsage {
  images: readonly (ImageFacts & { containers: number; sharedBytes: number })[];
  containers: readonly { id: string; name: string; state: string; sizeBytes: number }[];
  volumes: readonly { name: string; sizeBytes: number | undefined; usedBy: number; anonymous: boolean }[];
  buildCache: readonly { id: string; sizeBytes: number; inUse: boolean }[];
}

export type ExecResult = ExecOutcome;

export interface TerminalSession {
  stream: Duplex;
  resize(columns: number, rows: number): Promise<void>;
  exitCode(): Promise<number>;
}

/** Streamed, so that output and input may be larger than memory. */
export interface ExecOptions {
  /** Name or id, as the container knows it; by default the user of its image. */
  user?: string | undefined;
  limitBytes?: number;
  /** Called with each part of the output as it arrives. */
  heard?: ((bytes: Uint8Array) => void) | undefined;
}

export interface ExecStream {
  /** The caller must end it. */
  stdin: Writable | undefined;
  stdout: Readable;
  /** Settles after the output's end. `stderr` is its last 16 KiB, raw. */
  ended: Promise<{ exitCode: number; stderr: string }>;
}

/** Label of temporary containers that a flow creates for itself: they belong to no component. */
export const helperLabel = 'quarterdeck.helper';

export interface ContainerBeside {
  id: string;
  /** Removes it, even if a program runs in it; also after the grant has ended. */
  close(): Promise<void>;
}

export interface PullProgress {
  /** 0..1 of the known work; undefined until the engine has reported its size. */
  fraction: number | undefined;
  text: string;
}

export interface ImageDetail extends Omit<ImageFacts, 'dangling'> {
  /** `vaultwarden/server@sha256:…`; empty for locally built images. */
  digests: readonly string[];
  architecture: string;
}

export interface NetworkFacts {
  name: string;
  driver: string;
  labels: Readonly<Record<string, string>>;
  subnets: readonly string[];
}

export interface VolumeFacts {
  name: string;
  labels: Readonly<Record<string, string>>;
  mountpoint: string;
}

export interface EngineWriter {
  start(id: string): Promise<'done' | 'already'>;
  stop(id: string, options?: { graceSeconds?: number }): Promise<'done' | 'already'>;
  restart(id: string, options?: { graceSeconds?: number }): Promise<void>;
  pause(id: string): Promise<void>;
  unpause(id: string): Promise<void>;
  remove(id: string, options: { force: boolean; volumes: boolean }): Promise<void>;
  openTerminal(
    id: string,
    argv: readonly string[],
    size: { columns: number; rows: number },
    options?: Pick<ExecOptions, 'user'>,
  ): Promise<TerminalSession>;
  exec(id: string, argv: readonly string[], options?: ExecOptions & { stdin?: Uint8Array | undefined }): Promise<ExecResult>;
  /** Like `exec`, for large output or input: ends with the grant. */
  execStream(id: string, argv: readonly string[], options?: { input?: boolean }): Promise<ExecStream>;
  /** A waiting container, as root and without a network, in which programs can be run. The caller must close it. */
  openBeside(plan: { mount: { source: string; target: string }; image: string }): Promise<ContainerBeside>;
  putArchive(id: string, folder: string, archive: NodeJS.ReadableStream): Promise<void>;
  /** Everything else is removed by name: what an engine's own prune removes depends on its kind and version. */
  pruneBuildCache(): Promise<void>;
  /** Calls `reported` for each layer's progress. Throws `engine.pull` with the registry's own reason. */
  pull(reference: string, reported: (progress: PullProgress) => void): Promise<void>;
  tagImage(id: string, reference: string): Promise<void>;
  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<void>;
  removeNetwork(name: string): Promise<void>;
  removeImage(id: string): Promise<void>;
  removeVolume(name: string): Promise<void>;
}

export interface Engine {
  readonly address: EngineAddress;
  /** `greeted` is awaited once the engine has reported its API version. Throws `unreachable.engine` with the reason. */
  connect(signal: AbortSignal, greeted?: () => Promise<void>): Promise<EngineFacts>;
  list(signal: AbortSignal): Promise<ContainerFacts[]>;
  inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined>;
  /** Endless until the signal aborts; throws `unreachable.engine` when the connection breaks. */
  events(options: { sinceMs?: number; signal: AbortSignal }): AsyncIterable<EngineEvent>;
  /** Lines in batches as they arrive; ends when the container's log ends (or never, when following). */
  logs(id: string, options: LogOptions): AsyncIterable<LogBatch>;
  /** About one a second until the signal aborts. Ends with the container, or at once without figures (rootless on cgroup v1). */
  stats(id: string, signal: AbortSignal): AsyncIterable<StatsSample>;
  images(signal: AbortSignal): Promise<ImageFacts[]>;
  /** By tag, digest or id; undefined if it is not on this host. */
  image(reference: string, signal: AbortSignal): Promise<ImageDetail | undefined>;
  /** Digest of this tag in the registry now; undefined if this engine cannot (Podman) or may not query it. */
  registryDigest(reference: string, signal: AbortSignal): Promise<string | undefined>;
  networks(signal: AbortSignal): Promise<NetworkFacts[]>;
  volumes(signal: AbortSignal): Promise<VolumeFacts[]>;
  diskUsage(signal: AbortSignal): Promise<DiskUsage>;
  /** For commands declared as read-only: a component.yaml's probe. Not available in read-only mode (R32). */
  execReading(id: string, argv: readonly string[], options: ExecOptions & { signal: AbortSignal }): Promise<ExecResult>;
  readFile(id: string, path: string, options: { signal: AbortSignal; limitBytes?: number }): Promise<Uint8Array | undefined>;
  getArchive(id: string, path: string, signal: AbortSignal): Promise<NodeJS.ReadableStream>;
  writer(grant: Grant): EngineWriter;
  close(): void;
}
