import type { NotificationTarget } from '../config/notification-settings.ts';
import type { Message } from './message.ts';
import type { SendResult } from './send.ts';
import type { DeliveryFailure, NotificationState, Queued } from './state-file.ts';

type Outbox = Pick<NotificationState, 'queue' | 'failures'>;

/** Messages that wait for one target. If more arrive, the oldest is dropped: the newest describe the present. */
const longestQueue = 50;
const firstWaitMs = 15_000;
const longestWaitMs = 30 * 60_000;
/** After this time, a message no longer describes anything. */
const giveUpMs = 24 * 60 * 60_000;

export function enqueue(outbox: Outbox, targets: readonly string[], message: Message, nowMs: number): Outbox {
  let { queue, failures } = outbox;
  for (const target of targets) {
    queue = [...queue, { target, message, queuedMs: nowMs, attempts: 0, nextMs: nowMs }];
    const oldest = queue.filter((one) => one.target === target).at(-longestQueue - 1);
    if (!oldest) continue;
    queue = queue.filter((one) => one !== oldest);
    const failure = failures[target] ?? { atMs: nowMs, message: '', remedy: '', dropped: 0 };
    failures = { ...failures, [target]: { ...failure, dropped: failure.dropped + 1 } };
  }
  return { queue, failures };
}

/** The oldest message of each target, if its time has come: a target gets its messages in order. Messages of removed targets are dropped. */
export function dueMessages({ queue }: Outbox, targets: Readonly<Record<string, NotificationTarget>>, nowMs: number): readonly Queued[] {
  const oldest = new Map<string, Queued>();
  for (const one of queue) if (targets[one.target] && !oldest.has(one.target)) oldest.set(one.target, one);
  return [...oldest.values()].filter(({ nextMs }) => nextMs <= nowMs || nextMs > nowMs + giveUpMs);
}

/** Records the result of an attempt. */
export function settle(outbox: Outbox, tried: Queued, result: SendResult, nowMs: number): Outbox {
  const queue = outbox.queue.filter((one) => one !== tried);
  const { [tried.target]: before, ...others } = outbox.failures;
  if (result.state !== 'failed') return { queue, failures: others };
  const { fault, retry, afterMs } = result;
  const waitMs = afterMs ?? Math.min(longestWaitMs, firstWaitMs * 2 ** tried.attempts);
  const isGivenUp = !retry || nowMs + waitMs - tried.queuedMs > giveUpMs;
  const failure: DeliveryFailure = {
    ...{ atMs: nowMs, message: fault.message, remedy: fault.remedy, dropped: (before?.dropped ?? 0) + (isGivenUp ? 1 : 0) },
  };
  const failures = { ...others, [tried.target]: failure };
  if (isGivenUp) return { queue, failures };
  const again = { ...tried, attempts: tried.attempts + 1, nextMs: nowMs + waitMs };
  return { queue: outbox.queue.map((one) => (one === tried ? again : one)), failures };
}
