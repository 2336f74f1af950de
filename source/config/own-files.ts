import { constants, type Stats, unwatchFile, watchFile } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { Fault, messageOf } from '../faults/fault.ts';
import { parsedJson } from '../text/json-value.ts';
import { textOfPeople } from './encoding.ts';
import type { OwnPaths } from './paths.ts';

/* The console's own files: configuration, state, and the operator's catalog folder. Files of the operated machine go through `hosts/`. */

const fileMode = 0o600;
const folderMode = 0o700;
/** Our files are hardly ever nearly as large; a larger file is a mistake (a device, a log used as a catalog). */
const usualLimitBytes = 16 * 1024 * 1024;

export interface OwnEntry {
  name: string;
  kind: 'file' | 'folder' | 'other';
}

interface ReadOptions {
  limitBytes?: number;
  /** Follows a symbolic link of the operator or root: for files that people write, which dotfile managers and containers link. */
  followsLinks?: boolean;
}

/** For files that we wrote. Throws `refused.ownFile` for a symbolic link, and `config.unreadable` for all other read errors. */
export async function readOwnFile(path: string, options: ReadOptions = {}): Promise<string | undefined> {
  return (await readOwnBytes(path, { followsLinks: false, ...options }))?.toString('utf8');
}

/** The same for a file that we did not write: invalid UTF-8 is refused with its position, and never replaced. */
export async function readOwnText(path: string, options: { limitBytes?: number } = {}): Promise<string | undefined> {
  const bytes = await readOwnBytes(path, options);
  return bytes && textOfPeople(bytes, path);
}

/** For JSON that is only a convenience: undefined if the file is missing, cannot be read or is damaged. */
export async function readOwnJson(path: string): Promise<unknown> {
  return parsedJson((await readOwnFile(path).catch(() => undefined)) ?? '');
}

export function readOwnBytes(path: string, options: ReadOptions = {}): Promise<Buffer | undefined> {
  const { limitBytes = usualLimitBytes, followsLinks = true } = options;
  return reading(path, async () => {
    await using file = await openPlain(path, constants.O_RDONLY, { followsLinks });
    const { size } = await file.stat();
    const limit = limitBytes < 1 << 20 ? `${limitBytes >> 10} KB` : `${limitBytes >> 20} MB`;
    if (size > limitBytes) throw unreadable(path, `it is larger than ${limit}`, undefined, 'Check that this is the right file.');
    return await file.readFile();
  });
}

export async function hasOwnFile(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** Only the owner (and root) can access a private file. True where such modes do not exist. Throws `config.unreadable`. */
export async function isOwnFilePrivate(path: string): Promise<boolean> {
  try {
    return process.platform === 'win32' || ((await stat(path)).mode & 0o077) === 0;
  } catch (cause) {
    throw unreadableFault(path, cause);
  }
}

/**
 * Writes a file completely or not at all. Missing folders are created, accessible to the operator only. As root in another user's folder,
 * created files and folders belong to that user. Throws `refused.ownFile` if the path is a symbolic link or not a regular file, or if
 * others may write to its folder, and `config.unwritable`.
 * @param chosen the operator chose the path: any folder is allowed, and the target of the operator's link is replaced
 */
export function writeOwnFile(path: string, content: string | Uint8Array, { mode = fileMode, chosen = false } = {}): Promise<void> {
  return writing({ path, chosen }, async () => {
    const target = chosen && (await isTrustedLink(path)) ? await realpath(path) : path;
    await using folder = await openFolder(dirname(target), { checked: !chosen });
    const final = folder.at(basename(target));
    const before = await lstat(final).catch(() => undefined);
    if (before?.isDirectory()) throw unwritableFault(path, { code: 'EISDIR' }, chosen);
    if (before && !before.isFile()) throw notPlain(path, before, chosen);
    // Written beside the target, flushed, and renamed over it.
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
  });
}
let drafts = 0;

/** Appends to a file in one write, and creates it if it is missing. Throws as `writeOwnFile` does. */
export function appendOwnFile(path: string, content: string | Uint8Array): Promise<void> {
  return writing({ path }, async () => {
    await using folder = await openFolder(dirname(path), { checked: true });
    const at = folder.at(basename(path));
    const flags = constants.O_WRONLY | constants.O_APPEND;
    const created = await open(at, flags | constants.O_CREAT | constants.O_EXCL, fileMode).catch((cause: unknown) => {
      if (codeOf(cause) === 'EEXIST') return undefined;
      throw cause;
    });
    await using file = created ?? (await openPlain(path, flags, { at }));
    if (created && folder.owner) await created.chown(folder.owner.uid, folder.owner.gid);
    // The owner of the folder could create a hard link there to one of root's files.
    if (!created && folder.owner && (await file.stat()).nlink > 1)
      throw refusal(
        path,
        'has another hard link',
        'If its content is correct, replace the file with a copy of itself. Otherwise, remove the file.',
      );
    await file.appendFile(content);
    await file.datasync();
  });
}

/** Undefined if there is no file. A link or a named pipe is refused, and cannot block us. Throws `refused.ownFile`, `config.unreadable`. */
export function openOwnFile(path: string, access: 'read' | 'change'): Promise<FileHandle | undefined> {
  return reading(path, () => openPlain(path, access === 'read' ? constants.O_RDONLY : constants.O_RDWR));
}

/**
 * Refuses symbolic links, named pipes and the like among the files of state, data and cache. Many of these files are optional and written
 * silently if possible; a replacement by another process is reported before anything else happens.
 */
export async function refuseForeignFiles({ state, data, cache }: Pick<OwnPaths, 'state' | 'data' | 'cache'>): Promise<void> {
  for (const folder of [state, data, cache]) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (!entry.isFile() && !entry.isDirectory()) throw notPlain(join(folder, entry.name), entry);
  }
}

type Owner = Pick<Stats, 'uid' | 'gid'>;

const isRoot = process.geteuid?.() === 0;
const throughHandle = process.platform === 'linux';

/** `at` returns the path of an entry, even if a link replaces the folder meanwhile. `owner` is that of new entries, if not ours. */
async function openFolder(path: string, { checked }: { checked: boolean }) {
  const handle = await openOrMakeFolder(resolve(path));
  try {
    const owner = await ownerFor(resolve(path), handle);
    if (checked && process.platform !== 'win32') {
      const { uid, mode } = await handle.stat();
      if (uid !== process.geteuid?.() && uid !== 0 && uid !== owner?.uid)
        throw refusal(path, 'belongs to another user', 'Set QUARTERDECK_HOME to a folder that you own.');
      if ((mode & 0o022) !== 0) throw refusal(path, 'is writable by other users', `Remove write access for others: chmod go-w ${path}`);
    }
    return { at: (name: string) => entryOf(handle, path, name), owner, [Symbol.asyncDispose]: () => handle.close() };
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
  let isCreated = true;
  await mkdir(at, { mode: folderMode }).catch((cause: unknown) => {
    if (codeOf(cause) !== 'EEXIST') throw cause;
    isCreated = false;
  });
  // A dangling link fails here.
  const handle = await open(at, isCreated ? flags | constants.O_NOFOLLOW : flags);
  if (isCreated && owner) await handle.chown(owner.uid, owner.gid);
  return handle;
}

/**
 * Returns the owner for files that root creates in a folder: the user whose home contains it. Root does not follow that user's links to
 * folders where the user may not write. Undefined if the owner is this process.
 */
async function ownerFor(path: string, folder: FileHandle): Promise<Owner | undefined> {
  if (!isRoot) return undefined;
  const real = throughHandle ? await readlink(`/proc/self/fd/${folder.fd}`) : await realpath(path);
  const [named, found] = [await firstUser(path), await firstUser(real)];
  const remedy = 'Run Quarterdeck as the owner of the link, or with the home directory of root: sudo -H quarterdeck';
  if (named?.uid !== found?.uid) throw refusal(path, 'goes through a symbolic link owned by another user', remedy);
  return found;
}

/** Returns the owner of the first folder on the path that does not belong to root, as far as the path exists. */
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

/** As root, this process may use another user's home (sudo without -H). */
export async function isInAnothersHome(path: string): Promise<boolean> {
  return isRoot && (await firstUser(resolve(path))) !== undefined;
}

/** @param at the path to open, if it differs */
async function openPlain(path: string, flags: number, { at = path, followsLinks = false } = {}): Promise<FileHandle> {
  if (followsLinks && (await isForeignLink(path))) throw refusal(path, 'is a symbolic link owned by another user', `Remove it: rm ${path}`);
  let file: FileHandle;
  try {
    // Without O_NONBLOCK a named pipe would block us until another process writes to it.
    file = await open(at, flags | constants.O_NONBLOCK | (followsLinks ? 0 : constants.O_NOFOLLOW));
  } catch (cause) {
    const isOdd = ['ELOOP', 'ENXIO'].includes(codeOf(cause) ?? '');
    const facts = isOdd ? await (followsLinks ? stat : lstat)(at).catch(() => undefined) : undefined;
    throw facts ? notPlain(path, facts, followsLinks) : cause;
  }
  const facts = await file.stat();
  if (facts.isFile()) return file;
  await file.close();
  throw facts.isDirectory() ? unreadable(path, 'it is a folder') : notPlain(path, facts, followsLinks);
}

async function isTrustedLink(path: string): Promise<boolean> {
  const facts = await lstat(path).catch(() => undefined);
  return facts?.isSymbolicLink() === true && (facts.uid === 0 || facts.uid === process.geteuid?.());
}

/** A foreign link was created by neither us, nor root, nor the owner of its folder. */
async function isForeignLink(path: string): Promise<boolean> {
  const facts = await lstat(path).catch(() => undefined);
  if (!facts?.isSymbolicLink() || (await isTrustedLink(path))) return false;
  return (await stat(dirname(path))).uid !== facts.uid;
}

/** @param chosen the operator may have chosen the path: `/dev/null` must not be removed */
function notPlain(path: string, facts: Pick<Stats, 'isSymbolicLink' | 'isFIFO' | 'isSocket'>, chosen = false): Fault {
  const kind = facts.isSymbolicLink() ? 'a symbolic link' : facts.isFIFO() ? 'a named pipe' : facts.isSocket() ? 'a socket' : 'a device';
  const remedy = chosen ? 'Use a regular file instead.' : `Quarterdeck uses only regular files here. Remove this entry: rm ${path}`;
  return refusal(path, `is ${kind}, not a regular file`, remedy);
}

function refusal(path: string, why: string, remedy: string): Fault {
  return new Fault('refused.ownFile', `${path} ${why}.`, remedy, { where: { file: path } });
}

/**
 * Calls back when a file is written, created or removed, until the returned function is called. Polls: the file and its folder may not
 * exist yet, and some filesystems send no events. Does not keep the process alive.
 */
export function watchOwnFile(path: string, everyMs: number, changed: () => void): () => void {
  const heard = () => changed();
  watchFile(path, { interval: everyMs, persistent: false }, heard);
  return () => unwatchFile(path, heard);
}

/** Lists a folder, sorted by name; undefined if there is no such folder. Links count as their targets. */
export function listOwnFolder(path: string): Promise<OwnEntry[] | undefined> {
  return reading(path, async () => {
    const found = await readdir(path, { withFileTypes: true });
    const entries = await Promise.all(
      found.map(async (entry): Promise<OwnEntry> => {
        const facts = entry.isSymbolicLink() ? await stat(`${path}/${entry.name}`).catch(() => undefined) : entry;
        return { name: entry.name, kind: facts?.isDirectory() ? 'folder' : facts?.isFile() ? 'file' : 'other' };
      }),
    );
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** A lock is a folder. Refuses anything else, which no holder would ever release. Throws `refused.ownFile`. */
export async function refuseForeignLock(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts && !facts.isDirectory()) throw refusal(path, 'is not a folder, so it cannot be used as a lock', `Remove this file: rm ${path}`);
}

/** Creates a folder and its parents, accessible to the operator only. Throws as `writeOwnFile` does. */
export function createOwnFolder(path: string): Promise<void> {
  return writing({ path }, async () => {
    await using _folder = await openFolder(path, { checked: true });
  });
}

/** A missing file is not an error. Throws `config.unwritable`. */
export const removeOwnFile = (path: string): Promise<void> => writing({ path }, () => rm(path, { force: true }));

export const removeOwnFolder = (path: string): Promise<void> => writing({ path }, () => rm(path, { force: true, recursive: true }));

/** Undefined if the path does not exist. */
function reading<T>(path: string, work: () => Promise<T>): Promise<T | undefined> {
  return work().catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw unreadableFault(path, cause);
  });
}

function writing({ path, chosen }: { path: string; chosen?: boolean }, work: () => Promise<void>): Promise<void> {
  return work().catch((cause: unknown) => {
    throw unwritableFault(path, cause, chosen);
  });
}

const isMissing = (thrown: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(thrown) ?? '');

function codeOf(thrown: unknown): string | undefined {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : undefined;
}

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EROFS: 'the filesystem is read-only',
  EISDIR: 'it is a folder',
  EEXIST: 'a file with that name exists',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTEMPTY: 'the folder is not empty',
  ELOOP: 'it has too many levels of symbolic links',
};

const reasonOf = (thrown: unknown): string => reasons[codeOf(thrown) ?? ''] ?? messageOf(thrown);

export function unreadableFault(path: string, cause: unknown): Fault {
  return cause instanceof Fault ? cause : unreadable(path, reasonOf(cause), cause);
}

function unreadable(path: string, reason: string, cause?: unknown, remedy = 'Check that the path is a file or folder that you can read.') {
  return new Fault('config.unreadable', `${path} cannot be read: ${reason}.`, remedy, { where: { file: path }, cause });
}

export function unwritableFault(path: string, cause: unknown, chosen = false): Fault {
  if (cause instanceof Fault) return cause;
  const other = chosen ? 'use another file' : 'set QUARTERDECK_HOME to a folder that you can write to';
  const remedy = `Check permissions and free space, or ${other}.`;
  return new Fault('config.unwritable', `${path} cannot be written: ${reasonOf(cause)}.`, remedy, { where: { file: path }, cause });
}
