import { addAbortListener } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { expandHome } from '../config/paths.ts';
import type { ContainerDetail, ContainerFacts, Engine, EngineEvent, EngineFacts } from '../engine/engine.ts';
import { gatewaysOf } from '../engine/network-owners.ts';
import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { eachOf, limited, pauseFor } from '../faults/waits.ts';
import type { Host, Listener } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { composeLabel } from './grouping.ts';
import type { LinkView } from './model.ts';
import { type HostObservations, Observations } from './observations.ts';
import type { ContainerHistory } from './service-state.ts';

export interface OnLan {
  addresses: readonly string[];
  exposed: ContainerDetail['exposed'];
}

const notOnLan: OnLan = { addresses: [], exposed: [] };

export interface EngineSource {
  name: string;
  host: Host;
  /** Its stack folder, as written in the settings: `~` is that host's home. Each engine of a host has a folder of its own. */
  stackFolder?: string;
  open: (signal: AbortSignal) => Promise<Engine>;
}

export const engineLimits = {
  /** Time limit for all initial queries of an engine. Longer than the engine's own limit per query, whose error names the slow one. */
  connectMs: 12_000,
  requestMs: 10_000,
  retryMs: [500, 4_000] as readonly [number, number],
  /** Interval between two full lists, in case an event was lost. */
  reconcileMs: 60_000,
  listenersMs: 15_000,
  inspectsAtOnce: 6,
};

export type EngineLimits = Readonly<typeof engineLimits>;

/** Past events tell who stopped a container, and which ones restart in a loop. Docker keeps the last 256. */
const lookBackMs = 60 * 60_000;
const quietMs = 50;
const catchUpLimitMs = 1_000;
/** Names that every engine uses for bridged networks, or for no network. */
const plainNetworks: ReadonlySet<string> = new Set(['bridge', 'host', 'none', 'podman', 'slirp4netns', 'pasta']);
const touchDelayMs = 30;
/** Docker reports no event for a removal that failed. */
const removingMs = 1_000;
/** Details of an engine may arrive a moment after its containers; a slow engine is queried for them in parallel. */
const factsLaterMs = 500;
/** Enough time for the screen to begin its first frame, which may wait for a file until then. */
const factsAfterMs = 5;

interface EngineWatchOptions {
  observations?: Observations;
  limits?: EngineLimits;
  /** Of listed containers those about which the list does not tell enough: they are inspected first. */
  undecided?: (listed: readonly ContainerFacts[]) => readonly ContainerFacts[];
}

/** Lists once, then applies the engine's events; when it becomes unreachable, reports that and reconnects by itself. */
export class EngineWatch {
  readonly name: string;
  readonly host: Host;
  readonly stackFolder: string | undefined;
  link: LinkView = { state: 'connecting', sinceMs: Date.now(), message: undefined, remedy: undefined, retryAtMs: undefined };
  engine: Engine | undefined;
  facts: EngineFacts | undefined;
  containers = new Map<string, ContainerFacts | ContainerDetail>();
  listeners: readonly Listener[] = [];
  listenersMs = 0;
  hostAddresses: readonly string[] = [];
  lanNetworks: ReadonlySet<string> = new Set();
  /** Offset by which the machine's clock is ahead of ours: the engine's times use that clock. */
  clockAheadMs = 0;
  settled = false;
  /** True when all that states depend on is known, or the engine is unreachable. */
  statesKnown = false;
  /** True when everything available is known: all containers inspected and the sockets read, or the engine unreachable. */
  complete = false;

  readonly #observations: Observations;
  readonly #limits: EngineLimits;
  readonly #undecided: (listed: readonly ContainerFacts[]) => readonly ContainerFacts[];
  readonly #closing = new AbortController();
  readonly #details = new Map<string, ContainerDetail>();
  #seen: HostObservations;
  /** Removed since the last list: responses about them may still arrive. Ids are never reused. */
  readonly #removed = new Set<string>();
  #networksSeen: ReadonlySet<string> = new Set();
  readonly #touched = new Set<string>();
  /** The earliest event for changed containers, and for those that could not be read since the engine stopped accepting requests. */
  #touchedFromMs = Number.POSITIVE_INFINITY;
  #refusedFromMs = Number.POSITIVE_INFINITY;
  #touchTimer: NodeJS.Timeout | undefined;
  readonly #lookFromMs = Date.now() - lookBackMs;
  #lastEventMs = Number.NEGATIVE_INFINITY;
  #lastNewsMs = 0;
  #wake: (() => void) | undefined;
  /** Missing where details are read without being asked for. */
  #wanted: PromiseWithResolvers<void> | undefined;
  #bootedMs: number | undefined;
  #engineStartedMs: number | undefined;
  readonly #answered = Promise.withResolvers<void>();
  readonly #asked = Promise.withResolvers<void>();
  /** Reading them scans the open files of all programs: the engine's data is shown first. */
  readonly #firstListeners = this.#answered.promise.then(() => this.#readListeners());

  constructor(
    private readonly source: EngineSource,
    private readonly changed: () => void,
    { observations = new Observations(), limits = engineLimits, undecided = (listed) => listed }: EngineWatchOptions = {},
  ) {
    this.#observations = observations;
    this.#undecided = undecided;
    this.#seen = observations.host(source.name);
    this.name = source.name;
    this.host = source.host;
    this.stackFolder = source.stackFolder;
    this.#limits = limits;
  }

  get #engineLabel(): string {
    return this.host.link ? `engine of ${cleanLine(this.name)}` : 'engine';
  }

  /** A command that prints states and ends has no use for the details of each container: they are read on request. */
  wantDetails(wanted: boolean): void {
    if (wanted) this.#wanted?.resolve();
    else this.#wanted ??= Promise.withResolvers<void>();
  }

  async #detailsWanted(): Promise<void> {
    await this.#wanted?.promise;
  }

  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  detail(id: string): ContainerDetail | undefined {
    return this.#details.get(id);
  }

  history(id: string): ContainerHistory {
    const podman = this.facts?.kind === 'podman';
    return {
      ...this.#seen.of(id),
      outages: this.#seen.outages,
      ...(this.#engineStartedMs !== undefined && { engineStartedMs: this.#engineStartedMs }),
      // Docker restarts containers according to their policy; Podman leaves that to a service that may not exist.
      ...(podman && this.#bootedMs !== undefined && { bootedMs: this.#bootedMs }),
      reportsStops: this.facts?.kind === 'docker' || (podman && Number.parseInt(this.facts?.version ?? '', 10) >= 5),
    };
  }

  removedMs(project: string, service: string): number | undefined {
    return this.#seen.removed.get(`${project}/${service}`);
  }

  /** Recorded before it happens: the container ends before the engine reports the stop. A refused stop is not recorded. */
  async whileStopping<T>(id: string, stop: () => Promise<T>): Promise<T> {
    const before = this.#seen.of(id).ownStop;
    const startedMs = this.detail(id)?.startedMs;
    const atMs = Date.now() + this.clockAheadMs;
    this.#seen.noteOwnStop(id, { notedMs: Date.now(), atMs, ...(startedMs !== undefined && { startedMs }) });
    await this.#observations.flush();
    try {
      return await stop();
    } catch (thrown) {
      this.#seen.noteOwnStop(id, { atMs: 0, ...before, notedMs: Date.now() + 1 });
      await this.#observations.flush();
      throw thrown;
    }
  }

  /** Runs until closed; never rejects. */
  async run(): Promise<void> {
    void this.#watchListeners();
    let attempt = 0;
    while (!this.#closing.signal.aborted) {
      let connectedMs: number | undefined;
      try {
        await this.#follow(() => {
          connectedMs = Date.now();
        });
      } catch (thrown) {
        if (this.#closing.signal.aborted) return;
        // An engine that answers and then disconnects at once does not count as reachable.
        if (connectedMs !== undefined && Date.now() - connectedMs >= this.#limits.retryMs[1]) attempt = 0;
        this.#goAway(thrown, attempt);
        attempt++;
        await this.#waitForRetry((this.link.retryAtMs ?? 0) - Date.now());
      }
    }
  }

  refresh(): void {
    if (this.#wake) this.#wake();
    else for (const id of this.containers.keys()) this.#touch(id);
    void this.#readListeners();
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#touchTimer);
    this.engine?.close();
  }

  async #follow(connected: () => void): Promise<void> {
    const ending = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, ending.signal]);
    const shown = Promise.withResolvers<void>();
    try {
      const startedMs = Date.now();
      const engine = await limited(signal, this.#limits.connectMs, (limit) => this.source.open(limit));
      this.engine = engine;
      // Another engine under the same name counts as another host.
      this.#seen = this.#observations.host(`${this.name} ${engine.address.url}`);
      const connecting = limited(signal, this.#limits.connectMs, (limit) =>
        engine.connect(limit, async () => {
          void turns(2).then(this.#asked.resolve);
          await limited(limit, factsLaterMs, () => shown.promise).catch(() => undefined);
        }),
      );
      const listing = this.#list(engine, signal);
      // Before anything of a remote engine is shown: all of its times use that clock.
      const clock = this.host.link ? this.#readHost(signal) : undefined;
      listing.catch(() => undefined);
      connecting.catch(() => undefined);
      await listing;
      await clock;
      connected();
      const awayFromMs = this.link.state === 'away' ? Math.min(this.link.sinceMs + this.clockAheadMs, this.#refusedFromMs) : undefined;
      this.#refusedFromMs = Number.POSITIVE_INFINITY;
      this.link = { state: 'connected', sinceMs: startedMs, message: undefined, remedy: undefined, retryAtMs: undefined };
      this.changed();
      void shownFirst(factsAfterMs).then(shown.resolve);
      this.facts = await connecting;
      this.#noteEngineStart(this.facts, awayFromMs);
      // Includes past events, so that none between the list and the event stream is missed.
      this.#lastNewsMs = Date.now();
      const eventsEnd = this.#consume(engine, signal);
      eventsEnd.catch(() => undefined);
      this.#settle();
      await shownFirst();
      const all = [...this.containers.values()];
      const open = this.#undecided(all);
      const first = new Set([...open, ...gatewaysOf(open, all)]);
      await Promise.all([this.#readHost(signal), this.#inspectAll(engine, [...first], signal)]);
      this.#answered.resolve();
      const rest = all.filter((container) => !first.has(container));
      await Promise.all([
        this.#knowStates(open.length > 0, signal),
        this.#detailsWanted().then(() => this.#inspectAll(engine, rest, signal)),
      ]);
      await this.#readNetworks(engine, signal);
      this.changed();
      await this.#firstListeners;
      await this.#caughtUp(signal);
      this.complete = true;
      this.changed();
      await Promise.race([eventsEnd, this.#reconcile(engine, signal)]);
    } finally {
      ending.abort();
      this.engine?.close();
    }
  }

  /** Containers of a restarted engine went down with it, except Podman's. A stopping engine ends them before it disconnects. */
  #noteEngineStart({ kind, startedMs }: EngineFacts, awayMs: number | undefined): void {
    if (kind === 'podman') return;
    this.#engineStartedMs = startedMs;
    if (awayMs !== undefined && (startedMs === undefined || startedMs > awayMs))
      this.#seen.noteOutage({ fromMs: awayMs, untilMs: Date.now() + this.clockAheadMs });
    // A command that runs next needs this, and cannot observe it itself.
    void this.#observations.flush();
  }

  #goAway(thrown: unknown, attempt: number): void {
    const [first, longest] = this.#limits.retryMs;
    const late = isAbort(thrown);
    // The engine does not respond because of the state of the machine's connection.
    const fault = thrown instanceof Fault ? thrown : late ? this.host.link?.view.fault : undefined;
    this.link = {
      state: 'away',
      sinceMs: this.link.state === 'away' ? this.link.sinceMs : Date.now(),
      message:
        fault?.message ??
        (late ? `The ${this.#engineLabel} does not respond.` : `The connection to the ${this.#engineLabel} was lost: ${messageOf(thrown)}`),
      remedy: fault?.remedy ?? 'Check that the engine is running. The console reconnects automatically.',
      retryAtMs: Date.now() + Math.min(longest, first * 2 ** attempt),
      ...(fault && { code: fault.code, cause: fault.cause }),
    };
    this.#engineStartedMs = undefined;
    this.statesKnown = true;
    this.complete = true;
    this.#answered.resolve();
    this.#settle();
  }

  #settle(): void {
    this.settled = true;
    this.#asked.resolve();
    this.changed();
  }

  /** If the connection to the machine is down, an attempt makes sense as soon as it is up again. */
  async #waitForRetry(ms: number): Promise<void> {
    const { link } = this.host;
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const timer = setTimeout(end, Math.max(0, ms));
    let isConnected = true;
    const check = () => {
      if (!link) return;
      const { state, fault, retryAtMs } = link.view;
      if (state === 'connected') {
        if (!isConnected) end();
        return;
      }
      isConnected = false;
      clearTimeout(timer);
      if (!fault) return;
      this.link = { ...this.link, code: fault.code, message: fault.message, remedy: fault.remedy, retryAtMs, cause: fault.cause };
      this.changed();
    };
    const unsubscribe = link?.subscribe(check);
    check();
    using _stop = addAbortListener(this.#closing.signal, () => end());
    this.#wake = end;
    await promise;
    clearTimeout(timer);
    unsubscribe?.();
    this.#wake = undefined;
  }

  async #list(engine: Engine, signal: AbortSignal): Promise<void> {
    const before = new Set(this.containers.keys());
    const removedBefore = new Set(this.#removed);
    const list = await limited(signal, this.#limits.requestMs, (limit) => engine.list(limit));
    const listed = new Map(list.filter(({ id }) => !this.#removed.has(id)).map((container) => [container.id, container]));
    for (const [id, container] of this.containers) {
      const now = listed.get(id);
      // Changes from events during the list are newer than the list.
      if (now ? isSame(container, now) : !before.has(id)) listed.set(id, container);
    }
    for (const id of removedBefore) this.#removed.delete(id);
    this.containers = listed;
    for (const id of this.#details.keys()) if (!this.containers.has(id)) this.#details.delete(id);
    this.#seen.keepOnly(this.containers);
    for (const container of this.containers.values()) this.#noteCreated(container);
  }

  #noteCreated({ labels }: Pick<ContainerFacts, 'labels'>): void {
    const service = serviceIn(labels);
    if (service) this.#seen.noteCreated(service);
  }

  /** A service that has another container by now was recreated. */
  #noteRemoved({ timeMs, attributes }: EngineEvent, gone: ContainerFacts | undefined): void {
    const labels = gone?.labels ?? attributes;
    const service = serviceIn(labels);
    if (!service || composeLabel({ labels }, 'oneoff') === 'True') return;
    if ([...this.containers.values()].some((other) => serviceIn(other.labels) === service)) return;
    this.#seen.noteRemoved(service, timeMs);
  }

  /** Also reads the addresses that its programs listen on: interfaces come and go. Values that cannot be read are kept. */
  async #readHost(signal: AbortSignal): Promise<void> {
    const facts = await limited(signal, this.#limits.requestMs, (limit) => this.host.facts(limit)).catch(() => undefined);
    if (!facts) return;
    this.hostAddresses = facts.addresses;
    this.clockAheadMs = facts.clockAheadMs ?? 0;
    this.#bootedMs = facts.bootedMs;
  }

  /** Past events decide only about containers of which the list does not tell enough. */
  async #knowStates(byEvents: boolean, signal: AbortSignal): Promise<void> {
    if (byEvents) await this.#caughtUp(signal);
    this.statesKnown = true;
    this.changed();
  }

  async #inspectAll(engine: Engine, containers: readonly ContainerFacts[], signal: AbortSignal): Promise<void> {
    await eachOf(containers, this.#limits.inspectsAtOnce, ({ id }) => this.#inspect(engine, id, signal));
  }

  /** Only a list of networks shows their drivers: it is read again when a network appears that was not in the last one. */
  async #readNetworks(engine: Engine, signal: AbortSignal): Promise<void> {
    const used = [...this.#details.values()].flatMap(({ networks }) => networks);
    if (used.every((name) => plainNetworks.has(name) || this.#networksSeen.has(name))) return;
    try {
      const listed = await limited(signal, this.#limits.requestMs, (limit) => engine.networks(limit));
      this.#networksSeen = new Set([...used, ...listed.map(({ name }) => name)]);
      this.lanNetworks = new Set(listed.filter(({ driver }) => driver === 'macvlan' || driver === 'ipvlan').map(({ name }) => name));
    } catch (thrown) {
      if (signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'unreachable') throw thrown;
    }
  }

  onLan(id: string): OnLan {
    if (this.lanNetworks.size === 0) return notOnLan;
    const detail = this.#details.get(id);
    const addresses = detail?.endpoints.flatMap((endpoint) => (this.lanNetworks.has(endpoint.network) ? endpoint.addresses : [])) ?? [];
    return { addresses, exposed: detail?.exposed ?? [] };
  }

  /** If the engine cannot inspect a container, or not in time, its listed data is kept: the others are unaffected. */
  async #inspect(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
    let detail: ContainerDetail | undefined;
    try {
      detail = keptOf(await limited(signal, this.#limits.requestMs, (limit) => engine.inspect(id, limit)));
    } catch (thrown) {
      if (signal.aborted || (thrown instanceof Fault && thrown.kind === 'unreachable')) throw thrown;
      return;
    }
    if (this.#removed.has(id)) return;
    if (!detail) {
      this.#forget(id);
      return;
    }
    this.#details.set(id, detail);
    this.#noteCreated(detail);
    this.containers.set(id, detail);
    if (detail.state === 'removing')
      void pauseFor(removingMs, signal)
        .then(() => this.#touch(id))
        .catch(() => undefined);
  }

  #forget(id: string): void {
    this.#details.delete(id);
    this.#seen.forget(id);
    this.containers.delete(id);
  }

  async #reconcile(engine: Engine, signal: AbortSignal): Promise<never> {
    for (;;) {
      await pauseFor(this.#limits.reconcileMs, signal);
      const before = this.containers;
      const hasNews = await this.#observations.reload();
      await this.#list(engine, signal);
      const changed = [...this.containers].filter(([id, now]) => before.get(id) !== now);
      for (const [id] of changed) this.#touch(id);
      if (hasNews || changed.length > 0 || before.size !== this.containers.size) this.changed();
    }
  }

  async #consume(engine: Engine, signal: AbortSignal): Promise<never> {
    const nowMs = Date.now();
    // After a clock correction, our last event time may be in the future: Podman would report no events until then.
    const sinceMs = Math.min(Math.max(this.#lastEventMs, this.#lookFromMs + this.clockAheadMs), nowMs + this.clockAheadMs);
    for await (const event of engine.events({ sinceMs, signal })) this.#take(event);
    const remedy = 'The console reconnects automatically when the engine runs again.';
    throw new Fault('unreachable.engine', `The ${this.#engineLabel} closed its event stream.`, remedy);
  }

  /** Past events arrive at once, one after the other, and no engine marks their end. */
  async #caughtUp(signal: AbortSignal): Promise<void> {
    const untilMs = Date.now() + catchUpLimitMs;
    for (
      let restMs = this.#lastNewsMs + quietMs - Date.now();
      restMs > 0;
      restMs = Math.min(this.#lastNewsMs + quietMs, untilMs) - Date.now()
    )
      await pauseFor(restMs, signal);
  }

  #take(event: EngineEvent): void {
    this.#lastNewsMs = Date.now();
    this.#lastEventMs = Math.max(this.#lastEventMs, event.timeMs);
    const container = event.attributes.container ?? '';
    // It got or lost an address there.
    if (event.kind === 'network' && this.containers.has(container)) this.#touch(container);
    if (event.kind !== 'container') return;
    if (event.action === 'remove') {
      const gone = this.containers.get(event.id);
      this.#forget(event.id);
      this.#removed.add(event.id);
      if (gone) this.changed();
      this.#noteRemoved(event, gone);
      return;
    }
    this.#seen.take(event, this.facts?.kind, this.#engineStartedMs);
    // Another process of ours may have stopped it.
    if (event.action === 'die') void this.#observations.reload().then(this.changed);
    this.#touch(event.id, event.timeMs);
  }

  /** Events come in bursts: a restart is five of them. One inspect covers all of them. */
  #touch(id: string, eventMs = Number.POSITIVE_INFINITY): void {
    this.#touched.add(id);
    this.#touchedFromMs = Math.min(this.#touchedFromMs, eventMs);
    this.#touchTimer ??= setTimeout(() => {
      this.#touchTimer = undefined;
      void this.#readTouched();
    }, touchDelayMs);
  }

  async #readTouched(): Promise<void> {
    const { engine } = this;
    const ids = [...this.#touched].filter((id) => !this.#removed.has(id));
    const fromMs = this.#touchedFromMs;
    this.#touched.clear();
    this.#touchedFromMs = Number.POSITIVE_INFINITY;
    if (!engine) return;
    const runs = () => JSON.stringify(ids.map((id) => [this.containers.get(id)?.state, this.detail(id)?.startedMs]));
    const before = runs();
    try {
      for (const id of ids) await this.#inspect(engine, id, this.#closing.signal);
      if (ids.length > 0 && this.link.state === 'connected') this.#refusedFromMs = Number.POSITIVE_INFINITY;
      await this.#readNetworks(engine, this.#closing.signal);
    } catch {
      // The event stream shows when the engine is unreachable; the next list repairs missed changes.
      this.#refusedFromMs = Math.min(this.#refusedFromMs, fromMs);
    }
    this.changed();
    // The kernel walks a table as large as the machine's memory allows for it, and a health check may end every second.
    if (runs() !== before) void this.#readListeners();
  }

  async #watchListeners(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await this.#firstListeners;
      for (;;) {
        await pauseFor(this.#limits.listenersMs, signal);
        await this.#readListeners();
      }
    } catch {}
  }

  #readingListeners: Promise<void> | undefined;

  #readListeners(): Promise<void> {
    this.#readingListeners ??= limited(this.#closing.signal, this.#limits.requestMs, async (limit) => {
      const seen = () => JSON.stringify([this.hostAddresses, this.listeners, this.clockAheadMs]);
      const before = seen();
      const [listeners] = await Promise.all([this.host.listeners(limit).catch(() => undefined), this.#readHost(limit)]);
      if (listeners) {
        this.listeners = listeners;
        this.listenersMs = Date.now();
      }
      if (seen() !== before) this.changed();
    })
      .catch(() => undefined)
      .finally(() => {
        this.#readingListeners = undefined;
      });
    return this.#readingListeners;
  }
}

export async function stackFolderOf(
  { host, stackFolder }: Pick<EngineWatch, 'host' | 'stackFolder'>,
  usual: string,
  signal: AbortSignal,
): Promise<string> {
  const { home } = await host.facts(signal);
  return expandHome(stackFolder ?? usual, home);
}

const lastOfImage = new Map<string, WeakRef<ContainerDetail>>();

/**
 * The engine's whole response is several times larger than what is read of it, and each of its last five health checks may print 4 KB.
 * Containers of one image are alike, on all hosts: what is equal, such as the environment, is in memory once.
 */
function keptOf(detail: ContainerDetail | undefined): ContainerDetail | undefined {
  if (!detail) return undefined;
  const kept: ContainerDetail = { ...detail, raw: undefined, healthOutputs: detail.healthOutputs.slice(-1) };
  const other = lastOfImage.get(kept.imageId)?.deref();
  const share = <Name extends keyof ContainerDetail>(name: Name) => {
    if (other && isDeepStrictEqual(kept[name], other[name])) kept[name] = other[name];
  };
  for (const name of Object.keys(kept) as (keyof ContainerDetail)[]) share(name);
  lastOfImage.set(kept.imageId, new WeakRef(kept));
  return kept;
}

/** Of fields that events report. Then an inspect, which tells more, is kept. */
function isSame(known: ContainerFacts, listed: ContainerFacts): boolean {
  return known.state === listed.state && known.health === listed.health && known.name === listed.name;
}

function serviceIn(labels: Readonly<Record<string, string>>): string | undefined {
  const [project, service] = [composeLabel({ labels }, 'project'), composeLabel({ labels }, 'service')];
  return project && service ? `${project}/${service}` : undefined;
}

/** Turns of the event loop: a connection is opened in one, and the request is written in the next. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Runs after the commit, which a zero timer triggers, and after the screen update that follows. */
const shownFirst = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
