import { posix } from 'node:path';
import { extract } from 'tar-stream';
import { Fault } from '../faults/fault.ts';
import { unlessCode } from '../faults/unless-fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { EngineLink } from './engine-link.ts';

/** For larger files, use the archive. */
const defaultLimitBytes = 16 * 1024 * 1024;
const linksFollowed = 8;

type Found = { kind: 'file'; content: Buffer } | { kind: 'link'; target: string } | { kind: 'other'; type: string };

export async function openArchive(link: EngineLink, id: string, path: string, signal: AbortSignal): Promise<NodeJS.ReadableStream> {
  return link.open(`/containers/${encodeURIComponent(id)}/archive`, { signal, query: { path } });
}

/** Follows links: Docker returns a link as a link, Podman its target. Throws `engine.noContainer`, `engine.notFile`. */
export async function fileFrom(
  link: EngineLink,
  id: string,
  path: string,
  { signal, limitBytes = defaultLimitBytes }: { signal: AbortSignal; limitBytes?: number },
): Promise<Uint8Array | undefined> {
  let at = posix.resolve('/', path);
  for (let followed = 0; followed <= linksFollowed; followed++) {
    const archive = await unlessCode(openArchive(link, id, at, signal), ['engine.missing', 'engine.notSupported'], undefined);
    if (!archive) return undefined;
    const found = await firstEntry(archive, limitBytes).catch(async (thrown: unknown) => {
      throw await link.faultOf(thrown, signal);
    });
    if (!found) return undefined;
    if (found.kind === 'file') return found.content;
    if (found.kind === 'other')
      throw new Fault('engine.notFile', `${cleanLine(path)} in the container is not a file, but a ${found.type}.`, 'Pass a file.');
    at = posix.resolve(posix.dirname(at), found.target);
  }
  throw new Fault('engine.notFile', `${cleanLine(path)} in the container has too many levels of symbolic links.`, 'Use its target.');
}

function firstEntry(archive: NodeJS.ReadableStream, limitBytes: number): Promise<Found | undefined> {
  return new Promise((resolve, reject) => {
    const reader = extract();
    const settle = (how: () => void) => {
      archive.unpipe(reader);
      (archive as unknown as { destroy(): void }).destroy();
      how();
    };
    reader.on('entry', (header, content) => {
      if (header.type === 'symlink' || header.type === 'link')
        return settle(() => resolve({ kind: 'link', target: header.linkname ?? '' }));
      if (header.type !== 'file' && header.type !== 'contiguous-file')
        return settle(() => resolve({ kind: 'other', type: header.type === 'directory' ? 'folder' : String(header.type) }));
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      const done = () => settle(() => resolve({ kind: 'file', content: Buffer.concat(chunks, sizeBytes) }));
      content.on('data', (chunk: Buffer) => {
        const kept = chunk.subarray(0, limitBytes - sizeBytes);
        chunks.push(kept);
        sizeBytes += kept.length;
        if (sizeBytes >= limitBytes) done();
      });
      content.on('end', done);
      content.on('error', reject);
      if (limitBytes <= 0) done();
    });
    reader.on('finish', () => resolve(undefined));
    reader.on('error', reject);
    archive.on('error', reject);
    archive.pipe(reader);
  });
}
