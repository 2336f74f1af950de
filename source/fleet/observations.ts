import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import type { EngineEvent, EngineKind } from '../engine/engine.ts';
import { objectOf, objectsOf, parseJson } from '../text/json-value.ts';
import type { ContainerHistory } from './service-state.ts';

const loopMemoryMs = 10 * 60_000;
const writeDelayMs = 1_000;
/** Limits in the file, newest first: containers of one engine, removed services and outages of one engine, engines. */
const limits = { containers: 500, removed: 200, outages: 20, hosts: 50 };

/** When an engine that was restarted since did not respond, by the machine's clock. */
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

/** Epoch milliseconds by the machine's clock. */
interface Observed {
  ownStop?: OwnStop;
  /** The last stop request, or a signal that ends programs, sent through the engine. */
  stopMs?: number;
  diedMs?: number;
  /** When the engine itself ended it during its own start: it ends processes that a crash left running. */
  tidiedMs?: number;
  oomMs?: number;
}

const moments = ['stopMs', 'diedMs', 'tidiedMs', 'oomMs'] as const;
type Moment = (typeof moments)[number];

/** Recent deaths, oldest first, and whether it has died and was not started since. Kept for the life of the process. */
interface Recent {
  diedMs: readonly number[];
  ended: boolean;
}

export class HostObservations {
  readonly containers = new Map<string, Observed>();
  /** `project/service` of removed containers, with the time. */
  readonly removed = new Map<string, number>();
  outages: readonly Outage[] = [];
  readonly #recent = new Map<string, Recent>();

  constructor(private readonly changed: () => void) {}

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

  /** Before `engineStartedMs`, the engine itself ended processes that a crash left running; it keeps no events from before its start. */
  take({ id, action, timeMs, signal }: EngineEvent, engine: EngineKind | undefined, engineStartedMs: number | undefined): void {
    const recent = this.#recent.get(id) ?? { diedMs: [], ended: false };
    if (action === 'die') {
      // After a reconnect, the last events arrive again.
      const diedMs = recent.diedMs.includes(timeMs) ? recent.diedMs : [...recent.diedMs.filter((at) => timeMs - at < loopMemoryMs), timeMs];
      this.#recent.set(id, { diedMs, ended: true });
      this.#note(id, { diedMs: timeMs, ...(engineStartedMs !== undefined && timeMs < engineStartedMs && { tidiedMs: timeMs }) });
    } else if (action === 'start') {
      this.#recent.set(id, { ...recent, ended: false });
      // Podman reports a restart before the end, Docker after the new start. A start that follows an end comes from the restart policy.
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
    this.changed();
  }

  noteOutage(outage: Outage): void {
    this.#addOutage(outage);
    this.changed();
  }

  #addOutage(outage: Outage): void {
    const isKnown = this.outages.some(({ untilMs }) => Math.abs(untilMs - outage.untilMs) < 1_000);
    if (!isKnown) this.outages = [...this.outages, outage].slice(-limits.outages);
  }

  noteRemoved(service: string, atMs: number): void {
    this.removed.set(service, atMs);
    this.changed();
  }

  noteCreated(service: string): void {
    if (this.removed.delete(service)) this.changed();
  }

  forget(id: string): void {
    this.#recent.delete(id);
    if (this.containers.delete(id)) this.changed();
  }

  keepOnly(ids: ReadonlyMap<string, unknown>): void {
    for (const id of [...this.containers.keys(), ...this.#recent.keys()]) if (!ids.has(id)) this.forget(id);
  }

  #note(id: string, news: Observed): void {
    const before = this.containers.get(id) ?? {};
    const now = latest(before, news);
    if (moments.every((name) => now[name] === before[name])) return;
    this.containers.set(id, now);
    this.changed();
  }

  merge(stored: unknown): void {
    const { containers, removed, outages } = objectOf(stored) ?? {};
    for (const [id, observed] of Object.entries(objectOf(containers) ?? {}))
      this.containers.set(id, latest(this.containers.get(id) ?? {}, observedIn(observed)));
    for (const [name, atMs] of Object.entries(objectOf(removed) ?? {}))
      if (isMoment(atMs) && atMs > (this.removed.get(name) ?? 0)) this.removed.set(name, atMs);
    for (const { fromMs, untilMs } of objectsOf(outages)) if (isMoment(fromMs) && isMoment(untilMs)) this.#addOutage({ fromMs, untilMs });
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

/** Kept beyond the process: no engine records who stopped a container, and Podman before 5 keeps no trace of a stop (R5). Best effort. */
export class Observations {
  readonly #hosts = new Map<string, HostObservations>();
  /** As in the file: not rewritten by us. */
  #written = '';
  #stored: Readonly<Record<string, unknown>> = {};
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<unknown>;
  #reloading: Promise<boolean> | undefined;

  /** Without a path, kept for the life of the process. */
  constructor(
    private readonly path?: string,
    private readonly options: { isWritable?: boolean } = {},
  ) {
    this.#work = this.#read();
  }

  ready(): Promise<unknown> {
    return this.#work;
  }

  /** The name of an engine is unique among all that are operated. */
  host(name: string): HostObservations {
    const known = this.#hosts.get(name);
    if (known) return known;
    const host = new HostObservations(() => {
      this.#timer ??= setTimeout(() => void this.flush(), writeDelayMs).unref();
    });
    this.#hosts.set(name, host);
    host.merge(this.#stored[name]);
    return host;
  }

  /** Reads what other processes wrote meanwhile, and returns whether they did. Never rejects. */
  reload(): Promise<boolean> {
    this.#reloading ??= this.#work.then(() => {
      this.#reloading = undefined;
      return this.#read();
    });
    this.#work = this.#reloading;
    return this.#reloading;
  }

  /** Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writing = this.#work.then(() => this.#write());
    this.#work = writing;
    return writing;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    if (this.path === undefined || this.options.isWritable === false) return;
    await this.#read();
    const ours = [...this.#hosts].filter(([, host]) => !host.isEmpty).map(([name, host]) => [name, host.toJson()] as const);
    const others = Object.entries(this.#stored).filter(([name]) => !this.#hosts.has(name));
    const text = `${JSON.stringify({ schema: 1, hosts: Object.fromEntries([...ours, ...others].slice(0, limits.hosts)) })}\n`;
    if (text === this.#written) return;
    // Without it, the observations are kept for the life of the process.
    const isWritten = await writeOwnFile(this.path, text).then(
      () => true,
      () => false,
    );
    if (isWritten) this.#written = text;
  }

  async #read(): Promise<boolean> {
    if (this.path === undefined) return false;
    try {
      const text = (await readOwnFile(this.path)) ?? '';
      if (text === this.#written || text === '') return false;
      const stored = objectOf(parseJson(text));
      this.#written = text;
      this.#stored = objectOf(stored?.['hosts']) ?? {};
      for (const [name, host] of this.#hosts) host.merge(this.#stored[name]);
    } catch {
      // The file is damaged: it is rewritten with the current data.
    }
    return true;
  }
}

function lastOf({ ownStop, stopMs = 0, diedMs = 0, oomMs = 0 }: Observed): number {
  return Math.max(ownStop?.notedMs ?? 0, stopMs, diedMs, oomMs);
}

function observedIn(stored: unknown): Observed {
  const known = objectOf(stored) ?? {};
  const observed: Observed = Object.fromEntries(moments.flatMap((name) => (isMoment(known[name]) ? [[name, known[name]]] : [])));
  const { notedMs, atMs, startedMs } = objectOf(known['ownStop']) ?? {};
  if (!isMoment(notedMs) || !isMoment(atMs)) return observed;
  return { ...observed, ownStop: { notedMs, atMs, ...(isMoment(startedMs) && { startedMs }) } };
}

/** Of equal stops, the known one is used. */
function latest(known: Observed, other: Observed): Observed {
  const ownStop = (other.ownStop?.notedMs ?? 0) > (known.ownStop?.notedMs ?? 0) ? other.ownStop : known.ownStop;
  const last = (name: Moment) => Math.max(known[name] ?? 0, other[name] ?? 0);
  return { ...(ownStop && { ownStop }), ...Object.fromEntries(moments.flatMap((name) => (last(name) > 0 ? [[name, last(name)]] : []))) };
}

function isMoment(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** Signals that ask a program to end, by name or number; others (HUP, USR1) only notify it. */
function endsPrograms(signal: string | undefined): boolean {
  return signal === undefined || /^(SIG)?(TERM|KILL|INT|QUIT)$|^(15|9|2|3)$/.test(signal);
}
