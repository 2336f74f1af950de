import { eachOf, endingWith, pauseFor } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { parsedJson } from '../text/json-value.ts';
import { fileFrom, openArchive } from './archive.ts';
import { type InspectedContainer, inspectedDetail, type LibpodInspected } from './container-detail.ts';
import { type LibpodContainer, type ListedContainer, listedFacts } from './container-facts.ts';
import { dockerDiskUsage, type LibpodDiskUsage, podmanDiskUsage, type RawDiskUsage } from './disk-usage.ts';
import type { ContainerFacts, Engine, EngineAddress, EngineFacts, EngineKind, ExecOptions, LogOptions } from './engine.ts';
import { brokenFault, refusalFault, senselessFault, unlessMissing } from './engine-faults.ts';
import { EngineLink } from './engine-link.ts';
import { engineEvent } from './events.ts';
import { execIn } from './exec.ts';
import { ImageLabels } from './image-labels.ts';
import { wholeImageName } from './image-name.ts';
import { type InspectedImage, imageDetail, imageFacts, type ListedImage } from './images.ts';
import { jsonLinesOf } from './json-lines.ts';
import type { LogBatch } from './log-batch.ts';
import { LogLines } from './log-lines.ts';
import { atLeast, type EngineTraits, type Greeting, greet, traitsOf } from './negotiate.ts';
import { type ListedNetwork, type ListedVolumes, networkFacts, volumeFacts } from './networks.ts';
import { tailThenFollow } from './podman-tail.ts';
import { registryDigestOf } from './pull.ts';
import { dockerSample, hasNoFigures, podmanSample, type RawStats } from './stats.ts';
import { engineWriter } from './writer.ts';

const diskUsageLimitMs = 5 * 60_000;
/** The first byte of a stream can take as long as the first line. */
const streamHeadLimitMs = 30_000;
const samplePauseMs = 1_000;
const inspectsAtOnce = 8;

/** Nothing is sent before `connect` or the first query. */
export const openEngine = (address: EngineAddress, host: Host): Engine => new DockerodeEngine(address, host);

class DockerodeEngine implements Engine {
  readonly #link: EngineLink;
  readonly #labels: ImageLabels;
  #greeting: Promise<Greeting> | undefined;
  #traits: EngineTraits | undefined;
  #connecting: Promise<EngineFacts> | undefined;
  /** What only an inspect shows of some containers, and never changes during their life. */
  readonly #inspected = new Map<string, { image: string; networkMode: string }>();

  constructor(address: EngineAddress, host: Host) {
    this.#link = new EngineLink(address, host);
    this.#labels = new ImageLabels(this.#link);
  }

  get address(): EngineAddress {
    return this.#link.address;
  }

  connect(signal: AbortSignal, greeted?: () => Promise<void>): Promise<EngineFacts> {
    this.#connecting = this.#connect(signal, greeted).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(signal: AbortSignal, greeted?: () => Promise<void>): Promise<EngineFacts> {
    const traits = await this.#link.limited(signal, undefined, async (limit) => {
      const greeting = await this.#greeted(limit);
      await greeted?.();
      return traitsOf(this.#link, greeting, limit);
    });
    this.#traits = traits;
    const { libpodVersion: _libpod, memoryBytes: _memory, countsUsage: _counts, ...facts } = traits;
    return facts;
  }

  #greeted(signal: AbortSignal): Promise<Greeting> {
    this.#greeting ??= greet(this.#link, signal).catch((thrown: unknown) => {
      this.#greeting = undefined;
      throw thrown;
    });
    return this.#greeting;
  }

  async #ready(signal: AbortSignal): Promise<EngineTraits> {
    // A connection attempt in progress is shared; if it fails or is cancelled, this caller tries itself.
    const connecting = this.#traits ? undefined : this.#connecting;
    if (connecting) await this.#link.limited(signal, undefined, () => connecting).catch(() => signal.throwIfAborted());
    if (!this.#traits) await this.connect(signal);
    return this.#traits as EngineTraits;
  }

  /** A server that is not an engine can respond with any JSON; an error while parsing it must not be shown as our own. */
  #understood<T>(what: string, read: () => T): T {
    try {
      return read();
    } catch (thrown) {
      if (thrown instanceof TypeError) throw senselessFault(this.address, what, thrown);
      throw thrown;
    }
  }

  async list(signal: AbortSignal): Promise<ContainerFacts[]> {
    using early = endingWith(signal);
    const listedEarly = this.#listedEarly(early.signal);
    listedEarly?.catch(() => undefined);
    const { kind, isOwnVersion, libpodVersion } = await this.#greeted(signal).catch((thrown: unknown) => {
      early.abort();
      throw thrown;
    });
    const isAnswer = kind === 'docker' && isOwnVersion;
    if (!isAnswer) early.abort();
    this.#labels.prepare();
    const listing = () => this.#link.get<ListedContainer[] | null>('/containers/json', { signal, query: { all: true } });
    const [listed, libpod] = await Promise.all([
      listedEarly && isAnswer ? listedEarly.catch(listing) : listing(),
      libpodVersion
        ? this.#link.get<LibpodContainer[] | null>('/libpod/containers/json', { signal, query: { all: true }, libpodVersion })
        : null,
    ]);
    const facts = this.#understood('its list of containers', () => {
      const byId = new Map(libpod?.map((one) => [one.Id, one]));
      return (listed ?? []).map((one) => listedFacts(one, byId.get(one.Id)));
    });
    await this.#addInspected(facts, libpodVersion !== undefined, signal);
    return this.#labels.withoutThoseOfImages(facts, signal);
  }

  /** The first list of a remote engine is requested together with the greeting: each of them takes a round trip. */
  #listedEarly(signal: AbortSignal): Promise<ListedContainer[] | null> | undefined {
    if (!this.#link.host.link || this.#link.isGreeted) return undefined;
    return this.#link.load(signal).then(() => {
      this.#labels.prepare();
      return this.#link.get('/containers/json', { signal, query: { all: true }, bare: true });
    });
  }

  /**
   * If a container's tag now points at another image, Docker lists it only with the image id; an inspect shows the original name. Podman's
   * list omits the network mode: containers with a network of their own use it, the others may share the host's.
   */
  async #addInspected(containers: readonly ContainerFacts[], isPodman: boolean, signal: AbortSignal): Promise<void> {
    const ids = new Set(containers.map(({ id }) => id));
    for (const id of this.#inspected.keys()) if (!ids.has(id)) this.#inspected.delete(id);
    const isNameless = ({ image }: ContainerFacts) => /^(?:sha256:)?[0-9a-f]{12,64}$/.test(image);
    const isModeless = ({ networkMode, networkAddresses }: ContainerFacts) =>
      isPodman && networkMode === '' && networkAddresses.length === 0;
    const open = containers.filter((one) => !this.#inspected.has(one.id) && (isNameless(one) || isModeless(one)));
    await eachOf(open, inspectsAtOnce, async (one) => {
      const raw = await this.#inspectRaw(one.id, signal).catch((thrown: unknown) => {
        // An id is a valid name too: it is good enough for a list.
        if (signal.aborted || isModeless(one)) throw thrown;
      });
      if (raw) this.#inspected.set(one.id, { image: raw.Config?.Image ?? '', networkMode: raw.HostConfig?.NetworkMode ?? '' });
    });
    for (const one of containers) {
      const known = this.#inspected.get(one.id);
      if (isNameless(one)) one.image = known?.image || one.image;
      if (!isPodman) continue;
      one.networkMode ||= known?.networkMode ?? 'bridge';
      // The list shows the ports of the container whose network this one uses.
      if (one.networkMode.startsWith('container:')) one.ports = [];
    }
  }

  async inspect(id: string, signal: AbortSignal) {
    const { libpodVersion } = await this.#greeted(signal);
    const raw = await this.#inspectRaw(id, signal);
    if (!raw) return undefined;
    const ended = raw.State?.Status !== 'running' && raw.State?.Status !== 'created';
    const path = `/libpod/containers/${encodeURIComponent(id)}/json`;
    const libpod =
      libpodVersion && ended ? await unlessMissing(this.#link.get<LibpodInspected>(path, { signal, libpodVersion })) : undefined;
    const known = this.#understood('its data about a container', () => inspectedDetail(raw, libpod));
    const [detail] = await this.#labels.withoutThoseOfImages([known], signal);
    return detail;
  }

  #inspectRaw(id: string, signal: AbortSignal): Promise<InspectedContainer | undefined> {
    return unlessMissing(this.#link.get<InspectedContainer>(`/containers/${encodeURIComponent(id)}/json`, { signal }));
  }

  async *events({ sinceMs, signal }: { sinceMs?: number; signal: AbortSignal }) {
    const { kind } = await this.#ready(signal);
    // Podman accepts whole seconds only: events of the same second are repeated, none is missed.
    const since = sinceMs === undefined ? undefined : kind === 'podman' ? Math.floor(sinceMs / 1000) : unixTime(sinceMs);
    const answer = await this.#link.open('/events', { signal, query: { since }, limitMs: streamHeadLimitMs });
    const checked = kind === 'podman' ? new Set<string | undefined>() : undefined;
    for await (const raw of this.#untilAborted(signal, jsonLinesOf(answer))) {
      const event = engineEvent(raw, checked);
      if (event) yield event;
    }
    if (!signal.aborted) throw await this.#link.faultOf(brokenFault(this.address));
  }

  async *logs(id: string, options: LogOptions): AsyncIterable<LogBatch> {
    const { kind } = await this.#ready(options.signal);
    if (kind === 'podman' && options.follow && options.tail !== undefined)
      yield* tailThenFollow((part) => this.#readLog(id, kind, { ...options, ...part }), options.tail);
    else yield* this.#readLog(id, kind, options);
  }

  async *#readLog(id: string, engine: EngineKind, { signal, follow, tail, sinceMs, untilMs, tty, untimed }: LogOptions) {
    // They show where a line begins if there are no frames, and join Podman's pieces of a long one.
    const timed = !untimed || tty || engine === 'podman';
    const answer = await this.#link.open(`/containers/${encodeURIComponent(id)}/logs`, {
      signal,
      limitMs: streamHeadLimitMs,
      paced: follow,
      query: {
        stdout: true,
        stderr: true,
        timestamps: timed,
        follow,
        tail: tail ?? 'all',
        since: sinceMs === undefined ? undefined : unixTime(sinceMs),
        until: untilMs === undefined ? undefined : unixTime(untilMs),
      },
    });
    const type = String(answer.headers['content-type'] ?? '');
    // Newer engines send the content type; for the others, the container's configuration decides.
    const raw = type.includes('vnd.docker.raw-stream') ? true : type.includes('vnd.docker.multiplexed-stream') ? false : tty;
    const lines = new LogLines({ tty: raw, engine, timed });
    for await (const chunk of this.#untilAborted<Buffer>(signal, answer)) {
      const batch = lines.push(chunk);
      if (batch.length > 0) yield batch;
    }
    if (signal.aborted) return;
    const rest = lines.end();
    if (rest.length > 0) yield rest;
    // A container removed while it was followed counts as a normal end.
    if (lines.engineSaid && !/no such container|marked for removal|already been removed/i.test(lines.engineSaid))
      throw refusalFault(this.address, { statusCode: 500, sentence: lines.engineSaid });
  }

  async *stats(id: string, signal: AbortSignal) {
    const { kind, memoryBytes, countsUsage } = await this.#ready(signal);
    if (!countsUsage) return;
    const samples = kind === 'podman' ? this.#podmanStats(id, memoryBytes, signal) : this.#dockerStats(id, memoryBytes, signal);
    yield* this.#untilAborted(signal, samples);
  }

  async *#untilAborted<T>(signal: AbortSignal, stream: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    try {
      yield* stream;
    } catch (thrown) {
      if (!signal.aborted) throw await this.#link.faultOf(thrown);
    }
  }

  async *#dockerStats(id: string, memoryBytes: number, signal: AbortSignal) {
    const path = `/containers/${encodeURIComponent(id)}/stats`;
    const answer = await this.#link.open(path, { signal, query: { stream: true }, limitMs: streamHeadLimitMs });
    for await (const raw of jsonLinesOf(answer) as AsyncIterable<RawStats>) {
      if (hasNoFigures(raw)) return;
      yield dockerSample(raw, memoryBytes);
    }
  }

  /** Podman's stream has no CPU share; two responses a second apart have one. */
  async *#podmanStats(id: string, memoryBytes: number, signal: AbortSignal) {
    let before: RawStats | undefined;
    for (;;) {
      const answer = await unlessMissing(
        this.#link.getText(`/containers/${encodeURIComponent(id)}/stats`, { signal, query: { stream: false } }),
      );
      // Podman 4 sends an empty response for a container that is not running.
      const raw = parsedJson(answer?.text ?? '') as RawStats | undefined;
      if (!raw || hasNoFigures(raw)) return;
      yield podmanSample(raw, before, memoryBytes);
      before = raw;
      await pauseFor(samplePauseMs, signal);
    }
  }

  async #read<Raw, Facts>(path: string, what: string, signal: AbortSignal, factsIn: (raw: Raw) => Facts): Promise<Facts> {
    await this.#ready(signal);
    const raw = await this.#link.get<Raw>(path, { signal });
    return this.#understood(what, () => factsIn(raw));
  }

  images(signal: AbortSignal) {
    return this.#read('/images/json', 'its list of images', signal, (images: ListedImage[] | null) => (images ?? []).map(imageFacts));
  }

  image(reference: string, signal: AbortSignal) {
    const path = `/images/${encodeURIComponent(reference)}/json`;
    return unlessMissing(this.#read(path, 'its data about an image', signal, (raw: InspectedImage) => imageDetail(raw)));
  }

  async registryDigest(reference: string, signal: AbortSignal): Promise<string | undefined> {
    const { kind } = await this.#ready(signal);
    return kind === 'podman' ? undefined : registryDigestOf(this.#link, wholeImageName(reference), signal);
  }

  networks(signal: AbortSignal) {
    return this.#read('/networks', 'its list of networks', signal, (all: ListedNetwork[] | null) => (all ?? []).map(networkFacts));
  }

  volumes(signal: AbortSignal) {
    return this.#read('/volumes', 'its list of volumes', signal, (volumes: ListedVolumes | null) => volumeFacts(volumes ?? {}));
  }

  async diskUsage(signal: AbortSignal) {
    const { libpodVersion, apiVersion } = await this.#ready(signal);
    if (!libpodVersion) {
      const query = atLeast(apiVersion, '1.52') ? { verbose: true } : {};
      const raw = await this.#link.get<RawDiskUsage>('/system/df', { signal, query, limitMs: diskUsageLimitMs });
      return this.#understood('its disk usage', () => dockerDiskUsage(raw));
    }
    const [raw, images, volumes] = await Promise.all([
      this.#link.get<LibpodDiskUsage>('/libpod/system/df', { signal, libpodVersion, limitMs: diskUsageLimitMs }),
      this.images(signal),
      this.volumes(signal),
    ]);
    const volumeLabels = new Map(volumes.map(({ name, labels }) => [name, labels]));
    return this.#understood('its disk usage', () => podmanDiskUsage(raw, images, volumeLabels));
  }

  async execReading(id: string, argv: readonly string[], options: ExecOptions & { signal: AbortSignal }) {
    await this.#ready(options.signal);
    return execIn(this.#link, id, { argv, ...options });
  }

  async readFile(id: string, path: string, options: { signal: AbortSignal; limitBytes?: number }): Promise<Uint8Array | undefined> {
    await this.#ready(options.signal);
    return fileFrom(this.#link, id, path, options);
  }

  async getArchive(id: string, path: string, signal: AbortSignal): Promise<NodeJS.ReadableStream> {
    await this.#ready(signal);
    return openArchive(this.#link, id, path, signal);
  }

  writer(grant: Grant) {
    return engineWriter(this.#link, grant, (signal) => this.#ready(signal));
  }

  close(): void {
    this.#link.close();
    this.#greeting = undefined;
    this.#traits = undefined;
  }
}

function unixTime(ms: number): string {
  return `${Math.floor(ms / 1000)}.${String(Math.floor(ms % 1000)).padStart(3, '0')}000000`;
}
