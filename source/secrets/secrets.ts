import type { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';

/** `nas/password-vault/ADMIN_TOKEN`. The last part is the variable of the compose file, or the name of the field. */
export type SecretName = `${string}/${string}/${string}`;

export interface SecretVersion {
  /** Short and without meaning: it appears in plans, journals and records. */
  id: string;
  createdMs: number;
  origin: string;
}

export interface SecretEntry {
  name: SecretName;
  /** Newest last. */
  versions: readonly SecretVersion[];
}

/**
 * The operator's secrets with their versions, in either backend: the OS keychain, or a sealed file on a host without one. Values leave the
 * process only for the programs that use them. Every wait has a limit; faults are `failed.keychain`, `refused.sealed` and sentences.
 */
export interface SecretStorage {
  readonly kind: 'keychain' | 'file';
  /** For `secrets list`: `the macOS login keychain`, `/home/me/.local/share/quarterdeck/secrets.sealed`. */
  readonly where: string;
  /** Why a keychain that may hold secrets was skipped: a sentence. */
  readonly passedOver?: string | undefined;
  list(signal: AbortSignal): Promise<readonly SecretEntry[]>;
  read(name: SecretName, signal: AbortSignal, version?: string): Promise<string | undefined>;
  /** Adds a version, and returns its id. Keeps the last ten versions, and older ones that a deployment still refers to. */
  write(grant: Grant, name: SecretName, value: string, origin: string): Promise<string>;
  remove(grant: Grant, name: SecretName): Promise<void>;
  /** Operations on the backend itself. */
  readonly care: SecretStorageCare;
}

export interface SecretStorageCare {
  /** Copies everything to the other backend, reads every value back, and only then removes it here. Resumes an interrupted migration. */
  migrate(grant: Grant, to: SecretStorage['kind'], reported?: (fraction: number, label: string) => void): Promise<{ moved: number }>;
  /** Seals the file again: with another passphrase, or with the key file of `QUARTERDECK_SECRETS_KEY_FILE`. */
  reseal(grant: Grant, key: 'passphrase' | 'key-file'): Promise<void>;
  /** Why the sealed file is refused: it is missing, or it is not the version that was written last. */
  lost(signal: AbortSignal): Promise<Fault | undefined>;
  /** Accepts the existing sealed file as the newest version; if there is none, the next secret creates a new file. */
  accept(grant: Grant): Promise<'file' | 'none'>;
  /** Adds a version with the id and time of its origin: plans and records refer to them. */
  restore(grant: Grant, name: SecretName, version: SecretVersion & { value: string }): Promise<void>;
  /** The backend that still holds copies since a migration was interrupted. */
  leftIn(): Promise<string | undefined>;
}
