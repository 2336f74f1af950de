import { constants, unwatchFile, watchFile } from 'node:fs';
import { appendFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { textOfPeople } from './encoding.ts';

/**
 * The console's own files: configuration, state, and the operator's catalog folder. Not for files of the operated machine, which
 * go through `hosts/`.
 */

const fileMode = 0o600;
const folderMode = 0o700;
/** Hardly anything of ours comes near this; a bigger file is a mistake (a device, a log given as a catalog). */
const usualLimitBytes = 16 * 1024 * 1024;

export interface OwnEntry {
  name: string;
  kind: 'file' | 'folder' | 'other';
}

/** The text of a file, undefined when there is none. Throws `config.unreadable` for everything else that keeps it from being read. */
export async function readOwnFile(path: string, options: { limitBytes?: number } = {}): Promise<string | undefined> {
  return (await readOwnBytes(path, options))?.toString('utf8');
}

/** The same, of what was not written by us: where it is no UTF-8 it is refused with its place, and no sign is put in the stead of what was there. */
export async function readOwnText(path: string, options: { limitBytes?: number } = {}): Promise<string | undefined> {
  const bytes = await readOwnBytes(path, options);
  return bytes && textOfPeople(bytes, path);
}

/** The same as it lies there. */
export async function readOwnBytes(path: string, { limitBytes = usualLimitBytes } = {}): Promise<Buffer | undefined> {
  try {
    // Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (facts.isDirectory()) throw unreadable(path, 'it is a folder');
    if (!facts.isFile()) throw unreadable(path, 'it is not a plain file');
    if (facts.size > limitBytes)
      throw unreadable(
        path,
        `it is larger than ${limitBytes < 1 << 20 ? `${limitBytes >> 10} KB` : `${limitBytes >> 20} MB`}`,
        undefined,
        'Look whether it is the right file.',
      );
    return await file.readFile();
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadableFault(path, cause);
  }
}

/** Is a file closed to everybody but its owner (and root)? True where there are no such modes. Throws `config.unreadable`. */
export async function isOwnFilePrivate(path: string): Promise<boolean> {
  try {
    return process.platform === 'win32' || ((await stat(path)).mode & 0o077) === 0;
  } catch (cause) {
    throw unreadable(path, reasonOf(cause), cause);
  }
}

/**
 * Writes a file whole or not at all: readers see the old or the new text. Missing folders are made, for the operator alone; the
 * file is readable for the operator alone, unless another mode is asked for. Throws `config.unwritable`.
 */
export async function writeOwnFile(path: string, content: string | Uint8Array, { mode = fileMode } = {}): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: folderMode });
    // It asks for a good part of node, and the first frame writes nothing.
    const { default: writeFileAtomic } = await import('write-file-atomic');
    await writeFileAtomic(path, typeof content === 'string' ? content : Buffer.from(content), { mode });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Adds to the end of a file in one write, making it when it is missing. Throws `config.unwritable`. */
export async function appendOwnFile(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: folderMode });
    await appendFile(path, text, { mode: fileMode, flush: true });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/**
 * Calls back when somebody writes a file, makes it or removes it. Looks from time to time: the file need not be there yet, nor its folder, and some filesystems
 * tell nothing by themselves. Keeps no process alive.
 * @returns ends it
 */
export function watchOwnFile(path: string, everyMs: number, changed: () => void): () => void {
  const heard = () => changed();
  watchFile(path, { interval: everyMs, persistent: false }, heard);
  return () => unwatchFile(path, heard);
}

/** What is in a folder, ordered by name; undefined when there is no such folder. Links count as what they point at. */
export async function listOwnFolder(path: string): Promise<OwnEntry[] | undefined> {
  try {
    const found = await readdir(path, { withFileTypes: true });
    const entries = await Promise.all(
      found.map(async (entry): Promise<OwnEntry> => {
        const facts = entry.isSymbolicLink() ? await stat(`${path}/${entry.name}`).catch(() => undefined) : entry;
        return { name: entry.name, kind: facts?.isDirectory() ? 'folder' : facts?.isFile() ? 'file' : 'other' };
      }),
    );
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadable(path, reasonOf(cause), cause);
  }
}

/** Makes a folder, and those above it, for the operator alone. Throws `config.unwritable`. */
export async function makeOwnFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: folderMode });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Removes a file; a missing one is fine. Throws `config.unwritable`. */
export async function removeOwnFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Removes a folder with all that is in it; a missing one is fine. Throws `config.unwritable`. */
export async function removeOwnFolder(path: string): Promise<void> {
  try {
    await rm(path, { force: true, recursive: true });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

function isMissing(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
}

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EROFS: 'the filesystem is read-only',
  EISDIR: 'it is a folder',
  EEXIST: 'a file is in the way',
  ENOTDIR: 'a file is in the way',
  ELOOP: 'its links go round in circles',
};

function reasonOf(thrown: unknown): string {
  return reasons[codeOf(thrown) ?? ''] ?? (thrown instanceof Error ? thrown.message : String(thrown));
}

/** What reading an own file threw, as `config.unreadable`. */
export function unreadableFault(path: string, cause: unknown): Fault {
  return cause instanceof Fault ? cause : unreadable(path, reasonOf(cause), cause);
}

/** What writing an own file threw, as `config.unwritable`. */
export function unwritableFault(path: string, cause: unknown): Fault {
  return cause instanceof Fault ? cause : unwritable(path, cause);
}

function unreadable(
  path: string,
  reason: string,
  cause?: unknown,
  remedy = 'Check that it is a plain file or folder that you may read.',
): Fault {
  return new Fault({
    code: 'config.unreadable',
    message: `${path} cannot be read: ${reason}.`,
    remedy,
    where: { file: path },
    cause,
  });
}

function unwritable(path: string, cause: unknown): Fault {
  return new Fault({
    code: 'config.unwritable',
    message: `${path} cannot be written: ${reasonOf(cause)}.`,
    remedy: 'Check permissions and free space, or point QUARTERDECK_HOME at a folder that you may write to.',
    where: { file: path },
    cause,
  });
}
