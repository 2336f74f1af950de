import { dirname } from 'node:path';
import type { LockOptions } from 'proper-lockfile';
import { Fault } from '../faults/fault.ts';
import { unlessCode } from '../faults/unless-fault.ts';
import { createOwnFolder, refuseForeignLock, unwritableFault } from './own-files.ts';

const waitMs = 15_000;
/** A holder refreshes its lock every second; after this time without a refresh it counts as dead. */
const staleMs = 5_000;

export interface HeldLock {
  /** Aborted when the lock was lost: this process was suspended, and another one has taken over. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

async function lockFile(path: string, onCompromised: (error: Error) => void, options: { retries?: LockOptions['retries'] } = {}) {
  const { default: lockfile } = await import('proper-lockfile');
  await createOwnFolder(dirname(path));
  await refuseForeignLock(`${path}.lock`);
  // Without onCompromised, a lost lock would throw out of a timer.
  return lockfile.lock(path, { realpath: false, stale: staleMs, update: 1_000, onCompromised, ...options }).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOCKED') throw unwritableFault(`${path}.lock`, cause);
    const message = `Another Quarterdeck process has held ${path}.lock for ${waitMs / 1000} seconds.`;
    throw new Fault('failed.locked', message, 'Wait for that process to finish. If none is running, remove the lock folder.', { cause });
  });
}

/** Holds a lock until it is released. Returns undefined if another process holds it. Throws `refused.ownFile` or `config.unwritable`. */
export async function holdFileLock(path: string): Promise<HeldLock | undefined> {
  const lost = new AbortController();
  const release = await unlessCode(
    lockFile(path, (error) => lost.abort(error)),
    ['failed.locked'],
    undefined,
  );
  return release && { lost: lost.signal, release: async () => void (lost.signal.aborted || (await release().catch(() => {}))) };
}

/** The lock of a dead holder is taken over. Throws `failed.locked` after fifteen seconds, `refused.ownFile` or `config.unwritable`. */
export async function withFileLock<T>(path: string, use: () => Promise<T>): Promise<T> {
  let lost: Error | undefined;
  const release = await lockFile(
    path,
    (error) => {
      lost = error;
    },
    // Unequal waits, so that several waiting processes do not collide again and again.
    { retries: { forever: true, maxRetryTime: waitMs, factor: 1, minTimeout: 10, maxTimeout: 40, randomize: true } },
  );
  try {
    return await use();
  } finally {
    // A lost lock must not be released.
    if (!lost) await release().catch(() => {});
  }
}
