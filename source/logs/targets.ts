import { addAbortListener } from 'node:events';
import type { Engine, EngineKind } from '../engine/engine.ts';
import type { Fault } from '../faults/fault.ts';
import { createListeners } from '../faults/listeners.ts';
import { disconnectedFault } from '../fleet/engine-view.ts';
import type { EngineWatch } from '../fleet/engine-watch.ts';
import type { OpenFleet } from '../fleet/open-fleet.ts';

export type LogEngine = Pick<Engine, 'logs'>;

export interface LogOrigin {
  component: string;
  container: string;
  service: string;
}

/** A container with a readable log, valid as long as nothing about it changes. */
export interface LogTarget extends LogOrigin {
  /** Undefined while the engine is unreachable. By our clock. */
  engine: LogEngine | undefined;
  kind: EngineKind | undefined;
  tty: boolean;
  running: boolean;
  /** Connection to the engine and start of the container: if either changes, the log continues in a new stream. */
  incarnation: string;
}

/** The containers of some components, updated with the fleet. One read of the fleet serves all followers: three hundred cost no more. */
export class LogTargets {
  readonly #services: ReadonlySet<string> | undefined;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = createListeners();
  readonly subscribe = this.#listeners.subscribe;
  readonly #unsubscribe: () => void;
  /** Offsets by which the clocks of engines were ahead when the engines were first seen. */
  readonly #aheadMs = new Map<string, number>();
  readonly #engines = new WeakMap<LogEngine, LogEngine>();
  #targets: ReadonlyMap<string, LogTarget> = new Map();
  /** The message that explains why no lines arrive; undefined if there is no problem. */
  message: string | undefined;
  /** By engine. */
  aways: ReadonlyMap<string, Fault> = new Map();
  /** Containers that have not been inspected yet: only an inspect shows whether frames are used. */
  unknown = 0;

  /** Ids, including those of containers that have not been inspected yet. */
  members: ReadonlySet<string> = new Set();

  constructor(
    private readonly fleet: OpenFleet,
    private readonly keys: readonly string[],
    services?: readonly string[],
  ) {
    this.#services = services && new Set(services);
    this.#unsubscribe = fleet.subscribe(() => this.#update());
    this.#update();
  }

  get away(): Fault | undefined {
    return this.aways.values().next().value;
  }

  get all(): Iterable<LogTarget> {
    return this.#targets.values();
  }

  get size(): number {
    return this.#targets.size;
  }

  get(container: string): LogTarget | undefined {
    return this.#targets.get(container);
  }

  /** Resolves when this container has changed or the signal is aborted. */
  async changed(container: string, then: LogTarget | undefined, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#targets.get(container) !== then) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(container) ?? new Set();
    this.#waiting.set(container, waiting.add(resolve));
    using _stop = addAbortListener(signal, () => resolve());
    await promise;
    waiting.delete(resolve);
    if (waiting.size === 0) this.#waiting.delete(container);
  }

  close(): void {
    this.#unsubscribe();
    this.#listeners.clear();
  }

  #engineOf(engineView: EngineWatch): LogEngine | undefined {
    const { engine, name, clockAheadMs } = engineView;
    if (engineView.link.state !== 'connected' || !engine) return undefined;
    const aheadMs = this.#aheadMs.get(name) ?? clockAheadMs;
    this.#aheadMs.set(name, aheadMs);
    const known = this.#engines.get(engine) ?? byOurClock(engine, aheadMs);
    this.#engines.set(engine, known);
    return known;
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one pass over the fleet computes everything, so that followers see one state
  #update(): void {
    const targets = new Map<string, LogTarget>();
    const members = new Set<string>();
    let missing = 0;
    let unknown = 0;
    const aways = new Map<string, Fault>();
    const awaited = new Set<string>();
    for (const component of this.keys) {
      const runtime = this.fleet.runtime(component);
      if (!runtime) missing++;
      else if (runtime.watch.link.state !== 'connected') {
        const { name, host, link } = runtime.watch;
        awaited.add(host.link ? name : 'the engine');
        aways.set(name, disconnectedFault(name, link));
      }
      for (const { container, service } of runtime?.group.members ?? []) {
        if (this.#services && !this.#services.has(service)) continue;
        members.add(container.id);
        const known = this.#targets.get(container.id);
        const engine = runtime && this.#engineOf(runtime.watch);
        const detail = runtime?.watch.detail(container.id);
        if (!detail) {
          if (!runtime?.watch.complete) unknown++;
          if (!known) continue;
        }
        const target: LogTarget = {
          component,
          container: container.id,
          service,
          engine,
          kind: runtime?.watch.facts?.kind,
          tty: detail?.tty ?? known?.tty ?? false,
          running: container.state === 'running',
          incarnation: `${runtime?.watch.link.sinceMs}/${detail?.startedMs ?? 0}`,
        };
        targets.set(container.id, known && isSame(known, target) ? known : target);
      }
    }
    const before = this.#targets;
    this.#targets = targets;
    this.aways = aways;
    const wasUnknown = this.unknown;
    this.unknown = unknown;
    this.members = members;
    const waitsFor = awaited.size > 0 ? `waiting for ${[...awaited].join(', ')}` : undefined;
    const unread = targets.size === 0 && unknown > 0 ? 'querying the engine' : undefined;
    const message = missing === this.keys.length ? 'the component no longer exists' : (waitsFor ?? unread);
    const isOtherMessage = this.message !== message;
    this.message = message;
    let changed = isOtherMessage || wasUnknown !== unknown || before.size !== targets.size;
    for (const id of new Set([...before.keys(), ...targets.keys()])) {
      if (before.get(id) === targets.get(id)) continue;
      changed = true;
      for (const wake of this.#waiting.get(id) ?? []) wake();
    }
    if (changed) this.#listeners.notify();
  }
}

function isSame(one: LogTarget, other: LogTarget): boolean {
  return (Object.keys(one) as (keyof LogTarget)[]).every((key) => one[key] === other[key]);
}

/**
 * Logs of an engine whose machine's clock is ahead of ours, converted to our clock: both the queries and the responses. All sources of
 * one reading keep the first difference seen: a line that is read twice must have the same time.
 */
export function byOurClock(engine: LogEngine, aheadMs: number): LogEngine {
  if (aheadMs === 0) return engine;
  return {
    async *logs(id, { sinceMs, untilMs, ...options }) {
      const theirs = (ms: number | undefined) => (ms === undefined ? undefined : ms + aheadMs);
      const batches = engine.logs(id, { ...options, sinceMs: theirs(sinceMs), untilMs: theirs(untilMs) });
      for await (const batch of batches) yield batch.moved(-aheadMs);
    },
  };
}
