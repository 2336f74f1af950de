import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import type { EngineEvent, EngineKind } from '../engine/engine.ts';
import { parseJson } from '../text/json-value.ts';
import type { ContainerHistory } from './service-state.ts';

const loopMemoryMs = 10 * 60_000;
const writeDelayMs = 1_000;
/** In the file, newest first: containers of one engine, removed services and outages of one engine, engines. */
const limits = { containers: 500, removed: 200, outages: 20, hosts: 50 };

/** When an engine that was started again since did not answer, by the machine's clock. */
export interface Outage {
  fromMs: number;
  untilMs: number;
}

/** A stop by Quarterdeck. `startedMs` is the start of the run that was stopped, where known; `atMs` is 0 for a stop that was refused. */
interface OwnStop {
  notedMs: number;
  atMs: number;
  startedMs?: number;
}

/** What is known of one container beyond what its engine keeps, epoch milliseconds by the machine's clock. */
interface Observed {
  ownStop?: OwnStop;
  /** The last request to stop it, or a signal that ends programs, sent through the engine. */
  stopMs?: number;
  diedMs?: number;
  /** When the engine itself ended it, while it started: it ends what a crash left running. */
  tidiedMs?: number;
  oomMs?: number;
}

/** Recent deaths, oldest first, and whether it has died and was not started since. Lasts as long as the process. */
interface Recent {
  diedMs: readonly number[];
  ended: boolean;
}

/** What was seen to happen on one engine. */
export class HostObservations {
  readonly containers = new Map<string, Observed>();
  /** `project/service` of removed containers, with the time. */
  readonly removed = new Map<string, number>();
  outages: readonly Outage[] = [];
  readonly #recent = new Map<string, Recent>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  of(id: string): Pick<ContainerHistory, 'diedMs' | 'stopAskedMs' | 'ownStop' | 'oomMs' | 'tidiedMs'> {
    const { ownStop, stopMs, diedMs, tidiedMs, oomMs } = this.containers.get(id) ?? {};
    return {
      diedMs: this.#recent.get(id)?.diedMs ?? (diedMs === undefined ? [] : [diedMs]),
      stopAskedMs: stopMs,
      ...(ownStop && ownStop.atMs > 0 && { ownStop }),
      ...(tidiedMs !== undefined && { tidiedMs }),
      ...(oomMs !== undefined && { oomMs }),
    };
  }

  /**
   * @param engineStartedMs what is reported of the time before was done by the engine itself: it ends what a crash left running before it accepts
   * requests, and keeps no events from before it was started
   */
  take({ id, action, timeMs, signal }: EngineEvent, engine: EngineKind | undefined, engineStartedMs: number | undefined): void {
    const recent = this.#recent.get(id) ?? { diedMs: [], ended: false };
    if (action === 'die') {
      // After a reconnect those of the last moment come again.
      const diedMs = recent.diedMs.includes(timeMs) ? recent.diedMs : [...recent.diedMs.filter((at) => timeMs - at < loopMemoryMs), timeMs];
      this.#recent.set(id, { diedMs, ended: true });
      this.#note(id, { diedMs: timeMs, ...(engineStartedMs !== undefined && timeMs < engineStartedMs && { tidiedMs: timeMs }) });
    } else if (action === 'start') {
      this.#recent.set(id, { ...recent, ended: false });
      // Podman reports a restart when it begins, Docker when the new run is there already. One that follows an end is the restart policy's.
    } else if (
      action === 'stop' ||
      (action === 'restart' && engine === 'podman' && !recent.ended) ||
      (action === 'kill' && endsPrograms(signal))
    ) {
      if (engineStartedMs === undefined || timeMs >= engineStartedMs) this.#note(id, { stopMs: timeMs });
    } else if (action === 'oom') this.#note(id, { oomMs: timeMs });
  }

  noteOwnStop(id: string, stop: OwnStop): void {
    this.containers.set(id, { ...this.containers.get(id), ownStop: stop });
    this.#changed();
  }

  noteOutage(outage: Outage): void {
    const isKnown = this.outages.some(({ untilMs }) => Math.abs(untilMs - outage.untilMs) < 1_000);
    if (isKnown) return;
    this.outages = [...this.outages, outage].slice(-limits.outages);
    this.#changed();
  }

  noteRemoved(project: string, service: string, atMs: number): void {
    this.removed.set(`${project}/${service}`, atMs);
    this.#changed();
  }

  /** The service has a container again. */
  noteCreated(project: string, service: string): void {
    if (this.removed.delete(`${project}/${service}`)) this.#changed();
  }

  forget(id: string): void {
    this.#recent.delete(id);
    if (this.containers.delete(id)) this.#changed();
  }

  keepOnly(ids: ReadonlyMap<string, unknown>): void {
    for (const id of [...this.containers.keys(), ...this.#recent.keys()]) if (!ids.has(id)) this.forget(id);
  }

  #note(id: string, { stopMs = 0, diedMs = 0, tidiedMs = 0, oomMs = 0 }: Omit<Observed, 'ownStop'>): void {
    const before = this.containers.get(id) ?? {};
    const later = (one: number | undefined, other: number) => Math.max(one ?? 0, other);
    const now = withoutZeros({
      ...before,
      stopMs: later(before.stopMs, stopMs),
      diedMs: later(before.diedMs, diedMs),
      tidiedMs: later(before.tidiedMs, tidiedMs),
      oomMs: later(before.oomMs, oomMs),
    });
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    this.containers.set(id, now);
    this.#changed();
  }

  /** Adds what another process wrote. */
  merge(stored: unknown): void {
    if (!isRecord(stored)) return;
    for (const [id, one] of Object.entries(isRecord(stored['containers']) ? stored['containers'] : {})) {
      const theirs = observedIn(one);
      const ours = this.containers.get(id) ?? {};
      const ownStop = (theirs.ownStop?.notedMs ?? 0) > (ours.ownStop?.notedMs ?? 0) ? theirs.ownStop : ours.ownStop;
      this.containers.set(id, {
        ...(ownStop && { ownStop }),
        ...withoutZeros({
          stopMs: Math.max(ours.stopMs ?? 0, theirs.stopMs ?? 0),
          diedMs: Math.max(ours.diedMs ?? 0, theirs.diedMs ?? 0),
          tidiedMs: Math.max(ours.tidiedMs ?? 0, theirs.tidiedMs ?? 0),
          oomMs: Math.max(ours.oomMs ?? 0, theirs.oomMs ?? 0),
        }),
      });
    }
    for (const [name, atMs] of Object.entries(isRecord(stored['removed']) ? stored['removed'] : {}))
      if (isMoment(atMs) && atMs > (this.removed.get(name) ?? 0)) this.removed.set(name, atMs);
    for (const one of Array.isArray(stored['outages']) ? stored['outages'] : []) {
      if (!isRecord(one) || !isMoment(one['fromMs']) || !isMoment(one['untilMs'])) continue;
      this.noteOutage({ fromMs: one['fromMs'], untilMs: one['untilMs'] });
    }
  }

  toJson(): object {
    const newest = [...this.containers].sort(([, one], [, other]) => lastOf(other) - lastOf(one)).slice(0, limits.containers);
    const removed = [...this.removed].sort(([, one], [, other]) => other - one).slice(0, limits.removed);
    return { outages: this.outages, containers: Object.fromEntries(newest), removed: Object.fromEntries(removed) };
  }

  get isEmpty(): boolean {
    return this.containers.size === 0 && this.removed.size === 0 && this.outages.length === 0;
  }
}

/**
 * What consoles and commands saw of containers, kept beyond the process: no engine records who stopped a container, Docker keeps its last 256 events, and
 * Podman before 5 keeps no trace of a stop (R5). Best effort: without the file only what the engine knows is told.
 */
export class Observations {
  readonly #path: string | undefined;
  readonly #hosts = new Map<string, HostObservations>();
  /** As it is in the file: not ours to write again. */
  #written = '';
  #stored: Readonly<Record<string, unknown>> = {};
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void>;
  #reloading: Promise<void> | undefined;
  #merging = false;
  readonly #isWritable: boolean;

  /** Without a path it lasts as long as the process. */
  constructor(path?: string, { isWritable = true }: { isWritable?: boolean } = {}) {
    this.#path = path;
    this.#isWritable = isWritable;
    this.#work = this.#read();
  }

  /** Resolves when what was written before is known. */
  ready(): Promise<void> {
    return this.#work;
  }

  /** @param name of an engine, unique among all that are operated */
  host(name: string): HostObservations {
    const known = this.#hosts.get(name);
    if (known) return known;
    const host = new HostObservations(() => {
      if (!this.#merging) this.#timer ??= setTimeout(() => void this.flush(), writeDelayMs).unref();
    });
    this.#hosts.set(name, host);
    this.#merge(name, host);
    return host;
  }

  /** Reads what other processes wrote meanwhile. Never rejects. */
  reload(): Promise<void> {
    this.#reloading ??= this.#work.then(() => {
      this.#reloading = undefined;
      return this.#read();
    });
    this.#work = this.#reloading;
    return this.#work;
  }

  /** Writes what is new. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = this.#work.then(() => this.#write());
    return this.#work;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    if (this.#path === undefined || !this.#isWritable) return;
    await this.#read();
    const ours = [...this.#hosts].filter(([, host]) => !host.isEmpty).map(([name, host]) => [name, host.toJson()] as const);
    const others = Object.entries(this.#stored).filter(([name]) => !this.#hosts.has(name));
    const text = `${JSON.stringify({ schema: 1, hosts: Object.fromEntries([...ours, ...others].slice(0, limits.hosts)) })}\n`;
    if (text === this.#written) return;
    await writeOwnFile(this.#path, text).then(
      () => {
        this.#written = text;
      },
      // It lasts as long as the process then.
      () => undefined,
    );
  }

  async #read(): Promise<void> {
    if (this.#path === undefined) return;
    try {
      const text = (await readOwnFile(this.#path)) ?? '';
      if (text === this.#written || text === '') return;
      const stored: unknown = parseJson(text);
      this.#written = text;
      this.#stored = isRecord(stored) && isRecord(stored['hosts']) ? stored['hosts'] : {};
      for (const [name, host] of this.#hosts) this.#merge(name, host);
    } catch {
      // Damaged: it is written again with what is known now.
    }
  }

  #merge(name: string, host: HostObservations): void {
    this.#merging = true;
    host.merge(this.#stored[name]);
    this.#merging = false;
  }
}

function lastOf({ ownStop, stopMs = 0, diedMs = 0, oomMs = 0 }: Observed): number {
  return Math.max(ownStop?.notedMs ?? 0, stopMs, diedMs, oomMs);
}

function observedIn(stored: unknown): Observed {
  if (!isRecord(stored)) return {};
  const { ownStop, stopMs, diedMs, tidiedMs, oomMs } = stored;
  return {
    ...(isRecord(ownStop) &&
      isMoment(ownStop['notedMs']) &&
      isMoment(ownStop['atMs']) && {
        ownStop: {
          notedMs: ownStop['notedMs'],
          atMs: ownStop['atMs'],
          ...(isMoment(ownStop['startedMs']) && { startedMs: ownStop['startedMs'] }),
        },
      }),
    ...(isMoment(stopMs) && { stopMs }),
    ...(isMoment(diedMs) && { diedMs }),
    ...(isMoment(tidiedMs) && { tidiedMs }),
    ...(isMoment(oomMs) && { oomMs }),
  };
}

function withoutZeros<T extends Observed>(one: T): T {
  return Object.fromEntries(Object.entries(one).filter(([, value]) => value !== 0 && value !== undefined)) as T;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMoment(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** Signals that ask a program to end, by name or number; others (HUP, USR1) only tell it something. */
function endsPrograms(signal: string | undefined): boolean {
  return signal === undefined || /^(SIG)?(TERM|KILL|INT|QUIT)$|^(15|9|2|3)$/.test(signal);
}
