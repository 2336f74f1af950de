import type { Duplex, Readable, Writable } from 'node:stream';
import type { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';

/** A program's answer. Output is raw: whoever shows it passes it through `text/` first. */
export interface ExecOutcome {
  exitCode: number;
  stdout: Uint8Array;
  stderr: Uint8Array;
  /** True when output beyond `limitBytes` was dropped. */
  cut: boolean;
}

export interface ExecOptions {
  signal: AbortSignal;
  /** Ends the program after this long. */
  limitMs: number;
  /** Kept per stream; the rest is dropped. Default 1 MiB. */
  limitBytes?: number;
  stdin?: Uint8Array | string;
  /** Added to the environment of that one process; the place for secrets, never argv. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

export interface PipeOptions {
  /** Added to the environment of that one process; the place for secrets, never argv. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

/** A program whose input and output flow, so that they may be larger than memory. */
export interface PipedProgram {
  /** To be ended. */
  stdin: Writable;
  /** To be read to its end. */
  stdout: Readable;
  /** Rejects with the grant's reason. `stderr` is its last 16 KiB, raw. */
  ended: Promise<{ exitCode: number; stderr: string }>;
}

/** A socket that some program on the host listens on, whether an engine published it or not. */
export interface Listener {
  /** As the kernel says it: `0.0.0.0`, `127.0.0.1`, `::`, `::1`, `192.168.1.2`. */
  address: string;
  port: number;
  protocol: 'tcp' | 'udp';
  /** Missing when the operator's user may not see who it is. */
  process?: ListenerProcess;
}

export interface ListenerProcess {
  pid: number;
  name: string;
  /** Id of the container that it is in, as its control group says. */
  container?: string;
}

export interface FileFacts {
  kind: 'file' | 'folder' | 'socket' | 'other';
  sizeBytes: number;
  modifiedMs: number;
  /** Device number: two paths with the same one are on one filesystem (R27). */
  device: number;
  /** With the device the identity of a file: two paths that agree in both are the same one, behind links and bind mounts too. */
  inode: number;
}

/** Reading on the operated machine. Missing files answer `undefined`; other failures throw a Fault. */
export interface HostFiles {
  /**
   * The first `limitBytes` of a file; whoever gives a limit can work with a part. Without one a file beyond 16 MiB is a Fault.
   * Only plain files are read: a named pipe or a device would hold us for ever.
   */
  read(path: string, options: { signal: AbortSignal; limitBytes?: number }): Promise<Uint8Array | undefined>;
  facts(path: string, signal: AbortSignal): Promise<FileFacts | undefined>;
  list(path: string, signal: AbortSignal): Promise<string[] | undefined>;
  /** Writes beside the target and renames over it, so that a reader sees the old or the new file, whole. */
  write(grant: Grant, path: string, content: Uint8Array, options: { mode: number }): Promise<void>;
  /** With the folders above it. An existing one stays as it is. */
  makeFolder(grant: Grant, path: string, options: { mode: number }): Promise<void>;
  /** A file, or an empty folder. Nothing there is fine. */
  remove(grant: Grant, path: string): Promise<void>;
}

export type DialAddress = { host: string; port: number } | { socket: string };

export interface HostFacts {
  hostname: string;
  platform: string;
  architecture: string;
  cpus: number;
  memoryBytes: number;
  /** When the machine started, epoch milliseconds, where that is known. */
  bootedMs?: number;
  /** How far its clock is ahead of ours, to the second; negative where it is behind. Missing for this machine. */
  clockAheadMs?: number;
  /** User id of whoever operates; 0 for root, undefined where there is no such thing. */
  uid: number | undefined;
  home: string;
  /** `$XDG_RUNTIME_DIR` there, where sockets of rootless engines are. */
  runtimeDir: string | undefined;
  /** Addresses of the host's own interfaces, loopback included. */
  addresses: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
}

/** How the way to a machine is. */
export interface HostLinkView {
  state:
    | 'connecting'
    /** ssh has a question, which waits for the operator. */
    | 'asking'
    | 'connected'
    /** Away; tried again by itself at `retryAtMs`. */
    | 'away'
    /** Trying again by itself would be useless or do harm: a login that was refused, a host key that is not the known one. */
    | 'refused';
  /** Epoch milliseconds. */
  sinceMs: number;
  /** Of a command that does nothing, measured every few seconds. */
  roundTripMs?: number;
  /** Why it is away or refused, or what a connection that takes long waits for, and what to do. */
  fault?: Fault;
  retryAtMs?: number;
}

/** The way to a machine that is not this one. */
export interface HostLink {
  readonly view: HostLinkView;
  /** @returns ends the telling */
  subscribe(changed: () => void): () => void;
  /** Resolves when commands can be run there; connects when it is time to. Rejects with the fault of the view while it is not. */
  ready(signal: AbortSignal): Promise<void>;
  /** Connects now, also after a refusal. */
  retry(): void;
  /** Asks the far side whether the connection stands, for whoever lost what was led through it. Undefined where it does, and where nothing is known in time. */
  trouble(signal: AbortSignal): Promise<Fault | undefined>;
}

/**
 * A machine we reach, local or over ssh. Above `hosts/` nothing else touches files, sockets or programs of the
 * operated machine.
 */
export interface Host {
  readonly name: string;
  readonly kind: 'local' | 'ssh';
  /** Missing for the machine that the console runs on. */
  readonly link?: HostLink;
  /** The operator lets sudo be used there, for what the login user may not do. */
  readonly sudo?: boolean;
  facts(signal: AbortSignal): Promise<HostFacts>;
  readonly files: HostFiles;
  /** Runs a program that only reads. Throws `unreachable.*` when it cannot be started. */
  exec(argv: readonly string[], options: ExecOptions): Promise<ExecOutcome>;
  /**
   * Runs a program that changes something. Like `exec`, under the grant's signal too. Secrets go to `stdin` or `env`, never into argv. What is meant to outlive
   * us (the apply script) detaches itself; everything else ends with the grant.
   */
  run(grant: Grant, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome>;
  /** Like `exec`, for what is large: a program that only reads, whose output flows. Throws `unreachable.program`. */
  stream(argv: readonly string[], options: PipeOptions & { signal: AbortSignal }): Promise<PipedProgram>;
  /** Like `run`, for what is large or lasts: the program's input is ours while it runs, and closes with us. Throws `unreachable.program`. */
  pipe(grant: Grant, argv: readonly string[], options?: PipeOptions): Promise<PipedProgram>;
  /** A connection. `paced`, what comes in many small pieces is read in larger ones, where the host knows how: a millisecond later, for half of the work. */
  dial(address: DialAddress, signal: AbortSignal, how?: { paced?: boolean }): Promise<Duplex>;
  /** Every listening socket, also those of other users. */
  listeners(signal: AbortSignal): Promise<Listener[]>;
  close(): Promise<void>;
}
