import { posix } from 'node:path';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, pack, type Headers as TarHeaders } from 'tar-stream';

/** Extended headers are read and written by the library, and missing in its types. */
type Headers = TarHeaders & { pax?: Readonly<Record<string, string>> | null };

/** `members`: entries of every kind, including the top folder. */
export type ArchiveCount = ReturnType<typeof repacked>['count'];

/** Why an archive is refused, as the end of a sentence. */
export class ArchiveProblem extends Error {}

/**
 * Reads the engine's archive of `folder`, with paths relative to it, whatever the engine calls its top folder, and without `exclude`:
 * further mounts, and paths that are not saved. Read entry by entry: a truncated archive is an error, not a short backup.
 */
export function volumeArchive(archive: NodeJS.ReadableStream, folder: string, exclude: readonly string[], signal: AbortSignal) {
  const left = exclude.map((path) => posix.normalize(path).replace(/\/$/, ''));
  const isLeft = (path: string) => left.some((each) => path === each || path.startsWith(`${each}/`));
  let top: string | undefined;
  return repacked(archive, signal, (header) => {
    top ??= topOf(header, folder);
    const path = insideOf(header.name, top);
    if (isLeft(path) || header.type === 'fifo') return undefined;
    // The volume's top folder is kept: its owner may decide whether a program can write there.
    const inside = { ...header, name: path === '' ? './' : header.type === 'directory' ? `${path}/` : path };
    if (header.type === 'link' && header.linkname) inside.linkname = insideOf(header.linkname, top);
    return inside;
  });
}

/**
 * Checks an archive of a backup before it is unpacked: repacks it entry by entry, so that exactly the checked data are unpacked. Ends in an
 * `ArchiveProblem` if it is empty, truncated, not an archive, or has an entry that would be written outside of the target folder.
 */
export function checkedArchive(archive: NodeJS.ReadableStream, signal: AbortSignal) {
  const links = new Set<string>();
  return repacked(archive, signal, (header) => {
    const path = memberPath(header.name, links);
    if (header.type === 'link') memberPath(header.linkname ?? '', links, `${header.name} -> ${header.linkname}`);
    if (links.has(path)) throw new ArchiveProblem(`${header.name} appears twice, once as a link`);
    if (header.type === 'symlink') links.add(path);
    return header;
  });
}

/** @throws ArchiveProblem for a path outside of the archive's folder, or through one of its links. */
function memberPath(name: string, links: ReadonlySet<string>, shown = name): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0'))
    throw new ArchiveProblem(`its member ${shown} would be written outside of the volume`);
  for (let depth = 1; depth < parts.length; depth++) {
    const above = parts.slice(0, depth).join('/');
    if (links.has(above)) throw new ArchiveProblem(`its member ${shown} would be written through the link ${above}`);
  }
  return parts.join('/');
}

function repacked(archive: NodeJS.ReadableStream, signal: AbortSignal, change: (header: Headers) => Headers | undefined) {
  const count = { members: 0 };
  const reader = extract();
  const writer = pack();
  const plain = new PassThrough();
  writer.on('error', (cause) => plain.destroy(cause));
  writer.pipe(plain);

  async function take(header: Headers, content: Readable): Promise<void> {
    const changed = change(header);
    if (!changed) {
      content.resume();
      return;
    }
    count.members += 1;
    // Names in its extended header would override ours.
    const { path: _path, linkpath: _link, size: _size, ...pax } = changed.pax ?? {};
    const inside = { ...changed, pax: changed.pax && pax };
    if (header.type !== 'file' && header.type !== 'contiguous-file') {
      content.resume();
      await new Promise<void>((resolve, reject) => writer.entry(inside, (error) => (error ? reject(error) : resolve())));
      return;
    }
    // The writer accepts the next entry only after this callback, a moment after the content has ended.
    const taken = Promise.withResolvers<void>();
    taken.promise.catch(() => undefined);
    const sink = writer.entry(inside, (error) => (error ? taken.reject(error) : taken.resolve()));
    if ((header.size ?? 0) === 0) {
      content.resume();
      sink.end();
    } else await pipeline(content, sink, { signal });
    await taken.promise;
  }

  reader.on('entry', (header, content, next) => {
    take(header, content as unknown as Readable).then(() => next(), next);
  });
  const fail = (cause: Error) => writer.destroy(problemOf(cause));
  const end = new EndOfArchive();
  // Not by the pipeline alone: it does not settle while the reader waits for the content of an entry.
  archive.once('error', fail);
  end.once('error', fail);
  pipeline(archive, end, reader, { signal }).then(() => {
    if (count.members > 0) writer.finalize();
    else fail(new ArchiveProblem('it is empty'));
  }, fail);
  return { archive: plain, count };
}

function problemOf(cause: Error): Error {
  if (/^Invalid tar header/.test(cause.message)) return new ArchiveProblem('it is not a tar archive, or is damaged', { cause });
  if (/^Unexpected end of data/.test(cause.message)) return new ArchiveProblem('it is truncated', { cause });
  return cause;
}

/** An archive ends with two empty blocks: one that was cut off between two entries has none. */
class EndOfArchive extends Transform {
  static readonly #bytes = 1024;
  #last = Buffer.alloc(0);
  #any = false;
  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.#any ||= chunk.length > 0;
    this.#last = Buffer.concat([this.#last, chunk.subarray(-EndOfArchive.#bytes)]).subarray(-EndOfArchive.#bytes);
    done(null, chunk);
  }
  override _flush(done: (error?: Error) => void): void {
    const whole = this.#last.length === EndOfArchive.#bytes && this.#last.every((byte) => byte === 0);
    // Errors of the reader about the last chunk must be reported first.
    setImmediate(() => (whole ? done() : done(new ArchiveProblem(this.#any ? 'it is truncated' : 'it is empty'))));
  }
}

/** The top folder is the first entry: Docker and Podman call it `data/` for `/data`, Podman 4 calls it `/` if the container does not run. */
function topOf({ name, type }: Headers, folder: string): string {
  return type === 'directory' && posix.normalize(name).replace(/\/$/, '') === posix.basename(folder) ? posix.basename(folder) : '';
}

function insideOf(name: string, top: string): string {
  const path = posix.normalize(name).replaceAll(/^\/+|\/$/g, '');
  if (path === '.' || path === top) return '';
  return top !== '' && path.startsWith(`${top}/`) ? path.slice(top.length + 1) : path;
}
