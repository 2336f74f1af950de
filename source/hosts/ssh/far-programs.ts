import { randomBytes } from 'node:crypto';
import { PassThrough, type Readable } from 'node:stream';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { ExecOptions, ExecOutcome, PipedProgram, PipeOptions } from '../host.ts';
import { graceMs } from '../program.ts';
import { printable, shellWord } from './shell-words.ts';
import { sessionArguments, startJoined } from './ssh-command.ts';
import type { SshConnection } from './ssh-connection.ts';

const defaultLimitBytes = 1024 * 1024;
/** More goes into a session of its own, as it is: in a shell it is spelt out. */
const spelledLimitBytes = 32 * 1024;
const keptBytes = 16 * 1024;
const startLimitMs = 15_000;

interface Program {
  argv: readonly string[];
  env?: Readonly<Record<string, string>> | undefined;
  cwd?: string | undefined;
}

/** The lines that start a program in a shell: its environment is set there, so that neither side shows it in an argument. */
function starting({ argv, env = {}, cwd }: Program, group: string): string {
  const settings = Object.entries(env).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name of a variable`);
    return `export ${name}=${shellWord(value)}\n`;
  });
  const folder = cwd === undefined ? '' : `cd -- ${shellWord(cwd)} || exit 127\n`;
  return `${folder}${settings.join('')}exec ${group}${argv.map(shellWord).join(' ')}`;
}

/** Whether it can be started at all: `otherwise` is run when it cannot, with the reason as `$1`. */
function checked({ argv: [program = ''], cwd }: Program, otherwise: (reason: string) => string, then: string): string {
  const folder = cwd === undefined ? '.' : shellWord(cwd);
  return `if ! [ -d ${folder} ]; then ${otherwise('nofolder')}
elif ! (cd -- ${folder} && command -v -- ${shellWord(program)}) >/dev/null 2>&1; then ${otherwise('missing')}
else
${then}
fi`;
}

/** Runs a program on the far side of a connection. As `Host.exec` says; without a grant, the caller's word that it only reads counts. */
export async function execFar(connection: SshConnection, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  const { signal, limitMs, limitBytes = defaultLimitBytes, stdin = '', env, cwd } = options;
  const program = { argv, env, cwd };
  if (argv[0] === undefined || argv[0] === '') throw new TypeError('a program is needed to run one');
  signal.throwIfAborted();
  const input = typeof stdin === 'string' ? Buffer.from(stdin, 'utf8') : stdin;
  if (input.length > spelledLimitBytes) return execLarge(connection, program, input, { signal, limitMs, limitBytes });
  const ending = Promise.withResolvers<never>();
  ending.promise.catch(() => undefined);
  let pid: number | undefined;
  let isOver = false;
  let limit: NodeJS.Timeout | undefined;
  const stop = (reason: unknown) => {
    isOver = true;
    ending.reject(reason);
    if (pid !== undefined) endFar(connection, pid);
  };
  const onAbort = () => stop(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const answer = connection.run(
      (number, lane) => {
        limit = setTimeout(() => stop(tooSlow(argv[0] ?? '', limitMs)), limitMs);
        const group = lane.hasGroups ? 'setsid ' : '';
        const feed = input.length > 0 ? `printf %b ${shellWord(printable(input))} | ` : '';
        return checked(
          program,
          (reason) => `qd_end ${number} ${reason}`,
          `${feed}( ${starting(program, group)}\n) ${input.length > 0 ? '' : '</dev/null '}&
qd_p=$!
qd_mark ${number} pid "$qd_p"
wait "$qd_p"
qd_end ${number} "$?"`,
        );
      },
      {
        limitBytes,
        signal,
        onPid: (started) => {
          pid = started;
          if (isOver) endFar(connection, pid);
        },
      },
    );
    answer.catch(() => undefined);
    const { ending: code, ...output } = await Promise.race([answer, ending.promise]);
    if (!/^\d+$/.test(code)) throw notStarted(connection.name, program, code);
    return { exitCode: Number(code), ...output };
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', onAbort);
  }
}

/** What was started there gets a moment to end by itself. */
function endFar(connection: SshConnection, pid: number): void {
  void connection.kill(pid, 'TERM');
  setTimeout(() => void connection.kill(pid, 'KILL'), graceMs).unref();
}

/** As `Host.pipe`: in a session of its own, so that input and output flow. */
export async function pipeFar(
  connection: SshConnection,
  signal: AbortSignal,
  argv: readonly string[],
  { env, cwd }: PipeOptions = {},
): Promise<PipedProgram> {
  signal.throwIfAborted();
  const program = { argv, env, cwd };
  const token = randomBytes(16).toString('hex');
  const child = startJoined(connection.command.program, sessionArguments(connection.command, pipeCommand), connection.env);
  child.stdin.on('error', () => undefined);
  const say = (words: string) => `printf '\\n%s %s\\n' ${token} "${words}"; printf '\\n%s %s\\n' ${token} "${words}" >&2`;
  child.stdin.write(`${printable(checked(program, (reason) => say(reason), `${say('pid $$')}\n${starting(program, '')}`))}\n`);

  let pid: number | undefined;
  const stop = () => {
    if (pid !== undefined) endFar(connection, pid);
    child.kill('SIGTERM');
  };
  const closed = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(255));
    child.once('close', resolve);
  });
  signal.addEventListener('abort', stop, { once: true });
  const late = setTimeout(stop, startLimitMs);
  const isStarted = Promise.all([after(child.stdout, token), after(child.stderr, token)]);
  isStarted.catch(() => undefined);
  const begun = await Promise.race([isStarted, closed.then(() => undefined)]);
  clearTimeout(late);
  if (!begun) {
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
    throw new Fault({
      code: 'unreachable.session',
      message: `${connection.name} gave no session for ${argv[0]}.`,
      remedy: 'sshd limits sessions on one connection (MaxSessions, 10 by default): try again when less is under way.',
    });
  }
  const [[word, stdoutRest], [, stderrRest]] = begun;
  if (!word.startsWith('pid ')) {
    signal.removeEventListener('abort', stop);
    throw notStarted(connection.name, program, word);
  }
  pid = Number(word.slice(4));

  const stdout = new PassThrough();
  if (stdoutRest.length > 0) stdout.write(stdoutRest);
  child.stdout.pipe(stdout);
  stdout.once('close', () => child.stdout.destroy());
  let said = stderrRest;
  child.stderr.on('data', (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]).subarray(-keptBytes);
  });
  child.stderr.resume();
  const ended = closed.then((code) => {
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
    return { exitCode: code ?? 255, stderr: said.toString('utf8') };
  });
  ended.catch(() => undefined);
  return { stdin: child.stdin, stdout, ended };
}

/** For `pipeFar`: the first line is a script, the rest is the program's. `read` takes no more than the line. */
const pipeCommand = `exec sh -c 'IFS= read -r q && eval "$(printf %b "$q")"'`;

/** Waits for the line that begins with the token, which comes before anything of the program; what a profile wrote before it is dropped. */
async function after(stream: Readable, token: string): Promise<[words: string, rest: Buffer]> {
  const start = Buffer.from(`\n${token} `);
  let held = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      const at = held.indexOf(start);
      const end = at < 0 ? -1 : held.indexOf(0x0a, at + start.length);
      if (end < 0) {
        // A profile may write much, but a mark is short.
        if (at < 0 && held.length > keptBytes) held = Buffer.from(held.subarray(-start.length));
        return;
      }
      stream.off('data', take);
      stream.off('end', gone);
      stream.pause();
      resolve([held.toString('latin1', at + start.length, end), Buffer.from(held.subarray(end + 1))]);
    };
    const gone = () => reject(new Error('it ended before it began'));
    stream.on('data', take);
    stream.once('end', gone);
  });
}

async function execLarge(
  connection: SshConnection,
  program: Program,
  input: Uint8Array,
  { signal, limitMs, limitBytes }: { signal: AbortSignal; limitMs: number; limitBytes: number },
): Promise<ExecOutcome> {
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const limit = setTimeout(() => ending.abort(tooSlow(program.argv[0] ?? '', limitMs)), limitMs);
  try {
    const { env, cwd } = program;
    const running = await pipeFar(connection, ending.signal, program.argv, { ...(env && { env }), ...(cwd && { cwd }) });
    running.stdin.end(input);
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    let cut = false;
    running.stdout.on('data', (chunk: Buffer) => {
      const room = limitBytes - sizeBytes;
      if (chunk.length > room) cut = true;
      if (room > 0) chunks.push(chunk.subarray(0, room));
      sizeBytes += Math.min(room, chunk.length);
    });
    const { exitCode, stderr } = await running.ended;
    return { exitCode, stdout: Buffer.concat(chunks), stderr: Buffer.from(stderr), cut };
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', onAbort);
  }
}

/** As `Host.run`: ends with the grant too. */
export async function runFar(connection: SshConnection, grant: Grant, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  const ending = new AbortController();
  const signals = [grant.signal, options.signal];
  const end = () => ending.abort(signals.find(({ aborted }) => aborted)?.reason);
  for (const signal of signals) {
    signal.throwIfAborted();
    signal.addEventListener('abort', end, { once: true });
  }
  try {
    return await execFar(connection, argv, { ...options, signal: ending.signal });
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', end);
  }
}

function tooSlow(program: string, limitMs: number): Fault {
  return new Fault({
    code: 'failed.limit',
    message: `${program} did not finish within ${limitMs / 1000} s and was ended.`,
    remedy: `Run ${program} by hand to see what it waits for.`,
  });
}

function notStarted(host: string, { argv: [program = ''], cwd }: Program, reason: string): Fault {
  const noFolder = reason === 'nofolder';
  return new Fault({
    code: 'unreachable.program',
    message: noFolder
      ? `${program} cannot be started on ${host}: there is no folder ${cwd}.`
      : `${program} cannot be started: there is no such program on ${host}.`,
    remedy: noFolder ? 'Make the folder first.' : `Install ${program} there, or put it on PATH of a shell that ssh starts.`,
  });
}
