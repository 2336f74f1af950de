import pLimit from 'p-limit';
import type { Engine } from '../engine/engine.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import type { ApplyEvent, Transaction } from './transaction.ts';

/** More at once make none of them faster, and registries count. */
const pullsAtOnce = 4;

/** Images that a transaction needs and the host does not have, and those that an update has to ask for anew. Each once. */
export function imagesToPull({ plans }: Transaction): string[] {
  const wanted = plans.flatMap(({ services, kind }) =>
    services
      .filter(({ change, present }) => change !== 'remove' && (present === false || (kind === 'update' && change !== 'keep')))
      .map(({ image }) => image),
  );
  return [...new Set(wanted)];
}

/** Pulls four at a time. After one that fails none is begun; what has come stays, and is not fetched again. */
export async function pullImages(
  grant: Grant,
  engine: Engine,
  references: readonly string[],
  tell: (event: ApplyEvent) => void,
): Promise<void> {
  const limit = pLimit(pullsAtOnce);
  const writer = engine.writer(grant);
  let failed = false;
  const pulls = references.map((reference) =>
    limit(async () => {
      if (failed) return;
      grant.signal.throwIfAborted();
      tell({ kind: 'pull', reference, fraction: undefined, text: '', done: false });
      try {
        await writer.pull(reference, ({ fraction, text }) =>
          tell({ kind: 'pull', reference, fraction, text: cleanLine(text), done: false }),
        );
      } catch (thrown) {
        failed = true;
        throw thrown;
      }
      tell({ kind: 'pull', reference, fraction: 1, text: '', done: true });
    }),
  );
  const outcomes = await Promise.allSettled(pulls);
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused) throw refused.reason;
}
