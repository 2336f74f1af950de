import { randomBytes } from 'node:crypto';
import { PassThrough, type Readable, Writable } from 'node:stream';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { ExecOptions, ExecOutcome, PipedProgram, PipeOptions } from '../host.ts';
import { writeInPieces } from '../paced-connection.ts';
import { graceMs, tooSlow } from '../program.ts';
import { Output } from '../program-output.ts';
import { underGrant } from '../under-grant.ts';
import type { SendWindow } from './send-window.ts';
import type { ShellLane } from './shell-lane.ts';
import { noSession } from './shell-lanes.ts';
import { printable, shellWord } from './shell-words.ts';
import type { KeptProgram } from './ssh-command.ts';
import type { SshConnection } from './ssh-connection.ts';

const defaultLimitBytes = 1024 * 1024;
/** More goes into a session of its own, as it is: in a shell it is spelt out. */
const spelledLimitBytes = 32 * 1024;
const keptBytes = 16 * 1024;
const startLimitMs = 15_000;
/** What does not even end when killed (another user's, or held by a disk) is left behind, with the shell that waits for it. */
const abandonMs = 3_000;

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
  const { lanes } = connection;
  const otherwise = async (): Promise<Begun | undefined> => {
    // When it was the connection that broke, the program may have begun: nothing is started twice.
    await connection.proveStands();
    // No session is left: a shell in which nothing runs makes room, or else a connection of its own.
    return (
      (lanes.endFree() > 0 ? await begin(connection, signal, program, () => lanes.startJoined(pipeCommand)) : undefined) ??
      (await begin(connection, signal, program, () => lanes.startOwn(pipeCommand)))
    );
  };
  const begun = (await begin(connection, signal, program, () => lanes.startJoined(pipeCommand))) ?? (await otherwise());
  if (!begun) throw noSession(connection.name);
  const { kept, pid, stdoutRest, stderrRest } = begun;
  const { child } = kept;
  const stop = () => {
    endFar(connection, pid);
    kept.end();
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();

  const stdout = new PassThrough();
  if (stdoutRest.length > 0) stdout.write(stdoutRest);
  child.stdout.pipe(stdout);
  child.stdout.on('data', (chunk: Buffer) => connection.sending.received(chunk.length));
  stdout.once('close', () => child.stdout.destroy());
  let said = stderrRest;
  child.stderr.on('data', (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]).subarray(-keptBytes);
  });
  child.stderr.resume();
  const ended = begun.closed.then(async (code) => {
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
    // ssh ends with 255 when the connection broke; programs may too.
    if (code === null || code === 255) await connection.proveStands();
    return { exitCode: code ?? 255, stderr: said.toString('utf8') };
  });
  ended.catch(() => undefined);
  return { stdin: sentThrough(child.stdin, connection.sending), stdout, ended };
}

/** What is written goes when the line has room for it. */
function sentThrough(stdin: Writable, sending: SendWindow): Writable {
  const through = new Writable({
    write: (chunk: Buffer, _encoding, done) => writeInPieces(stdin, chunk, sending, done),
    final: (done) => void stdin.end((error?: Error | null) => done(error)),
    destroy: (cause, done) => {
      stdin.destroy();
      done(cause);
    },
  });
  // A program that does not read all of its input closes it: its answer counts.
  through.on('error', () => undefined);
  stdin.once('close', () => through.destroy());
  return through;
}

interface Begun {
  kept: KeptProgram;
  pid: number;
  /** What came behind the beginning already. */
  stdoutRest: Buffer;
  stderrRest: Buffer;
  closed: Promise<number | null>;
}

/** Starts a program in a session; undefined when there is none to be had. */
async function begin(
  connection: SshConnection,
  signal: AbortSignal,
  program: Program,
  start: () => KeptProgram,
): Promise<Begun | undefined> {
  signal.throwIfAborted();
  const token = randomBytes(16).toString('hex');
  const kept = start();
  const { child } = kept;
  child.stdin.on('error', () => undefined);
  const say = (words: string) => `printf '\\n%s %s\\n' ${token} "${words}"; printf '\\n%s %s\\n' ${token} "${words}" >&2`;
  const addPath = 'PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin';
  child.stdin.write(
    `${printable(`${addPath}\n${checked(program, (reason) => say(reason), `${say('pid $$')}\n${starting(program, '')}`)}`)}\n`,
  );
  const closed = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(255));
    child.once('close', resolve);
  });
  const end = () => kept.end();
  signal.addEventListener('abort', end, { once: true });
  const late = setTimeout(end, startLimitMs);
  try {
    const isStarted = Promise.all([after(child.stdout, token), after(child.stderr, token)]);
    isStarted.catch(() => undefined);
    const begun = await Promise.race([isStarted.catch(() => undefined), closed.then(() => undefined)]);
    signal.throwIfAborted();
    if (!begun) {
      kept.end();
      return undefined;
    }
    const [[word, stdoutRest], [, stderrRest]] = begun;
    if (!word.startsWith('pid ')) throw notStarted(connection.name, program, word);
    return { kept, pid: Number(word.slice(4)), stdoutRest, stderrRest, closed };
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', end);
  }
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

/** As `Host.run`: ends with the grant too. */
export function runFar(connection: SshConnection, grant: Grant, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  return underGrant(grant, options, (both) => execFar(connection, argv, both));
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
