import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Container, type ContainerSpec, newState } from './container.ts';
import { EventLog } from './event-log.ts';
import { Images } from './images.ts';
import type { Program, Run } from './program.ts';
import { Refusal } from './request.ts';
import { listenAt } from './socket-server.ts';

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

/** As in Docker: doubled at each restart, reset after ten seconds of running. */
const firstRestartMs = 100;
const longestRestartMs = 60_000;
const stableRunMs = 10_000;
const defaultGraceSeconds = 10;
const firstChosenPort = 32_768;

export class Machine {
  readonly events = new EventLog().setMaxListeners(0);
  readonly images = new Images();
  readonly volumes = new Map<string, Volume>();
  readonly networks = new Map<string, Network>();
  /** Chooses the program of a container that is created during the practice; if it returns undefined, a small shell runs its command. */
  cast: (spec: ContainerSpec) => Program | undefined = () => undefined;
  readonly cpus = 4;
  readonly memoryBytes = 16_541_192_192;
  readonly bootMs: number;
  readonly #containers = new Map<string, Container>();
  readonly #closing = new AbortController();
  readonly #portsFolder: string;
  /** Closes the socket of a published port. */
  readonly #ports = new Map<number, () => Promise<void>>();
  #nextPid = 2_100;
  /** Only what is below it can be mounted. */
  readonly #mountable: string;

  constructor({ portsFolder, bootMs, mountable }: { portsFolder: string; bootMs: number; mountable: string }) {
    this.#portsFolder = portsFolder;
    mkdirSync(portsFolder, { recursive: true, mode: 0o700 });
    this.bootMs = bootMs;
    this.#mountable = mountable;
    for (const [name, driver] of Object.entries({ bridge: 'bridge', host: 'host', none: 'null' }))
      this.addNetwork(name, {}, bootMs, driver);
  }

  /** Newest first, as engines list them. */
  containers(): Container[] {
    return [...this.#containers.values()].sort((a, b) => b.createdMs - a.createdMs || (a.name < b.name ? -1 : 1));
  }

  find(name: string): Container | undefined {
    const wanted = name.replace(/^\//, '');
    const exact = this.#containers.get(wanted) ?? this.containers().find((one) => one.name === wanted);
    if (exact || !/^[0-9a-f]+$/.test(wanted)) return exact;
    const found = this.containers().filter(({ id }) => id.startsWith(wanted));
    return found.length === 1 ? found[0] : undefined;
  }

  container(name: string): Container {
    const found = this.find(name);
    if (!found) throw new Refusal(404, `No such container: ${name}`);
    return found;
  }

  network(name: string): Network {
    const network = this.networks.get(name) ?? [...this.networks.values()].find(({ id }) => id.startsWith(name));
    if (!network) throw new Refusal(404, `network ${name} not found`);
    return network;
  }

  addNetwork(name: string, labels: Readonly<Record<string, string>>, createdMs: number, driver = 'bridge'): Network {
    const network = { id: randomBytes(32).toString('hex'), name, labels, createdMs, driver, subnet: 17 + this.networks.size };
    this.networks.set(name, network);
    return network;
  }

  removeNetwork(wanted: string): void {
    const { name } = this.network(wanted);
    const user = this.containers().find((one) => one.isUp && one.spec.networks.includes(name));
    if (user) throw new Refusal(403, `error while removing network: network ${name} has active endpoints (name:"${user.name}")`);
    this.networks.delete(name);
  }

  addVolume(name: string, labels: Readonly<Record<string, string>>, createdMs: number, sizeBytes = 0): Volume {
    const volume = this.volumes.get(name) ?? { name, labels, createdMs, sizeBytes };
    this.volumes.set(name, volume);
    return volume;
  }

  create(spec: ContainerSpec, program: Program, { createdMs = Date.now(), seed = randomBytes(32).toString('hex') } = {}): Container {
    const other = [...this.#containers.values()].find(({ name }) => name === spec.name);
    if (other) {
      throw new Refusal(
        409,
        `Conflict. The container name "/${spec.name}" is already in use by container "${other.id}". You have to remove (or rename) that container to be able to reuse that name.`,
      );
    }
    const container = new Container(spec, program, { createdMs, seed });
    this.#containers.set(container.id, container);
    for (const { name, source, target } of spec.mounts) {
      if (name !== undefined) this.addVolume(name, {}, createdMs);
      else if (source.startsWith(`${this.#mountable}/`)) container.files.mount(target, source);
    }
    this.tell(container, 'create', {}, createdMs);
    return container;
  }

  tell(container: Container, action: string, more: Readonly<Record<string, string>> = {}, ms?: number): void {
    const { image, labels } = container.spec;
    this.events.tell('container', action, container.id, { ...labels, ...more, image, name: container.name }, ms);
  }

  /** Calls back later, unless the signal is aborted or the machine closed before. */
  later(ms: number, call: () => void, signal = this.#closing.signal): void {
    wait(ms, undefined, { signal: AbortSignal.any([signal, this.#closing.signal]) }).then(call, () => undefined);
  }

  /** `startedMs` is in the past for what was started before the practice began: it causes no event. */
  async start(container: Container, startedMs?: number): Promise<'done' | 'already'> {
    const { state } = container;
    if (state.status === 'paused') throw new Refusal(409, 'cannot start a paused container, try unpause instead');
    if (state.status === 'running') return 'already';
    container.restart?.abort();
    container.stopped = false;
    if (container.networkOwner !== undefined && !this.container(container.networkOwner).isUp)
      throw new Refusal(409, `cannot join network of a non running container: ${container.networkOwner}`);
    const bound = this.#bind(container);
    container.bound = bound;
    const run = new AbortController();
    container.run = run;
    const health = container.spec.healthcheck && 'starting';
    Object.assign(state, newState(), { status: 'running', startedMs: startedMs ?? Date.now(), pid: this.#nextPid++, health });
    container.networkAddress = container.hasNetwork ? `172.18.0.${2 + (state.pid % 250)}` : '';
    await Promise.all(bound.map((port) => this.#listen(container, port).catch(() => undefined)));
    if (startedMs === undefined) {
      if (container.hasNetwork) this.#tellNetworks(container, 'connect');
      this.tell(container, 'start');
    }
    if (run.signal.aborted) await Promise.all(bound.map(({ hostPort }) => this.#closePort(hostPort)));
    else container.program.start(this.#runOf(container, run));
    return 'done';
  }

  /** A published port is a socket: `8200.sock`. Nothing listens on the network. */
  socketOf(hostPort: number): string {
    return join(this.#portsFolder, `${hostPort}.sock`);
  }

  async #listen(container: Container, { hostPort, containerPort, protocol }: Container['bound'][number]): Promise<void> {
    if (protocol !== 'tcp') return;
    const listener = container.program.listeners?.[containerPort];
    // Without a listener a port accepts connections and sends nothing, as a DNS server over TCP would.
    const server = listener
      ? createHttpServer({ keepAliveTimeout: 5_000 }, listener)
      : createServer((socket) => {
          const joined = this.#inNetworkOf(container, containerPort);
          if (joined) createHttpServer(joined).emit('connection', socket);
          else socket.resume();
        });
    this.#ports.set(hostPort, await listenAt(server, this.socketOf(hostPort)));
  }

  async #closePort(hostPort: number): Promise<void> {
    const close = this.#ports.get(hostPort);
    this.#ports.delete(hostPort);
    await close?.();
  }

  /** Returns the listener of a container that joined the network after its owner was started. */
  #inNetworkOf(owner: Container, port: number): RequestListener | undefined {
    const joined = this.containers().filter(
      (one) => one.isUp && one.networkOwner === owner.id && (one.state.startedMs ?? 0) >= (owner.state.startedMs ?? 0),
    );
    return joined.map(({ program }) => program.listeners?.[port]).find((listener) => listener !== undefined);
  }

  #bind(container: Container): Container['bound'] {
    return container.spec.ports.flatMap((port) => {
      if (port.hostPort === undefined) return [];
      let { hostPort } = port;
      if (hostPort === 0) for (hostPort = firstChosenPort; this.#isBound(hostPort, port.protocol); ) hostPort++;
      if (!this.#isBound(hostPort, port.protocol)) return [{ ...port, hostPort }];
      const address = `${port.hostIp || '0.0.0.0'}:${hostPort}`;
      const error = `failed to set up container networking: driver failed programming external connectivity on endpoint ${container.name} (${container.id}): Bind for ${address} failed: port is already allocated`;
      Object.assign(container.state, { error, exitCode: 128 });
      throw new Refusal(500, error);
    });
  }

  #isBound(hostPort: number, protocol: string): boolean {
    return this.containers().some((one) => one.isUp && one.bound.some((port) => port.hostPort === hostPort && port.protocol === protocol));
  }

  #runOf(container: Container, run: AbortController): Run {
    const isCurrent = () => container.run === run;
    const { environment, logDriver, tty } = container.spec;
    return {
      signal: run.signal,
      startedMs: container.state.startedMs ?? Date.now(),
      environment,
      files: container.files,
      write: (text, stream = 'stdout') => {
        if (!isCurrent() || logDriver === 'none') return;
        for (const line of text.split(/(?<=\n)/)) container.log.append(line, tty ? 'stdout' : stream, Date.now());
      },
      exit: (code) => {
        if (isCurrent()) void this.#ended(container, code);
      },
      health: (status, output) => {
        if (isCurrent()) this.#setHealth(container, status, output);
      },
    };
  }

  #setHealth(container: Container, health: 'starting' | 'healthy' | 'unhealthy', healthOutput: string): void {
    const { state } = container;
    if (!container.spec.healthcheck || !container.isUp) return;
    const changed = state.health !== health;
    const failingStreak = health === 'unhealthy' ? Math.max(3, state.failingStreak + 1) : 0;
    Object.assign(state, { health, healthOutput, failingStreak });
    if (changed) this.tell(container, `health_status: ${health}`);
  }

  async #ended(container: Container, exitCode: number): Promise<void> {
    const { state, run, bound } = container;
    if (!run) return;
    container.run = undefined;
    const nowMs = Date.now();
    const ranMs = nowMs - (state.startedMs ?? nowMs);
    const { name: policy, maximum } = container.spec.restartPolicy;
    const failedAgain = policy === 'on-failure' && exitCode !== 0 && (maximum === 0 || container.restartCount < maximum);
    const restarts =
      !this.#closing.signal.aborted && !container.stopped && (policy === 'always' || policy === 'unless-stopped' || failedAgain);
    Object.assign(state, { exitCode, finishedMs: nowMs, pid: 0, status: restarts ? 'restarting' : 'exited' });
    run.abort();
    container.bound = [];
    container.networkAddress = '';
    await Promise.all(bound.map(({ hostPort }) => this.#closePort(hostPort)));
    container.log.end();
    this.tell(container, 'die', { exitCode: String(exitCode), execDuration: String(Math.round(ranMs / 1000)) }, nowMs);
    if (container.hasNetwork) this.#tellNetworks(container, 'disconnect');
    if (!restarts) return;
    container.restartDelayMs =
      ranMs > stableRunMs ? firstRestartMs : Math.min(Math.max(container.restartDelayMs * 2, firstRestartMs), longestRestartMs);
    container.restart = new AbortController();
    const restart = () => {
      container.restartCount++;
      this.start(container).catch(() => {
        state.status = 'exited';
      });
    };
    this.later(container.restartDelayMs, restart, container.restart.signal);
  }

  #tellNetworks(container: Container, action: 'connect' | 'disconnect'): void {
    for (const name of container.spec.networks) {
      const { id = name, driver: type = 'bridge' } = this.networks.get(name) ?? {};
      this.events.tell('network', action, id, { container: container.id, name, type });
    }
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async stop(container: Container, { graceSeconds = defaultGraceSeconds } = {}): Promise<'done' | 'already'> {
    const { state, run } = container;
    if (state.status === 'restarting') {
      container.restart?.abort();
      state.status = 'exited';
    } else if (!container.isUp) return 'already';
    container.stopped = true;
    if (run) await this.#end(container, run, graceSeconds);
    this.tell(container, 'stop');
    return 'done';
  }

  async #end(container: Container, run: AbortController, graceSeconds: number): Promise<void> {
    this.tell(container, 'kill', { signal: '15' });
    const answer = container.state.status === 'paused' ? undefined : container.program.onTerminate?.();
    const graceMs = graceSeconds < 0 ? 2 ** 31 - 1 : graceSeconds * 1000;
    const inTime = answer !== undefined && answer.afterMs <= graceMs;
    const signal = AbortSignal.any([run.signal, this.#closing.signal]);
    await wait(inTime ? answer.afterMs : graceMs, undefined, { signal }).catch(() => undefined);
    if (container.run !== run) return;
    if (!inTime) this.tell(container, 'kill', { signal: '9' });
    await this.#ended(container, inTime ? answer.exitCode : 137);
  }

  async restart(container: Container, options: { graceSeconds?: number } = {}): Promise<void> {
    await this.stop(container, options);
    await this.start(container);
    this.tell(container, 'restart');
  }

  async kill(container: Container): Promise<void> {
    const { id } = container;
    if (!container.isUp) throw new Refusal(409, `cannot kill container: ${id}: container ${id} is not running`);
    this.tell(container, 'kill', { signal: '9' });
    container.stopped = true;
    await this.#ended(container, 137);
  }

  /** Ends the program from within, as a crash does: the restart policy applies. */
  crash(container: Container, exitCode: number): Promise<void> {
    return this.#ended(container, exitCode);
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

  async remove(container: Container, { force, volumes }: { force: boolean; volumes: boolean }): Promise<void> {
    const { status } = container.state;
    if (container.isUp || status === 'restarting') {
      if (!force) {
        const first = `${status === 'running' ? '' : 'unpause and '}stop the container before removing or force remove`;
        throw new Refusal(409, `cannot remove container "${container.name}": container is ${status}: ${first}`);
      }
      container.stopped = true;
      container.restart?.abort();
      if (container.isUp) await this.kill(container);
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
    this.#closing.abort();
    for (const container of this.#containers.values()) {
      container.run?.abort();
      container.run = undefined;
      container.log.end();
    }
    await Promise.all([...this.#ports.keys()].map((hostPort) => this.#closePort(hostPort)));
  }
}
