import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { Container, type ContainerSpec } from './container.ts';
import { Doors } from './doors.ts';
import { EventLog } from './event-log.ts';
import { Images } from './images.ts';
import type { Program, Run } from './program.ts';
import { noContainer, Refusal } from './refusal.ts';

export interface Volume {
  name: string;
  labels: Readonly<Record<string, string>>;
  createdMs: number;
  sizeBytes: number;
}

export interface Network {
  id: string;
  name: string;
  labels: Readonly<Record<string, string>>;
  createdMs: number;
  driver: string;
  subnet: number;
}

/** As Docker does: doubled from here on, back to the beginning after ten seconds of running. */
const firstRestartMs = 100;
const longestRestartMs = 60_000;
const stableRunMs = 10_000;
const defaultGraceSeconds = 10;
const firstChosenPort = 32_768;

/** Everything that a practice engine has, and what can be done to it. */
export class Machine {
  readonly events = new EventLog();
  readonly images = new Images();
  readonly doors: Doors;
  readonly volumes = new Map<string, Volume>();
  readonly networks = new Map<string, Network>();
  /** Who plays a container that is made while the practice runs; without an answer its own command is run by a small shell. */
  cast: (spec: ContainerSpec) => Program | undefined = () => undefined;
  readonly name = 'practice';
  readonly cpus = 4;
  readonly memoryBytes = 16_541_192_192;
  readonly bootMs: number;
  readonly #containers = new Map<string, Container>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #nextPid = 2_100;
  #closed = false;

  /** What lies below it can be mounted; nothing else of the machine that the practice runs on. */
  readonly #ownFolder: string | undefined;

  constructor({ portsFolder, bootMs, ownFolder }: { portsFolder: string; bootMs: number; ownFolder?: string }) {
    this.doors = new Doors(portsFolder);
    this.bootMs = bootMs;
    this.#ownFolder = ownFolder;
    for (const [name, driver] of [
      ['bridge', 'bridge'],
      ['host', 'host'],
      ['none', 'null'],
    ] as const)
      this.addNetwork(name, {}, bootMs, driver);
  }

  now(): number {
    return Date.now();
  }

  /** Newest first, as engines list them. */
  containers(): Container[] {
    return [...this.#containers.values()].sort((a, b) => b.createdMs - a.createdMs || (a.name < b.name ? -1 : 1));
  }

  find(name: string): Container | undefined {
    const wanted = name.replace(/^\//, '');
    const exact = this.#containers.get(wanted) ?? this.containers().find((one) => one.name === wanted);
    if (exact || !/^[0-9a-f]+$/.test(wanted)) return exact;
    const begins = this.containers().filter(({ id }) => id.startsWith(wanted));
    return begins.length === 1 ? begins[0] : undefined;
  }

  container(name: string): Container {
    const found = this.find(name);
    if (!found) throw noContainer(name);
    return found;
  }

  addNetwork(name: string, labels: Readonly<Record<string, string>>, createdMs: number, driver = 'bridge'): Network {
    const network = { id: randomBytes(32).toString('hex'), name, labels, createdMs, driver, subnet: 17 + this.networks.size };
    this.networks.set(name, network);
    return network;
  }

  addVolume(name: string, labels: Readonly<Record<string, string>>, createdMs: number, sizeBytes = 0): Volume {
    const known = this.volumes.get(name);
    if (known) return known;
    const volume = { name, labels, createdMs, sizeBytes };
    this.volumes.set(name, volume);
    return volume;
  }

  create(spec: ContainerSpec, program: Program, { createdMs = this.now(), seed = randomBytes(32).toString('hex') } = {}): Container {
    const taken = this.find(spec.name);
    if (taken && taken.name === spec.name) {
      throw new Refusal(
        409,
        `Conflict. The container name "/${spec.name}" is already in use by container "${taken.id}". You have to remove (or rename) that container to be able to reuse that name.`,
      );
    }
    const container = new Container(spec, program, { createdMs, seed });
    this.#containers.set(container.id, container);
    for (const { name, type, source, target } of spec.mounts) {
      if (name !== undefined) this.addVolume(name, {}, createdMs);
      else if (type === 'bind' && this.#ownFolder !== undefined && source.startsWith(`${this.#ownFolder}/`))
        container.files.mount(target, source);
    }
    this.tell(container, 'create', {}, createdMs);
    return container;
  }

  /** What is told of a container from now on, in what it does nothing changes. */
  amend(container: Container, more: Partial<Pick<ContainerSpec, 'labels' | 'networks'>>): void {
    Object.assign(container.spec, more);
  }

  /** One event of a container, with the attributes that Docker gives. */
  tell(container: Container, action: string, more: Readonly<Record<string, string>> = {}, ms = this.now()): void {
    const { image, labels } = container.spec;
    this.events.tell('container', action, container.id, { ...labels, ...more, image, name: container.name }, ms);
  }

  /** Calls back later, unless the machine is closed before. */
  later(ms: number, call: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      call();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  /** Forgets a timer. */
  cancel(timer: NodeJS.Timeout | undefined): void {
    if (!timer) return;
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  /** Answers `already` where it runs. `startedMs` lies in the past for what was started before the practice began. */
  async start(container: Container, { startedMs = this.now(), quiet = false } = {}): Promise<'done' | 'already'> {
    const { state } = container;
    if (state.status === 'paused') throw new Refusal(409, 'cannot start a paused container, try unpause instead');
    if (state.status === 'running') return 'already';
    if (state.status === 'removing') throw new Refusal(409, 'container is marked for removal and cannot be started');
    this.cancel(container.restartTimer);
    container.restartTimer = undefined;
    container.stopped = false;
    if (container.networkOwner !== undefined && !this.container(container.networkOwner).isUp)
      throw new Refusal(409, `cannot join network of a non running container: ${container.networkOwner}`);
    const hostPorts = this.#bind(container);
    const run = new AbortController();
    container.run = run;
    container.bound = hostPorts;
    Object.assign(state, {
      status: 'running',
      exitCode: 0,
      error: '',
      outOfMemory: false,
      startedMs,
      pid: this.#nextPid++,
      health: container.spec.healthcheck ? 'starting' : undefined,
      failingStreak: 0,
      healthOutput: '',
    });
    container.networkAddress = container.hasNetwork ? `172.18.0.${2 + (state.pid % 250)}` : '';
    container.usage.readMs = 0;
    await Promise.all(
      hostPorts
        .filter(({ protocol }) => protocol === 'tcp')
        .map((door) =>
          this.doors
            .open({ ...door, address: door.hostIp }, container.program, () => this.#inNetworkOf(container, door.containerPort))
            .catch(() => undefined),
        ),
    );
    if (!quiet) {
      if (container.hasNetwork) this.#tellNetwork(container, 'connect');
      this.tell(container, 'start');
    }
    if (!run.signal.aborted) container.program.start(this.#runOf(container, run));
    return 'done';
  }

  /** Who else listens on a port there: only whoever joined after the owner of the network was started. */
  #inNetworkOf(owner: Container, port: number): RequestListener | undefined {
    const joined = this.containers().filter(
      (one) => one.isUp && one.networkOwner === owner.id && (one.state.startedMs ?? 0) >= (owner.state.startedMs ?? 0),
    );
    return joined.map(({ program }) => program.listeners?.[port]).find((listener) => listener !== undefined);
  }

  #bind(container: Container): Container['bound'] {
    const bound: Container['bound'][number][] = [];
    for (const port of container.spec.ports) {
      if (port.hostPort === undefined) continue;
      let hostPort = port.hostPort;
      if (hostPort === 0) for (hostPort = firstChosenPort; this.#holder(hostPort, port.protocol); ) hostPort++;
      if (this.#holder(hostPort, port.protocol)) {
        const where = `${port.hostIp || '0.0.0.0'}:${hostPort}`;
        const message = `failed to set up container networking: driver failed programming external connectivity on endpoint ${container.name} (${container.id}): Bind for ${where} failed: port is already allocated`;
        Object.assign(container.state, { error: message, exitCode: 128 });
        throw new Refusal(500, message);
      }
      bound.push({ ...port, hostPort });
    }
    return bound;
  }

  #holder(hostPort: number, protocol: string): Container | undefined {
    return this.containers().find((one) => one.isUp && one.bound.some((port) => port.hostPort === hostPort && port.protocol === protocol));
  }

  #runOf(container: Container, run: AbortController): Run {
    const ours = () => container.run === run;
    const write = (text: string, stream: 'stdout' | 'stderr' = 'stdout') => {
      if (ours() && container.spec.logDriver !== 'none') container.log.append(text, container.spec.tty ? 'stdout' : stream, this.now());
    };
    return {
      signal: run.signal,
      startedMs: container.state.startedMs ?? this.now(),
      environment: container.spec.environment,
      files: container.files,
      now: () => this.now(),
      log: (line, stream) => write(`${line}\n`, stream),
      write,
      exit: (code) => {
        if (ours()) void this.#ended(container, code);
      },
      health: (status, output) => {
        if (ours()) this.setHealth(container, status, output);
      },
    };
  }

  setHealth(container: Container, status: 'starting' | 'healthy' | 'unhealthy', output: string): void {
    const { state } = container;
    if (!container.spec.healthcheck || !container.isUp) return;
    const changed = state.health !== status;
    Object.assign(state, {
      health: status,
      healthOutput: output,
      failingStreak: status === 'unhealthy' ? Math.max(3, state.failingStreak + 1) : 0,
    });
    if (changed) this.tell(container, `health_status: ${status}`);
  }

  /** The program is gone: by itself, or because it was asked or killed. */
  async #ended(container: Container, exitCode: number): Promise<void> {
    const { state, spec } = container;
    const run = container.run;
    if (!run) return;
    container.run = undefined;
    const nowMs = this.now();
    const ranMs = nowMs - (state.startedMs ?? nowMs);
    Object.assign(state, { exitCode, finishedMs: nowMs, pid: 0 });
    const policy = spec.restartPolicy;
    const again =
      !this.#closed &&
      !container.stopped &&
      (policy.name === 'always' ||
        policy.name === 'unless-stopped' ||
        (policy.name === 'on-failure' && exitCode !== 0 && (policy.maximum === 0 || container.restartCount < policy.maximum)));
    state.status = again ? 'restarting' : 'exited';
    run.abort();
    const doors = container.bound;
    container.bound = [];
    container.networkAddress = '';
    await Promise.all(doors.map(({ hostPort }) => this.doors.shut(hostPort)));
    container.log.end();
    this.tell(container, 'die', { exitCode: String(exitCode), execDuration: String(Math.round(ranMs / 1000)) }, nowMs);
    if (container.hasNetwork) this.#tellNetwork(container, 'disconnect');
    if (again) {
      container.restartDelayMs =
        ranMs > stableRunMs ? firstRestartMs : Math.min(Math.max(container.restartDelayMs * 2, firstRestartMs), longestRestartMs);
      container.restartTimer = this.later(container.restartDelayMs, () => {
        container.restartCount++;
        this.start(container).catch(() => {
          container.state.status = 'exited';
        });
      });
    } else if (spec.autoRemove) await this.remove(container, { force: true, volumes: true });
  }

  #tellNetwork(container: Container, action: 'connect' | 'disconnect'): void {
    for (const name of container.spec.networks) {
      const network = this.networks.get(name);
      this.events.tell(
        'network',
        action,
        network?.id ?? name,
        { container: container.id, name, type: network?.driver ?? 'bridge' },
        this.now(),
      );
    }
  }

  /** SIGTERM, the time that is given, SIGKILL. */
  async stop(container: Container, { graceSeconds = defaultGraceSeconds, signal = 'SIGTERM' } = {}): Promise<'done' | 'already'> {
    const { state } = container;
    if (state.status === 'restarting') {
      this.cancel(container.restartTimer);
      container.stopped = true;
      state.status = 'exited';
      this.tell(container, 'stop');
      return 'done';
    }
    if (!container.isUp) return 'already';
    container.stopped = true;
    await this.#end(container, signal, graceSeconds);
    this.tell(container, 'stop');
    return 'done';
  }

  async #end(container: Container, signal: string, graceSeconds: number): Promise<void> {
    const { run } = container;
    if (!run) return;
    this.tell(container, 'kill', { signal: String(signalNumber(signal)) });
    const answer = container.state.status === 'paused' ? undefined : container.program.onSignal?.(signal);
    const graceMs = graceSeconds < 0 ? 2 ** 31 - 1 : graceSeconds * 1000;
    const inTime = answer !== undefined && answer.afterMs <= graceMs;
    await this.#waitUnlessEnded(run.signal, inTime ? answer.afterMs : graceMs);
    if (container.run !== run) return;
    if (!inTime) this.tell(container, 'kill', { signal: '9' });
    await this.#ended(container, inTime ? answer.exitCode : 137);
  }

  #waitUnlessEnded(signal: AbortSignal, ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || ms <= 0) return resolve();
      const done = () => {
        this.cancel(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.later(ms, done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async restart(container: Container, options: { graceSeconds?: number } = {}): Promise<void> {
    await this.stop(container, options);
    await this.start(container);
    this.tell(container, 'restart');
  }

  async kill(container: Container, signal: string): Promise<void> {
    if (!container.isUp) throw new Refusal(409, `cannot kill container: ${container.id}: container ${container.id} is not running`);
    const number = signalNumber(signal);
    if (number === undefined) throw new Refusal(400, `Invalid signal: ${signal}`);
    this.tell(container, 'kill', { signal: String(number) });
    // Whatever the signal: who sends one does not want the restart policy to answer.
    container.stopped = true;
    if (number === 9) {
      await this.#ended(container, 137);
      return;
    }
    const answer = container.program.onSignal?.(signal.startsWith('SIG') ? signal : (signalName(number) ?? signal));
    if (!answer) return;
    const { run } = container;
    this.later(answer.afterMs, () => {
      if (container.run === run) void this.#ended(container, answer.exitCode);
    });
  }

  /** Ends the program from within, as a crash does: the restart policy answers. */
  async crash(container: Container, exitCode: number, { outOfMemory = false } = {}): Promise<void> {
    if (outOfMemory) this.tell(container, 'oom');
    await this.#ended(container, exitCode);
    container.state.outOfMemory = outOfMemory;
  }

  pause(container: Container): void {
    if (container.state.status === 'paused') throw new Refusal(409, `Container ${container.id} is already paused`);
    if (container.state.status !== 'running') throw new Refusal(409, `Container ${container.id} is not running`);
    container.state.status = 'paused';
    this.tell(container, 'pause');
  }

  unpause(container: Container): void {
    if (container.state.status !== 'paused') throw new Refusal(409, `Container ${container.id} is not paused`);
    container.state.status = 'running';
    this.tell(container, 'unpause');
  }

  rename(container: Container, name: string): void {
    const taken = this.containers().find((one) => one.name === name);
    if (taken) {
      throw new Refusal(
        409,
        `Conflict. The container name "/${name}" is already in use by container "${taken.id}". You have to remove (or rename) that container to be able to reuse that name.`,
      );
    }
    const oldName = container.name;
    container.name = name;
    this.tell(container, 'rename', { oldName: `/${oldName}` });
  }

  async remove(container: Container, { force, volumes }: { force: boolean; volumes: boolean }): Promise<void> {
    const { state } = container;
    if (container.isUp || state.status === 'restarting') {
      if (!force) {
        const what =
          state.status === 'running'
            ? 'stop the container before removing or force remove'
            : 'unpause and stop the container before removing or force remove';
        throw new Refusal(409, `cannot remove container "${container.name}": container is ${state.status}: ${what}`);
      }
      container.stopped = true;
      this.cancel(container.restartTimer);
      if (container.run) {
        this.tell(container, 'kill', { signal: '9' });
        await this.#ended(container, 137);
      }
    }
    this.#containers.delete(container.id);
    container.log.end();
    this.tell(container, 'destroy');
    if (!volumes) return;
    for (const { name } of container.spec.mounts) if (name && /^[0-9a-f]{64}$/.test(name)) this.volumes.delete(name);
  }

  /** Containers that use a volume, up or not. */
  usersOf(volume: string): Container[] {
    return this.containers().filter(({ spec }) => spec.mounts.some(({ name }) => name === volume));
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const container of this.#containers.values()) {
      container.run?.abort();
      container.run = undefined;
      container.log.end();
    }
    await this.doors.shutAll();
  }
}

const signals: Record<string, number> = { HUP: 1, INT: 2, QUIT: 3, KILL: 9, USR1: 10, USR2: 12, TERM: 15, WINCH: 28 };

function signalNumber(signal: string): number | undefined {
  return /^\d+$/.test(signal) ? Number(signal) : signals[signal.replace(/^SIG/, '')];
}

function signalName(number: number): string | undefined {
  const found = Object.entries(signals).find(([, one]) => one === number);
  return found && `SIG${found[0]}`;
}
