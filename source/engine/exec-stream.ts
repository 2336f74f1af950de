import { Readable, type Writable } from 'node:stream';
import type Docker from 'dockerode';
import type { Grant } from '../grants/grant.ts';
import type { ExecStream } from './engine.ts';
import type { EngineLink } from './engine-link.ts';
import { exitCodeOf, refuseUnlessRun } from './exec.ts';
import { FrameSplitter } from './frames.ts';

/** What a program said on stderr is for a sentence: its end is kept. */
const keptBytes = 16 * 1024;

/**
 * Runs a program in a container whose output, and input where `input` is set, flow as they come: nothing is collected. The reader of `stdout` sets the pace.
 * Ends with the grant. `ended` settles when the output has been read to its end.
 */
export async function execStreamIn(
  link: EngineLink,
  id: string,
  argv: readonly string[],
  grant: Grant,
  input: boolean,
): Promise<ExecStream> {
  const { signal } = grant;
  const { exec, stream } = await link.limited(signal, undefined, async (abortSignal) => {
    const created = await link.docker.getContainer(encodeURIComponent(id)).exec({
      Cmd: [...argv],
      AttachStdin: input,
      AttachStdout: true,
      AttachStderr: true,
      abortSignal,
    });
    const opened: Readable = await created.start({
      hijack: input,
      stdin: input,
      Detach: false,
      Tty: false,
      abortSignal: signal,
    } as Docker.ExecStartOptions);
    return { exec: created, stream: opened };
  });

  let said = Buffer.alloc(0);
  const keep = (bytes: Buffer) => {
    said = Buffer.concat([said, bytes]);
    if (said.length > keptBytes) said = Buffer.from(said.subarray(said.length - keptBytes));
  };
  async function* output(): AsyncGenerator<Buffer> {
    const frames = new FrameSplitter();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const parts: Buffer[] = [];
      frames.push(chunk, (part) => {
        if (part.stream === 'stdout' || part.stream === 'stdin') parts.push(Buffer.from(part.bytes));
        else keep(part.bytes);
      });
      for (const part of parts) yield part;
    }
  }
  const stdout = Readable.from(output(), { objectMode: false });
  const end = () => stream.destroy(signal.reason as Error);
  signal.addEventListener('abort', end, { once: true });

  const ended = new Promise<void>((resolve, reject) => {
    stdout.once('end', resolve);
    const broke = (cause: Error) => void link.faultOf(cause, signal).then(reject);
    stdout.once('error', broke);
    stdout.once('close', () => (stdout.readableEnded ? resolve() : broke(new Error('aborted'))));
  })
    .then(async () => {
      const exitCode = await link.limited(signal, undefined, (abortSignal) => exitCodeOf(exec, abortSignal));
      const stderr = said.toString('utf8');
      refuseUnlessRun(argv, exitCode, stderr);
      return { exitCode, stderr };
    })
    .finally(() => signal.removeEventListener('abort', end));
  // Whoever reads the output hears of a broken connection there first.
  ended.catch(() => undefined);
  const stdin = input ? (stream as unknown as Writable) : undefined;
  return { stdin, stdout, ended };
}
