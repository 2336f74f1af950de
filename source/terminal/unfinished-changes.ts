import { basename } from 'node:path';
import type { FlowWorld } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';

/** A change to a stack that never came to its end. */
export interface UnfinishedChange {
  place: string;
  /** With a damaged journal its name, and neither by whom nor when nor what. */
  run: string;
  /** `user@host`. */
  by: string;
  startedAt: string;
  components: readonly string[];
  /** How it stands, one sentence. */
  sentence: string;
}

const limitMs = 5_000;

/** What broke off in the stacks of these places, oldest first. A stack that cannot be read says nothing: this is a remark and no verb. */
export async function unfinishedChanges(world: FlowWorld, places: readonly string[], signal: AbortSignal): Promise<UnfinishedChange[]> {
  const [
    { readUnfinishedRuns },
    { readOpenRestores, restoreSentence },
    { readInterruptedHalts, haltedSentence },
    { findDamagedJournals, damagedSentence },
  ] = await Promise.all([
    import('../stack/run-journal.ts'),
    import('../stack/restore-journal.ts'),
    import('../stack/halted-journal.ts'),
    import('../stack/damaged-journals.ts'),
  ]);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  // Its engine may still be connecting.
  const engineReady = (place: string) => async () => {
    await world.fleet.settle(limit);
    return world.engineOf(place);
  };
  const found = await Promise.all(
    places.map(async (place): Promise<UnfinishedChange[]> => {
      try {
        const [host, stackFolder] = [world.hostOf(place), await world.stackFolderOf(place, limit)];
        const [runs, restores, halted, damaged] = await Promise.all([
          readUnfinishedRuns(host, stackFolder, limit),
          readOpenRestores(host, stackFolder, limit),
          readInterruptedHalts(host, engineReady(place), stackFolder, limit),
          findDamagedJournals(host, stackFolder, limit),
        ]);
        return [
          ...damaged.map((path) => ({
            ...{ place, run: basename(path, '.json'), by: '', startedAt: '', components: [] },
            sentence: damagedSentence(cleanLine(path)),
          })),
          ...runs.map(({ transaction: { run, by, startedAt, plans }, sentence }) => ({
            ...{ place, run, by, startedAt, sentence },
            components: plans.map(({ component }) => component),
          })),
          ...restores.map((record) => ({
            ...{ place, run: record.run, by: record.by, startedAt: record.startedAt },
            components: [record.component],
            sentence: restoreSentence(record),
          })),
          ...halted.map((record) => ({
            ...{ place, run: record.run, by: record.by, startedAt: record.startedAt },
            components: [record.component],
            sentence: haltedSentence(record),
          })),
        ];
      } catch {
        return [];
      }
    }),
  );
  return found.flat();
}

/** `The change to password-vault broke off. Stopped while ...`; how to go on is said by who shows it. */
export function unfinishedText({ components, sentence }: UnfinishedChange): string {
  return components.length === 0 ? sentence : `The change to ${components.join(', ')} broke off. ${sentence}`;
}
