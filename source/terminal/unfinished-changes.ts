import type { FlowWorld } from '../flows/flow.ts';

/** A change to a stack that never came to its end. */
export interface UnfinishedChange {
  place: string;
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
  const [{ readUnfinishedRuns }, { readOpenRestores, restoreSentence }] = await Promise.all([
    import('../stack/run-journal.ts'),
    import('../stack/restore-journal.ts'),
  ]);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const found = await Promise.all(
    places.map(async (place): Promise<UnfinishedChange[]> => {
      try {
        const [host, stackFolder] = [world.hostOf(place), await world.stackFolderOf(place, limit)];
        const [runs, restores] = await Promise.all([
          readUnfinishedRuns(host, stackFolder, limit),
          readOpenRestores(host, stackFolder, limit),
        ]);
        return [
          ...runs.map(({ transaction: { run, by, startedAt, plans }, sentence }) => ({
            ...{ place, run, by, startedAt, sentence },
            components: plans.map(({ component }) => component),
          })),
          ...restores.map((record) => ({
            ...{ place, run: record.run, by: record.by, startedAt: record.startedAt },
            components: [record.component],
            sentence: restoreSentence(record),
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
  return `The change to ${components.join(', ')} broke off. ${sentence}`;
}
