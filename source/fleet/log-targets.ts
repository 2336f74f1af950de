import type { EngineKind } from '../engine/engine.ts';
import { byOurClock, type LogEngine } from './log-clock.ts';
import type { OpenFleet } from './open-fleet.ts';
import type { PlaceWatch } from './place-watch.ts';

/** Whose lines they are. */
export interface LogOrigin {
  /** Key of the component. */
  component: string;
  /** Id of the container. */
  container: string;
  service: string;
}

/** A container whose log can be read, as long as nothing about it changes. */
export interface LogTarget extends LogOrigin {
  /** Undefined while it is away. By our clock. */
  engine: LogEngine | undefined;
  kind: EngineKind | undefined;
  tty: boolean;
  running: boolean;
  /** Connection to the engine and start of the container: with another one of either, the log goes on in a new stream. */
  incarnation: string;
}

/** The containers of some components, kept up with the fleet. One look at the fleet serves all who follow: three hundred cost no more. */
export class LogTargets {
  readonly #fleet: OpenFleet;
  readonly #keys: readonly string[];
  readonly #services: ReadonlySet<string> | undefined;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  /** How far the clocks of places were ahead when their engines were first seen. */
  readonly #aheadMs = new Map<string, number>();
  readonly #engines = new WeakMap<LogEngine, LogEngine>();
  #targets: ReadonlyMap<string, LogTarget> = new Map();
  /** What keeps lines from coming, in a sentence; undefined when nothing does. */
  message: string | undefined;
  /** By place, what connections to engines say of themselves while they are away. */
  aways: ReadonlyMap<string, { message: string; remedy: string }> = new Map();
  /** Containers that the engine has not told about yet: whether frames are used is known from an inspect only. */
  unknown = 0;

  /** Ids of all containers, those too that are not told about yet. */
  members: ReadonlySet<string> = new Set();

  constructor(fleet: OpenFleet, keys: readonly string[], services?: readonly string[]) {
    this.#fleet = fleet;
    this.#keys = keys;
    this.#services = services && new Set(services);
    this.#unsubscribe = fleet.subscribe(() => this.#look());
    this.#look();
  }

  /** The first of them. */
  get away(): { message: string; remedy: string } | undefined {
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

  /** Told after each change to any of them. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when this container is no longer as it was then, and when the signal aborts. */
  async changed(container: string, then: LogTarget | undefined, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#targets.get(container) !== then) return;
    await new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(container) ?? new Set();
      this.#waiting.set(container, waiting);
      const done = () => {
        waiting.delete(done);
        if (waiting.size === 0) this.#waiting.delete(container);
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  close(): void {
    this.#unsubscribe();
    this.#listeners.clear();
  }

  #engineOf(place: PlaceWatch): LogEngine | undefined {
    const { engine, name, clockAheadMs } = place;
    if (place.link.state !== 'connected' || !engine) return undefined;
    const aheadMs = this.#aheadMs.get(name) ?? clockAheadMs;
    this.#aheadMs.set(name, aheadMs);
    const known = this.#engines.get(engine) ?? byOurClock(engine, aheadMs);
    this.#engines.set(engine, known);
    return known;
  }

  #look(): void {
    const targets = new Map<string, LogTarget>();
    const members = new Set<string>();
    let missing = 0;
    let unknown = 0;
    const aways = new Map<string, { message: string; remedy: string }>();
    const awaited = new Set<string>();
    for (const component of this.#keys) {
      const runtime = this.#fleet.runtime(component);
      if (!runtime) missing++;
      else if (runtime.place.link.state !== 'connected') {
        const { name, host, link } = runtime.place;
        awaited.add(host.link ? name : 'the engine');
        aways.set(name, { message: link.message ?? `The engine of ${name} is not connected.`, remedy: link.remedy ?? 'Start it.' });
      }
      for (const { container, service } of runtime?.group.members ?? []) {
        if (this.#services && !this.#services.has(service)) continue;
        members.add(container.id);
        const known = this.#targets.get(container.id);
        const engine = runtime && this.#engineOf(runtime.place);
        const detail = runtime?.place.detail(container.id);
        if (!detail) {
          if (!runtime?.place.complete) unknown++;
          if (!known) continue;
        }
        const target: LogTarget = {
          component,
          container: container.id,
          service,
          engine,
          kind: runtime?.place.facts?.kind,
          tty: detail?.tty ?? known?.tty ?? false,
          running: container.state === 'running',
          incarnation: `${runtime?.place.link.sinceMs}/${detail?.startedMs ?? 0}`,
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
    const message =
      missing === this.#keys.length
        ? 'the component is gone'
        : awaited.size > 0
          ? `waiting for ${[...awaited].join(', ')}`
          : targets.size === 0 && unknown > 0
            ? 'asking the engine for it'
            : undefined;
    const said = this.message !== message;
    this.message = message;
    let changed = said || wasUnknown !== unknown || before.size !== targets.size;
    for (const id of new Set([...before.keys(), ...targets.keys()])) {
      if (before.get(id) === targets.get(id)) continue;
      changed = true;
      for (const wake of [...(this.#waiting.get(id) ?? [])]) wake();
    }
    if (changed) for (const listener of [...this.#listeners]) listener();
  }
}

function isSame(one: LogTarget, other: LogTarget): boolean {
  return (
    one.engine === other.engine &&
    one.kind === other.kind &&
    one.running === other.running &&
    one.incarnation === other.incarnation &&
    one.tty === other.tty &&
    one.service === other.service &&
    one.component === other.component
  );
}
