import { constants, type Stats, unwatchFile, watchFile } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { Fault, messageOf } from '../faults/fault.ts';
import { textOfPeople } from './encoding.ts';
import type { OwnPaths } from './paths.ts';

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

interface ReadOptions {
  limitBytes?: number;
  /** Follows a symbolic link of the operator's or of root: for files that people write, which dotfile managers and containers link. */
  followsLinks?: boolean;
}

/**
 * The text of a file that we wrote, undefined when there is none. Throws `refused.ownFile` for a symbolic link, `config.unreadable` for everything else that keeps it
 * from being read.
 */
export async function readOwnFile(path: string, options: ReadOptions = {}): Promise<string | undefined> {
  return (await readOwnBytes(path, { followsLinks: false, ...options }))?.toString('utf8');
}

/** The same, of what was not written by us: where it is no UTF-8 it is refused with its place, and no sign is put in the stead of what was there. */
export async function readOwnText(path: string, options: { limitBytes?: number } = {}): Promise<string | undefined> {
  const bytes = await readOwnBytes(path, options);
  return bytes && textOfPeople(bytes, path);
}

/** The same as it lies there. */
export async function readOwnBytes(
  path: string,
  { limitBytes = usualLimitBytes, followsLinks = true }: ReadOptions = {},
): Promise<Buffer | undefined> {
  try {
    await using file = await openPlain(path, constants.O_RDONLY, { followsLinks });
    const facts = await file.stat();
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

/** Is there anything under that name? */
export async function hasOwnFile(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
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
 * Writes a file whole or not at all: readers see the old or the new text. Missing folders are created, for the operator alone; the
 * file is readable for the operator alone, unless another mode is passed. As root in another user's folder, what is created belongs to that user.
 * Throws `refused.ownFile` where a symbolic link or anything but a plain file has its name, or where others may write to its folder, and `config.unwritable`.
 * @param chosen the operator chose the path: any folder will do, and a link of theirs leads to the file to replace
 */
export async function writeOwnFile(path: string, content: string | Uint8Array, { mode = fileMode, chosen = false } = {}): Promise<void> {
  try {
    const target = chosen && (await isTrustedLink(path)) ? await realpath(path) : path;
    await using folder = await openFolder(dirname(target), { checked: !chosen });
    const final = folder.at(basename(target));
    const before = await lstat(final).catch(() => undefined);
    if (before && !before.isFile()) throw before.isDirectory() ? unwritable(path, { code: 'EISDIR' }) : notPlain(path, before);
    // Beside the target, flushed, renamed over it.
    const draft = folder.at(`.${basename(target)}.${process.pid}-${Date.now().toString(36)}-${drafts++}`);
    try {
      {
        await using file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
        await file.writeFile(content);
        if (folder.owner) await file.chown(folder.owner.uid, folder.owner.gid);
        await file.chmod(mode);
        await file.sync();
      }
      await rename(draft, final);
    } catch (cause) {
      await unlink(draft).catch(() => {});
      throw cause;
    }
  } catch (cause) {
    throw unwritableFault(path, cause);
  }
}
let drafts = 0;

/** Adds to the end of a file in one write, creating it when it is missing. Throws as `writeOwnFile` does. */
export async function appendOwnFile(path: string, content: string | Uint8Array): Promise<void> {
  try {
    await using folder = await openFolder(dirname(path), { checked: true });
    const at = folder.at(basename(path));
    const flags = constants.O_WRONLY | constants.O_APPEND;
    const created = await open(at, flags | constants.O_CREAT | constants.O_EXCL, fileMode).catch((cause: unknown) => {
      if (codeOf(cause) === 'EEXIST') return undefined;
      throw cause;
    });
    await using file = created ?? (await openPlain(path, flags, { at }));
    if (created && folder.owner) await created.chown(folder.owner.uid, folder.owner.gid);
    // The owner of the folder can give one of root's files a second name there.
    if (!created && folder.owner && (await file.stat()).nlink > 1)
      throw refusal(path, 'has a second name, a hard link', `Remove it: rm ${path}`);
    await file.appendFile(content);
    await file.datasync();
  } catch (cause) {
    throw unwritableFault(path, cause);
  }
}

/**
 * Opens a plain file for reading or changing, undefined when there is none. A symbolic link or a named pipe is refused, and none of them can hold us.
 * Throws `refused.ownFile` or `config.unreadable`.
 */
export async function openOwnFile(path: string, access: 'read' | 'change'): Promise<FileHandle | undefined> {
  try {
    return await openPlain(path, access === 'read' ? constants.O_RDONLY : constants.O_RDWR);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadableFault(path, cause);
  }
}

/**
 * Refuses symbolic links, named pipes and the like among the files of state, data and cache. Much of what is in there is only a convenience, and written without a word
 * when it can be; what somebody put in its place is reported before anything else happens.
 */
export async function refuseForeignFiles({ state, data, cache }: Pick<OwnPaths, 'state' | 'data' | 'cache'>): Promise<void> {
  for (const folder of [state, data, cache]) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (!entry.isFile() && !entry.isDirectory()) throw notPlain(join(folder, entry.name), entry);
  }
}

interface Owner {
  uid: number;
  gid: number;
}

interface OwnFolder extends AsyncDisposable {
  /** The path of an entry, which stays in this folder also where somebody replaces the folder by a link meanwhile. */
  at(name: string): string;
  /** Who gets what is created in it, where that is not this process. */
  owner: Owner | undefined;
}

const isRoot = process.geteuid?.() === 0;
const throughHandle = process.platform === 'linux';

/** `checked`: nobody but us (and root) may write to it. */
async function openFolder(path: string, { checked }: { checked: boolean }): Promise<OwnFolder> {
  const handle = await openOrMakeFolder(resolve(path));
  try {
    const owner = await ownerFor(resolve(path), handle);
    if (checked && process.platform !== 'win32') {
      const { uid, mode } = await handle.stat();
      if (uid !== process.geteuid?.() && uid !== 0 && uid !== owner?.uid)
        throw refusal(path, 'belongs to another user', 'Set QUARTERDECK_HOME to a folder of your own.');
      if ((mode & 0o022) !== 0) throw refusal(path, 'can be written to by other users', `Close it to them: chmod go-w ${path}`);
    }
    return { at: (name) => entryOf(handle, path, name), owner, [Symbol.asyncDispose]: () => handle.close() };
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

function entryOf(folder: FileHandle, path: string, name: string): string {
  return throughHandle ? `/proc/self/fd/${folder.fd}/${name}` : join(path, name);
}

async function openOrMakeFolder(path: string): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  try {
    return await open(path, flags);
  } catch (cause) {
    if (codeOf(cause) !== 'ENOENT' || dirname(path) === path) throw cause;
  }
  await using parent = await openOrMakeFolder(dirname(path));
  const owner = await ownerFor(dirname(path), parent);
  const at = entryOf(parent, dirname(path), basename(path));
  const made = await mkdir(at, { mode: folderMode }).then(
    () => true,
    (cause: unknown) => {
      if (codeOf(cause) === 'EEXIST') return false;
      throw cause;
    },
  );
  // A link that leads nowhere ends here.
  const handle = await open(at, made ? flags | constants.O_NOFOLLOW : flags);
  if (made && owner) await handle.chown(owner.uid, owner.gid);
  return handle;
}

/**
 * Who owns what root creates in a folder: whose home it is in. Through a link of that user's nothing is written as root to where they may not write themselves.
 * Undefined where it is this process.
 */
async function ownerFor(path: string, folder: FileHandle): Promise<Owner | undefined> {
  if (!isRoot) return undefined;
  const real = throughHandle ? await readlink(`/proc/self/fd/${folder.fd}`) : await realpath(path);
  const [named, found] = [await firstUser(path), await firstUser(real)];
  if (named?.uid !== found?.uid)
    throw refusal(
      path,
      'leads through a symbolic link of another user',
      'Run Quarterdeck as that user, or with a home of its own: sudo -H quarterdeck',
    );
  return found;
}

/** The owner of the first folder on the way that does not belong to root, as far as the path exists. */
async function firstUser(path: string): Promise<Owner | undefined> {
  const parts = path.split(sep);
  for (let count = 2; count <= parts.length; count++) {
    const facts = await lstat(parts.slice(0, count).join(sep)).catch((cause: unknown) => {
      if (!isMissing(cause)) throw cause;
    });
    if (!facts) return undefined;
    if (facts.uid !== 0) return { uid: facts.uid, gid: facts.gid };
  }
  return undefined;
}

/** Does this process, as root, use the home of somebody else (sudo without -H)? */
export async function isInAnothersHome(path: string): Promise<boolean> {
  return isRoot && (await firstUser(resolve(path))) !== undefined;
}

/** @param at where to open it, when not by its path */
async function openPlain(path: string, flags: number, { at = path, followsLinks = false } = {}): Promise<FileHandle> {
  if (followsLinks && (await isForeignLink(path))) throw refusal(path, 'is a symbolic link of another user', `Remove it: rm ${path}`);
  let file: FileHandle;
  try {
    // Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
    file = await open(at, flags | constants.O_NONBLOCK | (followsLinks ? 0 : constants.O_NOFOLLOW));
  } catch (cause) {
    const isOdd = ['ELOOP', 'ENXIO'].includes(codeOf(cause) ?? '');
    const facts = isOdd ? await (followsLinks ? stat : lstat)(at).catch(() => undefined) : undefined;
    throw facts ? notPlain(path, facts) : cause;
  }
  const facts = await file.stat();
  if (facts.isFile()) return file;
  await file.close();
  throw facts.isDirectory() ? unreadable(path, 'it is a folder') : notPlain(path, facts);
}

async function isTrustedLink(path: string): Promise<boolean> {
  const facts = await lstat(path).catch(() => undefined);
  return facts?.isSymbolicLink() === true && (facts.uid === 0 || facts.uid === process.geteuid?.());
}

/** Is it a link that neither we, nor root, nor the owner of its folder made? */
async function isForeignLink(path: string): Promise<boolean> {
  const facts = await lstat(path).catch(() => undefined);
  if (!facts?.isSymbolicLink() || (await isTrustedLink(path))) return false;
  return (await stat(dirname(path))).uid !== facts.uid;
}

function notPlain(path: string, facts: Pick<Stats, 'isSymbolicLink' | 'isFIFO' | 'isSocket'>): Fault {
  const kind = facts.isSymbolicLink() ? 'a symbolic link' : facts.isFIFO() ? 'a named pipe' : facts.isSocket() ? 'a socket' : 'a device';
  return refusal(
    path,
    `is ${kind}, not a plain file`,
    `Quarterdeck does not use it. Remove it, or put a plain file in its place: rm ${path}`,
  );
}

function refusal(path: string, why: string, remedy: string): Fault {
  return new Fault({ code: 'refused.ownFile', message: `${path} ${why}.`, remedy, where: { file: path } });
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

/** A lock is a folder. Refuses what is anything else, which no holder would ever release. Throws `refused.ownFile`. */
export async function refuseForeignLock(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts && !facts.isDirectory()) throw refusal(path, 'is not a folder, and so no lock', `Remove it: rm ${path}`);
}

/** Creates a folder, and those above it, for the operator alone. Throws as `writeOwnFile` does. */
export async function makeOwnFolder(path: string): Promise<void> {
  try {
    await using _folder = await openFolder(path, { checked: true });
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
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : undefined;
}

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EROFS: 'the filesystem is read-only',
  EISDIR: 'it is a folder',
  EEXIST: 'a file is in the way',
  ENOTDIR: 'a file is in the way',
  ENOTEMPTY: 'a folder with files in it is in the way',
  ELOOP: 'its links go round in circles',
};

function reasonOf(thrown: unknown): string {
  return reasons[codeOf(thrown) ?? ''] ?? messageOf(thrown);
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
