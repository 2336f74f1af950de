import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { Fault, messageOf } from '../faults/fault.ts';
import type { HostFiles } from './host.ts';

const wholeFileLimitBytes = 16 * 1024 * 1024;
const chunkBytes = 64 * 1024;

/** Reads and writes files of this machine. Every failure except a missing file is a Fault `failed.file` that names the path. */
export const localFiles: HostFiles = {
  async read(path, { signal, limitBytes }) {
    signal.throwIfAborted();
    try {
      // Without O_NONBLOCK, opening a named pipe would block until another process writes to it.
      await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const facts = await file.stat();
      if (facts.isDirectory()) throw fileFault(path, 'it is a folder', 'Pass a file.');
      if (!facts.isFile()) throw fileFault(path, 'it is not a regular file', 'Use the path of a regular file.');
      const most = limitBytes ?? wholeFileLimitBytes;
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      // Files under /proc report size 0, so the size is no guide: read to the end or to the limit.
      while (sizeBytes < most) {
        signal.throwIfAborted();
        const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, most - sizeBytes));
        const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
        if (bytesRead === 0) return Buffer.concat(chunks, sizeBytes);
        chunks.push(chunk.subarray(0, bytesRead));
        sizeBytes += bytesRead;
      }
      if (limitBytes === undefined && facts.size > most)
        throw fileFault(path, 'it is larger than 16 MiB', 'Check that this is the right file.');
      return Buffer.concat(chunks, sizeBytes);
    } catch (cause) {
      return missingOr(path, cause, signal);
    }
  },
  async facts(path, signal) {
    signal.throwIfAborted();
    try {
      const facts = await stat(path);
      const kind = facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : facts.isSocket() ? 'socket' : 'other';
      return { kind, sizeBytes: facts.size, modifiedMs: facts.mtimeMs, device: facts.dev, inode: facts.ino };
    } catch (cause) {
      return missingOr(path, cause, signal);
    }
  },
  async list(path, signal) {
    signal.throwIfAborted();
    try {
      return (await readdir(path)).sort();
    } catch (cause) {
      if (codeOf(cause) === 'ENOTDIR' && (await localFiles.facts(path, signal)))
        throw fileFault(path, 'it is not a folder', 'Pass a folder.', cause);
      return missingOr(path, cause, signal);
    }
  },
  async write(grant, path, content, { mode }) {
    grant.signal.throwIfAborted();
    try {
      // Written beside the target, synced, and renamed over it; a link is followed, and an existing file keeps its owner.
      // Imported here because it loads a large part of Node, and the first frame writes no files.
      const { default: writeFileAtomic } = await import('write-file-atomic');
      await writeFileAtomic(path, Buffer.from(content), { mode });
    } catch (cause) {
      const missing = codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR';
      const message = `${path} cannot be written: ${missing ? 'its folder does not exist' : reasonOf(cause)}.`;
      const remedy = missing ? 'Create the folder first.' : 'Check the owner of the folder and the free space on its filesystem.';
      throw new Fault('failed.file', message, remedy, { cause });
    }
  },
  async makeFolder(grant, path, { mode }) {
    grant.signal.throwIfAborted();
    try {
      // The mode applies only to the folders created here, including parents: they too hold data for the operator alone.
      const first = await mkdir(path, { recursive: true, mode });
      // The umask may have removed permissions that others need.
      if (first !== undefined) await chmod(path, mode);
      else if (!(await stat(path)).isDirectory()) throw Object.assign(new Error('EEXIST'), { code: 'EEXIST' });
    } catch (cause) {
      const taken = codeOf(cause) === 'EEXIST';
      const message = `The folder ${path} cannot be created: ${taken ? 'a file with that name exists' : reasonOf(cause)}.`;
      const remedy = taken ? 'Move or delete the file, or use another folder.' : 'Check the owner of the parent folder and the free space.';
      throw new Fault('failed.file', message, remedy, { where: { file: path }, cause });
    }
  },
  async remove(grant, path) {
    grant.signal.throwIfAborted();
    try {
      // Removes a link, not its target.
      if ((await lstat(path)).isDirectory()) await rmdir(path);
      else await unlink(path);
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR') return;
      const full = codeOf(cause) === 'ENOTEMPTY' || codeOf(cause) === 'EEXIST';
      const message = `${path} cannot be removed: ${full ? 'the folder is not empty' : reasonOf(cause)}.`;
      const remedy = full ? 'Remove the content of the folder first.' : 'Check the owner of the parent folder.';
      throw new Fault('failed.file', message, remedy, { where: { file: path }, cause });
    }
  },
};

function missingOr(path: string, cause: unknown, signal: AbortSignal): undefined {
  if (cause instanceof Fault || signal.aborted) throw cause;
  const code = codeOf(cause);
  // ESRCH: a file below /proc of a process that has exited since it was opened.
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return undefined;
  const remedy = code === 'EACCES' || code === 'EPERM' ? 'Run Quarterdeck as a user who can read this path.' : 'Check the path.';
  throw fileFault(path, reasonOf(cause), remedy, cause);
}

function fileFault(path: string, reason: string, remedy: string, cause?: unknown): Fault {
  return new Fault('failed.file', `${path} cannot be read: ${reason}.`, remedy, { where: { file: path }, cause });
}

const codeOf = (cause: unknown): string | undefined => (cause as NodeJS.ErrnoException | undefined)?.code;

/** Problems with files: the system's code, its message as programs print it, and our words. */
export const fileProblems: readonly (readonly [code: string, message: string, reason: string])[] = [
  ['EACCES', 'Permission denied', 'permission denied'],
  ['EPERM', 'not permitted', 'not permitted'],
  ['ENOSPC', 'No space left on device', 'the filesystem is full'],
  ['EROFS', 'Read-only file system', 'the filesystem is read-only'],
  ['EISDIR', 'Is a directory', 'it is a folder'],
  ['ENOTDIR', 'Not a directory', 'a part of the path is not a folder'],
  ['ELOOP', 'Too many levels of symbolic links', 'there are too many levels of symbolic links'],
  ['ENAMETOOLONG', 'File name too long', 'the name is too long'],
];

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'folder not found',
  ENXIO: 'it is a socket',
  ...Object.fromEntries(fileProblems.map(([code, , reason]) => [code, reason])),
};

/** Returns why a file could not be used, as text. `ENOENT` refers to the parent folder. */
export const reasonOf = (cause: unknown): string => reasons[codeOf(cause) ?? ''] ?? messageOf(cause);

/** `what`: read, written, used. */
export function unusable(path: string, what: string, cause: unknown): Fault {
  const remedy = 'Check the path, its permissions and the free space on its filesystem.';
  return new Fault('failed.file', `${path} cannot be ${what}: ${reasonOf(cause)}.`, remedy, { where: { file: path }, cause });
}
