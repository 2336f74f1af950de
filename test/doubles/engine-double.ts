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
  ImageDetail,
  ImageFacts,
  NetworkFacts,
  PullProgress,
  StatsSample,
  TerminalSession,
  VolumeFacts,
} from '../../source/engine/engine.ts';
import { wholeImageName } from '../../source/engine/image-name.ts';
import type { LogBatch } from '../../source/engine/log-batch.ts';
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
  /** What is on the host; `pull` adds what `registry` has. */
  readonly localImages: ImageDetail[] = [];
  /** What can be pulled, by the name that is asked for (`caddy:2`). */
  readonly registry = new Map<string, ImageDetail>();
  readonly networkList: NetworkFacts[] = [];
  readonly volumeList: VolumeFacts[] = [];
  /** What a pull tells before it is done. */
  pullSteps: PullProgress[] = [{ fraction: 0.5, text: '1 of 2 layers, 20 MB of 40 MB' }];
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
    throw new Fault('engine.noContainer', `Container not found: ${name}.`, 'Look.');
  }

  async connect(): Promise<EngineFacts> {
    return { kind: 'docker', version: '28.5.1', apiVersion: '1.51', rootless: false, operatingSystem: 'linux' };
  }
  async list(): Promise<ContainerFacts[]> {
    return [...this.containers.values()];
  }
  async inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined> {
    signal.throwIfAborted();
    return this.containers.get(id);
  }
  async *events(): AsyncGenerator<EngineEvent> {}
  async *logs(): AsyncGenerator<LogBatch> {}
  async *stats(): AsyncGenerator<StatsSample> {}
  async images(): Promise<ImageFacts[]> {
    return this.localImages.map((image) => ({ ...image, dangling: image.tags.length === 0 }));
  }
  async image(reference: string, signal: AbortSignal): Promise<ImageDetail | undefined> {
    signal.throwIfAborted();
    return this.localImages.find(({ id, tags, digests }) => id === reference || [...tags, ...digests].includes(wholeImageName(reference)));
  }
  async registryDigest(reference: string, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    return this.registry.get(wholeImageName(reference))?.digests[0]?.split('@')[1];
  }
  async networks(): Promise<NetworkFacts[]> {
    return [...this.networkList];
  }
  async volumes(): Promise<VolumeFacts[]> {
    return [...this.volumeList];
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
    if (!archive) throw new Fault('engine.missing', `Not found: ${path}.`, 'Look.');
    return Readable.from([archive]);
  }
  close(): void {}

  /** Each tag is at one image at a time. */
  #moveTag(image: ImageDetail, name: string): void {
    const isDigest = name.includes('@');
    for (const [index, one] of this.localImages.entries()) {
      if (one.tags.includes(name)) this.localImages[index] = { ...one, tags: one.tags.filter((tag) => tag !== name) };
    }
    const index = this.localImages.findIndex(({ id }) => id === image.id);
    const known = this.localImages[index] ?? { ...image, tags: [] };
    const moved = isDigest ? known : { ...known, tags: [...known.tags, name] };
    if (index < 0) this.localImages.push(moved);
    else this.localImages[index] = moved;
  }

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
      execStream: async (id, argv, options) => {
        send(`exec ${this.#named(id).name} ${argv.join(' ')}${options?.input ? ' < stream' : ''}`);
        const { stdout, stderr, exitCode } = this.execResult;
        return {
          stdin: options?.input ? new PassThrough().resume() : undefined,
          stdout: Readable.from([Buffer.from(stdout)]),
          ended: Promise.resolve({ exitCode, stderr: Buffer.from(stderr).toString() }),
        };
      },
      openBeside: async ({ mount, image }) => {
        send(`beside ${mount.source} ${image}`);
        const { id } = this.add('beside', { state: 'running' });
        return { id, close: async () => void this.containers.delete(id) };
      },
      putArchive: async (id, folder, archive) => {
        send(`put ${this.#named(id).name} ${folder}`);
        const chunks: Buffer[] = [];
        for await (const chunk of archive) chunks.push(Buffer.from(chunk));
        this.put.push({ folder, archive: Buffer.concat(chunks) });
      },
      pruneBuildCache: async () => send('prune build-cache'),
      pull: async (reference, reported) => {
        send(`pull ${reference}`);
        const name = wholeImageName(reference);
        const found = this.registry.get(name);
        if (!found) throw new Fault('engine.pull', `${name} cannot be pulled: manifest unknown.`, 'Check the name and the tag.');
        for (const step of this.pullSteps) reported(step);
        this.#moveTag(found, name);
      },
      tagImage: async (id, reference) => {
        send(`tag ${id} ${reference}`);
        const image = this.localImages.find((one) => one.id === id);
        if (!image) throw new Fault('engine.missing', `There is no image ${id}.`, 'Pull it.');
        this.#moveTag(image, wholeImageName(reference));
      },
      createNetwork: async (name, labels) => {
        send(`create network ${name}`);
        if (this.networkList.some((network) => network.name === name))
          throw new Fault('engine.nameTaken', `The name is already in use: network with name ${name} already exists.`, 'Look.');
        this.networkList.push({ name, driver: 'bridge', labels, subnets: ['172.20.0.0/16'] });
      },
      removeNetwork: async (name) => {
        send(`remove network ${name}`);
        const at = this.networkList.findIndex((network) => network.name === name);
        if (at < 0) throw new Fault('engine.missing', `There is no network ${name}.`, 'Look.');
        this.networkList.splice(at, 1);
      },
      removeImage: async (id) => send(`remove image ${id}`),
      removeVolume: async (name) => send(`remove volume ${name}`),
    };
  }
}
