import { randomBytes } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { PassThrough, type Readable, Writable } from 'node:stream';
import type { PipedProgram, PipeOptions } from '../host.ts';
import { writeInPieces } from '../paced-connection.ts';
import { checked, endRemote, notStarted, type Program, starting } from './remote-start.ts';
import type { SendWindow } from './send-window.ts';
import { noSession } from './shell-session-pool.ts';
import { printable } from './shell-words.ts';
import type { KeptProgram } from './ssh-command.ts';
import type { SshConnection } from './ssh-connection.ts';

const keptBytes = 16 * 1024;
const startLimitMs = 15_000;

/** As `Host.pipe`: in a session of its own, so that input and output are streamed. */
export async function pipeRemote(
  connection: SshConnection,
  signal: AbortSignal,
  argv: readonly string[],
  { env, cwd }: PipeOptions = {},
): Promise<PipedProgram> {
  signal.throwIfAborted();
  const program = { argv, env, cwd };
  const { shells } = connection;
  const join = () => begin(connection, signal, program, () => shells.startJoined(pipeCommand));
  let begun = await join();
  if (!begun) {
    // If the connection broke, the program may have started: nothing is started twice.
    await connection.verifyAlive();
    // No session is left: close an idle shell, or open another connection.
    if (shells.endFree() > 0) begun = await join();
    begun ??= await begin(connection, signal, program, () => shells.startOwn(pipeCommand));
  }
  if (!begun) throw noSession(connection.name);
  const { kept, pid, stdoutRest, stderrRest } = begun;
  const { child } = kept;
  const stopping = addAbortListener(signal, () => {
    endRemote(connection, pid);
    kept.end();
  });

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
    stopping[Symbol.dispose]();
    signal.throwIfAborted();
    // ssh exits with 255 when the connection broke; programs may too.
    if (code === null || code === 255) await connection.verifyAlive();
    return { exitCode: code ?? 255, stderr: said.toString('utf8') };
  });
  ended.catch(() => undefined);
  return { stdin: throttled(child.stdin, connection.sending), stdout, ended };
}

function throttled(stdin: Writable, sending: SendWindow): Writable {
  const through = new Writable({
    write: (chunk: Buffer, _encoding, done) => writeInPieces(stdin, chunk, sending, done),
    final: (done) => void stdin.end((error?: Error | null) => done(error)),
    destroy: (cause, done) => {
      stdin.destroy();
      done(cause);
    },
  });
  // A program that does not read all of its input closes it: its exit code counts.
  through.on('error', () => undefined);
  stdin.once('close', () => through.destroy());
  return through;
}

interface Begun {
  kept: KeptProgram;
  pid: number;
  stdoutRest: Buffer;
  stderrRest: Buffer;
  closed: Promise<number | null>;
}

/** Starts a program in a session; undefined if no session is available. */
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
  using _end = addAbortListener(signal, () => kept.end());
  using _late = setTimeout(() => kept.end(), startLimitMs);
  const started = Promise.all([after(child.stdout, token), after(child.stderr, token)]).catch(() => undefined);
  const begun = await Promise.race([started, closed.then(() => undefined)]);
  signal.throwIfAborted();
  if (!begun) {
    kept.end();
    return undefined;
  }
  const [[word, stdoutRest], [, stderrRest]] = begun;
  if (!word.startsWith('pid ')) throw notStarted(connection.name, program, word);
  return { kept, pid: Number(word.slice(4)), stdoutRest, stderrRest, closed };
}

/** The first line is a script, the rest is the program's input. `read` consumes only that line. */
const pipeCommand = `exec sh -c 'IFS= read -r q && eval "$(printf %b "$q")"'`;

/** Waits for the line that begins with the token, which precedes all output of the program; earlier output of a profile is dropped. */
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
    const gone = () => reject(new Error('it stopped before it was ready'));
    stream.on('data', take);
    stream.once('end', gone);
  });
}
