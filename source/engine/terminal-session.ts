import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { Grant } from '../grants/grant.ts';
import type { TerminalSession } from './engine.ts';
import { acknowledged } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { exitCodeOf } from './exec.ts';

/** Resizing can come before the program's terminal is there. */
const resizeAttempts = 10;
const resizeStepMs = 50;
const requestLimitMs = 10_000;

/** A program with a terminal in a container. It ends with the grant: what was lent to an act does not outlive it. */
export async function openTerminalIn(
  link: EngineLink,
  id: string,
  argv: readonly string[],
  size: { columns: number; rows: number },
  grant: Grant,
): Promise<TerminalSession> {
  const { signal } = grant;
  const { exec, stream } = await link.limited(signal, requestLimitMs, async (abortSignal) => {
    const created = await link.docker.getContainer(encodeURIComponent(id)).exec({
      Cmd: [...argv],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: true,
      // From API 1.42 on the terminal has its size from the first moment; older engines ignore it.
      ConsoleSize: [size.rows, size.columns],
      abortSignal,
    } as Docker.ExecCreateOptions);
    // The signal that opens it would end the stream too: the limit is for the opening alone.
    const opened: Duplex = await created.start({
      hijack: true,
      stdin: true,
      Tty: true,
      Detach: false,
      abortSignal: signal,
    } as Docker.ExecStartOptions);
    return { exec: created, stream: opened };
  });

  const closed = new Promise<void>((resolve) => {
    stream.once('end', resolve);
    stream.once('close', resolve);
  });
  // A connection that breaks ends the session; the exit code's question says why.
  stream.on('error', () => undefined);
  const end = () => stream.destroy();
  signal.addEventListener('abort', end, { once: true });
  void closed.then(() => signal.removeEventListener('abort', end));

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
  // Not every engine takes the size when it is created; a program that is through already needs none.
  await session.resize(size.columns, size.rows).catch(() => signal.throwIfAborted());
  return session;
}
