import type { Grant } from '../../grants/grant.ts';
import type { ExecOptions, ExecOutcome } from '../host.ts';
import { tooSlow } from '../program.ts';
import { Output } from '../program-output.ts';
import { underGrant } from '../under-grant.ts';
import { pipeFar } from './far-pipes.ts';
import { checked, endFar, notStarted, type Program, starting } from './far-start.ts';
import type { ShellLane } from './shell-lane.ts';
import { printable, shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

const defaultLimitBytes = 1024 * 1024;
/** More goes into a session of its own, as it is: in a shell it is spelt out. */
const spelledLimitBytes = 32 * 1024;
/** What does not even end when killed (another user's, or held by a disk) is left behind, with the shell that waits for it. */
const abandonMs = 3_000;

/** Runs a program on the far side of a connection. As `Host.exec` says; without a grant, the caller's word that it only reads counts. */
export async function execFar(connection: SshConnection, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  const { limitBytes = defaultLimitBytes, stdin = '', env, cwd } = options;
  const program = { argv, env, cwd };
  if (argv[0] === undefined || argv[0] === '') throw new TypeError('a program is needed to run one');
  const input = typeof stdin === 'string' ? Buffer.from(stdin, 'utf8') : stdin;
  const run = input.length > spelledLimitBytes ? execLarge : execSpelled;
  return underLimit(argv[0], options, (ending) => run(connection, program, input, { ...ending, limitBytes }));
}

/** What ends a program before it ends by itself. */
interface Ending {
  /** Aborted by the caller's signal, or by the limit. */
  signal: AbortSignal;
  /** Lets the time of the limit begin. */
  begins: () => void;
}

async function underLimit<T>(
  name: string,
  { signal, limitMs }: Pick<ExecOptions, 'signal' | 'limitMs'>,
  run: (ending: Ending) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let limit: NodeJS.Timeout | undefined;
  const begins = () => {
    limit ??= setTimeout(() => ending.abort(tooSlow(name, limitMs)), limitMs);
  };
  try {
    return await run({ signal: ending.signal, begins });
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', onAbort);
  }
}

async function execSpelled(
  connection: SshConnection,
  program: Program,
  input: Uint8Array,
  { signal, begins, limitBytes }: Ending & { limitBytes: number },
): Promise<ExecOutcome> {
  let pid: number | undefined;
  let lane: ShellLane | undefined;
  let abandon: NodeJS.Timeout | undefined;
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => {
      reject(signal.reason);
      if (!lane) return;
      if (pid !== undefined) endFar(connection, pid);
      abandon = setTimeout(() => lane?.close(), abandonMs);
      abandon.unref();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
  stopped.catch(() => undefined);
  const running = connection.lanes.use(signal, async (free) => {
    signal.throwIfAborted();
    lane = free;
    begins();
    try {
      const answer = await free.ask(
        (number) => scriptOf(program, input, number, free.hasGroups),
        limitBytes,
        (started) => {
          pid = started;
          if (signal.aborted) endFar(connection, pid);
        },
      );
      // What it left running may still write, into the answer of whatever comes next.
      if (answer.ending.endsWith('+')) free.close();
      return answer;
    } finally {
      clearTimeout(abandon);
    }
  });
  running.catch(() => undefined);
  const { ending: code, ...output } = await Promise.race([running, stopped]);
  const [, exitCode] = /^(\d+)\+?$/.exec(code) ?? [];
  if (exitCode === undefined) throw notStarted(connection.name, program, code);
  return { exitCode: Number(exitCode), ...output };
}

/** Through a session of its own, where the input need not be spelt out. */
async function execLarge(
  connection: SshConnection,
  { argv, env, cwd }: Program,
  input: Uint8Array,
  { signal, begins, limitBytes }: Ending & { limitBytes: number },
): Promise<ExecOutcome> {
  begins();
  const running = await pipeFar(connection, signal, argv, { ...(env && { env }), ...(cwd && { cwd }) });
  running.stdin.end(input);
  const stdout = new Output(limitBytes);
  running.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  const { exitCode, stderr } = await running.ended;
  return { exitCode, stdout: stdout.bytes(), stderr: Buffer.from(stderr), cut: stdout.cut };
}

function scriptOf(program: Program, input: Uint8Array, number: number, hasGroups: boolean): string {
  const feed = input.length > 0 ? `printf %b ${shellWord(printable(input))} | ` : '';
  return checked(
    program,
    (reason) => `qd_end ${number} ${reason}`,
    `${feed}( ${starting(program, hasGroups ? 'setsid ' : '')}
) ${input.length > 0 ? '' : '</dev/null '}&
qd_p=$!
qd_mark ${number} pid "$qd_p"
wait "$qd_p"
qd_c=$?
if kill -0 "-$qd_p" 2>/dev/null; then qd_c=$qd_c+; fi
qd_end ${number} "$qd_c"`,
  );
}

/** As `Host.run`: ends with the grant too. */
export function runFar(connection: SshConnection, grant: Grant, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  return underGrant(grant, options, (both) => execFar(connection, argv, both));
}
