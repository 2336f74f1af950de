import { Fault } from './fault.ts';

/**
 * Returns the result, or undefined if a fault is thrown. Rejects with the reason of an aborted signal, and with any error that is not a
 * fault.
 */
export async function unlessFault<T>(signal: AbortSignal, wanted: Promise<T>): Promise<T | undefined> {
  try {
    return await wanted;
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}
