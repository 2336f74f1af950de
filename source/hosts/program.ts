import { type ChildProcess, spawn } from 'node:child_process';
import { addAbortListener } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { Fault, messageOf } from '../faults/fault.ts';
import { endingWith } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import type { ExecOptions, ExecOutcome } from './host.ts';
import { Output } from './program-output.ts';

const defaultLimitBytes = 1024 * 1024;
/** Time between asking a program to end and killing it. */
export const graceMs = 500;
/** A program that has exited may leave its output open in a child (`sh -c 'daemon &'`): the longest wait for that output. */
const drainMs = 1_000;

/**
 * Runs a program on this machine in its own process group: when the limit or the signal ends it, its children end too.
 * `bare`: without our own environment.
 * A program ended by a signal has the exit code 128 plus the signal's number, as in shells.
 * @throws Fault `unreachable.program` when it cannot be started, `failed.limit` when it ran too long; the signal's reason when aborted.
 */
export async function runProgram(argv: readonly string[], options: Omit<ExecOptions, 'env'> & Pick<StartOptions, 'env' | 'bare'>) {
  const { signal, limitMs, limitBytes = defaultLimitBytes, stdin, cwd } = options;
  const [program, ...args] = argv;
  if (program === undefined || program === '') throw new TypeError('a program is required');
  signal.throwIfAborted();
  const child = startProgram(program, args, options);
  const stdout = new Output(limitBytes);
  const stderr = new Output(limitBytes);
  child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));

  let drain: NodeJS.Timeout | undefined;
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const stop = (reason: unknown) => {
    endGroup(child);
    reject(reason);
  };
  const limit = setTimeout(() => stop(tooSlow(program, limitMs)), limitMs);
  using _stop = addAbortListener(signal, () => stop(signal.reason));
  child.on('error', (cause) => reject(notStarted(program, cwd, cause)));
  child.on('exit', () => {
    drain = setTimeout(resolve, drainMs);
  });
  child.on('close', () => resolve());

  // A program that does not read all of its input closes the pipe: its exit code counts, not our EPIPE.
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin ?? '');
  try {
    await ended;
    return {
      exitCode: child.exitCode ?? 128 + (child.signalCode ? constants.signals[child.signalCode] : 0),
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      cut: stdout.cut || stderr.cut,
    };
  } finally {
    clearTimeout(limit);
    clearTimeout(drain);
    child.stdin.destroy();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

interface StartOptions {
  cwd?: string | undefined;
  env?: Readonly<Record<string, string | undefined>> | undefined;
  bare?: boolean;
}

/** Starts a program of this machine with all its streams piped to us, in its own group and session. `bare`: without our own environment. */
export function startProgram(program: string, args: readonly string[], { cwd, env, bare = false }: StartOptions) {
  return spawn(program, args, {
    cwd,
    env: bare ? { ...env } : env ? { ...process.env, ...env } : process.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own session has no terminal either, so the program cannot prompt over the console.
    detached: true,
    windowsHide: true,
  });
}

/** Asks the program and everything that it started to end, and kills what is left after a moment. */
export function endGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGTERM');
  const kill = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
  // Without children the group no longer exists, and its number may soon be reused.
  child.once('exit', () => signalGroup(child, 0) || clearTimeout(kill));
}

/** Returns false if the group has already ended. */
function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  return unlessThrown(() => pid !== undefined && process.kill(-pid, signal), false);
}

export function tooSlow(program: string, limitMs: number): Fault {
  const message = `${program} did not finish within ${limitMs / 1000} s and was stopped.`;
  return new Fault('failed.limit', message, `Run ${program} manually to see what it is waiting for.`);
}

/** Returns why a program here could not be started: the system reports one error for a missing program and a missing folder. */
export function notStarted(program: string, cwd: string | undefined, cause: NodeJS.ErrnoException): Fault {
  if (cwd !== undefined && cause.code === 'ENOENT' && !existsSync(cwd)) {
    const message = `${program} cannot be started in ${cwd}: folder not found.`;
    return new Fault('unreachable.program', message, 'Check whether the folder was moved or deleted.', { cause });
  }
  // A name is looked up in PATH. If one folder in PATH is not readable, the system reports EACCES for a program that is in none of them.
  const lookedUp = !program.includes('/');
  const missing = cause.code === 'ENOENT' || (cause.code === 'EACCES' && lookedUp);
  return new Fault(
    'unreachable.program',
    missing
      ? `${program} cannot be started: program not found.`
      : `${program} cannot be started: ${cause.code === 'EACCES' ? 'permission denied' : messageOf(cause)}.`,
    missing ? `Install ${program}, or add its folder to PATH.` : `Check the file ${program} and its permissions.`,
    { cause },
  );
}

/** Runs with a signal that ends with the caller's and with the grant, which ends with its action. */
export async function underGrant(grant: Grant, options: ExecOptions, run: (options: ExecOptions) => Promise<ExecOutcome>) {
  using ending = endingWith(grant.signal, options.signal);
  ending.signal.throwIfAborted();
  return await run({ ...options, signal: ending.signal });
}
