import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { Fault, messageOf } from '../../faults/fault.ts';
import { runProgram } from '../program.ts';
import type { SshDestination } from './destination.ts';

export interface SshCommand {
  /** `ssh`, or the program in QUARTERDECK_SSH: one program, as with GIT_SSH. */
  program: string;
  destination: SshDestination;
  /** Control socket over which further sessions join the one connection. */
  control: string;
  /** File for ssh's own log, separate from the remote side's output. */
  log: string;
  /** Options that older versions of ssh do not know. Their features would leave a session without a shell, or without its streams. */
  newer?: readonly string[];
}

/** Keyed by the word that `ssh -G` prints if it knows the option. */
export const newerOptions: Readonly<Record<string, string>> = {
  sessiontype: 'SessionType=default',
  stdinnull: 'StdinNull=no',
  forkafterauthentication: 'ForkAfterAuthentication=no',
};

/**
 * Seconds without data from the remote side, which is probed every second, plus one: a cut connection is noticed within 5 s. Not less,
 * because a retransmission on a bad line takes seconds.
 */
const silentSeconds = 4;
export const connectLimitSeconds = 10;
const configLimitMs = 5_000;

/** What the operator's own configuration must not switch on: the remote side could reach ports, agents and displays of this machine. */
const closed = 'ForwardAgent=no ForwardX11=no PermitLocalCommand=no RemoteCommand=none RequestTTY=no EscapeChar=none Tunnel=no'.split(' ');

const options = (words: readonly string[]): string[] => words.flatMap((word) => ['-o', word]);

export function targetArguments({ target, port }: SshDestination): string[] {
  return [...(port === undefined ? [] : ['-p', String(port)]), '--', target];
}

const patience = [
  `ConnectTimeout=${connectLimitSeconds}`,
  'ConnectionAttempts=1',
  'ServerAliveInterval=1',
  `ServerAliveCountMax=${silentSeconds}`,
];

/** The main connection; its own session runs `remote`. */
export function masterArguments(
  { destination, control, log, newer = [] }: SshCommand,
  { strict, remote }: { strict: 'ask' | 'yes'; remote: string },
): string[] {
  const how = options([
    ...[...closed, ...newer, ...patience],
    'ControlPersist=no',
    // The operator's own forwards would open ports here, and end the connection if a port is in use.
    'ClearAllForwardings=yes',
    'ExitOnForwardFailure=no',
    'StreamLocalBindMask=0177',
    'StreamLocalBindUnlink=yes',
    // Regardless of the configuration: an unknown key is prompted for or refused, never accepted silently.
    `StrictHostKeyChecking=${strict}`,
    'VisualHostKey=no',
    'NumberOfPasswordPrompts=3',
    'LogLevel=INFO',
  ]);
  return ['-T', '-M', '-S', control, '-E', log, ...how, ...targetArguments(destination), remote];
}

/** A further session over the current connection. It fails without one: it never opens a connection of its own. */
export function sessionArguments({ destination, control, log, newer = [] }: SshCommand, remote: string): string[] {
  // A session requests the forwards of its own configuration from the connection: they would open ports here.
  const how = options([...closed, ...newer, 'ClearAllForwardings=yes', 'ControlMaster=no', 'ProxyCommand=exit 255', 'LogLevel=ERROR']);
  return ['-T', '-S', control, '-E', log, ...how, ...targetArguments(destination), remote];
}

export function ownArguments({ destination, log, newer = [] }: SshCommand, remote: string): string[] {
  const how = options([
    ...[...closed, ...newer, ...patience],
    'ControlMaster=no',
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    'ClearAllForwardings=yes',
    'LogLevel=ERROR',
  ]);
  return ['-T', '-S', 'none', '-E', log, ...how, ...targetArguments(destination), remote];
}

/**
 * A command to the current connection: `check`, `forward`, `cancel`. Without a configuration file, because its forwards would be
 * requested beside ours and could not be cancelled without cancelling ours too.
 */
export function controlArguments({ destination, control }: SshCommand, word: string, forward: readonly string[] = []): string[] {
  const how = ['ControlMaster=no', 'StreamLocalBindMask=0177', 'StreamLocalBindUnlink=yes', 'ProxyCommand=exit 255', 'LogLevel=ERROR'];
  return ['-F', 'none', '-S', control, '-O', word, ...forward, ...options(how), ...targetArguments(destination)];
}

/**
 * Runs a program that dies with us, also when we are killed: its watcher waits at the read end of a pipe (descriptor 3) that only we hold
 * open. `ssh` itself would notice by its stdin, but not while it connects, prompts for a password, or waits for a dead connection. The
 * whole group ends: a jump host is a second ssh.
 */
const watchdog = `exec 5<&0 </dev/null
"$@" <&5 3<&- 5<&- &
child=$!
exec 5<&-
{ trap '' TERM INT HUP; read -r _ <&3; kill -TERM 0; sleep 1; kill -KILL 0; } >/dev/null 2>&1 &
watch=$!
exec 3<&-
trap 'kill "$child" 2>/dev/null' TERM INT HUP
wait "$child"
code=$?
if kill -0 "$child" 2>/dev/null; then wait "$child"; code=$?; fi
kill -KILL "$watch" 2>/dev/null
exit "$code"`;

export interface KeptProgram {
  child: ChildProcessWithoutNullStreams;
  end(): void;
}

export function startKept(program: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>): KeptProgram {
  const how: SpawnOptions = { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: { ...env }, detached: true, windowsHide: true };
  const child = spawn('/bin/sh', ['-c', watchdog, 'quarterdeck', program, ...args], how);
  const lifeline = child.stdio[3] as Writable;
  lifeline.on('error', () => undefined);
  return { child: child as ChildProcessWithoutNullStreams, end: () => lifeline.destroy() };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Limit for a program to finish, and the fault when it does not. */
interface ProgramLimit {
  limitMs: number;
  late: (seconds: number) => Fault;
}

/** Runs a program to its end and collects its output, at most 64 KiB. @throws Fault `unreachable.ssh` when it cannot be started. */
export async function collectOutput(argv: readonly string[], env: Environment, signal: AbortSignal, { limitMs, late }: ProgramLimit) {
  const { exitCode, stdout, stderr } = await runProgram(argv, { env, bare: true, signal, limitMs, limitBytes: 64 * 1024 }).catch(
    (thrown: unknown) => {
      if (signal.aborted || !(thrown instanceof Fault)) throw thrown;
      throw thrown.code === 'failed.limit' ? late(limitMs / 1000) : notStarted(argv[0] ?? '', thrown.cause as Error);
    },
  );
  return { exitCode, stdout: Buffer.from(stdout).toString(), stderr: Buffer.from(stderr).toString() };
}

/** Has ssh print the configuration that it uses for a destination. */
export function resolvedConfig(program: string, destination: SshDestination, env: Environment, signal: AbortSignal) {
  const late = (seconds: number) =>
    new Fault(
      'unreachable.ssh',
      `ssh -G ${destination.target} did not finish within ${seconds} s and was stopped.`,
      'Run the command manually to see what it is waiting for, such as a program in "Match exec".',
    );
  return collectOutput([program, '-G', ...targetArguments(destination)], env, signal, { limitMs: configLimitMs, late });
}

export function notStarted(program: string, cause: Error): Fault {
  const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
  const message = `${program} cannot be started: ${missing ? 'program not found' : messageOf(cause)}.`;
  const remedy = 'Install the OpenSSH client (openssh-client), or set QUARTERDECK_SSH to its path.';
  return new Fault('unreachable.ssh', message, remedy, { cause });
}
