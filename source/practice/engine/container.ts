import { createHash } from 'node:crypto';
import { ContainerFiles } from './container-files.ts';
import { ContainerLog } from './container-log.ts';
import type { Program } from './program.ts';

export interface PortBinding {
  containerPort: number;
  protocol: 'tcp' | 'udp';
  /** Empty: every address. */
  hostIp: string;
  /** Undefined: exposed, not published. 0: the engine chooses one at each start. */
  hostPort: number | undefined;
}

export interface ContainerMount {
  type: 'volume' | 'bind';
  /** Of a volume. */
  name?: string;
  source: string;
  target: string;
  readOnly: boolean;
}

/** What a container is made of; it stays so for its life. */
export interface ContainerSpec {
  name: string;
  image: string;
  imageId: string;
  entrypoint: readonly string[];
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  tty: boolean;
  openStdin: boolean;
  ports: readonly PortBinding[];
  mounts: readonly ContainerMount[];
  networkMode: string;
  networks: readonly string[];
  restartPolicy: { name: 'no' | 'always' | 'unless-stopped' | 'on-failure'; maximum: number };
  capAdd: readonly string[];
  devices: readonly string[];
  memoryLimitBytes: number;
  logDriver: string;
  healthcheck?: { test: readonly string[]; intervalMs: number } | undefined;
  workingFolder: string;
  user: string;
  autoRemove: boolean;
}

export interface ContainerState {
  status: 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead';
  exitCode: number;
  error: string;
  outOfMemory: boolean;
  startedMs: number | undefined;
  finishedMs: number | undefined;
  pid: number;
  health: 'starting' | 'healthy' | 'unhealthy' | undefined;
  failingStreak: number;
  healthOutput: string;
}

/** A container that exists, running or not. What happens to it is the machine's part. */
export class Container {
  readonly id: string;
  name: string;
  readonly spec: ContainerSpec;
  readonly program: Program;
  readonly createdMs: number;
  readonly log = new ContainerLog();
  readonly files = new ContainerFiles();
  readonly state: ContainerState = {
    status: 'created',
    exitCode: 0,
    error: '',
    outOfMemory: false,
    startedMs: undefined,
    finishedMs: undefined,
    pid: 0,
    health: undefined,
    failingStreak: 0,
    healthOutput: '',
  };
  restartCount = 0;
  /** Asked to stop by somebody: the restart policy keeps still. */
  stopped = false;
  /** Host ports of this run, those that the engine chose included. */
  bound: readonly (PortBinding & { hostPort: number })[] = [];
  networkAddress = '';
  run: AbortController | undefined;
  restartTimer: NodeJS.Timeout | undefined;
  restartDelayMs = 0;
  readonly usage = { cpuNanoseconds: 0, receivedBytes: 0, sentBytes: 0, readMs: 0 };

  constructor(spec: ContainerSpec, program: Program, { createdMs, seed }: { createdMs: number; seed: string }) {
    this.spec = spec;
    this.name = spec.name;
    this.program = program;
    this.createdMs = createdMs;
    this.id = createHash('sha256').update(seed).digest('hex');
    for (const { target } of spec.mounts) this.files.makeFolder(target);
    this.files.write('/etc/hostname', `${this.hostname}\n`, createdMs);
    this.files.write('/etc/hosts', `127.0.0.1\tlocalhost\n172.18.0.2\t${this.hostname}\n`, createdMs);
  }

  get hostname(): string {
    return this.id.slice(0, 12);
  }

  get argv(): readonly string[] {
    return [...this.spec.entrypoint, ...this.spec.command];
  }

  /** Id of the container in whose network it is. */
  get networkOwner(): string | undefined {
    return /^container:(.+)$/.exec(this.spec.networkMode)?.[1];
  }

  /** A network that is neither the host's nor another container's. */
  get hasNetwork(): boolean {
    const { networkMode } = this.spec;
    return networkMode !== 'host' && networkMode !== 'none' && this.networkOwner === undefined;
  }

  get isUp(): boolean {
    return this.state.status === 'running' || this.state.status === 'paused';
  }
}
