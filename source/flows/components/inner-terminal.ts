import type { EngineWriter, TerminalSession } from '../../engine/engine.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import { orAborted } from '../../faults/waits.ts';
import type { TerminalLoan } from '../../session/session.ts';

/** Ctrl-], as in telnet and machinectl: pressed three times within a second, it disconnects without ending the program inside. */
const leaveKey = 0x1d;
const leaveCount = 3;
const leaveWithinMs = 1_000;

/** Connects the terminal to a program inside a container. Afterwards the terminal is restored, whatever the program did to it. */
export async function runInTerminal(
  writer: EngineWriter,
  id: string,
  argv: readonly string[],
  { input, output }: TerminalLoan,
  { signal, user }: { signal: AbortSignal; user?: string | undefined },
): Promise<{ left: false; exitCode: number } | { left: true }> {
  const inner = await writer.openTerminal(id, argv, sizeOf(output), { user });
  const modes = new ModeWatch();
  const wasRaw = input.isRaw;
  const left = Promise.withResolvers<'left'>();
  const watch = leaveWatch(() => left.resolve('left'));

  const onInput = (chunk: Buffer | string) => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const passed = watch(bytes);
    if (passed.length > 0 && !inner.stream.write(passed)) {
      input.pause();
      inner.stream.once('drain', () => input.resume());
    }
  };
  const onInputEnd = () => inner.stream.end();
  const onOutput = (chunk: Buffer) => {
    modes.see(chunk);
    if (!output.write(chunk)) {
      inner.stream.pause();
      output.once('drain', () => inner.stream.resume());
    }
  };
  // A resize after the end of the program is not an error.
  const onResize = () => void inner.resize(sizeOf(output).columns, sizeOf(output).rows).catch(() => {});

  try {
    input.setRawMode?.(true);
    input.on('data', onInput);
    input.once('end', onInputEnd);
    input.resume();
    output.on('resize', onResize);
    inner.stream.on('data', onOutput);
    const end = await orAborted(Promise.race([endOf(inner), left.promise]), signal);
    return end === 'left' ? { left: true } : { left: false, exitCode: end };
  } finally {
    input.off('data', onInput);
    input.off('end', onInputEnd);
    output.off('resize', onResize);
    inner.stream.off('data', onOutput);
    // Data that still arrives on a broken connection is useless.
    inner.stream.on('error', () => {});
    inner.stream.destroy();
    input.pause();
    input.setRawMode?.(wasRaw ?? false);
    output.write(modes.undo());
  }
}

function sizeOf(output: NodeJS.WriteStream): { columns: number; rows: number } {
  return { columns: output.columns || 80, rows: output.rows || 24 };
}

/** Resolves after all output, with the exit code. */
async function endOf(inner: TerminalSession): Promise<number> {
  const { stream } = inner;
  await new Promise<void>((resolve, reject) => {
    if (stream.readableEnded || stream.destroyed) resolve();
    stream.once('end', resolve);
    stream.once('close', resolve);
    stream.once('error', (cause) => {
      const message = `The connection to the terminal in the container was lost: ${messageOf(cause)}.`;
      const remedy = 'The program may still be running. Check that the engine responds: quarterdeck status';
      reject(new Fault('unreachable.terminal', message, remedy, { cause }));
    });
  });
  return inner.exitCode();
}

function leaveWatch(leave: () => void): (bytes: Buffer) => Buffer {
  let pressed: number[] = [];
  return (bytes) => {
    const now = performance.now();
    for (const byte of bytes) {
      pressed = byte === leaveKey ? [...pressed.filter((at) => now - at < leaveWithinMs), now] : [];
      if (pressed.length >= leaveCount) {
        leave();
        return Buffer.alloc(0);
      }
    }
    return bytes;
  };
}

/** Private modes that a program may leave set: alternate screen, mouse, paste, cursor keys, hidden cursor. */
const offModes = ['1', '47', '1000', '1002', '1003', '1004', '1006', '1015', '1047', '1049', '2004'];
/** The end of the sequence that resets each mode: only the cursor is on. */
const watchedModes = new Map<string, 'h' | 'l'>([['25', 'h'], ...offModes.map((mode): [string, 'l'] => [mode, 'l'])]);

class ModeWatch {
  readonly #changed = new Set<string>();
  #rest = '';

  see(chunk: Buffer): void {
    if (this.#rest === '' && !chunk.includes(0x1b)) return;
    const text = this.#rest + chunk.toString('latin1');
    for (const [, numbers = '', end] of text.matchAll(/\x1b\[\?([\d;]+)([hl])/g)) {
      for (const number of numbers.split(';')) {
        if (!watchedModes.has(number)) continue;
        if (watchedModes.get(number) === end) this.#changed.delete(number);
        else this.#changed.add(number);
      }
    }
    // A sequence can be split between chunks.
    const begun = text.lastIndexOf('\x1b');
    this.#rest = begun !== -1 && /^\x1b(\[(\?[\d;]*)?)?$/.test(text.slice(begun)) ? text.slice(begun, begun + 32) : '';
  }

  undo(): string {
    return `${[...this.#changed].map((number) => `\x1b[?${number}${watchedModes.get(number)}`).join('')}\x1b[0m`;
  }
}
