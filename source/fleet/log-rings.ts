import type { Engine, LogLine } from '../engine/engine.ts';
import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { openReading } from './log-reading.ts';
import type { LogEntry, LogPredicate, LogReading, LogSource, Logs } from './log-store.ts';
import { streamLogs } from './log-stream.ts';
import type { OpenFleet } from './open-fleet.ts';

export interface LogLimits {
  /** Lines asked of the engine's history per service. */
  tail: number;
  /** Kept per component. */
  lines: number;
  characters: number;
  /** Of one line; the rest is not kept. */
  lineCharacters: number;
  /** Between two replacements of what is shown: 15 a second. */
  frameMs: number;
  /** Lines of several services are held this long, so that they can be put in order of time. */
  holdMs: number;
  /** Before a stream is taken up again that ended while its container runs on. */
  retryMs: number;
}

export const logLimits: LogLimits = {
  tail: 2_000,
  lines: 20_000,
  characters: 8_000_000,
  lineCharacters: 16_384,
  frameMs: 66,
  holdMs: 250,
  retryMs: 1_000,
};

/**
 * Where a follow broke off: the last second, and how many lines of it bore each timestamp. Engines are asked for whole seconds again, Podman's
 * timestamps are no finer, and Docker writes down two streams of a program out of order: what was counted here is what has been seen.
 */
interface Position {
  second: number;
  seen: Map<string, number>;
}

/** Opens the second store. Each open source follows every running service of its component, also across restarts. */
export function openLogs(fleet: OpenFleet, limits: LogLimits = logLimits): Logs {
  const rings = new Map<string, { ring: LogRing; users: number }>();
  return {
    open(keys) {
      const componentKeys = typeof keys === 'string' ? [keys] : [...new Set(keys)].sort();
      const key = componentKeys.join('\n');
      const known = rings.get(key) ?? { ring: new LogRing(componentKeys, fleet, limits), users: 0 };
      rings.set(key, known);
      known.users++;
      let open = true;
      return {
        source: known.ring,
        close() {
          if (!open) return;
          open = false;
          known.users--;
          if (known.users > 0) return;
          known.ring.close();
          rings.delete(key);
        },
      };
    },
    stream: (options) => streamLogs(fleet, options),
    close() {
      for (const { ring } of rings.values()) ring.close();
      rings.clear();
    },
  };
}

type PendingEntry = Omit<LogEntry, 'index'> & { arrivedMs: number };

/** Whose lines they are. */
interface Origin {
  id: string;
  component: string;
  service: string;
}

interface Follower {
  stop: AbortController;
  /** Engine and start of the container that this follows: a new one of either means a new stream. */
  incarnation: string;
  /** The engine has sent all there is. */
  ended: boolean;
}

class LogRing implements LogSource {
  readonly componentKeys: readonly string[];
  readonly #fleet: OpenFleet;
  readonly #limits: LogLimits;
  readonly #listeners = new Set<() => void>();
  readonly #followers = new Map<string, Follower>();
  readonly #positions = new Map<string, Position>();
  readonly #unsubscribe: () => void;
  #entries: readonly LogEntry[] = [];
  #pending: PendingEntry[] = [];
  #characters = 0;
  #total = 0;
  #flush: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #message: string | undefined;
  #closed = false;

  constructor(keys: readonly string[], fleet: OpenFleet, limits: LogLimits) {
    this.componentKeys = keys;
    this.#fleet = fleet;
    this.#limits = limits;
    this.#unsubscribe = fleet.subscribe(() => this.#follow());
    this.#follow();
  }

  entries(): readonly LogEntry[] {
    return this.#entries;
  }

  total(): number {
    return this.#total;
  }

  state(): { following: boolean; message: string | undefined } {
    return { following: [...this.#followers.values()].some((follower) => !follower.ended), message: this.#message };
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read(passes?: LogPredicate): LogReading {
    return openReading(this, passes);
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    clearTimeout(this.#flush);
    clearTimeout(this.#retry);
    for (const follower of this.#followers.values()) follower.stop.abort();
    this.#followers.clear();
    this.#listeners.clear();
  }

  #follow(): void {
    if (this.#closed) return;
    const wanted = new Set<string>();
    let members = 0;
    let missing = 0;
    let away = 0;
    for (const key of this.componentKeys) {
      const runtime = this.#fleet.runtime(key);
      const engine = runtime?.place.link.state === 'connected' ? runtime.place.engine : undefined;
      if (!runtime) missing++;
      else if (!engine) away++;
      for (const { container, service } of runtime?.group.members ?? []) {
        members++;
        const detail = runtime?.place.detail(container.id);
        // Whether frames are used is known from an inspect only.
        if (!engine || !detail) continue;
        wanted.add(container.id);
        const incarnation = `${runtime?.place.link.sinceMs}/${detail.startedMs ?? 0}`;
        const known = this.#followers.get(container.id);
        if (known?.incarnation === incarnation) continue;
        known?.stop.abort();
        // A stopped container's log was read to its end; its stream is opened again when it starts.
        if (known && container.state !== 'running') continue;
        this.#open(engine, { id: container.id, service, component: key, tty: detail.tty }, incarnation);
      }
    }
    for (const [id, follower] of this.#followers) {
      if (wanted.has(id)) continue;
      follower.stop.abort();
      this.#followers.delete(id);
    }
    if (missing === this.componentKeys.length) this.#say('the component is gone');
    else if (away > 0) this.#say('waiting for the engine');
    // Until the first inspects have answered.
    else if (this.#followers.size === 0 && members > 0) this.#say('asking the engine for it');
  }

  #open(engine: Engine, of: Origin & { tty: boolean }, incarnation: string): void {
    const { id, tty } = of;
    const follower: Follower = { stop: new AbortController(), incarnation, ended: false };
    this.#followers.set(id, follower);
    const position = this.#positions.get(id);
    this.#say(undefined);
    void (async () => {
      try {
        const batches = engine.logs(id, {
          signal: follower.stop.signal,
          follow: true,
          tty,
          ...(position ? { sinceMs: position.second * 1000 } : { tail: this.#limits.tail }),
        });
        const again = new Map(position?.seen);
        const from = position?.second ?? Number.NEGATIVE_INFINITY;
        for await (const batch of batches) {
          // What an abandoned stream still delivers, its successor reads again.
          if (follower.stop.signal.aborted) return;
          for (const line of batch) {
            const before = again.get(line.stamp) ?? 0;
            if (before > 0) again.set(line.stamp, before - 1);
            else if (line.timeMs === undefined || secondOf(line.timeMs) >= from) this.#take(of, line);
          }
          this.#schedule();
        }
        this.#takeUpAgain(follower);
      } catch (thrown) {
        if (!follower.stop.signal.aborted && !isAbort(thrown)) {
          this.#say(thrown instanceof Fault ? thrown.message : `the log broke off: ${messageOf(thrown)}`);
          // The engine's own no is final; a connection that broke is not.
          if (!(thrown instanceof Fault) || thrown.kind === 'unreachable') this.#takeUpAgain(follower);
        }
      } finally {
        follower.ended = true;
        if (!this.#closed) this.#schedule();
      }
    })();
  }

  /** A stream ends with its container, which the fleet knows a moment later; one whose container still runs by then only broke off. */
  #takeUpAgain(follower: Follower): void {
    if (this.#closed || follower.stop.signal.aborted) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      for (const key of this.componentKeys) {
        for (const { container } of this.#fleet.runtime(key)?.group.members ?? []) {
          if (container.state === 'running' && this.#followers.get(container.id)?.ended) this.#followers.delete(container.id);
        }
      }
      this.#follow();
    }, this.#limits.retryMs);
  }

  #take({ id, component, service }: Origin, line: LogLine): void {
    if (line.stamp && line.timeMs !== undefined) this.#remember(id, line.stamp, secondOf(line.timeMs));
    const text = cleanLine(
      line.text.length > this.#limits.lineCharacters ? `${line.text.slice(0, this.#limits.lineCharacters)}>` : line.text,
    );
    this.#pending.push({ timeMs: line.timeMs, component, container: id, service, stream: line.stream, text, arrivedMs: Date.now() });
  }

  #remember(id: string, stamp: string, second: number): void {
    let position = this.#positions.get(id);
    if (!position || second > position.second) {
      position = { second, seen: new Map() };
      this.#positions.set(id, position);
    }
    if (second === position.second) position.seen.set(stamp, (position.seen.get(stamp) ?? 0) + 1);
  }

  #say(message: string | undefined): void {
    if (this.#message === message) return;
    this.#message = message;
    this.#schedule();
  }

  #schedule(): void {
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined;
      this.#commit();
    }, this.#limits.frameMs);
  }

  #commit(): void {
    const due = this.#due();
    if (due.length > 0) {
      const added: LogEntry[] = due.map(({ arrivedMs: _, ...entry }) => ({ index: this.#total++, ...entry }));
      for (const entry of added) this.#characters += entry.text.length;
      const all = [...this.#entries, ...added];
      let drop = Math.max(0, all.length - this.#limits.lines);
      for (let index = 0; index < drop; index++) this.#characters -= all[index]?.text.length ?? 0;
      while (this.#characters > this.#limits.characters && drop < all.length - 1) this.#characters -= all[drop++]?.text.length ?? 0;
      this.#entries = drop > 0 ? all.slice(drop) : all;
    }
    for (const listener of [...this.#listeners]) listener();
    if (this.#pending.length > 0) this.#schedule();
  }

  /** One service is in order by itself. Of several, what is held long enough goes, in order of time. */
  #due(): PendingEntry[] {
    const pending = this.#pending;
    if (this.#followers.size <= 1) {
      this.#pending = [];
      return pending;
    }
    const before = Date.now() - this.#limits.holdMs;
    const ordered = pending.toSorted((one, other) => (one.timeMs ?? one.arrivedMs) - (other.timeMs ?? other.arrivedMs));
    let ready = ordered.length;
    while (ready > 0 && (ordered[ready - 1]?.arrivedMs ?? 0) > before) ready--;
    this.#pending = ordered.slice(ready);
    return ordered.slice(0, ready);
  }
}

function secondOf(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
