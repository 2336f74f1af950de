import { addAbortListener } from 'node:events';
import { type Duplex, Readable } from 'node:stream';
import type Docker from 'dockerode';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { Output } from '../hosts/program-output.ts';
import { cleanLine } from '../text/clean.ts';
import type { ExecOptions, ExecResult, TerminalSession } from './engine.ts';
import { acknowledged } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { FrameSplitter } from './frames.ts';

const defaultLimitBytes = 1024 * 1024;
/** Delay between the end of a program's output and the engine knowing its exit code. */
const settleLimitMs = 5_000;
const settleStepMs = 25;

type TerminalSize = Record<'columns' | 'rows', number>;

interface ExecPlan extends ExecOptions {
  argv: readonly string[];
  signal: AbortSignal;
  stdin?: Uint8Array | undefined;
}

/** Engines cannot end a program: it runs on when the signal ends the wait. Throws `engine.noContainer`, `.conflict` or `.execFailed`. */
export async function execIn(link: EngineLink, id: string, plan: ExecPlan): Promise<ExecResult> {
  const { argv, signal, limitBytes = defaultLimitBytes, stdin, user, heard } = plan;
  return link.limited(signal, undefined, async (abortSignal) => {
    const { exec, stream } = await startExec(link, id, { argv, input: stdin !== undefined, user }, abortSignal);
    if (stdin) {
      // A program that does not read all of its input closes it: its exit code counts.
      stream.on('error', () => undefined);
      stream.end(Buffer.from(stdin));
    }
    const { stdout, stderr } = await collected(stream, limitBytes, heard);
    const exitCode = await exitCodeOf(exec, abortSignal);
    const said = Buffer.concat([stdout.bytes(), stderr.bytes()]).toString('utf8');
    refuseUnlessRun(argv, exitCode, said);
    return { exitCode, stdout: stdout.bytes(), stderr: stderr.bytes(), cut: stdout.cut || stderr.cut };
  });
}

/** With a terminal if `size` is set. `opening` covers its creation only; its input and output end with `lasting`. */
async function startExec(
  link: EngineLink,
  id: string,
  { argv, input, size, user }: { argv: readonly string[]; input: boolean; size?: TerminalSize; user?: string | undefined },
  opening: AbortSignal,
  lasting = opening,
): Promise<{ exec: Docker.Exec; stream: Duplex }> {
  const exec = await link.docker.getContainer(encodeURIComponent(id)).exec({
    ...{ Cmd: [...argv], AttachStdin: input, AttachStdout: true, AttachStderr: true, abortSignal: opening },
    ...(user !== undefined && { User: user }),
    // From API 1.42 on the terminal has its size from the start; older engines ignore it.
    ...(size && { Tty: true, ConsoleSize: [size.rows, size.columns] }),
  } as Docker.ExecCreateOptions);
  const options = { hijack: input, stdin: input, Detach: false, Tty: size !== undefined, abortSignal: lasting };
  return { exec, stream: await exec.start(options as Docker.ExecStartOptions) };
}

/** 126 and 127 with these messages come from the runtime, before any program ran, or from a shell. Throws `engine.execFailed`. */
function refuseUnlessRun(argv: readonly string[], exitCode: number, said: string): void {
  if (exitCode !== 126 && exitCode !== 127) return;
  if (!/OCI runtime exec failed|executable file .*not found|no such file or directory/i.test(said)) return;
  const message = `${cleanLine(argv[0] ?? '')} cannot be run in the container: ${cleanLine(said.trim()).slice(0, 300)}`;
  throw new Fault('engine.execFailed', message, 'Check that the image contains this program, and what it runs.');
}

async function collected(stream: Readable, limitBytes: number, heard: ExecOptions['heard']): Promise<{ stdout: Output; stderr: Output }> {
  const stdout = new Output(limitBytes);
  const stderr = new Output(limitBytes);
  const frames = new FrameSplitter();
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    // Copied: a slice would keep the whole chunk in memory.
    frames.push(chunk, (part) => {
      const bytes = Buffer.from(part.bytes);
      heard?.(bytes);
      (part.stream === 'stderr' || part.stream === 'engine' ? stderr : stdout).add(bytes);
    });
  }
  return { stdout, stderr };
}

async function exitCodeOf(exec: Docker.Exec, abortSignal: AbortSignal): Promise<number> {
  const deadline = Date.now() + settleLimitMs;
  for (;;) {
    const { Running, ExitCode } = await exec.inspect({ abortSignal });
    if (!Running && ExitCode !== null && ExitCode !== undefined) return ExitCode;
    if (Date.now() > deadline) {
      const message = 'The program closed its output, but is still running in the container.';
      throw new Fault('engine.execFailed', message, 'Check it with a shell in the container.');
    }
    await new Promise((resolve) => setTimeout(resolve, settleStepMs));
    abortSignal.throwIfAborted();
  }
}

const keptBytes = 16 * 1024;

/** Nothing is collected: the reader of `stdout` sets the pace. Ends with the grant. `ended` settles when the output has been read. */
export async function execStreamIn(link: EngineLink, id: string, argv: readonly string[], grant: Grant, input: boolean) {
  const { signal } = grant;
  const { exec, stream } = await link.limited(signal, undefined, (opening) => startExec(link, id, { argv, input }, opening, signal));

  let said = Buffer.alloc(0);
  const keep = (bytes: Buffer) => {
    said = Buffer.from(Buffer.concat([said, bytes]).subarray(-keptBytes));
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
  const stopping = addAbortListener(signal, () => stream.destroy(signal.reason as Error));

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
    .finally(() => stopping[Symbol.dispose]());
  // The reader of the output gets the error of a broken connection first, and may not have come to wait for the end.
  ended.catch(() => undefined);
  return { stdin: input ? stream : undefined, stdout, ended };
}

/** A resize can come before the program's terminal exists. */
const resizeAttempts = 10;
const resizeStepMs = 50;
const requestLimitMs = 10_000;

type TerminalPlan = Pick<ExecPlan, 'argv' | 'user'> & { size: TerminalSize };

/** It ends with the grant and cannot outlive the action. */
export async function openTerminalIn(link: EngineLink, id: string, plan: TerminalPlan, { signal }: Grant) {
  const { exec, stream } = await link.limited(signal, requestLimitMs, (opening) =>
    startExec(link, id, { ...plan, input: true }, opening, signal),
  );

  const closed = new Promise<void>((resolve) => {
    stream.once('end', resolve);
    stream.once('close', resolve);
  });
  // A broken connection ends the session; the query for the exit code returns the reason.
  stream.on('error', () => undefined);
  const stopping = addAbortListener(signal, () => stream.destroy());
  void closed.then(() => stopping[Symbol.dispose]());

  const session: TerminalSession = {
    stream,
    resize: async (columns, rows) => {
      for (let attempt = 1; ; attempt++) {
        try {
          await link.limited(signal, requestLimitMs, (abortSignal) => acknowledged(exec.resize({ w: columns, h: rows, abortSignal })));
          return;
        } catch (thrown) {
          if (attempt >= resizeAttempts || signal.aborted || stream.destroyed || stream.readableEnded) throw thrown;
          await new Promise((resolve) => setTimeout(resolve, resizeStepMs));
        }
      }
    },
    exitCode: async () => {
      await closed;
      return link.limited(signal, requestLimitMs, (abortSignal) => exitCodeOf(exec, abortSignal));
    },
  };
  // Not every engine uses the size at creation; a program that has already ended needs none.
  await session.resize(plan.size.columns, plan.size.rows).catch(() => signal.throwIfAborted());
  return session;
}
