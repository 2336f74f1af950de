import type { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';

/** Where a secret of a component is kept under: `nas/password-vault/ADMIN_TOKEN`. The last part is the variable of the compose file, or the field's name. */
export type SecretName = `${string}/${string}/${string}`;

export interface SecretVersion {
  /** Short and without meaning: goes into plans, journals and records. */
  id: string;
  createdMs: number;
  /** `generated`, `given`, `imported`, `rotated`. */
  origin: string;
}

export interface SecretEntry {
  name: SecretName;
  /** Newest last. */
  versions: readonly SecretVersion[];
}

/**
 * The operator's secrets, with their versions, wherever they rest: the OS keychain, or a sealed file on a host without one. Values never leave the process
 * but for where they are used. Everything that waits has a limit; faults are `failed.keychain`, `refused.sealed` and sentences.
 */
export interface SecretVault {
  readonly kind: 'keychain' | 'file';
  /** For `secrets list`: `GNOME keyring "Login"`, `/home/me/.local/share/quarterdeck/secrets.sealed`. */
  readonly where: string;
  /** Why a keychain that may hold secrets was passed over: a sentence. */
  readonly passedOver?: string | undefined;
  /** All names, with no value read. */
  list(signal: AbortSignal): Promise<readonly SecretEntry[]>;
  /** The newest version, or the one that is asked for; undefined when there is none. */
  read(name: SecretName, signal: AbortSignal, version?: string): Promise<string | undefined>;
  /** Adds a version, which becomes the newest. Answers its id. The last ten are kept, and older ones that something deployed still names. */
  write(grant: Grant, name: SecretName, value: string, origin: string): Promise<string>;
  /** With all versions. */
  remove(grant: Grant, name: SecretName): Promise<void>;
  /** What the operator can do with the place itself. Missing where there is only one. */
  readonly care?: VaultCare;
}

export interface VaultCare {
  /** Copies everything to the other place, reads every value back, and only then removes it here. One that was interrupted is gone on with. */
  migrate(grant: Grant, to: SecretVault['kind'], told?: (fraction: number, label: string) => void): Promise<{ moved: number }>;
  /** Seals the file anew: with another passphrase, or with the key file of `QUARTERDECK_SECRETS_KEY_FILE`. */
  reseal(grant: Grant, key: 'passphrase' | 'key-file'): Promise<void>;
  /** Why the sealed file is refused: it is missing, or not the one that was written last. */
  lost(signal: AbortSignal): Promise<Fault | undefined>;
  /** Makes the sealed file that is there the newest version; where there is none, the next secret creates a new one. */
  accept(grant: Grant): Promise<'file' | 'none'>;
  /** Adds a version with the id and the time that it had elsewhere: plans and records name it. */
  restore(grant: Grant, name: SecretName, version: SecretVersion & { value: string }): Promise<void>;
  /** Where copies still rest since a migration was interrupted. */
  leftIn(): Promise<string | undefined>;
}
