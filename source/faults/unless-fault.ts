import { Fault, type FaultCode } from './fault.ts';

/** Returns undefined if a fault is thrown. Rejects with the reason of an aborted signal, and with any error that is not a fault. */
export async function unlessFault<T>(signal: AbortSignal, wanted: Promise<T>): Promise<T | undefined> {
  try {
    return await wanted;
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

/** For `catch`: any other error is a bug, or the reason of an abort, and thrown again. */
export function ignoreFault(thrown: unknown): undefined {
  if (!(thrown instanceof Fault)) throw thrown;
}

/** Returns `otherwise` if a fault with one of these codes is thrown. */
export async function unlessCode<T, Otherwise>(wanted: Promise<T>, codes: readonly FaultCode[], otherwise: Otherwise) {
  try {
    return await wanted;
  } catch (thrown) {
    if (thrown instanceof Fault && codes.includes(thrown.code)) return otherwise;
    throw thrown;
  }
}
