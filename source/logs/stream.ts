import { addAbortListener } from 'node:events';
import pLimit from 'p-limit';
import { Fault } from '../faults/fault.ts';
import { endingWith } from '../faults/waits.ts';
import type { OpenFleet } from '../fleet/open-fleet.ts';
import { followContainer } from './follow.ts';
import { LogMerge, type LogRun } from './merge.ts';
import type { LogLimits } from './rings.ts';
import type { LogStreamOptions } from './store.ts';
import { type LogOrigin, LogTargets } from './targets.ts';
import { TimeSlices } from './time-slices.ts';

export interface RunOptions extends LogStreamOptions {
  targets: LogTargets;
  limits: LogLimits;
  turns: TimeSlices;
  /** Set once, with the containers that exist, for logs that are read from their end. */
  tailOf?: (containers: number) => number;
  /** If set, reading continues when none of them can be read: a container can be recreated. */
  onRefused?: (origin: LogOrigin, message: string) => void;
  onReading?: (streams: number) => void;
}

export async function* streamLogs(fleet: OpenFleet, options: LogStreamOptions, limits: LogLimits): AsyncGenerator<LogRun<LogOrigin>> {
  const targets = new LogTargets(fleet, options.componentKeys, options.services);
  try {
    for await (const runs of logRuns({ ...options, targets, limits, turns: new TimeSlices() })) yield* runs;
  } finally {
    targets.close();
  }
}

/** Merges the containers' lines by time. The containers of `targets` are followed as they come and go; the caller closes it. */
export async function* logRuns(options: RunOptions): AsyncGenerator<readonly LogRun<LogOrigin>[], void, void> {
  const { targets, follow, tail, sinceMs, untilMs, limits, turns, onNotice, onReading } = options;
  using closing = endingWith(options.signal);
  const { signal } = closing;
  const merge = new LogMerge<LogOrigin>({
    holdMs: follow ? limits.holdMs : undefined,
    lines: limits.waitingLines,
    sizeBytes: limits.waitingBytes,
  });
  const opening = pLimit(limits.openingAtOnce);
  const known = new Set<string>();
  /** Containers whose log is read from its end, if any: logs of later containers are read completely. */
  let initial: ReadonlySet<string> | undefined;
  let initialTail = tail;
  let streams = 0;
  let refused = 0;
  let followers = 0;
  let reportedAways: ReadonlySet<string> = new Set();

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: compares one state of the targets with the previous one
  function update(): void {
    for (const [engineName, { message }] of targets.aways) if (!reportedAways.has(engineName)) onNotice?.(message);
    reportedAways = new Set(targets.aways.keys());
    if (!initial && targets.members.size > 0) {
      initial = targets.members;
      initialTail ??= options.tailOf?.(initial.size);
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
          ...(initialTail !== undefined && initial?.has(origin.container) && { tail: initialTail }),
          ...(sinceMs !== undefined && { sinceMs }),
          ...(untilMs !== undefined && { untilMs }),
          untimed: options.untimed === true && !follow && initial?.size === 1,
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
      const isAll = !options.onRefused && refused === known.size && targets.unknown === 0;
      if (!(thrown instanceof Fault) || isAll) merge.fail(thrown);
      else if (options.onRefused) options.onRefused(origin, thrown.message);
      else onNotice?.(known.size + targets.unknown > 1 ? `${origin.service}: ${thrown.message}` : thrown.message);
    } finally {
      followers--;
      merge.nudge();
    }
  }

  const unsubscribe = targets.subscribe(update);
  try {
    update();
    for (;;) {
      const runs = merge.take();
      if (runs.length > 0) {
        yield runs;
        if (turns.isDue) await turns.next();
        continue;
      }
      if (signal.aborted) return;
      // A source disappears a moment before the reason is known.
      if (!follow && merge.sources === 0 && followers === 0) {
        merge.throwFailure();
        if (targets.away && known.size === 0) throw targets.away;
        if (targets.unknown === 0) return;
      }
      using _wake = addAbortListener(signal, () => merge.nudge());
      await merge.more();
    }
  } finally {
    unsubscribe();
    closing.abort();
    merge.close();
  }
}
