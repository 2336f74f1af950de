import type { Session } from '../session/session.ts';
import { readRuns } from '../stack/run-journal.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { seeThrough } from './apply-plans.ts';
import type { FlowWorld } from './flow.ts';
import type { StackFacts } from './stack-facts.ts';

/** The last change to a component that the host has written down, where all of it was applied. Undefined where that broke off, failed, or was taken back. */
export async function lastApplied(
  session: Session,
  world: FlowWorld,
  { place, stackFolder, entry }: Pick<StackFacts, 'place' | 'stackFolder' | 'entry'>,
): Promise<RunOnHost | undefined> {
  const runs = await readRuns(world.hostOf(place), stackFolder, session.signal);
  const last = runs.findLast(
    ({ transaction: { plans }, state }) => state !== 'staged' && plans.some(({ component }) => component === entry.id),
  );
  return last?.state === 'applied' || last?.state === 'verified' ? last : undefined;
}

/** For whoever comes behind a run that broke off: what that one applied, and did not live to see healthy, is waited for. Throws `failed.unhealthy`. */
export async function seeLastThrough(session: Session, world: FlowWorld, facts: StackFacts): Promise<void> {
  if (session.rehearsing || session.readOnly) return;
  const last = await lastApplied(session, world, facts);
  if (last?.state === 'applied') await seeThrough(session, world, facts.place, last.transaction);
}
