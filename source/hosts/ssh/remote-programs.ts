import { endingWith } from '../../faults/waits.ts';
import type { ExecOptions, ExecOutcome } from '../host.ts';
import { tooSlow } from '../program.ts';
import { Output } from '../program-output.ts';
import { pipeRemote } from './remote-pipes.ts';
import { checked, endRemote, notStarted, type Program, starting } from './remote-start.ts';
import type { ShellSession } from './shell-session.ts';
import { printable, shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

const defaultLimitBytes = 1024 * 1024;
/** Larger input goes raw into a session of its own; in a shell it has to be quoted. */
const spelledLimitBytes = 32 * 1024;
/** A program that does not end even when killed (another user's, or blocked by a disk) is abandoned, with the shell that waits for it. */
const abandonMs = 3_000;

/** Runs a program on the remote side of a connection, as `Host.exec` does. Without a grant, the caller guarantees that it only reads. */
export async function execRemote(connection: SshConnection, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  const { limitBytes = defaultLimitBytes, stdin = '', env, cwd } = options;
  const program = { argv, env, cwd };
  const [name] = argv;
  if (name === undefined || name === '') throw new TypeError('a program is required');
  const input = typeof stdin === 'string' ? Buffer.from(stdin, 'utf8') : stdin;
  const run = input.length > spelledLimitBytes ? execLarge : execSpelled;
  options.signal.throwIfAborted();
  using ending = endingWith(options.signal);
  let limit: NodeJS.Timeout | undefined;
  const begins = () => {
    limit ??= setTimeout(() => ending.abort(tooSlow(name, options.limitMs)), options.limitMs);
  };
  try {
    return await run(connection, program, input, { signal: ending.signal, begins, limitBytes });
  } finally {
    clearTimeout(limit);
  }
}

interface Ending {
  /** Aborted by the caller's signal or by the limit. */
  signal: AbortSignal;
  begins: () => void;
  limitBytes: number;
}

async function execSpelled(connection: SshConnection, program: Program, input: Uint8Array, { signal, begins, limitBytes }: Ending) {
  let pid: number | undefined;
  let shell: ShellSession | undefined;
  let abandon: NodeJS.Timeout | undefined;
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => {
      reject(signal.reason);
      if (!shell) return;
      if (pid !== undefined) endRemote(connection, pid);
      abandon = setTimeout(() => shell?.close(), abandonMs);
      abandon.unref();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
  stopped.catch(() => undefined);
  const running = connection.shells.use(signal, async (free) => {
    signal.throwIfAborted();
    shell = free;
    begins();
    try {
      const answer = await free.ask(
        (number) => scriptOf(program, input, number, free.hasGroups),
        limitBytes,
        (started) => {
          pid = started;
          if (signal.aborted) endRemote(connection, pid);
        },
      );
      // Processes that it left running may still write, into the output of the next command.
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

async function execLarge(
  connection: SshConnection,
  { argv, env, cwd }: Program,
  input: Uint8Array,
  { signal, begins, limitBytes }: Ending,
): Promise<ExecOutcome> {
  begins();
  const running = await pipeRemote(connection, signal, argv, { ...(env && { env }), ...(cwd && { cwd }) });
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
