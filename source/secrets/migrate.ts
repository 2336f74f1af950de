import { Fault } from '../faults/fault.ts';
import { keepAll, type VaultPlace } from './vault-place.ts';

type Told = (fraction: number, label: string) => void;

/**
 * Copies every version of every secret, then reads all of them back. What is there already stays, so it can be run again after an interruption.
 * Under the vault's lock. Throws `failed.migrate`, with nothing removed anywhere.
 */
export async function copySecrets(from: VaultPlace, to: VaultPlace, signal: AbortSignal, told?: Told): Promise<number> {
  const entries = await from.list(signal);
  const versions = entries.flatMap(({ name, versions: all }) => all.map((version) => ({ name, version })));
  for (const [index, { name, version }] of versions.entries()) {
    signal.throwIfAborted();
    told?.(index / (versions.length * 2), `Copying ${name}`);
    const value = await from.read(name, signal, version.id);
    if (value === undefined) throw unreadFault(name, from);
    const there = await to.read(name, signal, version.id);
    if (there === undefined) await to.add(name, { ...version, value }, keepAll, signal);
    else if (there !== value) {
      throw new Fault({
        code: 'failed.migrate',
        message: `${name} has a version ${version.id} in both places, and they differ.`,
        remedy: 'Nothing was removed. Export the secrets, remove one of the two, and migrate again.',
      });
    }
  }
  const listed = new Map((await to.list(signal)).map((entry) => [entry.name, entry.versions]));
  for (const [index, { name, version }] of versions.entries()) {
    signal.throwIfAborted();
    told?.((versions.length + index) / (versions.length * 2), `Checking ${name}`);
    const known = listed.get(name)?.some(({ id, createdMs }) => id === version.id && createdMs === version.createdMs);
    if (!known || (await to.read(name, signal, version.id)) !== (await from.read(name, signal, version.id))) throw unreadFault(name, to);
  }
  return entries.length;
}

/** Removes what was copied: everything that is not newer than the moment of the move. */
export async function removeCopied(place: VaultPlace, atMs: number, signal: AbortSignal): Promise<void> {
  for (const { name, versions } of await place.list(signal)) {
    signal.throwIfAborted();
    if (versions.every(({ createdMs }) => createdMs <= atMs)) await place.remove(name, signal);
  }
}

function unreadFault(name: string, place: VaultPlace): Fault {
  return new Fault({
    code: 'failed.migrate',
    message: `${name} could not be read back from ${place.where}.`,
    remedy: 'Nothing was removed: the secrets are where they were. Try again.',
  });
}
