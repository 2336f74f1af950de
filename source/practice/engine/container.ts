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
  name?: string;
  source: string;
  target: string;
  readOnly: boolean;
}

export interface ContainerSpec {
  name: string;
  image: string;
  imageId: string;
  entrypoint: readonly string[];
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  tty: boolean;
  ports: readonly PortBinding[];
  mounts: readonly ContainerMount[];
  networkMode: string;
  networks: readonly string[];
  restartPolicy: { name: 'no' | 'always' | 'unless-stopped' | 'on-failure'; maximum: number };
  devices: readonly string[];
  memoryLimitBytes: number;
  logDriver: string;
  healthcheck: { test: readonly string[]; intervalMs: number } | undefined;
}

export function newState() {
  return {
    status: 'created' as 'created' | 'running' | 'paused' | 'restarting' | 'exited',
    exitCode: 0,
    error: '',
    startedMs: undefined as number | undefined,
    finishedMs: undefined as number | undefined,
    pid: 0,
    health: undefined as 'starting' | 'healthy' | 'unhealthy' | undefined,
    failingStreak: 0,
    healthOutput: '',
  };
}

export class Container {
  readonly id: string;
  readonly spec: ContainerSpec;
  readonly program: Program;
  readonly createdMs: number;
  readonly log = new ContainerLog();
  readonly files = new ContainerFiles();
  readonly state = newState();
  restartCount = 0;
  /** Stopped on request: the restart policy does not apply. */
  stopped = false;
  /** Host ports of this run, those that the engine chose included. */
  bound: readonly (PortBinding & { hostPort: number })[] = [];
  networkAddress = '';
  run: AbortController | undefined;
  /** Aborts the restart that the policy has scheduled. */
  restart: AbortController | undefined;
  restartDelayMs = 0;

  constructor(spec: ContainerSpec, program: Program, { createdMs, seed }: { createdMs: number; seed: string }) {
    this.spec = spec;
    this.program = program;
    this.createdMs = createdMs;
    this.id = createHash('sha256').update(seed).digest('hex');
    for (const { target } of spec.mounts) this.files.makeFolder(target);
    this.files.write('/etc/hostname', `${this.hostname}\n`, createdMs);
  }

  get name(): string {
    return this.spec.name;
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

  /** Whether its network is neither the host's nor another container's. */
  get hasNetwork(): boolean {
    const { networkMode } = this.spec;
    return networkMode !== 'host' && networkMode !== 'none' && this.networkOwner === undefined;
  }

  get isUp(): boolean {
    return this.state.status === 'running' || this.state.status === 'paused';
  }
}
