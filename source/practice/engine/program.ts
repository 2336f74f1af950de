import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PortBinding } from './container.ts';
import type { ContainerFiles } from './container-files.ts';

/** One run of a container, from its start to its end. */
export interface Run {
  readonly signal: AbortSignal;
  /** When it began; before the practice, for what was running already. */
  readonly startedMs: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly files: ContainerFiles;
  now(): number;
  /** A line, given its newline. */
  log(line: string, stream?: 'stdout' | 'stderr'): void;
  /** Text as it is, for a line that has no end yet. */
  write(text: string, stream?: 'stdout' | 'stderr'): void;
  /** The program ends by itself. */
  exit(code: number): void;
  /** What its health check finds; heard only where the container has one. */
  health(status: 'starting' | 'healthy' | 'unhealthy', output: string): void;
}

export interface ExecAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** What runs in a practice container. */
export interface Program {
  start(run: Run): void;
  /** The exit code with which it ends on a signal, and after how long; undefined where it does not listen to it. */
  onSignal?(signal: string): { exitCode: number; afterMs: number } | undefined;
  /** What it listens on where it has the host's own network. */
  readonly opens?: readonly PortBinding[] | undefined;
  /** What its image checks its health with, where nobody says otherwise. */
  readonly healthcheck?: readonly string[] | undefined;
  /** By container port. */
  readonly listeners?: Readonly<Record<number, RequestListener>> | undefined;
  readonly raw?: Readonly<Record<number, (connection: Duplex) => void>> | undefined;
  /** Programs that this image has beside the usual small ones. */
  exec?(argv: readonly string[], stdin: string): Promise<ExecAnswer> | undefined;
  /** What it uses now. 100 percent is one core. */
  figures?(runMs: number): { cpuPercent: number; memoryBytes: number; receivedPerSecond?: number; sentPerSecond?: number };
  /** What `top` shows, the first with process id 1. */
  readonly processes?: readonly string[] | undefined;
}
