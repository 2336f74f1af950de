import { addAbortListener } from 'node:events';

/** Resolves after `ms`; rejects with the signal's reason. */
export async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await orAborted(promise, signal).finally(() => clearTimeout(timer));
}

/** Returns a controller that these signals abort too, until it is disposed: they may outlive the work started under it. */
export function endingWith(...signals: readonly AbortSignal[]): AbortController & Disposable {
  const ending = new AbortController();
  const forward = ({ target }: Event) => ending.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) ending.abort(signal.reason);
    else signal.addEventListener('abort', forward, { once: true });
  }
  return Object.assign(ending, {
    [Symbol.dispose]: () => {
      for (const signal of signals) signal.removeEventListener('abort', forward);
    },
  });
}

/** Settles as the work does, or rejects with the signal's reason as soon as it is aborted: the work may go on. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  // Removed at the end: Node keeps a joined signal, and with it the response, for as long as it has listeners.
  using _stop = addAbortListener(signal, () => reject(signal.reason));
  return await Promise.race([work, ended]);
}

/** Runs with its own time limit in addition to the given signal. */
export async function limited<T>(signal: AbortSignal, limitMs: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort(new DOMException(`no answer within ${limitMs} ms`, 'TimeoutError')), limitMs);
  const both = AbortSignal.any([signal, timer.signal]);
  try {
    both.throwIfAborted();
    return await orAborted(run(both), both);
  } finally {
    clearTimeout(timeout);
  }
}

/** Processes all items in their order, with a limited number at the same time. */
export async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const next = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, next));
}

const secondMs = 1000;
/** A timer may fire a little early; this second must not be counted twice. */
const lateMs = 5;

/** Returns the time until the machine's next full second, for timers that must fire together. */
export const untilSecondMs = (nowMs = Date.now()): number => secondMs - ((nowMs + lateMs) % secondMs) + lateMs;
