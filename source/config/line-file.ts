import type { FileHandle } from 'node:fs/promises';
import { appendOwnFile, openOwnFile, unreadableFault } from './own-files.ts';

/**
 * Own append-only files, one JSON object per line: the audit log and the journals. A line is on the disk when the call returns. An
 * incomplete line after a crash is recognized by its missing newline. An unreadable file throws `config.unreadable`.
 */
export async function appendLine(path: string, line: string): Promise<void> {
  await appendOwnFile(path, `${line}\n`);
}

const pieceBytes = 64 * 1024;
/** No line of ours is nearly as long. A file without newlines must not fill the memory: the rest is not read. */
const lineLimitBytes = 1024 * 1024;

/** A missing file has no lines. A last line without a newline is returned with `partial`. */
export async function* readLines(path: string): AsyncGenerator<{ text: string; partial: boolean }> {
  await using file = await openOwnFile(path, 'read');
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
  }
}

export async function readTail(path: string, limitBytes: number): Promise<string | undefined> {
  await using file = await openOwnFile(path, 'read');
  if (!file) return undefined;
  try {
    const { size } = await file.stat();
    const length = Math.min(size, limitBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } catch (cause) {
    throw unreadableFault(path, cause);
  }
}

export const damagedPathOf = (path: string): string => `${path}.damaged`;

/**
 * Terminates a last line without a newline, so that the next one starts on its own. A line that is complete except for the newline stays;
 * any other is moved to the file beside it, whose path is returned. Only for the holder of the file's lock.
 */
export async function repairLastLine(path: string, isWhole: (text: string) => boolean): Promise<string | undefined> {
  await using file = await openOwnFile(path, 'change');
  if (!file) return undefined;
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
  const beside = damagedPathOf(path);
  // The copy comes first: if killed in between, the text exists twice, and is never lost.
  for (let at = start; at < size; at += pieceBytes) {
    const length = Math.min(pieceBytes, size - at);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    await appendOwnFile(beside, buffer.subarray(0, bytesRead));
  }
  await appendOwnFile(beside, '\n');
  await file.truncate(start);
  await file.datasync();
  return beside;
}

async function startOfLastLine(file: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; end -= pieceBytes) {
    const start = Math.max(0, end - pieceBytes);
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    const newline = buffer.lastIndexOf(0x0a);
    if (newline !== -1) return start + newline + 1;
  }
  return 0;
}
