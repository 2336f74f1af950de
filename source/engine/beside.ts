import type { Grant } from '../grants/grant.ts';
import type { BesidePlan, ExecResult } from './engine.ts';
import { acknowledged } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';

/** What it printed is for a sentence. */
const keptBytes = 16 * 1024;

/**
 * Runs a program in a container of its own, that sees one volume: no network, removed afterwards. Throws
 * `engine.*` where it cannot be started, for example because the image has no such program.
 */
export async function runBesideIn(link: EngineLink, { mount, image, argv }: BesidePlan, grant: Grant): Promise<ExecResult> {
  return link.limited(grant.signal, undefined, async (abortSignal) => {
    const container = await link.docker.createContainer({
      Image: image,
      Entrypoint: [...argv],
      Cmd: [],
      User: '0:0',
      NetworkDisabled: true,
      HostConfig: { Binds: [`${mount.source}:${mount.target}`], NetworkMode: 'none', RestartPolicy: { Name: 'no' } },
      abortSignal,
    });
    try {
      await acknowledged(container.start({ abortSignal }));
      const { StatusCode } = (await container.wait({ abortSignal })) as { StatusCode: number };
      const logs = (await container.logs({ stdout: true, stderr: true, follow: false, tail: 50, abortSignal })) as unknown as Buffer;
      return { exitCode: StatusCode, stdout: new Uint8Array(), stderr: Buffer.from(logs).subarray(-keptBytes), cut: false };
    } finally {
      // Also after the grant has ended: nothing of ours stays behind.
      await container.remove({ force: true, v: false }).catch(() => undefined);
    }
  });
}
