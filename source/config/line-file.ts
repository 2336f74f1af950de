import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { appendOwnFile, unreadableFault } from './own-files.ts';

/**
 * Own files that only ever grow, one JSON object a line: the audit log and the journals. A line is on the disk when this returns. What a crash
 * left of a line that never became whole is told apart by its missing newline. What cannot be read throws `config.unreadable`.
 */
export async function appendLine(path: string, line: string): Promise<void> {
  await appendOwnFile(path, `${line}\n`);
}

/** Undefined when there is none. */
async function opened(path: string, flags: 'r' | 'r+'): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadableFault(path, cause);
  }
}

/** Whole lines, first to last. A missing file has none. A last line without a newline comes with `partial`. */
export async function* readLines(path: string): AsyncGenerator<{ text: string; partial: boolean }> {
  const tail = await readTail(path, 1);
  if (tail === undefined || tail === '') return;
  const stream = createReadStream(path, { encoding: 'utf8' });
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  let held: string | undefined;
  try {
    for await (const line of lines) {
      if (held !== undefined) yield { text: held, partial: false };
      held = line;
    }
    if (held !== undefined) yield { text: held, partial: tail !== '\n' };
  } finally {
    lines.close();
    stream.destroy();
  }
}

/** The last `limitBytes` of a file as text; undefined when there is no file. */
export async function readTail(path: string, limitBytes: number): Promise<string | undefined> {
  const file = await opened(path, 'r');
  if (!file) return undefined;
  try {
    const { size } = await file.stat();
    const length = Math.min(size, limitBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } catch (cause) {
    throw unreadableFault(path, cause);
  } finally {
    await file.close();
  }
}

/** Cuts off a last line that has no newline. Only for whoever holds the file's lock. */
export async function dropPartialLine(path: string): Promise<boolean> {
  const file = await opened(path, 'r+');
  if (!file) return false;
  try {
    const { size } = await file.stat();
    const step = 64 * 1024;
    for (let end = size; end > 0; end -= step) {
      const start = Math.max(0, end - step);
      const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
      const newline = buffer.lastIndexOf(0x0a);
      if (newline === -1 && start > 0) continue;
      const whole = newline === -1 ? 0 : start + newline + 1;
      if (whole === size) return false;
      await file.truncate(whole);
      await file.datasync();
      return true;
    }
    return false;
  } finally {
    await file.close();
  }
}
