import { Fault } from '../faults/fault.ts';
import { followContainer, OpeningGate } from './log-follow.ts';
import { LogMerge, type LogRun } from './log-merge.ts';
import type { LogStreamOptions, StreamedLine } from './log-store.ts';
import { type LogOrigin, LogTargets } from './log-targets.ts';
import type { OpenFleet } from './open-fleet.ts';
import { TurnKeeper } from './turn-keeper.ts';

export interface StreamLimits {
  /** Lines of several containers are held this long, so that they can be put in order of time. */
  holdMs: number;
  /** Before a stream is taken up again that ended while its container runs on. */
  retryMs: number;
  /** A log that answered nothing within this time has nothing to say: the others' lines go out without it. */
  openingMs: number;
  /** Streams that are opened at the same moment. */
  openingAtOnce: number;
  /** Lines that wait for those of other containers, of all together. */
  waitingLines: number;
  /** Of one container. */
  waitingBytes: number;
}

export const streamLimits: StreamLimits = {
  holdMs: 250,
  retryMs: 1_000,
  openingMs: 400,
  openingAtOnce: 16,
  waitingLines: 64_000,
  waitingBytes: 2_000_000,
};

export interface RunOptions extends LogStreamOptions {
  targets: LogTargets;
  limits: StreamLimits;
  turns: TurnKeeper;
  /** Given once, with the containers that are there, to those whose log is read from its end. */
  tailOf?: (containers: number) => number;
  /** Goes on where none of them can be read: one can be made anew. */
  persistent?: boolean;
  onRefused?: (origin: LogOrigin, message: string) => void;
  /** Told how many streams are open. */
  onReading?: (streams: number) => void;
}

/** Lines as a pipe wants them. */
export async function* streamLogs(
  fleet: OpenFleet,
  options: LogStreamOptions,
  limits: StreamLimits = streamLimits,
): AsyncGenerator<readonly StreamedLine[]> {
  const targets = new LogTargets(fleet, options.componentKeys, options.services);
  try {
    for await (const runs of logRuns({ ...options, targets, limits, turns: new TurnKeeper() })) {
      for (const { origin, lines } of runs) {
        const { component, container, service } = origin;
        yield Array.from(lines, ({ timeMs, stream, text, cut = false }) => ({ component, container, service, timeMs, stream, text, cut }));
      }
    }
  } finally {
    targets.close();
  }
}

/** The containers' lines merged by time. The containers of `targets` are followed as they come and go; whoever opened it closes it. */
export async function* logRuns(options: RunOptions): AsyncGenerator<readonly LogRun<LogOrigin>[], void, void> {
  const { targets, follow, tail, sinceMs, untilMs, limits, turns, onNotice, onReading } = options;
  const closing = new AbortController();
  const forward = () => closing.abort(options.signal.reason);
  options.signal.addEventListener('abort', forward, { once: true });
  if (options.signal.aborted) forward();
  const { signal } = closing;
  const merge = new LogMerge<LogOrigin>({
    holdMs: follow ? limits.holdMs : undefined,
    lines: limits.waitingLines,
    sizeBytes: limits.waitingBytes,
  });
  const opening = new OpeningGate(limits.openingAtOnce);
  const known = new Set<string>();
  /** Whose log is read from its end, if at all: what comes later is read whole. */
  let initial: ReadonlySet<string> | undefined;
  let tailHere = tail;
  let streams = 0;
  let refused = 0;
  let followers = 0;
  let awayBefore: ReadonlySet<string> = new Set();

  function look(): void {
    for (const [place, { message }] of targets.aways) if (!awayBefore.has(place)) onNotice?.(message);
    awayBefore = new Set(targets.aways.keys());
    if (!initial && targets.members.size > 0) {
      initial = targets.members;
      tailHere ??= options.tailOf?.(initial.size);
    }
    for (const target of targets.all) {
      if (known.has(target.container)) continue;
      known.add(target.container);
      void follower(target);
    }
    if (follow) for (const container of known) if (!targets.get(container)) known.delete(container);
    merge.nudge();
  }

  async function follower(origin: LogOrigin): Promise<void> {
    followers++;
    try {
      await merge.add(origin, (opened) =>
        followContainer(targets, origin.container, {
          follow,
          ...(tailHere !== undefined && initial?.has(origin.container) && { tail: tailHere }),
          ...(sinceMs !== undefined && { sinceMs }),
          ...(untilMs !== undefined && { untilMs }),
          signal,
          retryMs: limits.retryMs,
          openingMs: limits.openingMs,
          opening,
          turns,
          opened,
          reading(now) {
            streams += now ? 1 : -1;
            onReading?.(streams);
          },
          onNotice: (message) => onNotice?.(message),
        }),
      );
    } catch (thrown) {
      if (signal.aborted) return;
      refused++;
      const isAll = !options.persistent && refused === known.size && targets.unknown === 0;
      if (!(thrown instanceof Fault) || isAll) merge.fail(thrown);
      else if (options.onRefused) options.onRefused(origin, thrown.message);
      else onNotice?.(known.size + targets.unknown > 1 ? `${origin.service}: ${thrown.message}` : thrown.message);
    } finally {
      followers--;
      merge.nudge();
    }
  }

  const stopLooking = targets.subscribe(look);
  try {
    look();
    for (;;) {
      const runs = merge.take();
      if (runs.length > 0) {
        yield runs;
        if (turns.isDue) await turns.next();
        continue;
      }
      if (signal.aborted) return;
      // A lane is gone a moment before it is known why.
      if (!follow && merge.lanes === 0 && followers === 0) {
        merge.throwFailure();
        if (targets.away && known.size === 0) throw new Fault({ code: 'unreachable.engine', ...targets.away });
        if (targets.unknown === 0) return;
      }
      await untilMoreOr(signal, merge);
    }
  } finally {
    options.signal.removeEventListener('abort', forward);
    stopLooking();
    closing.abort();
    merge.close();
  }
}

async function untilMoreOr(signal: AbortSignal, merge: LogMerge<LogOrigin>): Promise<void> {
  const wake = () => merge.nudge();
  signal.addEventListener('abort', wake, { once: true });
  try {
    await merge.more();
  } finally {
    signal.removeEventListener('abort', wake);
  }
}
