import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, readlink, rename, rm, stat, symlink, utimes } from 'node:fs/promises';
import { dirname, join, posix, resolve } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Headers, pack } from 'tar-stream';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { unusable } from './local-files.ts';

/** Reads and writes files of the operator's own machine as tar archives, in the format that engines use. */

export interface CopyCount {
  files: number;
  bytes: number;
  /** Devices and sockets, and hard links in an archive: listed, not copied. */
  skipped: string[];
}

export async function localKind(path: string): Promise<'file' | 'folder' | 'missing' | 'other'> {
  try {
    const facts = await stat(path);
    return facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : 'other';
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return 'missing';
    throw unusable(path, 'used', cause);
  }
}

/** Packs a file or a folder as `root`, the one top entry. Links stay links, and root is the owner: ours means nothing in a container. */
export function packLocal(path: string, root: string, signal: AbortSignal, onBytes: (count: CopyCount) => void = () => {}) {
  const count: CopyCount = { files: 0, bytes: 0, skipped: [] };
  const archive = pack();
  // Callers get a Node stream, not the library's own.
  const plain = new PassThrough();
  archive.on('error', (cause) => plain.destroy(cause));
  archive.pipe(plain);

  async function add(from: string, name: string, followLink: boolean): Promise<void> {
    signal.throwIfAborted();
    const facts = await (followLink ? stat(from) : lstat(from));
    const common = { name, mode: facts.mode & 0o7777, mtime: facts.mtime, uid: 0, gid: 0 };
    if (facts.isDirectory()) {
      await entry({ ...common, name: `${name}/`, type: 'directory' });
      for (const child of (await readdir(from)).sort()) await add(join(from, child), `${name}/${child}`, false);
    } else if (facts.isSymbolicLink()) {
      await entry({ ...common, type: 'symlink', linkname: await readlink(from) });
    } else if (facts.isFile()) {
      await addFile(from, { ...common, size: facts.size, type: 'file' });
    } else {
      count.skipped.push(from);
    }
  }

  const entry = (header: Headers) =>
    new Promise<void>((done, fail) => {
      archive.entry(header, (error) => (error ? fail(error) : done()));
    });

  async function addFile(from: string, header: Headers & { size: number }): Promise<void> {
    const sink = archive.entry(header);
    // A file that grows during the read would break the archive, so only the size in its header is written.
    if (header.size === 0) sink.end();
    else await pipeline(createReadStream(from, { end: header.size - 1 }), sink, { signal });
    count.files += 1;
    count.bytes += header.size;
    onBytes(count);
  }

  add(path, root, true).then(
    () => archive.finalize(),
    (cause: unknown) => archive.destroy(cause instanceof Fault || signal.aborted ? (cause as Error) : unusable(path, 'used', cause)),
  );
  return { archive: plain, count };
}

export async function topEntry(archive: NodeJS.ReadableStream): Promise<Headers | undefined> {
  const reader = extract();
  try {
    return await new Promise<Headers | undefined>((done, fail) => {
      reader.on('entry', (header) => done(header));
      reader.on('finish', () => done(undefined));
      reader.on('error', fail);
      archive.on('error', fail);
      archive.pipe(reader);
    });
  } finally {
    reader.on('error', () => {});
    archive.unpipe(reader);
    drop(archive);
    reader.destroy();
  }
}

function drop(stream: NodeJS.ReadableStream): void {
  stream.on('error', () => {});
  (stream as Partial<Readable>).destroy?.();
}

/** Returns the parts of an archive path below its top entry. Throws `refused.archivePath` for a path that leaves the archive. */
function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..'))
    throw untrusted(`The archive contains a path outside the target: ${JSON.stringify(name)}.`);
  return parts;
}

function untrusted(message: string): Fault {
  return new Fault('refused.archivePath', message, 'Do not trust this container. Nothing was written.');
}

/**
 * Unpacks an archive with one top entry so that this entry becomes `target`. Everything is unpacked beside the target first and moved at
 * the end, so that the target is complete or absent. Nothing is ever written through a link, files keep only their permission bits (no
 * setuid), and the operator becomes the owner. An existing file is replaced only with `replace`, an existing folder never. Throws
 * `refused.exists`, `refused.archivePath`, `failed.file`.
 */
export async function unpackLocal(
  grant: Grant,
  archive: NodeJS.ReadableStream,
  target: string,
  { replace, onBytes = () => {} }: { replace: boolean; onBytes?: (count: CopyCount) => void },
): Promise<CopyCount> {
  const { signal } = grant;
  signal.throwIfAborted();
  const whole = resolve(target);
  const standing = await localKind(whole);
  if (standing !== 'missing' && !(standing === 'file' && replace)) {
    drop(archive);
    const remedy = standing === 'file' ? 'Use another target, or use --force to replace the file.' : 'Use another target.';
    throw new Fault('refused.exists', `${target} already exists.`, remedy);
  }
  const parent = dirname(whole);
  let workshop: string;
  try {
    workshop = await mkdtemp(join(parent, '.quarterdeck-'));
  } catch (cause) {
    drop(archive);
    throw unusable(parent, 'used', cause);
  }
  const count: CopyCount = { files: 0, bytes: 0, skipped: [] };
  // Links and folder modes are set last: until then no path can leave the target, and every folder is writable.
  const links: { at: string; to: string }[] = [];
  const folders: { at: string; mode: number; modified: Date }[] = [];
  let top: string | undefined;

  async function take(header: Headers, content: Readable): Promise<void> {
    const parts = partsOf(header.name);
    const [first, ...rest] = parts;
    top ??= first ?? '';
    if ((first ?? '') !== top) throw new Fault('refused.archivePath', 'The archive has several top-level entries.', 'Nothing was written.');
    const at = join(workshop, 'top', ...rest);
    const mode = (header.mode ?? 0o644) & 0o777;
    if (header.type === 'directory') {
      await mkdir(at, { recursive: true, mode: 0o700 });
      folders.push({ at, mode, modified: header.mtime ?? new Date() });
    } else if (header.type === 'symlink') {
      links.push({ at, to: header.linkname ?? '' });
    } else if (header.type === 'file' || header.type === 'contiguous-file') {
      await mkdir(dirname(at), { recursive: true, mode: 0o700 });
      // `wx`: a second entry of the same name must not overwrite the first.
      await pipeline(content, createWriteStream(at, { flags: 'wx', mode: mode | 0o200 }), { signal });
      await chmod(at, mode);
      await utimes(at, new Date(), header.mtime ?? new Date());
      count.files += 1;
      count.bytes += header.size ?? 0;
      onBytes(count);
      return;
    } else {
      count.skipped.push(posix.normalize(header.name));
    }
    content.resume();
  }

  try {
    const reader = extract();
    reader.on('entry', (header, content, next) => {
      take(header, content).then(() => next(), next);
    });
    await pipeline(archive, reader, { signal });
    const linked = new Set(links.map(({ at }) => at));
    for (const { at, to } of links) {
      if (leadsThrough(at, linked)) throw untrusted('The archive contains a path that passes through one of its own symbolic links.');
      await mkdir(dirname(at), { recursive: true, mode: 0o700 });
      await symlink(to, at);
    }
    for (const { at, mode, modified } of folders.reverse()) {
      await utimes(at, new Date(), modified);
      await chmod(at, mode);
    }
    if (top === undefined) throw new Fault('failed.archive', 'The archive is empty.', 'Check the source.');
    if (folders.length + links.length + count.files === 0) {
      const message = `Cannot copy ${count.skipped.join(', ')}: not a file or folder.`;
      throw new Fault('failed.archive', message, 'Only files, folders and links can be copied.');
    }
    signal.throwIfAborted();
    // Another process may have created it meanwhile: rename would move into an existing folder.
    if (!replace && (await localKind(whole)) !== 'missing')
      throw new Fault('refused.exists', `${target} already exists.`, 'Use another target.');
    await rename(join(workshop, 'top'), whole);
    return count;
  } catch (cause) {
    if (cause instanceof Fault || signal.aborted) throw cause;
    throw unusable(target, 'used', cause);
  } finally {
    // A folder whose mode forbids writing cannot be emptied.
    for (const { at } of folders.toReversed()) await chmod(at, 0o700).catch(() => {});
    await rm(workshop, { recursive: true, force: true }).catch(() => {});
  }
}

function leadsThrough(path: string, links: ReadonlySet<string>): boolean {
  const above = dirname(path);
  return above !== path && (links.has(above) || leadsThrough(above, links));
}

/** Returns the path where `cp` would put a file named `name` for the target `target`: inside it if it is a folder, otherwise at it. */
export async function landingPath(target: string, name: string): Promise<string> {
  const kind = await localKind(target);
  if (kind === 'folder') return join(target, name);
  if (target.endsWith('/') && kind === 'missing')
    throw new Fault('usage.target', `The folder ${target} does not exist.`, 'Create the folder first, or omit the trailing slash.');
  return target;
}
