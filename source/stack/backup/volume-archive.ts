import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { ContainerBeside, Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import { failureOf } from './files.ts';
import type { BackupContainer, PlannedItem } from './model.ts';

/** A small image with a shell that is available everywhere, for images that have none. */
const shellImage = 'docker.io/library/busybox:latest';
export const inside = '/quarterdeck-volume';

/**
 * Passes the volume's archive to `use`, with its owners. Docker's own archive has them; in Podman's everything belongs to root, so there
 * the program `tar` is run in a separate container: it sees the same files, whether or not the component's container runs.
 */
export async function withVolumeArchive<T>(
  grant: Grant,
  engine: Engine,
  item: PlannedItem,
  containers: readonly BackupContainer[],
  use: (archive: NodeJS.ReadableStream, top: string) => Promise<T>,
): Promise<T> {
  const { kind } = await engine.connect(grant.signal);
  if (kind === 'docker') return use(await engine.getArchive(item.container.id, item.target, grant.signal), item.target);
  const source = item.isFile ? posix.dirname(item.source) : item.source;
  const beside = await openWithShell(grant, engine, { source, volume: item.volume, images: imagesOf(item, containers) });
  try {
    const what = item.isFile ? `./${posix.basename(item.source)}` : '.';
    const program = await engine.writer(grant).execStream(beside.id, ['tar', '-C', inside, '-cf', '-', what]);
    const result = await use(program.stdout as Readable, '.');
    const { exitCode, stderr } = await program.ended;
    // 1: a file changed while it was read, which a copy of a running service has to accept.
    if (exitCode === 0 || (exitCode === 1 && item.method === 'copy')) return result;
    const message = `${cleanLine(item.volume)} could not be read to its end: ${failureOf({ exitCode, stderr })}.`;
    throw new Fault('failed.backup', message, 'Check the disk and who owns the files, then try again.');
  } finally {
    await beside.close();
  }
}

export const imagesOf = ({ container }: Pick<PlannedItem, 'container'>, containers: readonly BackupContainer[]): string[] => [
  ...new Set([container.imageId, ...containers.map(({ imageId }) => imageId)]),
];

/** Uses an image of the component if one has the programs; these are on the host already. */
export async function openWithShell(
  grant: Grant,
  engine: Engine,
  { source, volume, images }: { source: string; volume: string; images: readonly string[] },
): Promise<ContainerBeside> {
  let why = '';
  for (const image of [...images, shellImage]) {
    const writer = engine.writer(grant);
    if (image === shellImage && !(await engine.image(image, grant.signal))) await writer.pull(image, () => undefined);
    try {
      const beside = await writer.openBeside({ mount: { source, target: inside }, image });
      const { exitCode } = await writer.exec(beside.id, ['sh', '-c', 'for p in tar find stat df chown; do command -v $p || exit 1; done']);
      if (exitCode === 0) return beside;
      await beside.close();
      why = 'no image has tar, find and stat';
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown;
      // This image has no shell.
      why = cleanLine(thrown.message);
    }
  }
  const message = `No container can be made that sees ${cleanLine(volume)}: ${why}.`;
  throw new Fault('failed.volume', message, `Give the host an image with a shell: docker pull ${shellImage}`);
}
