import { addAbortListener } from 'node:events';
import type { LimitFunction } from 'p-limit';
import type { LogLine } from '../engine/engine.ts';
import type { LogBatch } from '../engine/log-batch.ts';
import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { endingWith, pauseFor } from '../faults/waits.ts';
import { LogPosition } from './position.ts';
import { RecentStamps } from './recent-stamps.ts';
import type { LogLimits } from './rings.ts';
import type { LogStreamOptions } from './store.ts';
import type { LogTarget, LogTargets } from './targets.ts';
import type { TimeSlices } from './time-slices.ts';

interface FollowOptions
  extends Pick<LogStreamOptions, 'follow' | 'tail' | 'sinceMs' | 'untilMs' | 'untimed' | 'signal'>,
    Pick<LogLimits, 'retryMs' | 'openingMs'> {
  opening: LimitFunction;
  turns: TimeSlices;
  /** The engine has begun to send, or has nothing to send yet. */
  opened(): void;
  reading(now: boolean): void;
  onNotice(message: string): void;
}

/** The log of a removed container is read to its end, but not for longer than this. */
const removedMs = 2_000;

/**
 * Reads the log of one container, each line once, over restarts of the container and of the engine. Reads only on demand. Ends when the
 * container is removed, or, without `follow`, with the log. Throws the engine's refusal.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop decides after each stream whether and when to open the next
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
    // The log of a stopped container was read to its end; reading resumes with the next start.
    const isRead = read?.incarnation === target.incarnation && (!target.running || !follow);
    if (isRead && !follow) return;
    if (isRead || !target.engine) {
      if (!follow && targets.away) throw targets.away;
      options.opened();
      await targets.changed(container, target, signal);
      continue;
    }
    try {
      yield* readOnce(targets, target, { position, recent }, options);
      read = target;
      // A stream ends with its container, which the fleet learns a moment later; if the container still runs by then, the stream was only
      // interrupted.
      if (follow && targets.get(container) === target)
        await Promise.race([pauseFor(retryMs, signal), targets.changed(container, target, signal)]);
    } catch (thrown) {
      if (signal.aborted || isAbort(thrown)) return;
      const fault =
        thrown instanceof Fault
          ? thrown
          : new Fault('unreachable.log', `The log was interrupted: ${messageOf(thrown)}`, 'Try again.', { cause: thrown });
      if (fault.code === 'engine.noContainer') return;
      // A refusal by the engine is final; a broken connection is not.
      if (!follow || fault.kind !== 'unreachable') throw fault;
      options.opened();
      options.onNotice(fault.message);
      await Promise.race([pauseFor(retryMs, signal), targets.changed(container, target, signal)]).catch(() => undefined);
    }
  }
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: opening, reading and closing of one stream share its slot, timer and signals
async function* readOnce(
  targets: LogTargets,
  target: LogTarget,
  { position, recent }: { position: LogPosition; recent: Record<LogLine['stream'], RecentStamps> },
  { follow, tail, sinceMs, untilMs, untimed, signal, openingMs, opening, turns, opened, reading }: FollowOptions,
): AsyncGenerator<LogBatch, void, void> {
  using stop = endingWith(signal);
  const watching = new AbortController();
  if (follow) void stopWithTarget(targets, target, stop, watching.signal);
  const fromMs = position.sinceMs;
  const since = fromMs === undefined ? sinceMs : Math.max(fromMs, sinceMs ?? fromMs);
  const leave = await enter(opening, stop.signal);
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
      ...(untimed && { untimed }),
    });
    const wasSeen = fromMs === undefined ? undefined : position.skipper();
    // The kind of engine may be known a moment after its first container.
    const resends = () => follow && (targets.get(target.container) ?? target).kind === 'docker';
    for await (const batch of batches ?? []) {
      begun();
      // Lines that an abandoned stream still delivers are read again by its successor.
      if (stop.signal.aborted) return;
      const isResent = resends();
      const isFresh = (at: number) =>
        !wasSeen?.(batch.timeMs(at), batch.fraction(at)) && !(isResent && recent[batch.stream(at)].isAgain(batch, at, targets.size));
      const fresh = wasSeen || isResent ? batch.filter(isFresh) : batch;
      // A log that is read only once is not resumed.
      if (follow) for (let at = 0; at < fresh.length; at++) position.take(fresh.timeMs(at), fresh.fraction(at));
      if (fresh.length > 0) yield fresh;
      if (turns.isDue) await turns.next();
    }
  } catch (thrown) {
    // Abandoned before it was answered: its successor continues.
    if (!stop.signal.aborted || signal.aborted) throw thrown;
  } finally {
    // A stream that was abandoned for its container's next start still has to send the rest of the log.
    if (stop.signal.aborted) {
      clearTimeout(timer);
      leave();
    } else begun();
    watching.abort();
    stop.abort();
    reading(false);
  }
}

/** Ends a stream whose container was restarted or whose engine reconnected, and, after a delay, one whose container is removed. */
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

/** Waits for a slot of the gate, not longer than the signal. Resolves with a function that releases it; calling it again has no effect. */
function enter(gate: LimitFunction, signal: AbortSignal): Promise<() => void> {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  return new Promise((resolve) => {
    // Its turn comes all the same, and is over at once.
    const waiting = addAbortListener(signal, () => {
      leave();
      resolve(leave);
    });
    void gate(() => {
      waiting[Symbol.dispose]();
      resolve(leave);
      return left;
    });
  });
}
