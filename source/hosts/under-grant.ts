import type { Grant } from '../grants/grant.ts';
import type { ExecOptions, ExecOutcome } from './host.ts';

/** The grant ends with its act, and whatever was begun under it too: runs with a signal that ends with either. */
export async function underGrant(
  grant: Grant,
  options: ExecOptions,
  run: (options: ExecOptions) => Promise<ExecOutcome>,
): Promise<ExecOutcome> {
  const ending = new AbortController();
  const signals = [grant.signal, options.signal];
  const end = () => ending.abort(signals.find(({ aborted }) => aborted)?.reason);
  for (const signal of signals) {
    signal.throwIfAborted();
    signal.addEventListener('abort', end, { once: true });
  }
  try {
    return await run({ ...options, signal: ending.signal });
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', end);
  }
}
