import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { unusable } from './local-files.ts';

/** Opens a regular file of this machine, which may be larger than memory. Throws `usage.path` if the path is not a regular file, and `failed.file`. */
export async function openLocalSource(path: string) {
  const facts = await stat(path).catch((cause: unknown) => {
    throw ['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')
      ? noFile(path, 'File not found:')
      : unusable(path, 'read', cause);
  });
  if (!facts.isFile()) throw noFile(path, 'Not a regular file:');
  const open = (from: number, count: number) =>
    // An end before the start would read the whole file.
    createReadStream(path, count === 0 ? { start: from, end: from, autoClose: true } : { start: from, end: from + count - 1 });
  return {
    path,
    sizeBytes: facts.size,
    async hash(from: number, count: number, signal: AbortSignal) {
      const made = createHash('sha256');
      if (count > 0)
        await pipeline(open(from, count), made, { signal }).catch((cause: unknown) => failUnlessAborted(path, 'read', cause, signal));
      return count > 0 ? (made.read() as Buffer).toString('hex') : made.digest('hex');
    },
    open,
  };
}

/**
 * Writes a stream to a temporary file and renames it when the stream is complete: a reader sees the whole old or the whole new file. An
 * interrupted write leaves nothing behind. Only its owner can read it. Returns the size.
 */
export async function receiveLocal(grant: Grant, path: string, source: Readable, onBytes: (count: number) => void): Promise<number> {
  const beside = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.part`);
  let size = 0;
  try {
    source.on('data', (chunk: Buffer) => {
      size += chunk.length;
      onBytes(chunk.length);
    });
    await pipeline(source, createWriteStream(beside, { flags: 'wx', mode: 0o600, flush: true }), { signal: grant.signal });
    grant.signal.throwIfAborted();
    await rename(beside, path);
    return size;
  } catch (cause) {
    await rm(beside, { force: true }).catch(() => undefined);
    if (typeof (cause as NodeJS.ErrnoException).syscall === 'string' && (cause as NodeJS.ErrnoException).path !== undefined)
      failUnlessAborted(path, 'written', cause, grant.signal);
    throw cause;
  }
}

function failUnlessAborted(path: string, what: string, cause: unknown, signal: AbortSignal): never {
  signal.throwIfAborted();
  throw unusable(path, what, cause);
}

function noFile(path: string, what: string): Fault {
  return new Fault('usage.path', `${what} ${path}.`, 'Use the path of a file on this machine.', { where: { file: path } });
}
