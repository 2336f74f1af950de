import { Fault } from '../faults/fault.ts';
import type { TerminalLoan } from '../session/session.ts';

/** Steps off the terminal, runs the callback, and comes back with a full redraw: Ink's `suspendTerminal`. */
export type Suspend = (callback: () => Promise<void>) => Promise<unknown>;

/** The one terminal, which at most one flow has at a time. */
export interface TerminalLender {
  /** Set while the console is on the screen. */
  attach(suspend: Suspend | undefined): void;
  lent(): boolean;
  lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T>;
}

export function createTerminalLender(input: NodeJS.ReadStream, output: NodeJS.WriteStream): TerminalLender {
  let suspend: Suspend | undefined;
  let lent = false;
  return {
    attach(value) {
      suspend = value;
    },
    lent: () => lent,
    async lend(use) {
      if (!suspend || lent) {
        throw new Fault({
          code: 'refused.noTerminal',
          message: lent ? 'Another program has the terminal.' : 'The console has no terminal to give.',
          remedy: 'Leave the other program first.',
        });
      }
      lent = true;
      let outcome: { value: Awaited<ReturnType<typeof use>> } | undefined;
      let failure: { thrown: unknown } | undefined;
      try {
        await suspend(async () => {
          try {
            await stopReading(input);
            outcome = { value: await use({ input, output }) };
          } catch (thrown) {
            failure = { thrown };
          } finally {
            // Whatever the program left behind: our own reading needs a still stream.
            if (input.isTTY) input.setRawMode(false);
            await stopReading(input);
          }
        });
      } finally {
        lent = false;
      }
      if (failure) throw failure.thrown;
      return (outcome as { value: Awaited<ReturnType<typeof use>> }).value;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Ink takes its listener away, which leaves Node reading: the next keys would be ours instead of the other program's. A stream hears `pause` only a turn
 * after the listener went, and stops reading a turn after that: had we begun to read again before, we would hear nothing any more.
 */
async function stopReading(input: NodeJS.ReadStream): Promise<void> {
  await turn();
  input.pause();
  await turn();
}
