import { basename } from 'node:path';
import type { FlowContext } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';

export interface UnfinishedChange {
  engineName: string;
  /** With a damaged journal, its name; the other details are then missing. */
  run: string;
  /** `user@host`. */
  by: string;
  startedAt: string;
  components: readonly string[];
  summary: string;
}

const limitMs = 5_000;

/** Oldest first. An unreadable stack is skipped: this is a hint, not a command. */
export async function unfinishedChanges(
  context: FlowContext,
  engines: readonly string[],
  signal: AbortSignal,
): Promise<UnfinishedChange[]> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  // The engine may still be connecting.
  const engineReady = (engineName: string) => async () => {
    await context.fleet.settle(limit);
    return context.engineOf(engineName);
  };
  const found = await Promise.all(
    engines.map(async (engineName): Promise<UnfinishedChange[]> => {
      type Journal = Pick<UnfinishedChange, 'run' | 'by' | 'startedAt'>;
      const change = ({ run, by, startedAt }: Journal, components: readonly string[], summary: string) => ({
        ...{ engineName, run, by, startedAt, components, summary },
      });
      try {
        const [host, stackFolder] = [context.hostOf(engineName), await context.stackFolderOf(engineName, limit)];
        // Where nothing was ever deployed, what reads journals is not loaded: a fifth of what `status` takes.
        if ((await host.files.list(`${stackFolder}/.quarterdeck`, limit)) === undefined) return [];
        const [applied, backups, stopped] = await Promise.all([
          import('../stack/apply/run-journal.ts'),
          import('../stack/backup/restore-journal.ts'),
          import('../stack/backup/stopped-containers.ts'),
        ]);
        const [runs, restores, halted, damaged] = await Promise.all([
          applied.readUnfinishedRuns(host, stackFolder, limit),
          backups.readOpenRestores(host, stackFolder, limit),
          stopped.readInterruptedHalts(host, engineReady(engineName), stackFolder, limit),
          applied.findDamagedJournals(host, stackFolder, limit),
        ]);
        return [
          ...damaged.map((path) =>
            change({ run: basename(path, '.json'), by: '', startedAt: '' }, [], applied.damagedSentence(cleanLine(path))),
          ),
          ...runs.map(({ transaction, summary }) => {
            const components = transaction.plans.map(({ component }) => component);
            return change(transaction, components, summary);
          }),
          ...restores.map((record) => change(record, [record.component], backups.restoreSentence(record))),
          ...halted.map((record) => change(record, [record.component], stopped.haltedSentence(record))),
        ];
      } catch {
        return [];
      }
    }),
  );
  return found.flat();
}

/** `Interrupted change to password-vault. Stopped while ...`. The caller adds how to resume. */
export function unfinishedText({ components, summary }: UnfinishedChange): string {
  return components.length === 0 ? summary : `Interrupted change to ${components.join(', ')}. ${summary}`;
}
