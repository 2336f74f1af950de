import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { Fault, messageOf } from '../../faults/fault.ts';
import type { SshDestination } from './destination.ts';

/** Everything that ssh is started with for one host. */
export interface SshCommand {
  /** `ssh`, or what QUARTERDECK_SSH names: one program, as with GIT_SSH. */
  program: string;
  destination: SshDestination;
  /** Socket over which further streams join the one connection. */
  control: string;
  /** Where ssh writes what it has to say: apart from what the far side writes. */
  log: string;
  /** Options that this ssh knows and older ones do not: what they switch on leaves a session without a shell, or without its streams. */
  newer?: readonly string[];
}

/** By the word that `ssh -G` says where it knows the option. */
export const newerOptions: Readonly<Record<string, string>> = {
  sessiontype: 'SessionType=default',
  stdinnull: 'StdinNull=no',
  forkafterauthentication: 'ForkAfterAuthentication=no',
};

/**
 * Seconds without anything from the far side, which is asked every second, and one more: a cut link is noticed within 5 s. No less, since what is lost on a bad
 * line takes seconds to come a second time.
 */
const silentSeconds = 4;
export const connectLimitSeconds = 10;

/** What the operator's own configuration must not switch on: ports, agents and screens of this machine that the far side could reach. */
const closed = [
  'ForwardAgent=no',
  'ForwardX11=no',
  'PermitLocalCommand=no',
  'RemoteCommand=none',
  'RequestTTY=no',
  'EscapeChar=none',
  'Tunnel=no',
];

function options(words: readonly string[]): string[] {
  return words.flatMap((word) => ['-o', word]);
}

function whom({ target, port }: SshDestination): string[] {
  return [...(port === undefined ? [] : ['-p', String(port)]), '--', target];
}

/** The one connection; its own session runs `remote`. */
export function masterArguments(
  { destination, control, log, newer = [] }: SshCommand,
  { strict, remote }: { strict: 'ask' | 'yes'; remote: string },
): string[] {
  return [
    '-T',
    '-M',
    '-S',
    control,
    '-E',
    log,
    ...options([
      ...closed,
      ...newer,
      'ControlPersist=no',
      // The operator's own forwards would open ports here, and end the connection where one is taken.
      'ClearAllForwardings=yes',
      'ExitOnForwardFailure=no',
      'StreamLocalBindMask=0177',
      'StreamLocalBindUnlink=yes',
      `ConnectTimeout=${connectLimitSeconds}`,
      'ConnectionAttempts=1',
      'ServerAliveInterval=1',
      `ServerAliveCountMax=${silentSeconds}`,
      // Whatever the configuration says: an unknown key is asked about or refused, never taken.
      `StrictHostKeyChecking=${strict}`,
      'VisualHostKey=no',
      'NumberOfPasswordPrompts=3',
      'LogLevel=INFO',
    ]),
    ...whom(destination),
    remote,
  ];
}

/** A further session over the connection that stands. Without one it fails: it never makes a connection of its own. */
export function sessionArguments({ destination, control, log, newer = [] }: SshCommand, remote: string): string[] {
  return [
    '-T',
    '-S',
    control,
    '-E',
    log,
    // A session asks the connection for the forwards of its own configuration: they would open ports here.
    ...options([...closed, ...newer, 'ClearAllForwardings=yes', 'ControlMaster=no', 'ProxyCommand=exit 255', 'LogLevel=ERROR']),
    ...whom(destination),
    remote,
  ];
}

/** A connection for one session alone, made without asking anybody. */
export function ownArguments({ destination, log, newer = [] }: SshCommand, remote: string): string[] {
  return [
    '-T',
    '-S',
    'none',
    '-E',
    log,
    ...options([
      ...closed,
      ...newer,
      'ControlMaster=no',
      'BatchMode=yes',
      'StrictHostKeyChecking=yes',
      'ClearAllForwardings=yes',
      `ConnectTimeout=${connectLimitSeconds}`,
      'ConnectionAttempts=1',
      'ServerAliveInterval=1',
      `ServerAliveCountMax=${silentSeconds}`,
      'LogLevel=ERROR',
    ]),
    ...whom(destination),
    remote,
  ];
}

/**
 * A word to the connection that stands: `check`, `forward`, `cancel`. Without a configuration, whose own forwards would be asked for beside ours, and cannot be
 * taken away without taking ours too.
 */
export function controlArguments({ destination, control }: SshCommand, word: string, forward: readonly string[] = []): string[] {
  return [
    '-F',
    'none',
    '-S',
    control,
    '-O',
    word,
    ...forward,
    ...options(['ControlMaster=no', 'StreamLocalBindMask=0177', 'StreamLocalBindUnlink=yes', 'ProxyCommand=exit 255', 'LogLevel=ERROR']),
    ...whom(destination),
  ];
}

/**
 * Runs a program that dies with us, also when we are killed: its keeper waits at the far end of a pipe (descriptor 3) that only we hold open. `ssh` itself
 * would notice by its stdin, but not while it connects, asks for a password, or waits for a link that is dead. The whole group ends: a jump host is a
 * second ssh.
 */
const keeper = `exec 5<&0 </dev/null
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
  /** Ends it, whatever it does. */
  end(): void;
}

/** Starts a program that lives no longer than this process. `env` replaces the environment. */
export function startKept(program: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>): KeptProgram {
  const how: SpawnOptions = { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: { ...env }, detached: true, windowsHide: true };
  const child = spawn('/bin/sh', ['-c', keeper, 'quarterdeck', program, ...args], how);
  const lifeline = child.stdio[3] as Writable;
  lifeline.on('error', () => undefined);
  return { child: child as ChildProcessWithoutNullStreams, end: () => lifeline.destroy() };
}

/** Starts a program for a short while, or for as long as the connection that it uses. In a session of its own: it cannot ask on the console's terminal. */
export function startJoined(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ChildProcessWithoutNullStreams {
  return spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...env }, detached: true, windowsHide: true });
}

/** Runs to its end and collects what it says, at most 64 KiB. @throws Fault `unreachable.ssh` when it cannot be started. */
export async function askProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  signal.throwIfAborted();
  const child = startJoined(program, args, env);
  child.stdin.on('error', () => undefined);
  child.stdin.end();
  const said = { stdout: '', stderr: '' };
  const take = (name: 'stdout' | 'stderr', stream: Readable) =>
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (said[name].length < 64 * 1024) said[name] += text;
    });
  take('stdout', child.stdout);
  take('stderr', child.stderr);
  const stop = () => child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once('error', (cause) => reject(notStarted(program, cause)));
      child.once('close', (code) => resolve(code ?? 128));
    });
    signal.throwIfAborted();
    return { exitCode, ...said };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

export function notStarted(program: string, cause: Error): Fault {
  const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
  return new Fault({
    code: 'unreachable.ssh',
    message: `${program} cannot be started: ${missing ? 'there is no such program' : messageOf(cause)}.`,
    remedy: 'Hosts are reached with OpenSSH: install its client (openssh-client), or name the program in QUARTERDECK_SSH.',
    cause,
  });
}
