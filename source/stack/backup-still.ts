import type { Engine } from '../engine/engine.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { BackupContainer } from './backup-model.ts';

type How = 'stopped' | 'paused';

/** A container that stands still for us, as it is written down beside the backup for whoever finds that interrupted. */
export interface StillContainer {
  id: string;
  name: string;
  how: How;
}

/** Containers that were stopped or paused for a copy, and must go on whatever becomes of it. */
export class StillContainers {
  readonly #engine: Engine;
  #standing: StillContainer[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get standing(): readonly StillContainer[] {
    return this.#standing;
  }

  /** Only those that run. The last ones of the list first: they need those before them. */
  async halt(
    grant: Grant,
    containers: readonly BackupContainer[],
    how: How,
    written: (all: readonly StillContainer[]) => Promise<void>,
  ): Promise<void> {
    const writer = this.#engine.writer(grant);
    for (const { id, name } of [...containers].reverse()) {
      const detail = await this.#engine.inspect(id, grant.signal);
      if (detail?.state !== 'running') continue;
      this.#standing.push({ id, name, how });
      // First the note, then the deed: a note too many starts what runs, which changes nothing.
      await written(this.#standing);
      if (how === 'stopped') await writer.stop(id);
      else await writer.pause(id);
    }
  }

  /** Lets them go on, in the order in which they need each other. Throws `failed.stillStopped` with the names of those that would not. */
  async release(grant: Grant): Promise<void> {
    const failures = await goOn(this.#engine, grant, [...this.#standing].reverse());
    this.#standing = failures.map(({ container }) => container);
    const [first] = failures;
    if (!first) return;
    throw new Fault({
      code: 'failed.stillStopped',
      message: `After the copy ${failures.map(({ container }) => container.name).join(', ')} could not be started again: ${first.reason}`,
      remedy: 'Start it by hand: quarterdeck start COMPONENT.',
    });
  }
}

/** Also for what an interrupted backup left behind. */
export async function goOn(
  engine: Engine,
  grant: Grant,
  standing: readonly StillContainer[],
): Promise<{ container: StillContainer; reason: string }[]> {
  const writer = engine.writer(grant);
  const failures: { container: StillContainer; reason: string }[] = [];
  for (const container of standing) {
    try {
      const detail = await engine.inspect(container.id, grant.signal);
      if (!detail) continue;
      if (detail.state === 'paused') await writer.unpause(container.id);
      else if (detail.state !== 'running' && container.how === 'stopped') await writer.start(container.id);
    } catch (thrown) {
      failures.push({ container, reason: messageOf(thrown) });
    }
  }
  return failures;
}
