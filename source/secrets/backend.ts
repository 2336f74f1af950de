import { randomInt } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import type { SecretName, SecretStorage, SecretVersion } from './secrets.ts';

export interface StoredVersion extends SecretVersion {
  value: string;
}

/** Older versions stay for as long as something refers to them. */
export const keptVersions = 10;

/** The versions that stay when one is added: the newest ones up to the limit, and those that are still referred to. */
export interface Keeping {
  most: number;
  named: ReadonlySet<string>;
}

/** The caller of a change holds the lock of the secrets, and must not wait for a person meanwhile: so `open` is separate. */
export interface SecretBackend extends Pick<SecretStorage, 'kind' | 'where' | 'list' | 'read'> {
  /** Gets what it needs from the operator: a passphrase, or a new one if the backend is empty and is about to be written. */
  open(signal: AbortSignal, purpose: 'read' | 'write'): Promise<void>;
  /** Adds a version unchanged, in the order of time; drops the oldest versions that need not be kept. An existing version stays. */
  add(name: SecretName, version: StoredVersion, keep: Keeping, signal: AbortSignal): Promise<void>;
  remove(name: SecretName, signal: AbortSignal): Promise<void>;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function newVersionId(taken: readonly SecretVersion[]): string {
  for (;;) {
    const id = Array.from({ length: 6 }, () => alphabet[randomInt(alphabet.length)]).join('');
    if (!taken.some((version) => version.id === id)) return id;
  }
}

/** Returns the versions with one more, oldest first. Versions of the same millisecond stay in the order in which they were added. */
export function withVersion<V extends SecretVersion>(versions: readonly V[], added: V, { most, named }: Keeping) {
  const all = [...versions.filter(({ id }) => id !== added.id), added].sort((a, b) => a.createdMs - b.createdMs);
  const from = Math.max(0, all.length - most);
  const stays = ({ id }: V, index: number) => index >= from || named.has(id);
  return { kept: all.filter(stays), dropped: all.filter((version, index) => !stays(version, index)) };
}

export const keepAll: Keeping = { most: Number.POSITIVE_INFINITY, named: new Set() };

/** A keychain cuts text at a NUL, and no program accepts one; half of a surrogate pair would be read back as something else. */
export function valueProblem(value: string): string | undefined {
  if (value === '') return 'A secret cannot be empty.';
  if (value.includes('\0')) return 'A secret cannot contain a NUL character.';
  if (!value.isWellFormed()) return 'The secret is not valid text.';
  return undefined;
}

/** Throws `usage.secret` for a value that no backend can store. */
export function checkSecret(name: string, value: string): void {
  const isName = /^[^/\p{Cc}][^\p{Cc}]*\/[^/\p{Cc}]+\/[^\p{Cc}]+$/u.test(name) && name.isWellFormed() && name.length <= 300;
  const problem = valueProblem(value) ?? (isName ? undefined : 'A secret name must have the form ENGINE/COMPONENT/VARIABLE.');
  if (problem) throw new Fault('usage.secret', problem, `The secret was not written. Use another ${isName ? 'value' : 'name'}.`);
}

export function damagedFault(where: string, what: string, cause?: unknown): Fault {
  const remedy =
    'Nothing was changed. Restore the file from a backup. If there is none, move the file, and run: quarterdeck secrets accept';
  return new Fault('failed.secrets', `${where} ${what}.`, remedy, { cause });
}
