import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { Grant } from '../grants/grant.ts';
import { type BesidePlan, type ContainerBeside, helperLabel } from './engine.ts';
import { acknowledged } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';

/** It reads its input for as long as the connection is open, so that it ends and is removed even if our process is killed. */
export async function openBesideIn(link: EngineLink, { mount, image }: BesidePlan, grant: Grant): Promise<ContainerBeside> {
  return link.limited(grant.signal, undefined, async (abortSignal) => {
    const container = await link.docker.createContainer({
      Image: image,
      Entrypoint: ['cat'],
      Cmd: [],
      User: '0:0',
      Labels: { [helperLabel]: 'volume' },
      AttachStdin: true,
      OpenStdin: true,
      StdinOnce: true,
      NetworkDisabled: true,
      Healthcheck: { Test: ['NONE'] },
      HostConfig: { Binds: [`${mount.source}:${mount.target}`], NetworkMode: 'none', AutoRemove: true },
      abortSignal,
    });
    let input: Duplex | undefined;
    const close = async () => {
      await container.remove({ force: true, v: false }).then(undefined, () => undefined);
      input?.destroy();
    };
    try {
      // The opening signal ends the stream too: so the stream uses the grant's signal, not the opening's.
      const options = { stream: true, stdin: true, hijack: true, abortSignal: grant.signal };
      input = (await container.attach(options as Docker.ContainerAttachOptions)) as Duplex;
      input.on('error', () => undefined);
      await acknowledged(container.start({ abortSignal }));
    } catch (thrown) {
      await close();
      throw thrown;
    }
    return { id: container.id, close };
  });
}
