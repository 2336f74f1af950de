import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { SecretStore } from './secret-store.ts';

/**
 * How often the sealed file was written, remembered elsewhere: so that an older one in its place is noticed, and that it is gone. Stores that do not answer are
 * passed over; where none does, nothing is known.
 */
export interface SecretsAnchor {
  /** Of the file that was written last; undefined where none was, or nobody knows. To be asked before the file is read. */
  newest(): Promise<number | undefined>;
  /** `undefined`: there is no file any more. */
  keep(generation: number | undefined): Promise<void>;
}

/** @param path of the sealed file: installations share a keychain */
export function openSecretsAnchor(stores: readonly SecretStore[], path: string): SecretsAnchor {
  const name = `secrets-anchor ${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 12)}`;
  return {
    async newest() {
      const found: number[] = [];
      for (const store of stores) {
        const kept = Number(await store.get(name).catch(() => undefined));
        if (Number.isSafeInteger(kept) && kept > 0) found.push(kept);
      }
      return found.length === 0 ? undefined : Math.max(...found);
    },
    async keep(generation) {
      // The secret is written by now, and does not become less so where this cannot be remembered.
      for (const store of stores) await store.set(name, String(generation ?? 0)).catch(() => undefined);
    },
  };
}

export function olderFault(path: string, generation: number, newest: number): Fault {
  return new Fault({
    code: 'refused.secretsOlder',
    message: `${path} is not the file that was written last: it was written ${generation} times, and the last one ${newest} times. An older one was put in its place.`,
    remedy: 'Restore the newest one. If it was put back on purpose and the secrets since then are lost: quarterdeck secrets accept',
    where: { file: path },
  });
}

export function missingFault(path: string): Fault {
  return new Fault({
    code: 'refused.secretsMissing',
    message: `${path} is missing, and the secrets of this installation are in it.`,
    remedy: 'Restore it from a backup. If they are lost: quarterdeck secrets accept',
    where: { file: path },
  });
}

/** The vault can be opened with these, to be accepted. */
export const isLost = (thrown: unknown): boolean =>
  thrown instanceof Fault && (thrown.code === 'refused.secretsOlder' || thrown.code === 'refused.secretsMissing');
