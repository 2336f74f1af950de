import type { Duplex, Readable } from 'node:stream';
import type Docker from 'dockerode';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { ExecResult } from './engine.ts';
import type { EngineLink } from './engine-link.ts';
import { FrameSplitter } from './frames.ts';

const defaultLimitBytes = 1024 * 1024;
/** Between the end of a program's output and the engine knowing its exit code. */
const settleLimitMs = 5_000;
const settleStepMs = 25;

export interface ExecPlan {
  argv: readonly string[];
  signal: AbortSignal;
  limitBytes?: number | undefined;
  stdin?: Uint8Array | undefined;
}

/**
 * Runs a program in a container. Engines know no way to end it: when the signal ends the wait, the program goes on over there.
 * @throws Fault `engine.noContainer`, `engine.conflict` (not running), `engine.execFailed` (there is no such program).
 */
export async function execIn(
  link: EngineLink,
  id: string,
  { argv, signal, limitBytes = defaultLimitBytes, stdin }: ExecPlan,
): Promise<ExecResult> {
  return link.limited(signal, undefined, async (abortSignal) => {
    const container = link.docker.getContainer(encodeURIComponent(id));
    const exec = await container.exec({
      Cmd: [...argv],
      AttachStdin: stdin !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      abortSignal,
    });
    const stream: Readable =
      stdin === undefined
        ? await exec.start({ Detach: false, Tty: false, abortSignal } as Docker.ExecStartOptions)
        : await fed(exec, stdin, abortSignal);
    const { stdout, stderr } = await collected(stream, limitBytes);
    const exitCode = await exitCodeOf(exec, abortSignal);
    const said = Buffer.concat([stdout.bytes(), stderr.bytes()]).toString('utf8');
    refuseUnlessRun(argv, exitCode, said);
    return { exitCode, stdout: stdout.bytes(), stderr: stderr.bytes(), cut: stdout.cut || stderr.cut };
  });
}

/** 126 and 127 with these words come from the runtime, before any program ran. Throws `engine.execFailed`. */
export function refuseUnlessRun(argv: readonly string[], exitCode: number, said: string): void {
  if (exitCode !== 126 && exitCode !== 127) return;
  if (!/OCI runtime exec failed|executable file .*not found|no such file or directory/i.test(said)) return;
  throw new Fault({
    code: 'engine.execFailed',
    message: `${cleanLine(argv[0] ?? '')} cannot be run in the container: ${cleanLine(said.trim()).slice(0, 300)}`,
    remedy: 'Check that the image has this program.',
  });
}

async function fed(exec: Docker.Exec, stdin: Uint8Array, abortSignal: AbortSignal): Promise<Readable> {
  const stream: Duplex = await exec.start({ hijack: true, stdin: true, Detach: false, Tty: false, abortSignal } as Docker.ExecStartOptions);
  // A program that does not read all of its input closes it: its answer counts.
  stream.on('error', () => undefined);
  stream.end(Buffer.from(stdin));
  return stream;
}

async function collected(stream: Readable, limitBytes: number): Promise<{ stdout: Kept; stderr: Kept }> {
  const stdout = new Kept(limitBytes);
  const stderr = new Kept(limitBytes);
  const frames = new FrameSplitter();
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    frames.push(chunk, (part) => (part.stream === 'stderr' || part.stream === 'engine' ? stderr : stdout).add(part.bytes));
  }
  return { stdout, stderr };
}

/** The exit code once the engine has it. */
export async function exitCodeOf(exec: Docker.Exec, abortSignal: AbortSignal): Promise<number> {
  const deadline = Date.now() + settleLimitMs;
  for (;;) {
    const { Running, ExitCode } = await exec.inspect({ abortSignal });
    if (!Running && ExitCode !== null && ExitCode !== undefined) return ExitCode;
    if (Date.now() > deadline) {
      throw new Fault({
        code: 'engine.execFailed',
        message: 'The program closed its output, but still runs in the container.',
        remedy: 'Look at it with a shell in the container.',
      });
    }
    await new Promise((resolve) => setTimeout(resolve, settleStepMs));
    abortSignal.throwIfAborted();
  }
}

class Kept {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  cut = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  add(bytes: Buffer): void {
    const room = this.#limitBytes - this.#sizeBytes;
    if (bytes.length > room) this.cut = true;
    if (room <= 0) return;
    const kept = Buffer.from(bytes.subarray(0, room));
    this.#chunks.push(kept);
    this.#sizeBytes += kept.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
