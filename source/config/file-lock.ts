import { dirname } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { createOwnFolder, refuseForeignLock, unwritableFault } from './own-files.ts';

const waitMs = 15_000;
/** A holder refreshes its lock every second; after this time without a refresh it counts as dead. */
const staleMs = 5_000;

export interface HeldLock {
  /** Aborted when the lock was lost: this process was suspended, and another one has taken over. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Holds a lock until it is released. Returns undefined if another process holds it. Throws `refused.ownFile` or `config.unwritable`. */
export async function holdFileLock(path: string): Promise<HeldLock | undefined> {
  const { default: lockfile } = await import('proper-lockfile');
  await createOwnFolder(dirname(path));
  await refuseForeignLock(`${path}.lock`);
  const lost = new AbortController();
  const options = { realpath: false, stale: staleMs, update: 1_000, onCompromised: (error: Error) => lost.abort(error) };
  try {
    const release = await lockfile.lock(path, options);
    return { lost: lost.signal, release: async () => void (lost.signal.aborted || (await release().catch(() => {}))) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ELOCKED') return undefined;
    throw unwritableFault(`${path}.lock`, cause);
  }
}

/** The lock of a dead holder is taken over. Throws `failed.locked` after fifteen seconds, `refused.ownFile` or `config.unwritable`. */
export async function withFileLock<T>(path: string, use: () => Promise<T>): Promise<T> {
  const { default: lockfile } = await import('proper-lockfile');
  await createOwnFolder(dirname(path));
  await refuseForeignLock(`${path}.lock`);
  let lost: Error | undefined;
  const locking = lockfile.lock(path, {
    realpath: false,
    stale: staleMs,
    update: 1_000,
    // Unequal waits, so that several waiting processes do not collide again and again.
    retries: { forever: true, maxRetryTime: waitMs, factor: 1, minTimeout: 10, maxTimeout: 40, randomize: true },
    // The default throws out of a timer.
    onCompromised: (error) => {
      lost = error;
    },
  });
  const release = await locking.catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOCKED') throw unwritableFault(`${path}.lock`, cause);
    const message = `Another Quarterdeck process has held ${path}.lock for ${waitMs / 1000} seconds.`;
    throw new Fault('failed.locked', message, 'Wait for that process to finish. If none is running, remove the lock folder.', { cause });
  });
  try {
    return await use();
  } finally {
    // A lost lock must not be released.
    if (!lost) await release().catch(() => {});
  }
}
