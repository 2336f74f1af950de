import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, readlink, rename, rm, stat, symlink, utimes } from 'node:fs/promises';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Headers, pack } from 'tar-stream';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { reasonOf } from './local-files.ts';

/** Files of the operator's own machine as tar archives, in the form in which engines give and take them. */

export interface CopyCount {
  files: number;
  bytes: number;
  /** Devices, sockets, hard links out of the archive: named, not copied. */
  skipped: string[];
}

export type LocalKind = 'file' | 'folder' | 'missing' | 'other';

export async function localKind(path: string): Promise<LocalKind> {
  try {
    const facts = await stat(path);
    return facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : 'other';
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return 'missing';
    throw fileFault(path, cause);
  }
}

function fileFault(path: string, cause: unknown): Fault {
  return new Fault({
    code: 'failed.file',
    message: `${path} cannot be used: ${reasonOf(cause)}.`,
    remedy: 'Check the path, its permissions and the room on its filesystem.',
    where: { file: path },
    cause,
  });
}

/** A file or a folder as an archive whose only top entry is called `root`. Links stay links. Owners become root, as inside a container they mean nothing. */
export function packLocal(
  path: string,
  root: string,
  signal: AbortSignal,
  onBytes: (count: CopyCount) => void = () => {},
): { archive: Readable; count: CopyCount } {
  const count: CopyCount = { files: 0, bytes: 0, skipped: [] };
  const archive = pack();
  // Whoever reads it gets a stream of node, not one of the library's own.
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
    // A file that grows while it is read would break the archive: what its header promised is what goes in.
    if (header.size === 0) sink.end();
    else await pipeline(createReadStream(from, { end: header.size - 1 }), sink, { signal });
    count.files += 1;
    count.bytes += header.size;
    onBytes(count);
  }

  add(path, root, true).then(
    () => archive.finalize(),
    (cause: unknown) => archive.destroy(cause instanceof Fault || signal.aborted ? (cause as Error) : fileFault(path, cause)),
  );
  return { archive: plain, count };
}

/** What the top entry of an archive is, without reading on. */
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

/** Lets go of a stream, whatever it still says. */
function drop(stream: NodeJS.ReadableStream): void {
  stream.on('error', () => {});
  (stream as Partial<Readable>).destroy?.();
}

/** The parts of an archive's path below its top entry. Throws `refused.archivePath` for a path that leads out. */
function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..')) {
    throw new Fault({
      code: 'refused.archivePath',
      message: `The archive wants to write outside of the target: ${JSON.stringify(name)}.`,
      remedy: 'Do not trust this container. Nothing was written.',
    });
  }
  return parts;
}

/**
 * Unpacks an archive with one top entry so that this entry becomes `target`. All of it is unpacked beside the target first and moved there at the end: it
 * comes whole or not at all. Nothing is ever written through a link, files keep only their permission bits (no setuid), and owners are the operator's.
 * An existing file is replaced with `replace` only, an existing folder never. Throws `refused.exists`, `refused.archivePath`, `failed.file`.
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
    throw new Fault({
      code: 'refused.exists',
      message: `${target} exists already.`,
      remedy: standing === 'file' ? 'Name another target, or use --force to replace it.' : 'Name another target.',
    });
  }
  const parent = dirname(whole);
  let workshop: string;
  try {
    workshop = await mkdtemp(join(parent, '.quarterdeck-'));
  } catch (cause) {
    drop(archive);
    throw fileFault(parent, cause);
  }
  const count: CopyCount = { files: 0, bytes: 0, skipped: [] };
  // Links and the modes of folders come last: until then nothing can lead out, and every folder can be written to.
  const links: { at: string; to: string }[] = [];
  const folders: { at: string; mode: number; modified: Date }[] = [];
  let top: string | undefined;

  async function take(header: Headers, content: Readable): Promise<void> {
    const parts = partsOf(header.name);
    const [first, ...rest] = parts;
    top ??= first ?? '';
    if ((first ?? '') !== top)
      throw new Fault({ code: 'refused.archivePath', message: 'The archive has more than one top entry.', remedy: 'Nothing was written.' });
    const at = join(workshop, 'top', ...rest);
    const mode = (header.mode ?? 0o644) & 0o777;
    if (header.type === 'directory') {
      await mkdir(at, { recursive: true, mode: 0o700 });
      folders.push({ at, mode, modified: header.mtime ?? new Date() });
    } else if (header.type === 'symlink') {
      links.push({ at, to: header.linkname ?? '' });
    } else if (header.type === 'file' || header.type === 'contiguous-file') {
      await mkdir(dirname(at), { recursive: true, mode: 0o700 });
      // `wx`: a second entry of the same name must not write into the first.
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
      if (leadsThrough(at, linked))
        throw new Fault({
          code: 'refused.archivePath',
          message: 'The archive wants to write through a link of its own.',
          remedy: 'Do not trust this container. Nothing was written.',
        });
      await mkdir(dirname(at), { recursive: true, mode: 0o700 });
      await symlink(to, at);
    }
    for (const { at, mode, modified } of folders.reverse()) {
      await utimes(at, new Date(), modified);
      await chmod(at, mode);
    }
    if (top === undefined) throw new Fault({ code: 'failed.archive', message: 'The archive is empty.', remedy: 'Try again.' });
    if (folders.length + links.length + count.files === 0) {
      throw new Fault({
        code: 'failed.archive',
        message: `${count.skipped.join(', ')} is neither a file nor a folder.`,
        remedy: 'Only files, folders and links can be copied.',
      });
    }
    signal.throwIfAborted();
    // Somebody may have been faster: a folder would swallow what is moved onto it.
    if (!replace && (await localKind(whole)) !== 'missing')
      throw new Fault({ code: 'refused.exists', message: `${target} exists already.`, remedy: 'Name another target.' });
    await rename(join(workshop, 'top'), whole);
    return count;
  } catch (cause) {
    if (cause instanceof Fault || signal.aborted) throw cause;
    throw fileFault(target, cause);
  } finally {
    await makeRemovable(folders.map(({ at }) => at));
    await rm(workshop, { recursive: true, force: true }).catch(() => {});
  }
}

function leadsThrough(path: string, links: ReadonlySet<string>): boolean {
  const above = dirname(path);
  return above !== path && (links.has(above) || leadsThrough(above, links));
}

/** A folder whose mode forbids writing cannot be emptied. */
async function makeRemovable(folders: readonly string[]): Promise<void> {
  for (const folder of [...folders].reverse()) await chmod(folder, 0o700).catch(() => {});
}

/** Where `cp` puts something called `name` when it is told `target`: into a folder, otherwise there. */
export async function landingPlace(target: string, name: string): Promise<string> {
  const kind = await localKind(target);
  if (kind === 'folder') return join(target, name);
  if (target.endsWith('/') && kind === 'missing') {
    throw new Fault({
      code: 'usage.target',
      message: `${target} is no folder.`,
      remedy: 'Make it first, or leave out the slash at the end.',
    });
  }
  return target;
}

export function nameOf(path: string): string {
  return basename(resolve(path)) || 'root';
}
