import { PassThrough, Readable } from 'node:stream';
import type {
  ContainerDetail,
  ContainerFacts,
  DiskUsage,
  Engine,
  EngineEvent,
  EngineFacts,
  EngineWriter,
  ExecResult,
  ImageFacts,
  LogLine,
  StatsSample,
  TerminalSession,
} from '../../source/engine/engine.ts';
import { Fault } from '../../source/faults/fault.ts';
import type { Grant } from '../../source/grants/grant.ts';
import { containerDetail } from './container-facts.ts';

/** A program in a container, played by the test. */
export class TerminalDouble implements TerminalSession {
  readonly stream: PassThrough;
  /** What the operator typed. */
  readonly typed: Buffer[] = [];
  readonly sizes: [number, number][] = [];
  #end: (code: number) => void = () => {};
  readonly #exit = new Promise<number>((resolve) => {
    this.#end = resolve;
  });

  constructor() {
    const typed = this.typed;
    this.stream = new PassThrough();
    this.stream.write = ((chunk: Buffer) => {
      typed.push(Buffer.from(chunk));
      return true;
    }) as never;
  }
  print(text: string) {
    this.stream.push(text);
  }
  finish(exitCode: number) {
    this.stream.push(null);
    this.#end(exitCode);
  }
  async resize(columns: number, rows: number) {
    this.sizes.push([columns, rows]);
  }
  exitCode() {
    return this.#exit;
  }
}

/** An engine in memory: containers change state at once, and every request that changes something is written down. */
export class EngineDouble implements Engine {
  readonly address = { url: 'unix:///run/double.sock', origin: 'test' };
  readonly containers = new Map<string, ContainerDetail>();
  readonly requests: string[] = [];
  readonly archives = new Map<string, Buffer>();
  readonly put: { folder: string; archive: Buffer }[] = [];
  usage: DiskUsage = { images: [], containers: [], volumes: [], buildCache: [] };
  terminal = new TerminalDouble();
  execResult: ExecResult = { exitCode: 0, stdout: new Uint8Array(), stderr: new Uint8Array(), cut: false };
  /** What a start leads to; the default is a container that runs on. */
  afterStart: (detail: ContainerDetail) => Partial<ContainerDetail> = () => ({ state: 'running' });
  /** Requests that fail, by how they begin. */
  readonly refusals = new Map<string, Fault>();
  #clock = 1_000;

  add(name: string, overrides: Partial<ContainerDetail> = {}): ContainerDetail {
    const detail = containerDetail({ name, ...overrides });
    this.containers.set(detail.id, detail);
    return detail;
  }
  change(name: string, changes: Partial<ContainerDetail>): void {
    const detail = this.#named(name);
    this.containers.set(detail.id, { ...detail, ...changes });
  }
  #named(name: string): ContainerDetail {
    for (const detail of this.containers.values()) if (detail.name === name || detail.id === name) return detail;
    throw new Fault({ code: 'engine.noContainer', message: `There is no such container: ${name}.`, remedy: 'Look.' });
  }

  async connect(): Promise<EngineFacts> {
    return { kind: 'docker', version: '28.5.1', apiVersion: '1.51', rootless: false, operatingSystem: 'linux', swarmManager: false };
  }
  async list(): Promise<ContainerFacts[]> {
    return [...this.containers.values()];
  }
  async inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined> {
    signal.throwIfAborted();
    return this.containers.get(id);
  }
  async *events(): AsyncGenerator<EngineEvent> {}
  async *logs(): AsyncGenerator<readonly LogLine[]> {}
  async *stats(): AsyncGenerator<StatsSample> {}
  async images(): Promise<ImageFacts[]> {
    return [];
  }
  async diskUsage(): Promise<DiskUsage> {
    return this.usage;
  }
  async execReading(): Promise<ExecResult> {
    return this.execResult;
  }
  async readFile(): Promise<Uint8Array | undefined> {
    return undefined;
  }
  async getArchive(_id: string, path: string): Promise<NodeJS.ReadableStream> {
    const archive = this.archives.get(path);
    if (!archive) throw new Fault({ code: 'engine.missing', message: `The engine does not find it: ${path}.`, remedy: 'Look.' });
    return Readable.from([archive]);
  }
  close(): void {}

  writer(grant: Grant): EngineWriter {
    const send = (request: string) => {
      grant.signal.throwIfAborted();
      this.requests.push(request);
      for (const [beginning, fault] of this.refusals) if (request.startsWith(beginning)) throw fault;
    };
    const set = (id: string, changes: Partial<ContainerDetail>) => this.change(id, changes);
    return {
      start: async (id) => {
        const { name } = this.#named(id);
        send(`start ${name}`);
        set(id, { startedMs: ++this.#clock, ...this.afterStart(this.#named(id)) });
        return 'done';
      },
      stop: async (id, options) => {
        const { name } = this.#named(id);
        send(`stop ${name}${options?.graceSeconds === undefined ? '' : ` ${options.graceSeconds}`}`);
        set(id, { state: 'exited', exitCode: 0 });
        return 'done';
      },
      restart: async (id) => {
        const { name } = this.#named(id);
        send(`restart ${name}`);
        set(id, { startedMs: ++this.#clock, ...this.afterStart(this.#named(id)) });
      },
      pause: async (id) => {
        send(`pause ${this.#named(id).name}`);
        set(id, { state: 'paused' });
      },
      unpause: async (id) => {
        send(`unpause ${this.#named(id).name}`);
        set(id, { state: 'running' });
      },
      remove: async (id, { force, volumes }) => {
        const { name } = this.#named(id);
        send(`remove ${name} force=${force} volumes=${volumes}`);
        this.containers.delete(this.#named(id).id);
      },
      openTerminal: async (id, argv, size) => {
        send(`terminal ${this.#named(id).name} ${argv.join(' ')}`);
        this.terminal.sizes.push([size.columns, size.rows]);
        return this.terminal;
      },
      exec: async (id, argv, options) => {
        send(`exec ${this.#named(id).name} ${argv.join(' ')}${options?.stdin ? ` < ${options.stdin.length} bytes` : ''}`);
        return this.execResult;
      },
      putArchive: async (id, folder, archive) => {
        send(`put ${this.#named(id).name} ${folder}`);
        const chunks: Buffer[] = [];
        for await (const chunk of archive) chunks.push(Buffer.from(chunk));
        this.put.push({ folder, archive: Buffer.concat(chunks) });
      },
      pruneBuildCache: async () => send('prune build-cache'),
      removeImage: async (id) => send(`remove image ${id}`),
      removeVolume: async (name) => send(`remove volume ${name}`),
    };
  }
}
