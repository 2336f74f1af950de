import type { ContainerDetail, ContainerFacts, Engine, EngineEvent, EngineFacts } from '../engine/engine.ts';
import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { limited, pauseFor } from '../faults/waits.ts';
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

/** An engine on a host, and how to open it. Opening may fail, and is tried again. */
export interface PlaceSource {
  name: string;
  host: Host;
  /** Where its stack lives, as written in the settings: `~` is that host's home. Engines of one host have a folder each. */
  stackFolder?: string;
  open: (signal: AbortSignal) => Promise<Engine>;
}

export interface PlaceLimits {
  /** For all that an engine is asked at the beginning. Longer than its own limit for each of that, which names what is slow. */
  connectMs: number;
  requestMs: number;
  /** First and longest wait before another attempt. */
  retryMs: readonly [number, number];
  /** Between two full lists, in case an event was lost. */
  reconcileMs: number;
  listenersMs: number;
}

export const placeLimits: PlaceLimits = {
  connectMs: 12_000,
  requestMs: 10_000,
  retryMs: [500, 4_000],
  reconcileMs: 60_000,
  listenersMs: 15_000,
};

/** Events from before we came tell who stopped what, and what is in a loop. Docker keeps the last 256. */
const lookBackMs = 60 * 60_000;
const quietMs = 50;
const catchUpLimitMs = 1_000;
const inspectsAtOnce = 6;
/** Names that every engine gives to networks behind the host, or to none. */
const plainNetworks: ReadonlySet<string> = new Set(['bridge', 'host', 'none', 'podman', 'slirp4netns', 'pasta']);
const touchDelayMs = 30;
/** Docker reports no removal that failed. */
const removingMs = 1_000;
/** What an engine is beyond its containers can be known a moment later than they are; an engine that is slow to list them is asked beside it. */
const factsLaterMs = 500;
/** Enough for the screen to begin its first frame, which may wait for a file until then. */
const factsAfterMs = 5;

/** Follows one engine: lists once, then lives from its events; when the engine goes away, says so and comes back by itself. */
export class PlaceWatch {
  readonly name: string;
  readonly host: Host;
  readonly stackFolder: string | undefined;
  link: LinkView = { state: 'connecting', sinceMs: Date.now(), message: undefined, remedy: undefined, retryAtMs: undefined };
  engine: Engine | undefined;
  facts: EngineFacts | undefined;
  containers: ReadonlyMap<string, ContainerFacts | ContainerDetail> = new Map();
  listeners: readonly Listener[] = [];
  /** When they were read, epoch milliseconds. */
  listenersMs = 0;
  hostAddresses: readonly string[] = [];
  /** Names of networks that give containers an address of their own beside the host: macvlan and ipvlan. */
  lanNetworks: ReadonlySet<string> = new Set();
  /** How far the machine's clock is ahead of ours: what the engine tells is by that one. */
  clockAheadMs = 0;
  /** Has it answered or failed once? */
  settled = false;
  /** Is everything known that can be: all inspected and the sockets read, or is the engine away? */
  complete = false;

  readonly #source: PlaceSource;
  readonly #observations: Observations;
  readonly #limits: PlaceLimits;
  readonly #changed: () => void;
  readonly #closing = new AbortController();
  readonly #details = new Map<string, ContainerDetail>();
  #seen: HostObservations;
  /** Removed since the last list: answers about them can still be on their way. Ids are never used again. */
  readonly #removed = new Set<string>();
  #networksSeen: ReadonlySet<string> = new Set();
  readonly #touched = new Set<string>();
  /** The earliest event behind what is touched, and behind what could not be read since the engine accepts no requests; by the machine's clock. */
  #touchedFromMs = Number.POSITIVE_INFINITY;
  #refusedFromMs = Number.POSITIVE_INFINITY;
  #touchTimer: NodeJS.Timeout | undefined;
  readonly #lookFromMs = Date.now() - lookBackMs;
  /** By the machine's clock. */
  #lastEventMs = Number.NEGATIVE_INFINITY;
  /** When an event came last, or the engine began to be queried for them, by our clock. */
  #lastNewsMs = 0;
  #wake: (() => void) | undefined;
  #bootedMs: number | undefined;
  #engineStartedMs: number | undefined;
  readonly #answered = Promise.withResolvers<void>();
  readonly #asked = Promise.withResolvers<void>();
  /** Reading them goes through the open files of all programs: what the engine tells is shown before. */
  readonly #firstListeners = this.#answered.promise.then(() => this.#readListeners());

  constructor(
    source: PlaceSource,
    changed: () => void,
    { observations = new Observations(), limits = placeLimits }: { observations?: Observations; limits?: PlaceLimits } = {},
  ) {
    this.#source = source;
    this.#observations = observations;
    this.#seen = observations.host(source.name);
    this.name = source.name;
    this.host = source.host;
    this.stackFolder = source.stackFolder;
    this.#changed = changed;
    this.#limits = limits;
  }

  /** In sentences: of another machine which one. */
  get #engineName(): string {
    return this.host.link ? `engine of ${cleanLine(this.name)}` : 'engine';
  }

  /** Resolves when the engine has been asked for its containers the first time, or could not be. */
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
      // Docker starts again what it is to keep; Podman leaves that to a service which may not be there.
      ...(podman && this.#bootedMs !== undefined && { bootedMs: this.#bootedMs }),
      reportsStops: this.facts?.kind === 'docker' || (podman && Number.parseInt(this.facts?.version ?? '', 10) >= 5),
    };
  }

  /** When the container of a service was seen to be removed, by the machine's clock. */
  removedMs(project: string, service: string): number | undefined {
    return this.#seen.removed.get(`${project}/${service}`);
  }

  /** Records a stop by Quarterdeck before it is made: the container's end is seen before the engine reports that it is done. A refused stop is none. */
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
        // One that answers and breaks off at once is not back yet.
        if (connectedMs !== undefined && Date.now() - connectedMs >= this.#limits.retryMs[1]) attempt = 0;
        this.#goAway(thrown, attempt);
        attempt++;
        await this.#rest((this.link.retryAtMs ?? 0) - Date.now());
      }
    }
  }

  /** Tries again at once when waiting, otherwise reads everything anew. */
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
      const engine = await limited(signal, this.#limits.connectMs, (limit) => this.#source.open(limit));
      this.engine = engine;
      // Another engine under the same name is another host.
      this.#seen = this.#observations.host(`${this.name} ${engine.address.url}`);
      const connecting = limited(signal, this.#limits.connectMs, (limit) =>
        engine.connect(limit, async () => {
          void turns(2).then(this.#asked.resolve);
          await limited(limit, factsLaterMs, () => shown.promise).catch(() => undefined);
        }),
      );
      const listing = this.#list(engine, signal);
      const clock = this.#readClock(signal);
      listing.catch(() => undefined);
      connecting.catch(() => undefined);
      await listing;
      await clock;
      connected();
      const awayFromMs = this.link.state === 'away' ? Math.min(this.link.sinceMs + this.clockAheadMs, this.#refusedFromMs) : undefined;
      this.#refusedFromMs = Number.POSITIVE_INFINITY;
      this.link = { state: 'connected', sinceMs: startedMs, message: undefined, remedy: undefined, retryAtMs: undefined };
      this.#changed();
      void shownFirst(factsAfterMs).then(shown.resolve);
      this.facts = await connecting;
      this.#noteEngineStart(this.facts, awayFromMs);
      // Events from before we came too: none between the list and this is missed.
      this.#lastNewsMs = Date.now();
      const eventsEnd = this.#consume(engine, signal);
      eventsEnd.catch(() => undefined);
      this.#settle();
      // What is known by now is shown first.
      await shownFirst();
      await this.#inspectAll(engine, signal);
      await this.#firstListeners;
      await this.#caughtUp(signal);
      this.complete = true;
      this.#changed();
      await Promise.race([eventsEnd, this.#reconcile(engine, signal)]);
    } finally {
      ending.abort();
      this.engine?.close();
    }
  }

  /**
   * Containers went down with the engine if that was started anew. Podman's run without one, and a connection can break by itself. An engine that is stopped
   * accepts no requests from then on, and ends its containers before it closes the connection.
   */
  #noteEngineStart({ kind, startedMs }: EngineFacts, awayMs: number | undefined): void {
    if (kind === 'podman') return;
    this.#engineStartedMs = startedMs;
    if (awayMs !== undefined && (startedMs === undefined || startedMs > awayMs))
      this.#seen.noteOutage({ fromMs: awayMs, untilMs: Date.now() + this.clockAheadMs });
    // A command that is run next has to know, and cannot see it.
    void this.#observations.flush();
  }

  #goAway(thrown: unknown, attempt: number): void {
    const [first, longest] = this.#limits.retryMs;
    const late = isAbort(thrown);
    // What the way to the machine waits for is why its engine does not answer.
    const fault = thrown instanceof Fault ? thrown : late ? this.host.link?.view.fault : undefined;
    this.link = {
      state: 'away',
      sinceMs: this.link.state === 'away' ? this.link.sinceMs : Date.now(),
      message:
        fault?.message ??
        (late ? `The ${this.#engineName} does not answer.` : `The connection to the ${this.#engineName} broke: ${messageOf(thrown)}`),
      remedy: fault?.remedy ?? 'Check that the engine runs; the connection comes back by itself.',
      retryAtMs: Date.now() + Math.min(longest, first * 2 ** attempt),
      ...(fault?.cause !== undefined && { cause: fault.cause }),
    };
    this.#engineStartedMs = undefined;
    this.complete = true;
    this.#settle();
  }

  #settle(): void {
    this.settled = true;
    this.#asked.resolve();
    this.#changed();
    this.#answered.resolve();
  }

  /** Until the next attempt. Where the way to the machine itself is gone, that is why, and an attempt makes sense as soon as it is back. */
  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { link } = this.host;
      const done = () => {
        clearTimeout(timer);
        stopLooking?.();
        this.#closing.signal.removeEventListener('abort', done);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, ms));
      let isThere = true;
      const look = () => {
        if (!link) return;
        const { state, fault, retryAtMs } = link.view;
        if (state === 'connected') {
          if (!isThere) done();
          return;
        }
        isThere = false;
        clearTimeout(timer);
        if (!fault) return;
        this.link = { ...this.link, message: fault.message, remedy: fault.remedy, retryAtMs, cause: fault.cause };
        this.#changed();
      };
      const stopLooking = link?.subscribe(look);
      look();
      this.#closing.signal.addEventListener('abort', done, { once: true });
      this.#wake = done;
    });
  }

  async #list(engine: Engine, signal: AbortSignal): Promise<void> {
    const before = this.containers;
    const removedBefore = new Set(this.#removed);
    const list = await limited(signal, this.#limits.requestMs, (limit) => engine.list(limit));
    const listed = new Map(list.filter(({ id }) => !this.#removed.has(id)).map((container) => [container.id, container]));
    // What events told while the engine was putting the list together is newer than the list.
    for (const [id, container] of this.containers) if (!before.has(id) && !listed.has(id)) listed.set(id, container);
    for (const id of removedBefore) this.#removed.delete(id);
    this.containers = listed;
    for (const id of this.#details.keys()) if (!this.containers.has(id)) this.#details.delete(id);
    this.#seen.keepOnly(this.containers);
    for (const container of this.containers.values()) this.#noteCreated(container);
  }

  #noteCreated({ labels }: Pick<ContainerFacts, 'labels'>): void {
    const [project, service] = serviceIn(labels);
    if (project && service) this.#seen.noteCreated(project, service);
  }

  /** A service that has another container by now was recreated. */
  #noteRemoved({ timeMs, attributes }: EngineEvent, gone: ContainerFacts | undefined): void {
    const [project, service] = serviceIn(gone?.labels ?? attributes);
    if (!project || !service || composeLabel(gone ?? { labels: attributes }, 'oneoff') === 'True') return;
    for (const { labels } of this.containers.values()) {
      const [otherProject, otherService] = serviceIn(labels);
      if (otherProject === project && otherService === service) return;
    }
    this.#seen.noteRemoved(project, service, timeMs);
  }

  /** Of a machine behind a link, before anything of its engine is shown: all times that the engine tells are by that clock. */
  async #readClock(signal: AbortSignal): Promise<void> {
    if (!this.host.link) return;
    const facts = await limited(signal, this.#limits.requestMs, (limit) => this.host.facts(limit)).catch(() => undefined);
    if (facts) this.clockAheadMs = facts.clockAheadMs ?? 0;
  }

  async #inspectAll(engine: Engine, signal: AbortSignal): Promise<void> {
    const ids = [...this.containers.keys()];
    const next = async (): Promise<void> => {
      for (let id = ids.shift(); id !== undefined; id = ids.shift()) await this.#tryInspect(engine, id, signal);
    };
    await Promise.all(Array.from({ length: inspectsAtOnce }, next));
    await this.#readNetworks(engine, signal);
    this.#changed();
  }

  /** Of what kind the networks of containers are, which only a list of networks tells: read when one appears that was not in the last. */
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

  /** Addresses that a container has beside the host's, on its network, and what it says it listens on there. */
  onLan(id: string): OnLan {
    const detail = this.#details.get(id);
    const addresses = detail?.endpoints.flatMap((endpoint) => (this.lanNetworks.has(endpoint.network) ? endpoint.addresses : [])) ?? [];
    return { addresses, exposed: detail?.exposed ?? [] };
  }

  /** One that the engine cannot tell about, or not in time, stays as the list has it: the others are well all the same. */
  async #tryInspect(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#inspect(engine, id, signal);
    } catch (thrown) {
      if (signal.aborted || (thrown instanceof Fault && thrown.kind === 'unreachable')) throw thrown;
    }
  }

  async #inspect(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
    const detail = await limited(signal, this.#limits.requestMs, (limit) => engine.inspect(id, limit));
    if (this.#removed.has(id)) return;
    const containers = new Map(this.containers);
    if (detail) {
      this.#details.set(id, detail);
      this.#noteCreated(detail);
      containers.set(id, detail);
      if (detail.state === 'removing')
        void pauseFor(removingMs, signal).then(
          () => this.#touch(id),
          () => undefined,
        );
    } else {
      this.#forget(id);
      containers.delete(id);
    }
    this.containers = containers;
  }

  #forget(id: string): void {
    this.#details.delete(id);
    this.#seen.forget(id);
  }

  async #reconcile(engine: Engine, signal: AbortSignal): Promise<never> {
    for (;;) {
      await pauseFor(this.#limits.reconcileMs, signal);
      const before = this.containers;
      await this.#observations.reload();
      await this.#list(engine, signal);
      for (const [id, now] of this.containers) {
        const then = before.get(id);
        if (!then || then.state !== now.state || then.health !== now.health || then.name !== now.name) this.#touch(id);
      }
      this.#changed();
    }
  }

  async #consume(engine: Engine, signal: AbortSignal): Promise<never> {
    const nowMs = Date.now();
    // A clock that was put right leaves us with times that have yet to come: Podman would tell of nothing until then.
    const sinceMs = Math.min(Math.max(this.#lastEventMs, this.#lookFromMs + this.clockAheadMs), nowMs + this.clockAheadMs);
    for await (const event of engine.events({ sinceMs, signal })) this.#take(event);
    throw new Fault({
      code: 'unreachable.engine',
      message: `The ${this.#engineName} closed its event stream.`,
      remedy: 'It comes back by itself once the engine runs again.',
    });
  }

  /** Past events come at once, one behind the other, and no engine marks where they end. */
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
    // It got or lost an address there.
    if (event.kind === 'network' && this.containers.has(event.attributes.container ?? '')) this.#touch(event.attributes.container ?? '');
    if (event.kind !== 'container') return;
    if (event.action === 'remove') {
      const gone = this.containers.get(event.id);
      this.#forget(event.id);
      this.#removed.add(event.id);
      if (this.containers.has(event.id)) {
        const containers = new Map(this.containers);
        containers.delete(event.id);
        this.containers = containers;
        this.#changed();
      }
      this.#noteRemoved(event, gone);
      return;
    }
    this.#seen.take(event, this.facts?.kind, this.#engineStartedMs);
    // Who stopped it may be another process of ours.
    if (event.action === 'die') void this.#observations.reload().then(this.#changed);
    this.#touch(event.id, event.timeMs);
  }

  /** Events come in bursts: a restart is five of them. One inspect answers all. */
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
    try {
      for (const id of ids) await this.#tryInspect(engine, id, this.#closing.signal);
      if (ids.length > 0 && this.link.state === 'connected') this.#refusedFromMs = Number.POSITIVE_INFINITY;
      await this.#readNetworks(engine, this.#closing.signal);
    } catch {
      // The event stream tells when the engine is away; the next list repairs what was missed here.
      this.#refusedFromMs = Math.min(this.#refusedFromMs, fromMs);
    }
    this.#changed();
    void this.#readListeners();
  }

  async #watchListeners(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await this.#firstListeners;
      for (;;) {
        await pauseFor(this.#limits.listenersMs, signal);
        await this.#readListeners();
      }
    } catch {
      // Closed.
    }
  }

  #readingListeners: Promise<void> | undefined;

  /** And the addresses that they listen on: cards come and go. What cannot be read stays as it was. */
  #readListeners(): Promise<void> {
    this.#readingListeners ??= limited(this.#closing.signal, this.#limits.requestMs, async (limit) => {
      const [facts, listeners] = await Promise.all([
        this.host.facts(limit).catch(() => undefined),
        this.host.listeners(limit).catch(() => undefined),
      ]);
      const before = JSON.stringify([this.hostAddresses, this.listeners, this.clockAheadMs]);
      if (facts) {
        this.hostAddresses = facts.addresses;
        this.clockAheadMs = facts.clockAheadMs ?? 0;
        this.#bootedMs = facts.bootedMs;
      }
      if (listeners) {
        this.listeners = listeners;
        this.listenersMs = Date.now();
      }
      if (JSON.stringify([this.hostAddresses, this.listeners, this.clockAheadMs]) !== before) this.#changed();
    })
      .catch(() => undefined)
      .finally(() => {
        this.#readingListeners = undefined;
      });
    return this.#readingListeners;
  }
}

function serviceIn(labels: Readonly<Record<string, string>>): [project: string | undefined, service: string | undefined] {
  return [composeLabel({ labels }, 'project'), composeLabel({ labels }, 'service')];
}

/** Of the event loop: a connection is made in one, and the question written in the next. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Behind the commit, which a timer of no time at all makes, and what it brings to the screen. */
function shownFirst(ms = 1): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
