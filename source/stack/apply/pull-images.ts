import pLimit from 'p-limit';
import type { Engine } from '../../engine/engine.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import type { ApplyEvent, Transaction } from './transaction.ts';

/** More parallel pulls are not faster, and registries limit the rate. */
const pullsAtOnce = 4;

/** Returns the images that a transaction needs and the host does not have, and those that an update must pull again. Each once. */
export function imagesToPull({ plans }: Transaction): string[] {
  const wanted = plans.flatMap(({ services, kind }) =>
    services
      .filter(({ change, present }) => change !== 'remove' && (present === false || (kind === 'update' && change !== 'keep')))
      .map(({ image }) => image),
  );
  return [...new Set(wanted)];
}

/** Pulls four at a time. After a failure no further pull starts; images that have arrived stay, and are not pulled again. */
export async function pullImages(
  grant: Grant,
  engine: Engine,
  references: readonly string[],
  tell: (event: ApplyEvent) => void,
): Promise<void> {
  const limit = pLimit(pullsAtOnce);
  let failed = false;
  const pull = async (reference: string) => {
    if (failed) return;
    grant.signal.throwIfAborted();
    const report = (fraction: number | undefined, text = '', done = false) => tell({ kind: 'pull', reference, fraction, text, done });
    report(undefined);
    const pulling = engine.writer(grant).pull(reference, ({ fraction, text }) => report(fraction, cleanLine(text)));
    await pulling.catch((thrown: unknown) => {
      failed = true;
      throw thrown;
    });
    report(1, '', true);
  };
  const pulls = references.map((reference) => limit(pull, reference));
  const outcomes = await Promise.allSettled(pulls);
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused) throw refused.reason;
}
