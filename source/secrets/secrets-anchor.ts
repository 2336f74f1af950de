import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { SecretStore } from './secret-store.ts';

/** Identifies the sealed file that was written last. Without an id no file exists any more: its secrets were migrated or reported lost. */
export interface SealedVersion {
  /** Increases with each write, also across files that were accepted or created later. */
  generation: number;
  /** Id of the file from its first write on: each installation has its own counter. */
  id: string | undefined;
}

/**
 * Remembers outside of the sealed file which version was written last, so that an older, foreign or missing file is detected. A keychain
 * that does not respond is skipped; if no store answers, nothing is detected.
 */
export function openSecretsAnchor(stores: readonly SecretStore[], path: string) {
  // Installations share a keychain.
  const name = `secrets-anchor ${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 12)}`;
  return {
    /** Undefined for a store that knows no file. Must be called before the file is read: a writer updates the anchor after it. */
    async remembered(): Promise<readonly (SealedVersion | undefined)[]> {
      const found: (SealedVersion | undefined)[] = [];
      for (const store of stores) {
        try {
          const [, generation, id] = /^(\d{1,15}) (?:([0-9a-f]{16})|none)$/.exec((await store.get(name)) ?? '') ?? [];
          found.push(generation === undefined ? undefined : { generation: Number(generation), id });
        } catch (thrown) {
          // A locked keychain may be unlocked later; a damaged file stays damaged.
          if (store.kind === 'file') throw thrown;
        }
      }
      return found;
    },
    async keep({ generation, id }: SealedVersion): Promise<void> {
      // The secret is already written, and stays valid even if the anchor cannot be stored.
      for (const store of stores) await store.set(name, `${generation} ${id ?? 'none'}`).catch(() => undefined);
    },
  };
}

export function lossOf(path: string, found: SealedVersion | undefined, remembered: readonly (SealedVersion | undefined)[]) {
  if (!found) return remembered.some((version) => version?.id !== undefined) ? missingFault(path) : undefined;
  const isKnown = remembered.some((version) => version?.id !== undefined && version.id === found.id);
  // The file was created since, and a keychain that was locked then does not know it yet.
  const isSucceeded = ({ id, generation }: SealedVersion) => id === undefined && isKnown && generation < found.generation;
  const other = remembered.find(
    (version) => version && (version.id === found.id ? version.generation > found.generation : !isSucceeded(version)),
  );
  if (!other) return undefined;
  const older = (what: string, remedy: string) => new Fault('refused.secretsOlder', `${path} ${what}.`, remedy, { where: { file: path } });
  if (other.id === undefined)
    return older(
      'exists again after its secrets were moved or accepted as lost',
      'Delete the file if the secrets are in the keychain. To use the file instead: quarterdeck secrets accept',
    );
  const what =
    other.id === found.id
      ? `is an older copy: it is version ${found.generation}, but the latest was version ${other.generation}`
      : 'is not the latest version: it is a discarded copy, or from another installation';
  return older(what, 'Restore the latest version. If it is lost, accept this one: quarterdeck secrets accept');
}

export function missingFault(path: string): Fault {
  const message = `${path} is missing. It contains the secrets of this installation.`;
  const remedy = 'Restore the file from a backup. If it is lost: quarterdeck secrets accept';
  return new Fault('refused.secretsMissing', message, remedy, { where: { file: path } });
}

/** The loss can be accepted. */
export const isLost = (thrown: unknown): thrown is Fault =>
  thrown instanceof Fault && (thrown.code === 'refused.secretsOlder' || thrown.code === 'refused.secretsMissing');
