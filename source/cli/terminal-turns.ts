import { orAborted } from '../faults/waits.ts';

/** `last` resolves when all current and waiting users of a terminal are done. */
const turns = new WeakMap<object, { last: Promise<void>; users: number }>();

/** Input for one prompt never reaches another: flows and reconnecting connections read the same keys. Throws the signal's reason. */
export async function inTurn<T>(terminal: object, signal: AbortSignal, use: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const turn = turns.get(terminal) ?? { last: Promise.resolve(), users: 0 };
  turns.set(terminal, turn);
  const before = turn.last;
  const mine = Promise.withResolvers<void>();
  turn.users++;
  turn.last = before.then(() => mine.promise);
  try {
    await orAborted(before, signal);
    signal.throwIfAborted();
    return await use();
  } finally {
    mine.resolve();
    turn.users--;
  }
}

/** Returns whether a prompt is open or waiting on this terminal. Progress would be written across it. */
export const isTaken = (terminal: object): boolean => (turns.get(terminal)?.users ?? 0) > 0;
