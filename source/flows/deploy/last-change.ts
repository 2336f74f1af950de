import { readRuns } from '../../stack/apply/run-journal.ts';
import type { RunOnHost } from '../../stack/apply/transaction.ts';
import { seeThrough } from './apply-plans.ts';
import type { StackFacts } from './stack-facts.ts';

/** Undefined if the last recorded change of the component was interrupted, failed, or was undone. */
export async function lastApplied({ scope, stackFolder, entry }: StackFacts): Promise<RunOnHost | undefined> {
  const runs = await readRuns(scope.host, stackFolder, scope.signal);
  const last = runs.findLast(
    ({ transaction: { plans }, state }) => state !== 'staged' && plans.some(({ component }) => component === entry.id),
  );
  return last?.state === 'applied' || last?.state === 'verified' ? last : undefined;
}

export async function seeLastThrough(facts: StackFacts): Promise<void> {
  const { dryRun, readOnly } = facts.scope.session;
  if (dryRun || readOnly) return;
  const last = await lastApplied(facts);
  if (last?.state === 'applied') await seeThrough(facts.scope, last.transaction);
}
