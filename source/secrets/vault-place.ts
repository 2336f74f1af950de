import { randomInt } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import type { SecretEntry, SecretName, SecretVault, SecretVersion } from './vault.ts';

export interface StoredVersion extends SecretVersion {
  value: string;
}

/** Older ones stay for as long as something names them. */
export const keptVersions = 10;

/** Which versions stay when one is added: the newest so many, and those that something still names. */
export interface Keeping {
  most: number;
  named: ReadonlySet<string>;
}

/**
 * One place where secrets can rest. It does no locking of its own: whoever changes it holds the lock of the vault, and waits for no person while holding it,
 * which is what `open` is for.
 */
export interface VaultPlace {
  readonly kind: SecretVault['kind'];
  readonly where: string;
  /** Gets what it needs from the operator: a passphrase, or a new one where there is nothing yet and something is about to be written. */
  open(signal: AbortSignal, purpose: 'read' | 'write'): Promise<void>;
  list(signal: AbortSignal): Promise<readonly SecretEntry[]>;
  read(name: SecretName, signal: AbortSignal, version?: string): Promise<string | undefined>;
  /** Adds a version as it is, in the order of time; drops the oldest that need not be kept. One that is there already stays. */
  add(name: SecretName, version: StoredVersion, keep: Keeping, signal: AbortSignal): Promise<void>;
  remove(name: SecretName, signal: AbortSignal): Promise<void>;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Six characters that say nothing, and are not among `taken`. */
export function newVersionId(taken: readonly SecretVersion[]): string {
  for (;;) {
    const id = Array.from({ length: 6 }, () => alphabet[randomInt(alphabet.length)]).join('');
    if (!taken.some((version) => version.id === id)) return id;
  }
}

/** The versions with one more, oldest first. What was made in the same millisecond stays in the order in which it came. */
export function withVersion<V extends SecretVersion>(
  versions: readonly V[],
  added: V,
  { most, named }: Keeping,
): { kept: V[]; dropped: V[] } {
  const all = [...versions.filter(({ id }) => id !== added.id), added].sort((a, b) => a.createdMs - b.createdMs);
  const from = Math.max(0, all.length - most);
  const stays = ({ id }: V, index: number) => index >= from || named.has(id);
  return { kept: all.filter(stays), dropped: all.filter((version, index) => !stays(version, index)) };
}

/** Nothing goes. */
export const keepAll: Keeping = { most: Number.POSITIVE_INFINITY, named: new Set() };

/** A keychain cuts text at a NUL, and no program takes one in its environment; half a surrogate pair would come back as something else. */
export function valueProblem(value: string): string | undefined {
  if (value === '') return 'A secret cannot be empty.';
  if (value.includes('\0')) return 'A secret cannot hold the character NUL.';
  if (!value.isWellFormed()) return 'The secret is no well-formed text.';
  return undefined;
}

/** Throws `usage.secret` for what no place can keep. */
export function checkSecret(name: string, value: string): void {
  const problem =
    valueProblem(value) ??
    (/^[^/\p{Cc}][^\p{Cc}]*\/[^/\p{Cc}]+\/[^\p{Cc}]+$/u.test(name) && name.isWellFormed() && name.length <= 300
      ? undefined
      : 'A secret is named PLACE/COMPONENT/VARIABLE.');
  if (problem) throw new Fault({ code: 'usage.secret', message: problem, remedy: 'Nothing was written; give another one.' });
}

export function damagedFault(where: string, what: string, cause?: unknown): Fault {
  return new Fault({
    code: 'failed.secrets',
    message: `${where} ${what}.`,
    remedy: 'It was left as it is. Restore it from a backup, or move it away and give the secrets again.',
    cause,
  });
}
