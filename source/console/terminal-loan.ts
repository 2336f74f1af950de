import { Fault } from '../faults/fault.ts';
import type { TerminalLoan } from '../session/session.ts';

/** Releases the terminal, runs the callback, and returns with a full redraw: Ink's `suspendTerminal`. */
type Suspend = (callback: () => Promise<void>) => Promise<unknown>;

export function createTerminalLoans(input: NodeJS.ReadStream, output: NodeJS.WriteStream) {
  let suspend: Suspend | undefined;
  let lent = false;
  return {
    attach(value: Suspend | undefined) {
      suspend = value;
    },
    lent: () => lent,
    async lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
      if (!suspend || lent) {
        const message = lent ? 'Another program is using the terminal.' : 'The terminal is not available.';
        throw new Fault('refused.noTerminal', message, lent ? 'Exit the other program first.' : 'Try again.');
      }
      lent = true;
      let outcome: PromiseSettledResult<T> | undefined;
      try {
        await suspend(async () => {
          await stopReading(input);
          [outcome] = await Promise.allSettled([(async () => use({ input, output }))()]);
          // The program may have left the stream reading: our own reading requires a paused stream.
          if (input.isTTY) input.setRawMode(false);
          await stopReading(input);
        });
      } finally {
        lent = false;
      }
      if (outcome?.status === 'rejected') throw outcome.reason;
      return (outcome as unknown as PromiseFulfilledResult<T>).value;
    },
  };
}

export type TerminalLoans = ReturnType<typeof createTerminalLoans>;

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Stops reading from the terminal. Ink removes its listener, but Node continues to read: the next keys would reach us instead of the other
 * program. A stream handles `pause` only one turn after the listener was removed, and stops reading another turn later: if we resumed
 * reading before that, no further keys would arrive.
 */
async function stopReading(input: NodeJS.ReadStream): Promise<void> {
  await turn();
  input.pause();
  await turn();
}
