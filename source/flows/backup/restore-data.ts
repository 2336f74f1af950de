import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Choice, Session } from '../../session/session.ts';
import { holdStackLock } from '../../stack/apply/lock.ts';
import type { BackupFacts } from '../../stack/backup/model.ts';
import {
  planRestore,
  type RestorePlan,
  type RestoreRun,
  restoreConsequences,
  runRestore,
  settleRestore,
  refuseDuringRestore as throwIfOpen,
  undoRestore,
} from '../../stack/backup/restore.ts';
import { type RestoreRecord, restoreSentence } from '../../stack/backup/restore-journal.ts';
import { StillContainers } from '../../stack/backup/stopped-containers.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import { waitUntilHealthy } from '../components/wait-until-healthy.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';
import { operatorOf } from './backup.ts';
import { planLike } from './backups-of.ts';

const limitMs = 24 * 3_600_000;

/**
 * Restores the data of a backup into the volumes and databases of an existing component; containers that ran before run again afterwards.
 * Returns the plan: one without items had nothing to do.
 * @param whole every item of the backup must have a target
 */
export async function restoreData(
  scope: EngineScope,
  { component, store, backup, whole = false }: { component: ComponentView; store: BackupStore; backup: BackupFacts; whole?: boolean },
): Promise<RestorePlan> {
  const { session, context, engineName, host, engine } = scope;
  const { id } = component;
  const stackFolder = await scope.stackFolder();
  const plan = planRestore(backup, await planLike(scope, backup, component));
  if (whole && plan.homeless.length > 0) {
    const remedy = `The files and images were already restored. To undo this: quarterdeck rollback ${id}`;
    throw new Fault('refused.nothingToRestore', `The data of ${id} was not restored. ${plan.homeless.join(' ')}`, remedy);
  }
  if (plan.items.length === 0) return plan;
  const by = await operatorOf(scope);
  const run: RestoreRun = {
    ...{ store, engine, host, stackFolder, by },
    still: new StillContainers(engine),
    reported: ({ label, bytes }) =>
      session.progress({ id: 'restore', label: bytes === undefined ? label : `${label}: ${bytesText(bytes)}` }),
  };
  let running: Promise<void> | undefined;
  await session.act({
    id: `restore ${id}`,
    right: 'destroy',
    title: `Restore the data of ${id} as of ${plan.manifest.startedAt}`,
    request: `restore ${plan.items.map(({ saved }) => saved.id).join(', ')} of ${id} from backup ${backup.stamp} in ${store.where}`,
    target: { host: engineName, component: component.key },
    consequences: restoreConsequences(plan),
    limitMs,
    run: (grant) => {
      running = restoreUnderLock(grant, plan, run);
      return running;
    },
    afterwards: async (grant) => {
      // A cancelled run does not wait for its work to end, but the restore must end before it is settled.
      await running?.catch(() => undefined);
      await settleRestore(grant, plan, run);
    },
  });
  session.progress({ id: 'restore', label: `Restored ${id}`, fraction: 1, done: true });
  context.fleet.refresh(component.key);
  return plan;
}

async function restoreUnderLock(grant: Grant, plan: RestorePlan, run: RestoreRun): Promise<void> {
  const { host, stackFolder, by } = run;
  // The journal of the restore is written there; with this folder the lock also works for stacks where nothing has been deployed by
  // Quarterdeck.
  await host.files.makeFolder(grant, posix.join(stackFolder, '.quarterdeck'), { mode: 0o700 });
  await using _lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: plan.component, by });
  await runRestore(grant, plan, run);
}

export async function recoverRestore(scope: EngineScope, input: FlowInput, record: RestoreRecord): Promise<Recovery> {
  const { session, context, engineName, host, engine } = scope;
  const choice = await chosen(session, input, record);
  if (choice === 'leave') return choice;
  const stackFolder = await scope.stackFolder();
  const by = await operatorOf(scope);
  const component = cleanLine(record.component);
  const complete = record.state === 'replaced';
  const outcome = complete ? 'finish' : choice;
  await session.act({
    id: `undo ${record.run}`,
    right: 'operate',
    title: complete ? `Finish restoring ${component}` : `Undo the restore of ${component}`,
    request: complete
      ? `delete the previous data of ${component}, and start its containers`
      : `restore the data that ${component} had before the restore of ${cleanLine(record.backup)}`,
    target: { host: engineName, component },
    limitMs,
    run: async (grant) => {
      await using _lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: record.component, by });
      await undoRestore(grant, record, { engine, host, stackFolder });
    },
  });
  context.fleet.refresh();
  if (session.dryRun) return outcome;
  const seen = scope.component(record.component, record.project);
  if (choice === 'finish' && !complete && seen) {
    // Imported on demand: that module imports this one.
    const { restore } = await import('./restore.ts');
    const options = { ...input.options, ...(record.to !== undefined && { to: record.to }) };
    const { message } = await restore(session, { ...input, component: seen, words: [record.backup], options }, context);
    session.show({ kind: 'text', text: message });
  } else if (seen?.project === record.component && record.halted.length > 0) await waitUntilHealthy(scope, record.component);
  return outcome;
}

function chosen(session: Session, input: FlowInput, record: RestoreRecord): Promise<Recovery> {
  const sentence = restoreSentence(record);
  session.show({ kind: 'text', text: `${cleanLine(record.run)}, by ${record.by}: ${cleanLine(record.component)}. ${sentence}` });
  return chooseRecovery(session, input, {
    run: record.run,
    summary: `${cleanLine(record.component)}: ${sentence}`,
    choices:
      record.state === 'replaced'
        ? [{ value: 'finish', label: 'Finish', detail: 'deletes the previous data and starts the stopped containers' }]
        : [
            { value: 'undo', label: 'Undo', detail: 'restores the previous data and starts the stopped containers' },
            { value: 'finish', label: 'Restore again', detail: 'restores the previous data, then restores the same backup again' },
          ],
  });
}

/** @throws Fault `refused.unfinished`, `refused.locked`: a half-restored component must not run, and is not worth a backup. */
export async function refuseDuringRestore(scope: EngineScope, { id, project }: ComponentView): Promise<void> {
  if (scope.context.practice) return;
  await throwIfOpen(scope.host, await scope.stackFolder(), { component: id, project }, scope.signal);
}

export type Recovery = 'finish' | 'undo' | 'leave';

/** Throws `refused.unfinished` without a flag or a user to prompt. */
export async function chooseRecovery(
  session: Session,
  { options }: Pick<FlowInput, 'options'>,
  { run, summary, choices }: { run: string; summary: string; choices: readonly (Choice & { value: Recovery })[] },
): Promise<Recovery> {
  if (options['finish'] === true) return 'finish';
  if (options['undo'] === true) return 'undo';
  if (!session.attended)
    throw new Fault('refused.unfinished', summary, 'Run "quarterdeck recover --finish" or "quarterdeck recover --undo".');
  return (await session.ask.choice({
    id: `recover ${run}`,
    label: 'How to continue',
    choices: [...choices, { value: 'leave', label: 'Leave as is' }],
  })) as Recovery;
}
