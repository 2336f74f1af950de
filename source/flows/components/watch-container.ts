import type { ContainerDetail, Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';

/**
 * Polls a container until the requested state is seen: an engine that answers "done" has only accepted the request. Throws `failed.notSeen`
 * at the limit.
 * @param otherwise end of the fault's sentence, after the container's name: `was not seen to stop`
 */
export async function watchContainer(
  { engine, signal }: { engine: Engine; signal: AbortSignal },
  { id, name }: { id: string; name: string },
  seen: (detail: ContainerDetail | undefined) => boolean,
  { limitMs, otherwise }: { limitMs: number; otherwise: string },
): Promise<ContainerDetail | undefined> {
  let waitedMs = 0;
  for (let pauseMs = 100; ; pauseMs = Math.min(1_000, pauseMs * 1.5)) {
    const detail = await engine.inspect(id, signal);
    if (seen(detail)) return detail;
    waitedMs += pauseMs;
    if (waitedMs > limitMs) {
      const message = `${name} ${otherwise} within ${Math.round(limitMs / 1000)} seconds; it is ${detail?.state ?? 'gone'} now.`;
      throw new Fault('failed.notSeen', message, 'Look at its log and at the status.');
    }
    await pauseFor(pauseMs, signal);
  }
}

export function exitText(detail: ContainerDetail | undefined): string {
  return detail?.exitCode === undefined ? 'an unknown exit code' : `exit code ${detail.exitCode}`;
}
