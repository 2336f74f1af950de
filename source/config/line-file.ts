import { appendOwnFile, openOwnFile, unreadableFault } from './own-files.ts';

/**
 * Own files that only ever grow, one JSON object a line: the audit log and the journals. A line is on the disk when this returns. What a crash
 * left of a line that never became whole is told apart by its missing newline. What cannot be read throws `config.unreadable`.
 */
export async function appendLine(path: string, line: string): Promise<void> {
  await appendOwnFile(path, `${line}\n`);
}

const pieceBytes = 64 * 1024;
/** No line of ours comes near this. A file without newlines must not fill the memory: what is beyond is not read. */
const lineLimitBytes = 1024 * 1024;

/** Whole lines, first to last. A missing file has none. A last line without a newline comes with `partial`. */
export async function* readLines(path: string): AsyncGenerator<{ text: string; partial: boolean }> {
  const file = await openOwnFile(path, 'read');
  if (!file) return;
  try {
    const piece = Buffer.alloc(pieceBytes);
    let held: Buffer[] = [];
    let heldBytes = 0;
    const hold = (bytes: Buffer) => {
      if (bytes.length > 0 && heldBytes < lineLimitBytes) held.push(Buffer.from(bytes));
      heldBytes += bytes.length;
    };
    const line = () => {
      const text = Buffer.concat(held).toString('utf8').replace(/\r$/, '');
      held = [];
      heldBytes = 0;
      return text;
    };
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, pieceBytes, null);
      if (bytesRead === 0) break;
      let start = 0;
      for (;;) {
        const newline = piece.subarray(0, bytesRead).indexOf(0x0a, start);
        if (newline === -1) break;
        hold(piece.subarray(start, newline));
        yield { text: line(), partial: false };
        start = newline + 1;
      }
      hold(piece.subarray(start, bytesRead));
    }
    if (heldBytes > 0) yield { text: line(), partial: true };
  } catch (cause) {
    throw unreadableFault(path, cause);
  } finally {
    await file.close();
  }
}

/** The last `limitBytes` of a file as text; undefined when there is no file. */
export async function readTail(path: string, limitBytes: number): Promise<string | undefined> {
  const file = await openOwnFile(path, 'read');
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

/** The file beside a damaged one that keeps what did not belong in it. */
export function damagedBeside(path: string): string {
  return `${path}.damaged`;
}

/**
 * Ends a last line that has no newline, so that the next one begins on its own. A line that is whole but for the newline stays; anything else is moved to the file
 * beside it, whose path is returned. Only for the holder of the file's lock.
 */
export async function mendLastLine(path: string, isWhole: (text: string) => boolean): Promise<string | undefined> {
  const file = await openOwnFile(path, 'change');
  if (!file) return undefined;
  try {
    const { size } = await file.stat();
    const start = await startOfLastLine(file, size);
    if (start === size) return undefined;
    const length = size - start;
    if (length <= lineLimitBytes) {
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, start);
      if (isWhole(buffer.toString('utf8'))) {
        await file.write('\n', size);
        await file.datasync();
        return undefined;
      }
    }
    const beside = damagedBeside(path);
    // First the copy: killed in between, it is there twice, and never lost.
    for (let at = start; at < size; at += pieceBytes) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(pieceBytes, size - at)), 0, Math.min(pieceBytes, size - at), at);
      await appendOwnFile(beside, buffer.subarray(0, bytesRead));
    }
    await appendOwnFile(beside, '\n');
    await file.truncate(start);
    await file.datasync();
    return beside;
  } finally {
    await file.close();
  }
}

async function startOfLastLine(file: NonNullable<Awaited<ReturnType<typeof openOwnFile>>>, size: number): Promise<number> {
  for (let end = size; end > 0; end -= pieceBytes) {
    const start = Math.max(0, end - pieceBytes);
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    const newline = buffer.lastIndexOf(0x0a);
    if (newline !== -1) return start + newline + 1;
  }
  return 0;
}
