import type { ContainerDetail, Engine, EngineEvent, EngineEventAction, StatsSample } from '../../source/engine/engine.ts';
import { Fault } from '../../source/faults/fault.ts';
import type { Host, Listener } from '../../source/hosts/host.ts';
import { EngineDouble } from './engine-double.ts';

/** An engine that tells what happens in it, and that can go away and come back. Counts what it is asked. */
export class LiveEngine extends EngineDouble {
  reachable = true;
  readonly asked = { connect: 0, list: 0, inspect: 0 };
  readonly statsOf = new Set<string>();
  #streams = new Set<{ queue: EngineEvent[]; wake: () => void; broken: boolean }>();

  override async connect() {
    this.asked.connect++;
    this.#check();
    return super.connect();
  }
  override async list() {
    this.asked.list++;
    this.#check();
    return super.list();
  }
  override async inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined> {
    this.asked.inspect++;
    this.#check();
    return super.inspect(id, signal);
  }
  override async *events(options?: { sinceMs?: number; signal: AbortSignal }): AsyncGenerator<EngineEvent> {
    const stream = { queue: [] as EngineEvent[], wake: () => {}, broken: false };
    this.#streams.add(stream);
    options?.signal.addEventListener('abort', () => stream.wake(), { once: true });
    try {
      for (;;) {
        yield* stream.queue.splice(0);
        if (stream.broken) throw new Fault('unreachable.engine', 'The engine closed the connection.', 'Start it.');
        if (options?.signal.aborted) return;
        await new Promise<void>((resolve) => {
          stream.wake = resolve;
        });
      }
    } finally {
      this.#streams.delete(stream);
    }
  }
  override async *stats(id?: string, signal?: AbortSignal): AsyncGenerator<StatsSample> {
    if (id === undefined || signal === undefined) return;
    this.statsOf.add(id);
    yield { timeMs: 0, cpuPercent: 12.5, memoryBytes: 1_000, memoryLimitBytes: 8_000 };
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.statsOf.delete(id);
  }

  /** Changes a container, and says so as an engine does. */
  happen(name: string, action: EngineEventAction, changes: Partial<ContainerDetail> = {}, more: Partial<EngineEvent> = {}): void {
    const id = [...this.containers.values()].find((container) => container.name === name)?.id ?? name;
    if (action === 'remove') this.containers.delete(id);
    else this.change(name, changes);
    this.say({ kind: 'container', action, id, timeMs: Date.now(), attributes: {}, ...more });
  }

  /** Tells of something without anything having changed here. */
  say(event: EngineEvent): void {
    for (const stream of this.#streams) {
      stream.queue.push(event);
      stream.wake();
    }
  }

  /** `kill -9` of the engine. */
  crash(): void {
    this.reachable = false;
    for (const stream of this.#streams) {
      stream.broken = true;
      stream.wake();
    }
  }

  #check(): void {
    if (!this.reachable) throw new Fault('unreachable.engine', 'Nobody listens on the socket.', 'Start the engine.');
  }
}

/** A machine whose sockets and files the test says. */
export function hostDouble({ listeners = [], files = {} }: { listeners?: Listener[]; files?: Record<string, string> } = {}): Host {
  return {
    name: 'local',
    kind: 'local',
    facts: async () => ({
      hostname: 'nas',
      platform: 'linux',
      architecture: 'x64',
      cpus: 2,
      memoryBytes: 8e9,
      uid: 1000,
      home: '/home/op',
      runtimeDir: undefined,
      addresses: ['127.0.0.1', '192.168.1.5'],
      env: {},
    }),
    files: {
      read: async (path) => (path in files ? new TextEncoder().encode(files[path]) : undefined),
      facts: async (path) =>
        path in files ? { kind: 'file', sizeBytes: files[path]?.length ?? 0, modifiedMs: 0, device: 1, inode: 1 } : undefined,
      list: async (path) => [
        ...new Set(
          Object.keys(files)
            .filter((file) => file.startsWith(`${path}/`))
            .map((file) => file.slice(path.length + 1).split('/')[0] ?? ''),
        ),
      ],
      write: async () => {
        throw new Error('nothing is written here');
      },
      makeFolder: async () => {
        throw new Error('nothing is written here');
      },
      remove: async () => {
        throw new Error('nothing is written here');
      },
    },
    exec: async () => {
      throw new Error('nothing is run here');
    },
    run: async () => {
      throw new Error('nothing is run here');
    },
    stream: async () => {
      throw new Error('nothing is run here');
    },
    pipe: async () => {
      throw new Error('nothing is run here');
    },
    dial: async () => {
      throw new Fault('unreachable.port', 'Nobody listens.', 'Start it.');
    },
    listeners: async () => listeners,
    close: async () => undefined,
  };
}

export function engineNameOf(engine: Engine, host: Host = hostDouble(), name = 'local') {
  return { name, host, open: async () => engine };
}
