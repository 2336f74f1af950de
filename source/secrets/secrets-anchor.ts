import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { SecretStore } from './secret-store.ts';

/** Which sealed file was written last. Without an id there is none any more: its secrets were moved or reported lost. */
export interface SealedVersion {
  /** Counts up with each write, also over files that were accepted or begun later. */
  generation: number;
  /** Of the file, from its first write on: installations count on their own. */
  id: string | undefined;
}

/**
 * Remembers outside of the sealed file which version of it was written last, so that an older or foreign file in its place, and a missing one, are noticed. A keychain
 * that does not answer is skipped; where no store answers, nothing is noticed.
 */
export interface SecretsAnchor {
  /** One for each store that answers, undefined where it knows of no file. Call it before the file is read: a writer updates it after the file. */
  remembered(): Promise<readonly (SealedVersion | undefined)[]>;
  keep(version: SealedVersion): Promise<void>;
}

/** @param path of the sealed file: installations share a keychain */
export function openSecretsAnchor(stores: readonly SecretStore[], path: string): SecretsAnchor {
  const name = `secrets-anchor ${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 12)}`;
  return {
    async remembered() {
      const found: (SealedVersion | undefined)[] = [];
      for (const store of stores) {
        try {
          const [, generation, id] = /^(\d{1,15}) (?:([0-9a-f]{16})|none)$/.exec((await store.get(name)) ?? '') ?? [];
          found.push(generation === undefined ? undefined : { generation: Number(generation), id });
        } catch (thrown) {
          // A keychain may be locked today; a damaged file stays so.
          if (store.kind === 'file') throw thrown;
        }
      }
      return found;
    },
    async keep({ generation, id }) {
      // The secret is written by now, and does not become less so where this cannot be remembered.
      for (const store of stores) await store.set(name, `${generation} ${id ?? 'none'}`).catch(() => undefined);
    },
  };
}

/** Why the file, or its absence, is not what was written last; undefined where it is. */
export function lossOf(
  path: string,
  found: SealedVersion | undefined,
  remembered: readonly (SealedVersion | undefined)[],
): Fault | undefined {
  if (!found) return remembered.some((version) => version?.id !== undefined) ? missingFault(path) : undefined;
  const isKnown = remembered.some((version) => version?.id !== undefined && version.id === found.id);
  // It was begun since, and a keychain that was locked then has yet to learn of it.
  const isSucceeded = ({ id, generation }: SealedVersion) => id === undefined && isKnown && generation < found.generation;
  const other = remembered.find(
    (version) => version && (version.id === found.id ? version.generation > found.generation : !isSucceeded(version)),
  );
  if (!other) return undefined;
  const isRemoved = other.id === undefined;
  return new Fault({
    code: 'refused.secretsOlder',
    message: isRemoved
      ? `${path} is back after its secrets were moved or accepted as lost.`
      : other.id === found.id
        ? `${path} is an older copy: it is version ${found.generation}, and the last one was version ${other.generation}.`
        : `${path} is not the file that was written last: it is a discarded copy, or from another installation.`,
    remedy: isRemoved
      ? 'Delete it if the secrets are in the keychain. To use it instead: quarterdeck secrets accept'
      : 'Restore the file that was written last. If it is lost, accept this one: quarterdeck secrets accept',
    where: { file: path },
  });
}

export function missingFault(path: string): Fault {
  return new Fault({
    code: 'refused.secretsMissing',
    message: `${path} is missing. It contains the secrets of this installation.`,
    remedy: 'Restore it from a backup. If it is lost: quarterdeck secrets accept',
    where: { file: path },
  });
}

/** Can the loss be accepted? */
export const isLost = (thrown: unknown): thrown is Fault =>
  thrown instanceof Fault && (thrown.code === 'refused.secretsOlder' || thrown.code === 'refused.secretsMissing');
