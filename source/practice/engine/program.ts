import type { RequestListener } from 'node:http';
import type { ExecAnswer } from '../answers.ts';
import type { PortBinding } from './container.ts';
import type { ContainerFiles } from './container-files.ts';

export interface Run {
  readonly signal: AbortSignal;
  /** Before the practice, for what was running already. */
  readonly startedMs: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly files: ContainerFiles;
  /** Appends to the log; a line ends with its newline. */
  write(text: string, stream?: 'stdout' | 'stderr'): void;
  exit(code: number): void;
  /** Result of its health check; ignored where the container has none. */
  health(status: 'starting' | 'healthy' | 'unhealthy', output: string): void;
}

export interface Program {
  start(run: Run): void;
  /** Handles SIGTERM: the exit code, and after how long; undefined where the signal has no effect. */
  onTerminate?(): { exitCode: number; afterMs: number } | undefined;
  /** What it listens on where it has the host's own network. */
  readonly opens?: readonly PortBinding[] | undefined;
  /** Of its image. */
  readonly healthcheck?: readonly string[] | undefined;
  /** By container port. */
  readonly listeners?: Readonly<Record<number, RequestListener>> | undefined;
  /** Programs of the image besides the small ones of the shell. */
  exec?(argv: readonly string[], stdin: string): Promise<ExecAnswer> | undefined;
  /** 100 percent is one core. */
  figures?(runMs: number): { cpuPercent: number; memoryBytes: number };
  /** Command lines, the first of process 1. */
  readonly processes?: readonly string[] | undefined;
}
