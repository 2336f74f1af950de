import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { ContainerBeside, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { lastLine } from './backup-files.ts';
import type { BackupContainer, PlannedItem } from './backup-model.ts';

/** Small, everywhere, and with a shell in it: for images that have none. */
const shellImage = 'docker.io/library/busybox:latest';
export const inside = '/quarterdeck-volume';

/**
 * The volume's archive to `use`, with owners as they are. Docker's own archive has them; Podman's says that everything is root's, so that there the program `tar` is
 * asked, beside the container: it sees the same files, whether that one runs or not.
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
    // 1: a file changed while it was read, which is what a copy of a running service has to live with.
    if (exitCode === 0 || (exitCode === 1 && item.way === 'copy')) return result;
    throw new Fault({
      code: 'failed.backup',
      message: `${cleanLine(item.volume)} could not be read to its end: ${lastLine(stderr) || `exit code ${exitCode}`}.`,
      remedy: 'Look at the disk and at who owns the files, then try again.',
    });
  } finally {
    await beside.close();
  }
}

export const imagesOf = ({ container }: Pick<PlannedItem, 'container'>, containers: readonly BackupContainer[]): string[] => [
  ...new Set([container.imageId, ...containers.map(({ imageId }) => imageId)]),
];

/** From an image of the component where one has what it takes; they are on the host already. */
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
      // No shell in this one.
      why = cleanLine(thrown.message);
    }
  }
  throw new Fault({
    code: 'failed.volume',
    message: `No container can be made that sees ${cleanLine(volume)}: ${why}.`,
    remedy: `Give the host an image with a shell: docker pull ${shellImage}`,
  });
}
