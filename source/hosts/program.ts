import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Fault, messageOf } from '../faults/fault.ts';
import type { ExecOptions, ExecOutcome } from './host.ts';
import { Output } from './program-output.ts';

const defaultLimitBytes = 1024 * 1024;
/** Between asking a program to end and ending it. */
export const graceMs = 500;
/** A program that is gone may have left its output open in a child that lives on (`sh -c 'daemon &'`): nobody waits longer for it. */
const drainMs = 1_000;

/**
 * Runs a program on this machine, in a process group of its own: when the limit or the signal ends it, its children end too.
 * `bare`: without anything of our own environment.
 * Ended by a signal counts as 128 and the signal's number, as shells have it.
 * @throws Fault `unreachable.program` when it cannot be started, `failed.limit` when it took too long; the signal's reason when aborted.
 */
export function runProgram(argv: readonly string[], options: ExecOptions & { bare?: boolean }): Promise<ExecOutcome> {
  const { signal, limitMs, limitBytes = defaultLimitBytes, stdin, env, cwd, bare = false } = options;
  const [program, ...args] = argv;
  return new Promise((resolve, reject) => {
    if (program === undefined || program === '') throw new TypeError('a program is needed to run one');
    signal.throwIfAborted();
    const child = startProgram(program, args, { cwd, env, bare });
    const stdout = new Output(limitBytes);
    const stderr = new Output(limitBytes);
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));

    let drain: NodeJS.Timeout | undefined;
    let kill: NodeJS.Timeout | undefined;
    const limit = setTimeout(() => {
      endGroup();
      settle(() => reject(tooSlow(program, limitMs)));
    }, limitMs);
    const onAbort = () => {
      endGroup();
      settle(() => reject(signal.reason));
    };
    signal.addEventListener('abort', onAbort, { once: true });

    let settled = false;
    function settle(how: () => void): void {
      if (settled) return;
      settled = true;
      clearTimeout(limit);
      clearTimeout(drain);
      signal.removeEventListener('abort', onAbort);
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
      how();
    }

    function endGroup(): void {
      signalGroup(child, 'SIGTERM');
      kill = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
    }

    const finish = () =>
      settle(() =>
        resolve({
          exitCode: child.exitCode ?? 128 + signalNumber(child.signalCode),
          stdout: stdout.bytes(),
          stderr: stderr.bytes(),
          cut: stdout.cut || stderr.cut,
        }),
      );
    child.on('error', (cause) => settle(() => reject(notStarted(program, cwd, cause))));
    child.on('exit', () => {
      // Without children left in it the group is gone, and its number may soon be somebody else's.
      if (kill && !groupLives(child.pid)) clearTimeout(kill);
      drain = setTimeout(finish, drainMs);
    });
    child.on('close', finish);

    // A program that does not read all of its input closes the pipe: its answer counts, not our EPIPE.
    child.stdin.on('error', () => undefined);
    child.stdin.end(stdin ?? '');
  });
}

/** Starts a program of this machine with all its streams ours. It is a group and a session of its own; `bare`: without anything of our own environment. */
export function startProgram(
  program: string,
  args: readonly string[],
  { cwd, env, bare = false }: Pick<ExecOptions, 'cwd' | 'env'> & { bare?: boolean },
): ChildProcessWithoutNullStreams {
  return spawn(program, args, {
    cwd,
    env: bare ? { ...env } : env ? { ...process.env, ...env } : process.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A session of its own has no terminal either: nothing it runs can ask questions over the console.
    detached: true,
    windowsHide: true,
  });
}

/** To the program and all that it has started. */
export function signalGroup({ pid }: { pid?: number | undefined }, name: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // The group is gone already.
  }
}

function groupLives(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

const signalNumbers: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGABRT: 6,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

function signalNumber(name: NodeJS.Signals | null): number {
  return name ? (signalNumbers[name] ?? 0) : 0;
}

export function tooSlow(program: string, limitMs: number): Fault {
  return new Fault({
    code: 'failed.limit',
    message: `${program} did not finish within ${limitMs / 1000} s and was ended.`,
    remedy: `Run ${program} by hand to see what it waits for.`,
  });
}

/** Why a program of this machine could not be started: the system says the same of a missing program and of a missing folder. */
export function notStarted(program: string, cwd: string | undefined, cause: NodeJS.ErrnoException): Fault {
  if (cwd !== undefined && cause.code === 'ENOENT' && !existsSync(cwd)) {
    return new Fault({
      code: 'unreachable.program',
      message: `${program} cannot be started in ${cwd}: there is no such folder.`,
      remedy: 'See whether it was moved or removed.',
      cause,
    });
  }
  // A name is looked up in PATH, and one folder there that may not be read makes the system say EACCES for a program that is in none of them.
  const lookedUp = !program.includes('/');
  const missing = cause.code === 'ENOENT' || (cause.code === 'EACCES' && lookedUp);
  return new Fault({
    code: 'unreachable.program',
    message: missing
      ? `${program} cannot be started: there is no such program.`
      : `${program} cannot be started: ${cause.code === 'EACCES' ? 'it may not be executed' : messageOf(cause)}.`,
    remedy: missing ? `Install ${program}, or put it on PATH.` : `Check the file ${program} and its permissions.`,
    cause,
  });
}
