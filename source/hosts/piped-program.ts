import { addAbortListener } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Grant } from '../grants/grant.ts';
import type { PipedProgram, PipeOptions } from './host.ts';
import { endGroup, notStarted, startProgram } from './program.ts';

/** Length of the end of stderr that is kept for the error message. */
const keptBytes = 16 * 1024;

/**
 * Starts a program of this machine with streamed input and output: nothing is collected, so the data may be larger than memory. It ends
 * with the grant, and when we exit: its input closes then. `bare`: without our own environment. The caller must end `stdin` and read
 * `stdout`.
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
    said = Buffer.from(Buffer.concat([said, chunk]).subarray(-keptBytes));
  });
  // A program that closes its input early reports the reason on stderr and with its exit code.
  child.stdin.on('error', () => undefined);

  // When a program has exited, Node lets its output flow even before it has a reader; this delays it.
  const stdout = new PassThrough();
  child.stdout.pipe(stdout);
  child.stdout.once('error', (cause) => stdout.destroy(cause));
  stdout.once('close', () => child.stdout.destroy());

  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause: NodeJS.ErrnoException) => reject(notStarted(program, cwd, cause)));
  });
  const stopping = addAbortListener(signal, () => endGroup(child));
  const ended = new Promise<{ exitCode: number; stderr: string }>((resolve, reject) => {
    child.once('close', (code) => {
      stopping[Symbol.dispose]();
      if (signal.aborted) reject(signal.reason as Error);
      else resolve({ exitCode: code ?? 128, stderr: said.toString('utf8') });
    });
  });
  ended.catch(() => undefined);
  return { stdin: child.stdin, stdout, ended };
}
