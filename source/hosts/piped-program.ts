import { PassThrough } from 'node:stream';
import type { Grant } from '../grants/grant.ts';
import type { PipedProgram, PipeOptions } from './host.ts';
import { graceMs, notStarted, signalGroup, startProgram } from './program.ts';

/** Of what it said on stderr: the end, for a sentence. */
const keptBytes = 16 * 1024;

/**
 * Starts a program of this machine whose input and output flow: nothing is collected, so that what goes through it may be larger than memory. It ends with the
 * grant, and with us: its input closes then. `bare`: without anything of our own environment. `stdin` must be ended by the caller, `stdout` read.
 */
export async function pipeProgram(
  grant: Pick<Grant, 'signal'>,
  argv: readonly string[],
  { env, cwd, bare = false }: PipeOptions & { bare?: boolean } = {},
): Promise<PipedProgram> {
  const { signal } = grant;
  signal.throwIfAborted();
  const [program = '', ...args] = argv;
  const child = startProgram(program, args, { cwd, env, bare });
  let said = Buffer.alloc(0);
  child.stderr.on('data', (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]);
    if (said.length > keptBytes) said = Buffer.from(said.subarray(said.length - keptBytes));
  });
  // A program that closes its input early says why on stderr, and with its exit code.
  child.stdin.on('error', () => undefined);

  // When a program has ended, node lets its output flow even if nobody reads it yet: here it waits.
  const stdout = new PassThrough();
  child.stdout.pipe(stdout);
  child.stdout.once('error', (cause) => stdout.destroy(cause));
  stdout.once('close', () => child.stdout.destroy());

  let kill: NodeJS.Timeout | undefined;
  const stop = () => {
    signalGroup(child, 'SIGTERM');
    kill = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
    kill.unref();
  };
  signal.addEventListener('abort', stop, { once: true });

  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause: NodeJS.ErrnoException) => reject(notStarted(program, cwd, cause)));
  });
  const ended = new Promise<{ exitCode: number; stderr: string }>((resolve, reject) => {
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      if (code !== null) clearTimeout(kill);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve({ exitCode: code ?? 128, stderr: said.toString('utf8') });
    });
  });
  ended.catch(() => undefined);
  return { stdin: child.stdin, stdout, ended };
}
