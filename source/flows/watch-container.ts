import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';

export interface Watch {
  signal: AbortSignal;
  limitMs: number;
  /** For the fault, behind the container's name: `was not seen to stop`. */
  otherwise: string;
  name: string;
}

/**
 * Looks at a container until what was asked for is seen: an engine that says "done" has only taken the order. Asks again after 100 ms, later once a
 * second. Throws `failed.notSeen` at the limit. What `seen` throws ends it.
 */
export async function watchContainer(
  engine: Engine,
  id: string,
  seen: (detail: ContainerDetail | undefined) => boolean,
  { signal, limitMs, otherwise, name }: Watch,
): Promise<ContainerDetail | undefined> {
  let waitedMs = 0;
  for (let pauseMs = 100; ; pauseMs = Math.min(1_000, pauseMs * 1.5)) {
    const detail = await engine.inspect(id, signal);
    if (seen(detail)) return detail;
    waitedMs += pauseMs;
    if (waitedMs > limitMs) {
      throw new Fault({
        code: 'failed.notSeen',
        message: `${name} ${otherwise} within ${Math.round(limitMs / 1000)} seconds; it is ${detail?.state ?? 'gone'} now.`,
        remedy: 'Look at its log and at the status.',
      });
    }
    await pauseFor(pauseMs, signal);
  }
}

export function exitText(detail: ContainerDetail | undefined): string {
  return detail?.exitCode === undefined ? 'an unknown exit code' : `exit code ${detail.exitCode}`;
}
