import type { ComponentView } from '../../fleet/model.ts';
import type { Session } from '../../session/session.ts';
import { holdStackLock } from '../../stack/apply/hold-lock.ts';
import { throwIfRestoreOpen as throwIfOpen, undoRestore } from '../../stack/backup/restore.ts';
import { type RestoreRecord, restoreSentence } from '../../stack/backup/restore-journal.ts';
import { cleanLine } from '../../text/clean.ts';
import { waitUntilHealthy } from '../components/wait-until-healthy.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';
import { operatorOf } from './backup.ts';
import { chooseRecovery, type Recovery } from './recovery-choice.ts';

const limitMs = 24 * 3_600_000;

export async function recoverRestore(scope: EngineScope, input: FlowInput, record: RestoreRecord): Promise<Recovery> {
  const { session, context, engineName, host, engine } = scope;
  const choice = await chosen(session, input, record);
  if (choice === 'leave') return choice;
  const stackFolder = await scope.stackFolder();
  const by = await operatorOf(scope);
  const component = cleanLine(record.component);
  const complete = record.state === 'replaced';
  await session.act({
    id: `undo ${record.run}`,
    right: 'operate',
    title: complete ? `Finish the restore of ${component}` : `Put back the data of ${component} from before the restore`,
    request: complete
      ? `remove what the restore of ${component} kept, and start its containers`
      : `put back the data of ${component} from before the restore of ${cleanLine(record.backup)}`,
    target: { host: engineName, component },
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: record.component, by });
      await undoRestore(grant, record, { engine, host, stackFolder }).finally(() => lock.release());
    },
  });
  context.fleet.refresh();
  if (session.dryRun) return choice;
  const seen = scope.component(record.component, record.project);
  if (choice === 'finish' && !complete && seen) {
    // Imported on demand: that module imports this one.
    const { restore } = await import('./restore.ts');
    const options = { ...input.options, ...(record.to !== undefined && { to: record.to }) };
    const { message } = await restore(session, { ...input, component: seen, words: [record.backup], options }, context);
    session.show({ kind: 'text', text: message });
  } else if (seen?.project === record.component) await waitUntilHealthy(scope, record.component);
  return choice;
}

function chosen(session: Session, input: FlowInput, record: RestoreRecord): Promise<Recovery> {
  const sentence = restoreSentence(record);
  session.show({ kind: 'text', text: `${cleanLine(record.run)}, by ${record.by}: ${cleanLine(record.component)}. ${sentence}` });
  return chooseRecovery(session, input, {
    run: record.run,
    summary: `${cleanLine(record.component)}: ${sentence}`,
    choices:
      record.state === 'replaced'
        ? [{ value: 'finish', label: 'Finish it', detail: 'removes the data from before, starts what was stopped' }]
        : [
            { value: 'undo', label: 'Undo it', detail: 'the data from before the restore; starts what was stopped' },
            { value: 'finish', label: 'Restore again', detail: 'puts the data from before back first, then restores the same backup' },
          ],
  });
}

/** @throws Fault `refused.unfinished`, `refused.locked`: a half-restored component must not run, and is not worth a backup. */
export async function throwIfRestoreOpen(scope: EngineScope, { id, project }: ComponentView): Promise<void> {
  if (scope.context.practice) return;
  await throwIfOpen(scope.host, await scope.stackFolder(), { component: id, project }, scope.signal);
}
