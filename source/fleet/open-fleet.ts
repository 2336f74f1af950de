import { addAbortListener } from 'node:events';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { gatewaysOf } from '../engine/network-owners.ts';
import { createListeners } from '../faults/listeners.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { buildComponentView, type ContainerKnowledge, compareComponents, type NetworkOwner, serviceKey } from './component-view.ts';
import { ConnectionWatch } from './connection-watch.ts';
import { type CompletedGroup, DeclaredServices } from './declared-services.ts';
import { type Deployed, DeployedComponents, type ReadBackupAges } from './deployed-components.ts';
import { toEngineView } from './engine-view.ts';
import { type EngineLimits, type EngineSource, EngineWatch, engineLimits, type OnLan } from './engine-watch.ts';
import { CatalogIndex, type ContainerGroup, componentIds, groupContainers } from './grouping.ts';
import type { ComponentView, Fleet, FleetSnapshot, FleetStage, PortView, StatsHistory } from './model.ts';
import { Observations } from './observations.ts';
import { portViews } from './ports.ts';
import type { FindCredential } from './probe-login.ts';
import { type ProbeTarget, ProbeWatch } from './probe-watch.ts';
import { isDecidedByList } from './service-state.ts';
import { StatsWatch } from './stats-watch.ts';

export interface FleetOptions {
  engines: readonly EngineSource[];
  catalog: Catalog;
  stackFolder: string;
  /** False in read-only mode: then probes that run a program inside a container are skipped. */
  execAllowed: boolean;
  /** Probe interval for entries that set none, milliseconds (R81). */
  probeIntervalMs?: number;
  /** Missing in read-only mode, whose user may be someone else. */
  findCredential?: FindCredential | undefined;
  observationsFile?: string;
  observationsKept?: boolean;
  backupAges?: ReadBackupAges;
  limits?: EngineLimits;
}

/** The snapshot is replaced at most once in this time: a frame. */
const frameMs = 33;
/** Messages contain ages; they are rebuilt at this interval. */
const agesMs = 30_000;
const declaredLimitMs = 5_000;
/** At most about this many containers are inspected at the same time, and at least one of each engine: the unread responses of a hundred engines took 30 MB. */
const inspectsOfAll = 100;

export interface ComponentRuntime {
  watch: EngineWatch;
  group: ContainerGroup;
}

/** What one engine contributes to a snapshot. By the keys of components, or of their services. */
interface FleetPart {
  components: ComponentView[];
  targets: ProbeTarget[];
  entries: Map<string, CatalogEntry>;
  hostNetwork: Map<string, ContainerDetail | undefined>;
  ownAddresses: Map<string, OnLan>;
  builtMs: number;
  /** When an age in it, or a state that depends on one, is next due. */
  reconsiderMs: number;
}

export interface OpenFleet extends Fleet {
  runtime(componentKey: string): ComponentRuntime | undefined;
  watchOf(name: string): EngineWatch | undefined;
  add(engines: readonly EngineSource[]): void;
  /** Stops following the engines of a host, which stays open. Returns their names. */
  drop(host: Host): string[];
  isEmpty(): boolean;
  /** Never rejects. */
  keepObservations(): Promise<void>;
}

/** Starts following every engine. There is one writer: all new data ends in `commit`, once per frame. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: all of it shares the state that one commit replaces
export function openFleet(options: FleetOptions): OpenFleet {
  const { stackFolder } = options;
  const index = new CatalogIndex(options.catalog.entries);
  const listeners = createListeners();
  const given = options.limits ?? engineLimits;
  const limits = {
    ...given,
    get inspectsAtOnce() {
      const asked = watches.filter(({ link }) => link.state !== 'away').length;
      return Math.ceil(Math.min(given.inspectsAtOnce, inspectsOfAll / asked));
    },
  };
  const observations = new Observations(options.observationsFile, { isWritable: options.observationsKept ?? true });
  /** Of a component that the catalog knows, inspects show where its probe finds it. */
  const undecided = (listed: readonly ContainerFacts[]) =>
    groupContainers(listed, index).flatMap(({ entry, members }) =>
      members.flatMap(({ container }) => (entry || !isDecidedByList(container) ? [container] : [])),
    );
  const watchOf = (source: EngineSource) => {
    const watch: EngineWatch = new EngineWatch(source, () => changed(watch), { observations, limits, undecided });
    return watch;
  };
  const watches = options.engines.map(watchOf);
  const probes = new ProbeWatch((key, isNews) => changed(runtimes.get(key)?.watch, isNews), {
    execAllowed: options.execAllowed,
    defaultIntervalMs: options.probeIntervalMs,
    // The figures of a component are sampled only while it is shown.
    isShown: (key) => stats.isWatched(key),
    findCredential: options.findCredential,
  });
  const stats = new StatsWatch(sampled);
  const declared = new DeclaredServices(watches, stackFolder, changed);
  const deployed = new DeployedComponents(watches, stackFolder, changed, options.backupAges);
  const runtimes = new Map<string, ComponentRuntime>();
  /** Rebuilt for a watch only when something about it changed, or its ages do. */
  const parts = new Map<EngineWatch, FleetPart>();
  const outdated = new Set<EngineWatch>();
  const portsByHost = new Map<Host, PortView[]>();
  let frame: NodeJS.Timeout | undefined;
  let reconsider: NodeJS.Timeout | undefined;
  let committedMs = Number.NEGATIVE_INFINITY;
  let tookMs = 0;
  let closed = false;
  /** As of the snapshot. */
  let known: Record<FleetStage, boolean> = { listed: false, settled: false, states: false, complete: false };
  /** What commands wait for, as far as engines alone tell it. */
  const awaited = new Set<() => boolean>();
  const reached: Record<FleetStage, () => boolean> = {
    listed: () => watches.every((watch) => watch.settled || watch.link.state === 'connected'),
    settled: () => watches.every((watch) => watch.settled),
    states: () => watches.every((watch) => watch.statesKnown),
    complete: () => watches.every((watch) => watch.statesKnown && watch.complete),
  };
  const connections = new ConnectionWatch(schedule);
  for (const { host } of watches) connections.follow(host);
  const engineView = (watch: EngineWatch) => toEngineView(watch, connections.of(watch.host));
  let snapshot: FleetSnapshot = { revision: 0, settled: false, engines: watches.map(engineView), components: [], ports: [] };

  function schedule(): void {
    if (closed || frame !== undefined) return;
    const isAwaited = awaited.size > 0;
    // A command shows nothing before it has what it waits for, and then goes on as soon as it can.
    if (isAwaited && awaited.size === listeners.count && ![...awaited].some((isNear) => isNear())) return;
    // The first change after a quiet time is shown at once; a storm of changes once per frame, in a third of the time at most.
    const pauseMs = isAwaited ? tookMs : snapshot.settled ? Math.min(Math.max(frameMs, 3 * tookMs), 1_000) : frameMs;
    frame = setTimeout(commit, Math.max(0, committedMs + pauseMs - performance.now()));
  }

  /** @param watch the only one that it is about @param isNews whether it shows at once, or with the next commit */
  function changed(watch?: EngineWatch, isNews = true): void {
    for (const one of watch ? [watch] : watches) outdated.add(one);
    if (isNews) schedule();
  }

  /** Stats are delivered separately: their subscribers are notified, and nothing is rebuilt. */
  function sampled(): void {
    if (!closed && frame === undefined) listeners.notify();
  }

  function commit(): void {
    frame = undefined;
    committedMs = performance.now();
    const nowMs = Date.now();
    const components = rebuild(nowMs);
    const all = watches.flatMap((watch) => parts.get(watch) ?? []);
    if (components !== snapshot.components) {
      probes.follow(all.flatMap(({ targets }) => targets));
      stats.follow(runtimes);
    }
    snapshot = {
      revision: snapshot.revision + 1,
      settled: reached.settled(),
      engines: watches.map(engineView),
      components,
      ports: [...portsByHost.values()].flat(),
    };
    const isProbed = probes.complete();
    known = {
      listed: reached.listed(),
      settled: snapshot.settled,
      states: isProbed && reached.states(),
      complete: isProbed && reached.complete(),
    };
    clearTimeout(reconsider);
    const reconsiderMs = all.reduce((least, part) => Math.min(least, part.reconsiderMs), nowMs + agesMs);
    reconsider = setTimeout(schedule, Math.max(frameMs, reconsiderMs - nowMs));
    tookMs = performance.now() - committedMs;
    listeners.notify();
  }

  /** Returns all components: the same list if none may have changed. */
  function rebuild(nowMs: number): readonly ComponentView[] {
    // The clock may have been set back.
    const isDue = (part?: FleetPart) => !part || part.reconsiderMs <= nowMs || part.builtMs > nowMs;
    const due = watches.filter((watch) => outdated.has(watch) || isDue(parts.get(watch)));
    const gone = [...parts.keys()].filter((watch) => !watches.includes(watch));
    outdated.clear();
    const before = new Set([...due, ...gone].flatMap((watch) => parts.get(watch)?.components ?? []));
    for (const { key } of before) runtimes.delete(key);
    for (const watch of gone) parts.delete(watch);
    const now = due.flatMap((watch) => {
      const part = buildPart(watch, nowMs);
      parts.set(watch, part);
      return part.components;
    });
    for (const host of new Set(due.map((watch) => watch.host))) portsByHost.set(host, portsOf(host));
    // A host that is away costs nothing, however often it is tried again.
    if (before.size + now.length === 0) return snapshot.components;
    // In order, each by itself: sorting them is hardly more than joining them.
    return [...snapshot.components.filter((component) => !before.has(component)), ...now].sort(compareComponents);
  }

  function groupsOf(watch: EngineWatch) {
    const completed = declared.complete(watch, groupContainers([...watch.containers.values()], index), index);
    return completed.flatMap<CompletedGroup & { ours: Deployed | undefined }>((one) => {
      const { group, missing } = one;
      // A project of another name belongs to another owner, whatever its images are.
      const ours = group.project === group.name ? deployed.get(watch, group.name) : undefined;
      if (ours) return [{ ...one, ours }];
      // Services that a user removed are no longer expected, whatever the compose files still declare.
      const wanted = missing.filter((service) => watch.removedMs(group.project, service) === undefined);
      return group.members.length + wanted.length === 0 ? [] : [{ ...one, missing: wanted, ours: undefined }];
    });
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one pass over the containers fills everything that depends on them
  function buildPart(watch: EngineWatch, nowMs: number): FleetPart {
    const part: FleetPart = {
      ...{ components: [], targets: [], builtMs: nowMs, reconsiderMs: Number.POSITIVE_INFINITY },
      ...{ entries: new Map(), hostNetwork: new Map(), ownAddresses: new Map() },
    };
    // All at once: each by itself would have the lists rebuilt as often as there are hosts.
    const agesDueMs = Math.ceil((nowMs + 1) / agesMs) * agesMs;
    const reachable = watch.link.state === 'connected';
    const groups = groupsOf(watch);
    const ids = componentIds(groups.map(({ group }) => group));
    const knowledge = (id: string): ContainerKnowledge => ({ detail: watch.detail(id), history: watch.history(id) });
    for (const { group, missing, isPartlyCreated, ours } of groups) {
      const key = serviceKey(watch.name, group, group.name);
      const built = buildComponentView(group, {
        host: watch.name,
        id: ids.get(group) ?? group.name,
        // The times of its containers use its own clock.
        nowMs: nowMs + watch.clockAheadMs,
        engineReachable: reachable,
        knowledge,
        networkOwner: (said) => ownerOf(watch, said),
        probe: probes.probe(key),
        findings: probes.findings(key),
        missing,
        haltedFor: (containerId) => deployed.haltedFor(watch, containerId),
        removedMs: (service: string) => watch.removedMs(group.project, service),
        isPartlyCreated,
        observed: probes.setupTasks(key),
        deployed: ours,
        backup: ours && deployed.backup(watch, group.name),
      });
      part.components.push(watch.clockAheadMs === 0 ? built.view : byOurClock(built.view, watch.clockAheadMs));
      runtimes.set(built.view.key, { watch, group });
      const hasAge = missing.length > 0 || group.members.some(({ container }) => container.state !== 'running');
      part.reconsiderMs = Math.min(part.reconsiderMs, built.reconsiderMs - watch.clockAheadMs);
      if (hasAge) part.reconsiderMs = Math.min(part.reconsiderMs, agesDueMs);
      if (group.entry) {
        part.entries.set(key, group.entry);
        const target = reachable ? probeTarget({ key, id: built.view.id }, group, watch) : undefined;
        if (target) part.targets.push(target);
      }
      for (const { container, service } of group.members) {
        const lan = watch.onLan(container.id);
        if (lan.addresses.length > 0) part.ownAddresses.set(serviceKey(watch.name, group, service), lan);
        if (container.networkMode === 'host') part.hostNetwork.set(serviceKey(watch.name, group, service), watch.detail(container.id));
      }
    }
    part.components.sort(compareComponents);
    return part;
  }

  /** Engines on one machine share its ports. */
  function portsOf(host: Host): PortView[] {
    const here = watches.filter((watch) => watch.host === host);
    const partsHere = here.flatMap((watch) => parts.get(watch) ?? []);
    const joined = <Value>(pick: (part: FleetPart) => ReadonlyMap<string, Value>) => new Map(partsHere.flatMap((part) => [...pick(part)]));
    const newest = here.reduce((one, other) => (other.listenersMs > one.listenersMs ? other : one));
    return portViews({
      host: here[0]?.name ?? host.name,
      hostAddresses: newest.hostAddresses,
      listeners: newest.listeners,
      components: partsHere.flatMap(({ components }) => components).sort(compareComponents),
      entries: joined(({ entries }) => entries),
      hostNetwork: joined(({ hostNetwork }) => hostNetwork),
      ownAddresses: joined(({ ownAddresses }) => ownAddresses),
      engines: new Map(here.map((watch) => [watch.name, watch.facts])),
    });
  }

  function again(watch: EngineWatch): void {
    // After a refusal, only an explicit request reconnects.
    watch.host.link?.retry();
    watch.refresh();
  }

  async function until(what: FleetStage, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const check = () => known[what] && resolve();
    using _stop = addAbortListener(signal, () => reject(signal.reason));
    const unsubscribe = listeners.subscribe(check);
    // One for each, also of those that wait for the same.
    const isNear = () => reached[what]();
    awaited.add(isNear);
    check();
    await promise.finally(() => {
      awaited.delete(isNear);
      unsubscribe();
      if (outdated.size > 0) schedule();
    });
  }

  void observations.ready().then(() => changed());
  for (const watch of watches) void watch.run();

  const fleet: OpenFleet = {
    snapshot: () => snapshot,
    subscribe: listeners.subscribe,
    async settle(signal, stage = 'settled') {
      const isWhole = stage === 'complete' || stage === 'states';
      if (isWhole) for (const watch of watches) watch.wantDetails(stage === 'complete');
      await until(stage, signal);
      if (isWhole) {
        if (await observations.reload()) changed();
        // A network folder that does not respond must not block closing.
        await limited(signal, declaredLimitMs, () => Promise.all([declared.read(), deployed.read()])).catch(() => signal.throwIfAborted());
        clearTimeout(frame);
        frame = undefined;
        if (!closed && outdated.size > 0) commit();
      }
      return snapshot;
    },
    asked: (limitMs) =>
      Promise.race([
        Promise.all(watches.map(({ asked }) => asked)).then(() => undefined),
        new Promise<void>((resolve) => setTimeout(resolve, limitMs)),
      ]),
    watchStats: (key) => stats.watch(key, runtimes.get(key)),
    stats: (key): StatsHistory | undefined => stats.history(key),
    refresh(key) {
      const one = key === undefined ? undefined : runtimes.get(key)?.watch;
      for (const watch of one ? [one] : watches) again(watch);
      probes.refresh(key);
      void deployed.read();
    },
    retry(name) {
      for (const watch of watches) if (watch.name === name) again(watch);
    },
    whileStopping(containerId, stop) {
      const watch = watches.find(({ containers }) => containers.has(containerId));
      return watch ? watch.whileStopping(containerId, stop) : stop();
    },
    runtime: (key) => runtimes.get(key),
    watchOf: (name) => watches.find((watch) => watch.name === name),
    add(further) {
      for (const watch of further.map(watchOf)) {
        watches.push(watch);
        connections.follow(watch.host);
        void watch.run();
      }
      changed();
    },
    drop(host) {
      const dropped = watches.filter((watch) => watch.host === host);
      for (const watch of dropped) {
        watches.splice(watches.indexOf(watch), 1);
        watch.close();
        declared.forget(watch);
        deployed.forget(watch);
      }
      connections.forget(host);
      portsByHost.delete(host);
      changed();
      return dropped.map(({ name }) => name);
    },
    isEmpty: () => watches.length === 0,
    keepObservations: () => observations.flush(),
    close() {
      closed = true;
      connections.close();
      clearTimeout(frame);
      clearTimeout(reconsider);
      for (const part of [probes, stats, declared, deployed, observations, ...watches]) part.close();
    },
  };
  return fleet;
}

function byOurClock(view: ComponentView, aheadMs: number): ComponentView {
  const ours = (ms: number | undefined) => (ms === undefined ? undefined : ms - aheadMs);
  return {
    ...view,
    sinceMs: ours(view.sinceMs),
    services: view.services.map(({ verdictMs, ...service }) => ({
      ...service,
      sinceMs: ours(service.sinceMs),
      ...(verdictMs !== undefined && { verdictMs: verdictMs - aheadMs }),
    })),
  };
}

function ownerOf(watch: EngineWatch, said: string): NetworkOwner | undefined {
  const [owner] = gatewaysOf([{ networkMode: `container:${said}` }], watch.containers.values());
  return owner && { name: owner.name, state: owner.state, startedMs: watch.detail(owner.id)?.startedMs };
}

/** Probes run for components whose main service runs and has been inspected. */
function probeTarget(view: Pick<ComponentView, 'key' | 'id'>, group: ContainerGroup, watch: EngineWatch): ProbeTarget | undefined {
  const { entry } = group;
  const main = group.members.find((member) => member.main)?.container;
  if (!entry || !watch.engine || !main || main.state !== 'running' || !watch.detail(main.id)) return undefined;
  const containers = new Map<string, ContainerDetail>();
  for (const { container, known } of group.members) {
    const detail = watch.detail(container.id);
    if (known && detail && !containers.has(known.name)) containers.set(known.name, detail);
  }
  const { host, hostAddresses, clockAheadMs, engine, facts } = watch;
  const gateways = gatewaysOf([...containers.values()], watch.containers.values()).flatMap(({ id }) => watch.detail(id) ?? []);
  const { name: engineName } = watch;
  return { ...view, engineName, entry, host, hostAddresses, clockAheadMs, engine, engineFacts: facts, containers, gateways };
}
