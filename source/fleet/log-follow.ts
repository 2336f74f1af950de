import type { LogLine } from '../engine/engine.ts';
import type { LogBatch } from '../engine/log-batch.ts';
import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { LogPosition } from './log-position.ts';
import type { LogTarget, LogTargets } from './log-targets.ts';
import { RecentStamps } from './recent-stamps.ts';
import type { TurnKeeper } from './turn-keeper.ts';

export interface FollowOptions {
  follow: boolean;
  /** Lines from the end; undefined is all. */
  tail?: number;
  sinceMs?: number;
  untilMs?: number;
  signal: AbortSignal;
  /** Before a stream is taken up again that ended while its container runs on. */
  retryMs: number;
  /** A quiet log that answered nothing within this time has nothing to say at the moment. */
  openingMs: number;
  opening: OpeningGate;
  turns: TurnKeeper;
  /** The engine has begun to send, or has nothing to send yet. */
  opened(): void;
  /** True while a stream is open. */
  reading(now: boolean): void;
  onNotice(message: string): void;
}

/** The log of a container that was removed is read to its end, but not for longer than this. */
const removedMs = 2_000;

/**
 * The log of one container, each line once, over restarts of the container and of the engine. Reads only while somebody takes. Ends when the
 * container is gone, or, without `follow`, with the log. Throws the engine's refusal.
 */
export async function* followContainer(
  targets: LogTargets,
  container: string,
  options: FollowOptions,
): AsyncGenerator<LogBatch, void, void> {
  const { follow, signal, retryMs } = options;
  const position = new LogPosition();
  const recent = { stdout: new RecentStamps(), stderr: new RecentStamps() };
  let read: LogTarget | undefined;
  for (;;) {
    const target = targets.get(container);
    if (!target || signal.aborted) return;
    // A stopped container's log was read to its end; it goes on with the next start.
    const isRead = read?.incarnation === target.incarnation && (!target.running || !follow);
    if (isRead && !follow) return;
    if (isRead || !target.engine) {
      if (!follow && targets.away) throw new Fault({ code: 'unreachable.engine', ...targets.away });
      options.opened();
      await targets.changed(container, target, signal);
      continue;
    }
    try {
      yield* readOnce(targets, target, { position, recent }, options);
      read = target;
      // A stream ends with its container, which the fleet knows a moment later; one whose container still runs by then only broke off.
      if (follow && targets.get(container) === target)
        await Promise.race([pauseFor(retryMs, signal), targets.changed(container, target, signal)]);
    } catch (thrown) {
      if (signal.aborted || isAbort(thrown)) return;
      const isBroken = !(thrown instanceof Fault) || thrown.kind === 'unreachable';
      if (thrown instanceof Fault && thrown.code === 'engine.noContainer') return;
      // The engine's own no is final; a connection that broke is not.
      if (!follow || !isBroken) throw thrown instanceof Fault ? thrown : brokenOff(thrown);
      options.opened();
      options.onNotice(thrown instanceof Fault ? thrown.message : brokenOff(thrown).message);
      await Promise.race([pauseFor(retryMs, signal), targets.changed(container, target, signal)]).catch(() => undefined);
    }
  }
}

function brokenOff(thrown: unknown): Fault {
  const message = `The log broke off: ${messageOf(thrown)}`;
  return new Fault({ code: 'unreachable.log', message, remedy: 'Try again.', cause: thrown });
}

/** One stream, until it ends or the container is another one. */
async function* readOnce(
  targets: LogTargets,
  target: LogTarget,
  { position, recent }: { position: LogPosition; recent: Record<LogLine['stream'], RecentStamps> },
  { follow, tail, sinceMs, untilMs, signal, openingMs, opening, turns, opened, reading }: FollowOptions,
): AsyncGenerator<LogBatch, void, void> {
  const stop = new AbortController();
  const forward = () => stop.abort(signal.reason);
  signal.addEventListener('abort', forward, { once: true });
  const watching = new AbortController();
  if (follow) void stopWithTarget(targets, target, stop, watching.signal);
  const fromMs = position.sinceMs;
  const since = fromMs === undefined ? sinceMs : Math.max(fromMs, sinceMs ?? fromMs);
  const leave = await opening.enter(stop.signal);
  const timer = setTimeout(begun, openingMs);
  function begun() {
    clearTimeout(timer);
    leave();
    opened();
  }
  try {
    if (stop.signal.aborted) return;
    reading(true);
    const batches = target.engine?.logs(target.container, {
      signal: stop.signal,
      follow,
      tty: target.tty,
      ...(fromMs === undefined && tail !== undefined && { tail }),
      ...(since !== undefined && { sinceMs: since }),
      ...(untilMs !== undefined && { untilMs }),
    });
    const wasSeen = fromMs === undefined ? undefined : position.skipper();
    // What kind of engine it is may be known a moment after its first container.
    const resends = () => follow && (targets.get(target.container) ?? target).kind === 'docker';
    for await (const batch of batches ?? []) {
      begun();
      // What an abandoned stream still delivers, its successor reads again.
      if (stop.signal.aborted) return;
      const isResent = resends();
      const isFresh = (at: number) =>
        !wasSeen?.(batch.timeMs(at), batch.fraction(at)) && !(isResent && recent[batch.stream(at)].isAgain(batch, at, targets.size));
      const fresh = wasSeen || isResent ? batch.filter(isFresh) : batch;
      // What is read once only is not taken up again.
      if (follow) for (let at = 0; at < fresh.length; at++) position.take(fresh.timeMs(at), fresh.fraction(at));
      if (fresh.length > 0) yield fresh;
      if (turns.isDue) await turns.next();
    }
  } catch (thrown) {
    // Given up before it was answered: its successor goes on.
    if (!stop.signal.aborted || signal.aborted) throw thrown;
  } finally {
    // One that was given up for its container's next start has yet to send what the log holds.
    if (stop.signal.aborted) {
      clearTimeout(timer);
      leave();
    } else begun();
    watching.abort();
    signal.removeEventListener('abort', forward);
    stop.abort();
    reading(false);
  }
}

/** Ends a stream whose container was started anew or whose engine was connected to anew, and, a while later, one whose container is gone. */
async function stopWithTarget(targets: LogTargets, target: LogTarget, stop: AbortController, signal: AbortSignal): Promise<void> {
  let known: LogTarget | undefined = target;
  while (!signal.aborted) {
    await targets.changed(target.container, known, signal);
    known = targets.get(target.container);
    if (known?.incarnation === target.incarnation) continue;
    if (!known) await pauseFor(removedMs, signal).catch(() => undefined);
    if (!signal.aborted) stop.abort();
    return;
  }
}

/** Lets so many streams be opened at the same moment, and the others wait their turn. */
export class OpeningGate {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves with what gives the place to the next; calling it again does nothing. */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return () => undefined;
    if (this.#free > 0) this.#free--;
    else {
      const isIn = await new Promise<boolean>((resolve) => {
        const come = () => resolve(true);
        this.#queue.push(come);
        const give = () => {
          const place = this.#queue.indexOf(come);
          if (place >= 0) this.#queue.splice(place, 1);
          if (place >= 0) resolve(false);
        };
        signal.addEventListener('abort', give, { once: true });
      });
      if (!isIn) return () => undefined;
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const next = this.#queue.shift();
      if (next) next();
      else this.#free++;
    };
  }
}
