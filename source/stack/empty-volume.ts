import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { lastLine } from './backup-files.ts';
import type { BackupContainer, PlannedItem } from './backup-model.ts';

/** Small, everywhere, and with a shell in it: for images that have none. */
const shellImage = 'docker.io/library/busybox:latest';

/**
 * Deletes everything in a volume, but for what has a mount of its own below it. What a newer release left there must not meet the files of an older one: a
 * journal beside the wrong database destroys it. In a short-lived container that sees this one volume, so that it works on any host, whoever owns the files.
 */
export async function emptyVolume(
  grant: Grant,
  engine: Engine,
  { source, volume, container }: PlannedItem,
  containers: readonly BackupContainer[],
): Promise<void> {
  const inside = '/quarterdeck-volume';
  const argv = ['sh', '-c', 'cd "$0" && find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +', inside];
  const images = [...new Set([container.imageId, ...containers.map(({ imageId }) => imageId), shellImage])];
  let why = '';
  for (const image of images) {
    const writer = engine.writer(grant);
    if (image === shellImage && !(await engine.image(image, grant.signal))) await writer.pull(image, () => undefined);
    try {
      const { exitCode, stderr } = await writer.runBeside({ mount: { source, target: inside }, image, argv });
      if (exitCode === 0) return;
      why = lastLine(Buffer.from(stderr).toString('utf8')) || `exit code ${exitCode}`;
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown;
      // No shell in this one.
      why = cleanLine(thrown.message);
    }
  }
  throw new Fault({
    code: 'failed.restore',
    message: `${cleanLine(volume)} could not be emptied: ${why}.`,
    remedy: 'Empty it by hand, then run the same restore again.',
  });
}
