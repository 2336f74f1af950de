import { pauseFor } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { fileFrom, openArchive } from './archive.ts';
import { type InspectedContainer, inspectedDetail, type LibpodInspected } from './container-detail.ts';
import { type LibpodContainer, type ListedContainer, listedFacts } from './container-facts.ts';
import { dockerDiskUsage, type LibpodDiskUsage, podmanDiskUsage, type RawDiskUsage } from './disk-usage.ts';
import type {
  ContainerDetail,
  ContainerFacts,
  DiskUsage,
  Engine,
  EngineAddress,
  EngineEvent,
  EngineFacts,
  EngineKind,
  EngineWriter,
  ImageDetail,
  ImageFacts,
  LogOptions,
  NetworkFacts,
  StatsSample,
  VolumeFacts,
} from './engine.ts';
import { brokenFault, refusalFault, senselessFault, unlessMissing } from './engine-faults.ts';
import { EngineLink } from './engine-link.ts';
import { engineEvent } from './events.ts';
import { execIn } from './exec.ts';
import { ImageLabels } from './image-labels.ts';
import { wholeImageName } from './image-name.ts';
import { type InspectedImage, imageDetail, imageFacts, type ListedImage } from './images.ts';
import { JsonLines } from './json-lines.ts';
import type { LogBatch } from './log-batch.ts';
import { LogLines } from './log-lines.ts';
import { atLeast, type EngineTraits, type Greeting, greet, traitsOf } from './negotiate.ts';
import { type ListedNetwork, type ListedVolumes, networkFacts, volumeFacts } from './networks.ts';
import { tailThenFollow } from './podman-tail.ts';
import { registryDigestOf } from './registry-digest.ts';
import { dockerSample, hasNoFigures, podmanSample, type RawStats } from './stats.ts';
import { engineWriter } from './writer.ts';

/** Measuring volumes takes as long as the disk takes. */
const diskUsageLimitMs = 5 * 60_000;
/** The first byte of a stream can be as far away as the first line. */
const streamHeadLimitMs = 30_000;
const samplePauseMs = 1_000;
const inspectsAtOnce = 8;

/** An engine spoken to with dockerode over connections of its host. Nothing is sent before `connect` or the first question. */
export function openEngine(address: EngineAddress, host: Host): Engine {
  return new DockerodeEngine(address, host);
}

class DockerodeEngine implements Engine {
  readonly address: EngineAddress;
  readonly #link: EngineLink;
  readonly #labels: ImageLabels;
  #greeting: Promise<Greeting> | undefined;
  #traits: EngineTraits | undefined;
  #connecting: Promise<EngineFacts> | undefined;
  /** Podman's lists leave it out; it stays with a container for life. */
  readonly #networkModes = new Map<string, string>();
  readonly #imageNames = new Map<string, string>();

  constructor(address: EngineAddress, host: Host) {
    this.#link = new EngineLink(address, host);
    this.address = this.#link.address;
    this.#labels = new ImageLabels(this.#link);
  }

  connect(signal: AbortSignal, greeted?: () => Promise<void>): Promise<EngineFacts> {
    const connecting = this.#connect(signal, greeted).finally(() => {
      this.#connecting = undefined;
    });
    this.#connecting = connecting;
    return connecting;
  }

  async #connect(signal: AbortSignal, greeted?: () => Promise<void>): Promise<EngineFacts> {
    const traits = await this.#link.limited(signal, undefined, async (limit) => {
      const greeting = await this.#greeted(limit);
      await greeted?.();
      return traitsOf(this.#link, greeting, limit);
    });
    this.#traits = traits;
    const { kind, version, apiVersion, rootless, operatingSystem, swarmManager, rootFolder, startedMs } = traits;
    return {
      ...{ kind, version, apiVersion, rootless, operatingSystem, swarmManager },
      ...(rootFolder !== undefined && { rootFolder }),
      ...(startedMs !== undefined && { startedMs }),
    };
  }

  /** Enough for what is asked of all engines alike: nobody waits for more. */
  #greeted(signal: AbortSignal): Promise<Greeting> {
    this.#greeting ??= greet(this.#link, signal).catch((thrown: unknown) => {
      this.#greeting = undefined;
      throw thrown;
    });
    return this.#greeting;
  }

  async #ready(signal: AbortSignal): Promise<EngineTraits> {
    // Who connects already is not asked again; where that fails, or is given up, this one tries itself.
    const connecting = this.#traits ? undefined : this.#connecting;
    if (connecting) await this.#link.limited(signal, undefined, () => connecting).catch(() => signal.throwIfAborted());
    if (!this.#traits) await this.connect(signal);
    return this.#traits as EngineTraits;
  }

  /** Something that is no engine can answer with JSON of any form; what that breaks in reading it is no fault of ours to show. */
  #understood<T>(what: string, read: () => T): T {
    try {
      return read();
    } catch (thrown) {
      if (thrown instanceof TypeError) throw senselessFault(this.address, what, { cause: thrown });
      throw thrown;
    }
  }

  async list(signal: AbortSignal): Promise<ContainerFacts[]> {
    const { libpodVersion } = await this.#greeted(signal);
    this.#labels.prepare();
    const [listed, libpod] = await Promise.all([
      this.#link.get<ListedContainer[] | null>('/containers/json', { signal, query: { all: true } }),
      libpodVersion
        ? this.#link.get<LibpodContainer[] | null>('/libpod/containers/json', { signal, query: { all: true }, libpodVersion })
        : null,
    ]);
    const facts = this.#understood('its list of containers', () => {
      const byId = new Map(libpod?.map((one) => [one.Id, one]));
      return (listed ?? []).map((one) => listedFacts(one, byId.get(one.Id)));
    });
    await this.#addImageNames(facts, signal);
    if (libpodVersion) await this.#addNetworkModes(facts, signal);
    return this.#labels.withoutThoseOfImages(facts, signal);
  }

  /** Those with a network are on a network; of the others only an inspect tells whether they share the host's. */
  async #addNetworkModes(containers: ContainerFacts[], signal: AbortSignal): Promise<void> {
    const ids = new Set(containers.map(({ id }) => id));
    for (const id of this.#networkModes.keys()) if (!ids.has(id)) this.#networkModes.delete(id);
    const open = containers.filter(
      ({ id, networkMode, networkAddresses }) => networkMode === '' && networkAddresses.length === 0 && !this.#networkModes.has(id),
    );
    const next = async (): Promise<void> => {
      for (let one = open.shift(); one; one = open.shift()) {
        const raw = await this.#inspectRaw(one.id, signal);
        if (raw) this.#networkModes.set(one.id, raw.HostConfig?.NetworkMode ?? '');
      }
    };
    await Promise.all(Array.from({ length: inspectsAtOnce }, next));
    for (const one of containers) {
      one.networkMode ||= this.#networkModes.get(one.id) ?? 'bridge';
      // It lists the ports of the container in whose network this one is.
      if (one.networkMode.startsWith('container:')) one.ports = [];
    }
  }

  /** Docker lists a container whose tag means another image by now with the id of its own alone; what it was made from an inspect tells. */
  async #addImageNames(containers: ContainerFacts[], signal: AbortSignal): Promise<void> {
    const ids = new Set(containers.map(({ id }) => id));
    for (const id of this.#imageNames.keys()) if (!ids.has(id)) this.#imageNames.delete(id);
    const nameless = containers.filter(({ image }) => /^(?:sha256:)?[0-9a-f]{12,64}$/.test(image));
    const open = nameless.filter(({ id }) => !this.#imageNames.has(id));
    const next = async (): Promise<void> => {
      for (let one = open.shift(); one; one = open.shift()) {
        // An id is a name too: a list is no worse for it.
        const raw = await this.#inspectRaw(one.id, signal).catch(() => signal.throwIfAborted());
        if (raw) this.#imageNames.set(one.id, raw.Config?.Image ?? '');
      }
    };
    await Promise.all(Array.from({ length: inspectsAtOnce }, next));
    for (const one of nameless) one.image = this.#imageNames.get(one.id) || one.image;
  }

  async inspect(id: string, signal: AbortSignal): Promise<ContainerDetail | undefined> {
    const { libpodVersion } = await this.#greeted(signal);
    const raw = await this.#inspectRaw(id, signal);
    if (!raw) return undefined;
    const ended = raw.State?.Status !== 'running' && raw.State?.Status !== 'created';
    const libpod =
      libpodVersion && ended
        ? await unlessMissing(
            this.#link.get<LibpodInspected>(`/libpod/containers/${encodeURIComponent(id)}/json`, { signal, libpodVersion }),
          )
        : undefined;
    const known = this.#understood('what it says of a container', () => inspectedDetail(raw, libpod));
    const [detail] = await this.#labels.withoutThoseOfImages([known], signal);
    return detail;
  }

  #inspectRaw(id: string, signal: AbortSignal): Promise<InspectedContainer | undefined> {
    return unlessMissing(this.#link.get<InspectedContainer>(`/containers/${encodeURIComponent(id)}/json`, { signal }));
  }

  async *events({ sinceMs, signal }: { sinceMs?: number; signal: AbortSignal }): AsyncIterable<EngineEvent> {
    const { kind } = await this.#ready(signal);
    // Podman takes whole seconds only: those of the same second come again, none is missed.
    const since = sinceMs === undefined ? undefined : kind === 'podman' ? Math.floor(sinceMs / 1000) : unixTime(sinceMs);
    const answer = await this.#link.open('/events', { signal, query: { since }, limitMs: streamHeadLimitMs });
    const lines = new JsonLines();
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        for (const raw of lines.push(chunk)) {
          const event = engineEvent(raw);
          if (event) yield event;
        }
      }
    } catch (thrown) {
      if (signal.aborted) return;
      throw await this.#link.faultOf(thrown);
    } finally {
      answer.destroy();
    }
    if (!signal.aborted) throw await this.#link.faultOf(brokenFault(this.address));
  }

  async *logs(id: string, options: LogOptions): AsyncIterable<LogBatch> {
    const { kind } = await this.#ready(options.signal);
    if (kind === 'podman' && options.follow && options.tail !== undefined)
      yield* tailThenFollow((part) => this.#readLog(id, kind, { ...options, ...part }), options.tail);
    else yield* this.#readLog(id, kind, options);
  }

  async *#readLog(id: string, engine: EngineKind, { signal, follow, tail, sinceMs, untilMs, tty }: LogOptions): AsyncIterable<LogBatch> {
    const answer = await this.#link.open(`/containers/${encodeURIComponent(id)}/logs`, {
      signal,
      limitMs: streamHeadLimitMs,
      paced: follow,
      query: {
        stdout: true,
        stderr: true,
        timestamps: true,
        follow,
        tail: tail ?? 'all',
        since: sinceMs === undefined ? undefined : unixTime(sinceMs),
        until: untilMs === undefined ? undefined : unixTime(untilMs),
      },
    });
    const type = String(answer.headers['content-type'] ?? '');
    // Newer engines say what it is; the others leave it to the container's configuration.
    const raw = type.includes('vnd.docker.raw-stream') ? true : type.includes('vnd.docker.multiplexed-stream') ? false : tty;
    const lines = new LogLines({ tty: raw, engine });
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        const batch = lines.push(chunk);
        if (batch.length > 0) yield batch;
      }
      const rest = lines.end();
      if (rest.length > 0) yield rest;
    } catch (thrown) {
      if (signal.aborted) return;
      throw await this.#link.faultOf(thrown);
    } finally {
      answer.destroy();
    }
    // Removed while it was followed is an end like any other.
    if (lines.engineSaid && !/no such container|marked for removal|already been removed/i.test(lines.engineSaid)) {
      throw refusalFault(this.address, { statusCode: 500, sentence: lines.engineSaid });
    }
  }

  async *stats(id: string, signal: AbortSignal): AsyncIterable<StatsSample> {
    const { kind, memoryBytes, countsUsage } = await this.#ready(signal);
    if (!countsUsage) return;
    try {
      if (kind === 'podman') yield* this.#podmanStats(id, memoryBytes, signal);
      else yield* this.#dockerStats(id, memoryBytes, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      throw await this.#link.faultOf(thrown);
    }
  }

  async *#dockerStats(id: string, memoryBytes: number, signal: AbortSignal): AsyncIterable<StatsSample> {
    const answer = await this.#link.open(`/containers/${encodeURIComponent(id)}/stats`, {
      signal,
      query: { stream: true },
      limitMs: streamHeadLimitMs,
    });
    const lines = new JsonLines();
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        for (const raw of lines.push(chunk) as RawStats[]) {
          if (hasNoFigures(raw)) return;
          yield dockerSample(raw, memoryBytes);
        }
      }
    } finally {
      answer.destroy();
    }
  }

  /** Podman's stream has no CPU share in it; two answers a second apart have. */
  async *#podmanStats(id: string, memoryBytes: number, signal: AbortSignal): AsyncIterable<StatsSample> {
    let before: RawStats | undefined;
    for (;;) {
      const answer = await unlessMissing(
        this.#link.getText(`/containers/${encodeURIComponent(id)}/stats`, { signal, query: { stream: false } }),
      );
      // Podman 4 answers with nothing at all for a container that does not run.
      const [raw] = new JsonLines().all(answer?.text ?? '') as RawStats[];
      if (!raw || hasNoFigures(raw)) return;
      yield podmanSample(raw, before, memoryBytes);
      before = raw;
      await pauseFor(samplePauseMs, signal);
    }
  }

  async images(signal: AbortSignal): Promise<ImageFacts[]> {
    await this.#ready(signal);
    const images = await this.#link.get<ListedImage[] | null>('/images/json', { signal });
    return this.#understood('its list of images', () => (images ?? []).map(imageFacts));
  }

  async image(reference: string, signal: AbortSignal): Promise<ImageDetail | undefined> {
    await this.#ready(signal);
    const raw = await unlessMissing(this.#link.get<InspectedImage>(`/images/${encodeURIComponent(reference)}/json`, { signal }));
    return raw && this.#understood('what it says of an image', () => imageDetail(raw));
  }

  async registryDigest(reference: string, signal: AbortSignal): Promise<string | undefined> {
    const { kind } = await this.#ready(signal);
    return kind === 'podman' ? undefined : registryDigestOf(this.#link, wholeImageName(reference), signal);
  }

  async networks(signal: AbortSignal): Promise<NetworkFacts[]> {
    await this.#ready(signal);
    const networks = await this.#link.get<ListedNetwork[] | null>('/networks', { signal });
    return this.#understood('its list of networks', () => (networks ?? []).map(networkFacts));
  }

  async volumes(signal: AbortSignal): Promise<VolumeFacts[]> {
    await this.#ready(signal);
    const volumes = await this.#link.get<ListedVolumes | null>('/volumes', { signal });
    return this.#understood('its list of volumes', () => volumeFacts(volumes ?? {}));
  }

  async diskUsage(signal: AbortSignal): Promise<DiskUsage> {
    const { libpodVersion, apiVersion } = await this.#ready(signal);
    if (!libpodVersion) {
      const query = atLeast(apiVersion, '1.52') ? { verbose: true } : {};
      const raw = await this.#link.get<RawDiskUsage>('/system/df', { signal, query, limitMs: diskUsageLimitMs });
      return this.#understood('what it says of its disk', () => dockerDiskUsage(raw));
    }
    const [raw, images, volumes] = await Promise.all([
      this.#link.get<LibpodDiskUsage>('/libpod/system/df', { signal, libpodVersion, limitMs: diskUsageLimitMs }),
      this.images(signal),
      this.#link.get<{ Volumes?: { Name: string; Labels?: Record<string, string> | null }[] | null }>('/volumes', { signal }),
    ]);
    return this.#understood('what it says of its disk', () =>
      podmanDiskUsage(raw, images, new Map(volumes.Volumes?.map(({ Name, Labels }) => [Name, Labels ?? {}]))),
    );
  }

  async execReading(id: string, argv: readonly string[], { signal, limitBytes }: { signal: AbortSignal; limitBytes?: number }) {
    await this.#ready(signal);
    return execIn(this.#link, id, { argv, signal, limitBytes });
  }

  async readFile(id: string, path: string, options: { signal: AbortSignal; limitBytes?: number }): Promise<Uint8Array | undefined> {
    await this.#ready(options.signal);
    return fileFrom(this.#link, id, path, options);
  }

  async getArchive(id: string, path: string, signal: AbortSignal): Promise<NodeJS.ReadableStream> {
    await this.#ready(signal);
    return openArchive(this.#link, id, path, signal);
  }

  writer(grant: Grant): EngineWriter {
    return engineWriter(this.#link, grant, (signal) => this.#ready(signal));
  }

  close(): void {
    this.#link.close();
    this.#greeting = undefined;
    this.#traits = undefined;
  }
}

/** Seconds with a fraction, as engines take them. */
function unixTime(ms: number): string {
  return `${Math.floor(ms / 1000)}.${String(Math.floor(ms % 1000)).padStart(3, '0')}000000`;
}
