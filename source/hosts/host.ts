import type { Duplex, Readable, Writable } from 'node:stream';
import type { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';

/** The result of a program. Output is raw: pass it through `text/` before showing it. */
export interface ExecOutcome {
  exitCode: number;
  stdout: Uint8Array;
  stderr: Uint8Array;
  cut: boolean;
}

export interface ExecOptions {
  signal: AbortSignal;
  /** Kills the program after this time. */
  limitMs: number;
  /** Limit per stream; the rest is dropped. Default 1 MiB. */
  limitBytes?: number;
  stdin?: Uint8Array | string;
  /** Added to the environment of this process only. Pass secrets here, never in argv. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

export type PipeOptions = Pick<ExecOptions, 'env' | 'cwd'>;

/** A program whose input and output are streamed, so that they may be larger than memory. */
export interface PipedProgram {
  /** The caller must end it. */
  stdin: Writable;
  /** The caller must read it to its end. */
  stdout: Readable;
  /** Rejects with the grant's reason. `stderr` is its last 16 KiB, raw. */
  ended: Promise<{ exitCode: number; stderr: string }>;
}

/** A socket that a program on the host listens on, whether or not an engine published it. */
export interface Listener {
  /** As the kernel reports it: `0.0.0.0`, `127.0.0.1`, `::`, `::1`, `192.168.1.2`. */
  address: string;
  port: number;
  protocol: 'tcp' | 'udp';
  /** Missing when the operator's user may not see the owner. */
  process?: ListenerProcess;
}

export interface ListenerProcess {
  pid: number;
  name: string;
  /** Id of the container that the process runs in, from its control group. */
  container?: string;
}

export interface FileFacts {
  kind: 'file' | 'folder' | 'socket' | 'other';
  sizeBytes: number;
  modifiedMs: number;
  /** Device number: two paths with the same number are on one filesystem (R27). */
  device: number;
  /** With the device, the identity of a file, also through links and bind mounts. */
  inode: number;
}

/** Reads files on the operated machine. Missing files return `undefined`; other failures throw a Fault. */
export interface HostFiles {
  /** The first `limitBytes` of a regular file: a pipe could block forever. Without a limit, a file over 16 MiB is a Fault. */
  read(path: string, options: { signal: AbortSignal; limitBytes?: number }): Promise<Uint8Array | undefined>;
  facts(path: string, signal: AbortSignal): Promise<FileFacts | undefined>;
  list(path: string, signal: AbortSignal): Promise<string[] | undefined>;
  /** Replaces the file in one step: a reader sees the whole old or the whole new one. */
  write(grant: Grant, path: string, content: Uint8Array, options: { mode: number }): Promise<void>;
  /** Creates the folder and its parents. An existing folder stays unchanged. */
  makeFolder(grant: Grant, path: string, options: { mode: number }): Promise<void>;
  /** Removes a file or an empty folder. A missing path is not an error. */
  remove(grant: Grant, path: string): Promise<void>;
}

export type DialAddress = { host: string; port: number } | { socket: string };

export interface HostFacts {
  hostname: string;
  platform: string;
  architecture: string;
  cpus: number;
  memoryBytes: number;
  /** Boot time of the machine in epoch milliseconds, where known. */
  bootedMs?: number;
  /** Offset by which the machine's clock is ahead of ours, in whole seconds; negative if it is behind. Missing for this machine. */
  clockAheadMs?: number;
  /** User id of the operator; 0 for root, undefined where the system has no user ids. */
  uid: number | undefined;
  home: string;
  /** `$XDG_RUNTIME_DIR` on the host, where rootless engines have their sockets. */
  runtimeDir: string | undefined;
  addresses: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
}

export interface HostLinkView {
  state:
    | 'connecting'
    /** ssh has a prompt that waits for the operator. */
    | 'asking'
    | 'connected'
    /** Unreachable; the next automatic attempt is at `retryAtMs`. */
    | 'away'
    /** Automatic retries would be useless or harmful: a refused login, or a host key that differs from the known one. */
    | 'refused';
  sinceMs: number;
  /** Round-trip time of a command that does nothing, measured every few seconds. */
  roundTripMs?: number;
  /** Why the host is unreachable or refused, or what a slow connection waits for, and how to fix it. */
  fault?: Fault;
  retryAtMs?: number;
}

export interface HostLink {
  readonly view: HostLinkView;
  subscribe(changed: () => void): () => void;
  /** Resolves when commands can be run on the host; connects when an attempt is due. Until then it rejects with the fault of the view. */
  ready(signal: AbortSignal): Promise<void>;
  /** Connects now, also after a refusal. */
  retry(): void;
  /** Checks the connection, for callers that lost a forwarded one. Undefined if it is up, or if the check does not finish in time. */
  trouble(signal: AbortSignal): Promise<Fault | undefined>;
}

/** A machine, local or over ssh. No code above `hosts/` touches files, sockets or programs of the operated machine otherwise. */
export interface Host {
  readonly name: string;
  readonly kind: 'local' | 'ssh';
  /** Missing for the machine that the console runs on. */
  readonly link?: HostLink;
  /** The operator allows sudo on this host, for actions that the login user may not perform. */
  readonly sudo?: boolean;
  facts(signal: AbortSignal): Promise<HostFacts>;
  readonly files: HostFiles;
  /** Runs a read-only program. Throws `unreachable.*` when it cannot be started. */
  exec(argv: readonly string[], options: ExecOptions): Promise<ExecOutcome>;
  /**
   * Runs a program that changes something. Like `exec`, but also ends with the grant's signal. Secrets go to `stdin` or `env`, never into
   * argv. A program that must outlive us (the apply script) detaches itself; every other program ends with the grant.
   */
  run(grant: Grant, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome>;
  /** Like `exec`, for large output: runs a read-only program whose output is streamed. Throws `unreachable.program`. */
  stream(argv: readonly string[], options: PipeOptions & { signal: AbortSignal }): Promise<PipedProgram>;
  /** Like `run`, for large input or output, or long runs: its input closes when we exit. Throws `unreachable.program`. */
  pipe(grant: Grant, argv: readonly string[], options?: PipeOptions): Promise<PipedProgram>;
  /** Opens a connection. With `paced`, small pieces are read together if the host supports it: a millisecond later, for half the work. */
  dial(address: DialAddress, signal: AbortSignal, how?: { paced?: boolean }): Promise<Duplex>;
  /** Returns every listening socket, including those of other users. */
  listeners(signal: AbortSignal): Promise<Listener[]>;
  close(): Promise<void>;
}
