import type { HostSettings } from '../config/settings.ts';
import type { EngineFacts } from '../engine/engine.ts';
import type { Fault } from '../faults/fault.ts';
import type { Host, HostLink } from '../hosts/host.ts';
import type { SshLimits } from '../hosts/ssh/ssh-limits.ts';

/** A host over ssh that is listed, or about to be. */
export interface FarHost extends Host {
  readonly link: HostLink;
  limits(signal: AbortSignal): Promise<SshLimits>;
  /** Before engines are looked for. */
  openSockets(signal: AbortSignal): Promise<void>;
}

/** An engine there, as it answered when it was asked. */
export interface FarEngine {
  /** As `--host` names it. */
  place: string;
  url: string;
  facts?: EngineFacts;
  /** Why it could not be asked. */
  fault?: Fault;
}

/** The operator's hosts over ssh, for flows that are about them. */
export interface HostBook {
  /** Where they are written down: `config.yaml`. */
  readonly file: string;
  /** For ssh and its tools. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** `ssh`, or what QUARTERDECK_SSH names. */
  readonly program: string;
  /** As the file has them now. */
  list(): Promise<Readonly<Record<string, HostSettings>>>;
  /** Where its stack lives, as written. */
  stackFolderOf(settings: HostSettings): string;
  /** The one that this process has, or another; it is closed with the process. Throws `refused.readOnly` where no other host may be reached. */
  open(name: string, settings: HostSettings): Promise<FarHost>;
  /** Looks for its engines and asks each. */
  engines(name: string, host: FarHost, signal: AbortSignal): Promise<readonly FarEngine[]>;
  /** A host was written into the file, or taken out of it. Resolves when the console shows it so. */
  changed(): Promise<void>;
  /** Its name means nothing any more: forgets what was remembered of it. */
  forget(name: string): Promise<void>;
}
