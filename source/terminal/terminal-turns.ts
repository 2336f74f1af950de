/** When whoever has a terminal now is done with it. */
const lasts = new WeakMap<object, Promise<void>>();
/** How many have it, or wait for it. */
const taken = new WeakMap<object, number>();

/**
 * One question at a time on a terminal, in the order in which they were asked: what is typed for one never ends up in another. A flow asks, and a
 * connection that is made anew asks too; both read the same keys.
 * @param terminal what is read from
 * @throws the signal's reason, also while waiting for the turn
 */
export async function inTurn<T>(terminal: object, signal: AbortSignal, use: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const before = lasts.get(terminal) ?? Promise.resolve();
  const mine = Promise.withResolvers<void>();
  taken.set(terminal, (taken.get(terminal) ?? 0) + 1);
  lasts.set(
    terminal,
    before.then(() => mine.promise),
  );
  try {
    await waitFor(before, signal);
    return await use();
  } finally {
    mine.resolve();
    taken.set(terminal, (taken.get(terminal) ?? 1) - 1);
  }
}

/** Is somebody asked there now, or about to be? What only tells how far something is would be written across the question. */
export function isTaken(terminal: object): boolean {
  return (taken.get(terminal) ?? 0) > 0;
}

function waitFor(before: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true });
    void before.then(() => {
      signal.removeEventListener('abort', leave);
      if (signal.aborted) leave();
      else resolve();
    });
  });
}
