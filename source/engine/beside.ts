import type { Grant } from '../grants/grant.ts';
import type { BesidePlan, ContainerBeside } from './engine.ts';
import { acknowledged } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';

/** One that nobody took away, because its maker was killed, goes by itself. */
const livesSeconds = 24 * 3_600;

/** See `EngineWriter.openBeside`. Throws `engine.*` where it cannot be started, for example because the image has no such program. */
export async function openBesideIn(link: EngineLink, { mount, image }: BesidePlan, grant: Grant): Promise<ContainerBeside> {
  return link.limited(grant.signal, undefined, async (abortSignal) => {
    const container = await link.docker.createContainer({
      Image: image,
      Entrypoint: ['sleep', String(livesSeconds)],
      Cmd: [],
      User: '0:0',
      NetworkDisabled: true,
      Healthcheck: { Test: ['NONE'] },
      HostConfig: { Binds: [`${mount.source}:${mount.target}`], NetworkMode: 'none', AutoRemove: true },
      abortSignal,
    });
    // Also after the grant has ended: nothing of ours stays behind.
    const close = () => container.remove({ force: true, v: false }).then(undefined, () => undefined);
    try {
      await acknowledged(container.start({ abortSignal }));
    } catch (thrown) {
      await close();
      throw thrown;
    }
    return { id: container.id, close };
  });
}
