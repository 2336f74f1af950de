import { z } from 'zod';
import type { Engine } from '../../engine/engine.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { BackupContainer } from './model.ts';

export const stillContainer = z.object({ id: z.string(), name: z.string(), how: z.enum(['stopped', 'paused']) });

export type StillContainer = z.infer<typeof stillContainer>;

export class StillContainers {
  #existing: StillContainer[] = [];

  constructor(private readonly engine: Engine) {}

  get existing(): readonly StillContainer[] {
    return this.#existing;
  }

  /** Halts the running containers, in reverse order of the list: later ones depend on earlier ones. */
  async halt(
    grant: Grant,
    containers: readonly BackupContainer[],
    how: StillContainer['how'],
    written: (all: readonly StillContainer[]) => Promise<void>,
  ): Promise<void> {
    const writer = this.engine.writer(grant);
    for (const { id, name } of containers.toReversed()) {
      const detail = await this.engine.inspect(id, grant.signal);
      if (detail?.state !== 'running') continue;
      this.#existing.push({ id, name, how });
      // The record is written first: a superfluous record only starts running containers, which changes nothing.
      await written(this.#existing);
      if (how === 'stopped') await writer.stop(id);
      else await writer.pause(id);
    }
  }

  /** Starts or unpauses them in the order of their dependencies. Throws `failed.stillStopped` with the names of those that failed. */
  async release(grant: Grant): Promise<void> {
    const failures = await restart(this.engine, grant, this.#existing);
    this.#existing = failures.map(({ container }) => container);
    const [first] = failures;
    if (!first) return;
    const message = `After the copy ${this.#existing.map(({ name }) => name).join(', ')} could not be started again: ${first.reason}`;
    throw new Fault('failed.stillStopped', message, 'Start it by hand: quarterdeck start COMPONENT.');
  }
}

/** Starts or unpauses halted containers in reverse order, also those that an interrupted backup halted. */
export async function restart(engine: Engine, grant: Grant, halted: readonly StillContainer[]) {
  const writer = engine.writer(grant);
  const failures: { container: StillContainer; reason: string }[] = [];
  for (const container of halted.toReversed()) {
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
