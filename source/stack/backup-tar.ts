import { posix } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, pack, type Headers as TarHeaders } from 'tar-stream';

/** Extended headers are read and written by the library, and missing in its types. */
type Headers = TarHeaders & { pax?: Readonly<Record<string, string>> | null };

/** What an archive of a volume came to. */
export interface ArchiveCount {
  files: number;
  bytes: number;
}

/**
 * What an engine gave for `folder`, with paths relative to it, whatever the engine calls its top, and without `exclude`: what lies in further mounts, and
 * what is not to be saved. Read entry by entry: one that breaks off in the middle is an error, not a short backup.
 */
export function volumeArchive(
  archive: NodeJS.ReadableStream,
  folder: string,
  exclude: readonly string[],
  signal: AbortSignal,
  told: (count: ArchiveCount) => void = () => {},
): { archive: Readable; count: ArchiveCount } {
  const left = exclude.map((path) => posix.normalize(path).replace(/\/$/, ''));
  const isLeft = (path: string) => left.some((each) => path === each || path.startsWith(`${each}/`));
  const count: ArchiveCount = { files: 0, bytes: 0 };
  const reader = extract();
  const writer = pack();
  const plain = new PassThrough();
  writer.on('error', (cause) => plain.destroy(cause));
  writer.pipe(plain);
  let top: string | undefined;

  async function take(header: Headers, content: Readable): Promise<void> {
    top ??= topOf(header, folder);
    const path = insideOf(header.name, top);
    if (isLeft(path) || header.type === 'fifo') {
      content.resume();
      return;
    }
    // The volume's own folder stays in: who owns it is half of what lets a program write there.
    const inside = { ...header, name: path === '' ? './' : header.type === 'directory' ? `${path}/` : path };
    if (header.type === 'link' && header.linkname) inside.linkname = insideOf(header.linkname, top);
    // Names of its own in an extended header would win over ours.
    if (inside.pax)
      inside.pax = Object.fromEntries(Object.entries(inside.pax).filter(([key]) => !['path', 'linkpath', 'size'].includes(key)));
    if (header.type !== 'file' && header.type !== 'contiguous-file') {
      content.resume();
      await new Promise<void>((resolve, reject) => writer.entry(inside, (error) => (error ? reject(error) : resolve())));
      return;
    }
    // The writer takes the next one when this callback has been called, a moment after the content has ended.
    const taken = Promise.withResolvers<void>();
    taken.promise.catch(() => undefined);
    const sink = writer.entry(inside, (error) => (error ? taken.reject(error) : taken.resolve()));
    if ((header.size ?? 0) === 0) {
      content.resume();
      sink.end();
    } else await pipeline(content, sink, { signal });
    await taken.promise;
    count.files += 1;
    count.bytes += header.size ?? 0;
    told(count);
  }

  reader.on('entry', (header, content, next) => {
    take(header, content as unknown as Readable).then(() => next(), next);
  });
  pipeline(archive, reader, { signal }).then(
    () => writer.finalize(),
    (cause: Error) => writer.destroy(cause),
  );
  return { archive: plain, count };
}

/**
 * The name of the archive's top folder, which is its first entry: Docker and Podman call it `data/` for `/data`, Podman 4 calls it `/` where the container does not run.
 */
function topOf({ name, type }: Headers, folder: string): string {
  return type === 'directory' && posix.normalize(name).replace(/\/$/, '') === posix.basename(folder) ? posix.basename(folder) : '';
}

function insideOf(name: string, top: string): string {
  const path = posix.normalize(name).replaceAll(/^\/+|\/$/g, '');
  if (path === '.' || path === top) return '';
  return top !== '' && path.startsWith(`${top}/`) ? path.slice(top.length + 1) : path;
}
