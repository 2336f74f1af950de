import { Fault, type FaultCode } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';

/** What a cancelled prompt leaves behind. The code is `interrupted.cancelled` by default. */
export type Left = string | { code?: FaultCode; message: string; remedy: string };

/** States the consequence if a prompt of this part is cancelled. An interrupted session keeps its fault: an action may be in progress. */
export async function unlessCancelled<T>(session: Session, left: Left | (() => Left), part: () => Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.code !== 'interrupted.cancelled') throw thrown;
    throw cancelled(typeof left === 'function' ? left() : left, thrown);
  }
}

export function cancelled(left: Left, cause?: unknown): Fault {
  if (typeof left === 'string') return cancelled({ message: left, remedy: 'Run the command again to continue.' }, cause);
  const { code = 'interrupted.cancelled', message, remedy } = left;
  return new Fault(code, message, remedy, { cause });
}
