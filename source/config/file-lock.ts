import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../faults/fault.ts';
import { makeOwnFolder, refuseForeignLock, unwritableFault } from './own-files.ts';

const waitMs = 15_000;
/** A holder refreshes its lock every second; one that has not for this long is dead. */
const staleMs = 5_000;

/**
 * Runs `use` while no other process holds the lock of `path`. A lock whose holder died is taken over after five seconds.
 * Throws `failed.locked` after fifteen, `refused.ownFile` or `config.unwritable` when there can be no lock.
 */
export async function withFileLock<T>(path: string, use: () => Promise<T>): Promise<T> {
  const { default: lockfile } = await import('proper-lockfile');
  await makeOwnFolder(dirname(path));
  await refuseForeignLock(`${path}.lock`);
  let lost: Error | undefined;
  const take = () =>
    lockfile.lock(path, {
      realpath: false,
      stale: staleMs,
      update: 1_000,
      // The default throws out of a timer.
      onCompromised: (error) => {
        lost = error;
      },
    });
  let release: () => Promise<void>;
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      release = await take();
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw unwritableFault(`${path}.lock`, error);
      if (performance.now() > deadline) {
        throw new Fault({
          code: 'failed.locked',
          message: `Another Quarterdeck has held ${path}.lock for ${waitMs / 1000} seconds.`,
          remedy: 'Wait for it to finish; if none is running, remove that folder.',
          cause: error,
        });
      }
      // Unequal waits, so that several who wait do not meet again and again.
      await sleep(10 + Math.random() * 30);
    }
  }
  try {
    return await use();
  } finally {
    // A lock that was lost is nobody's to release.
    if (!lost) await release().catch(() => {});
  }
}
