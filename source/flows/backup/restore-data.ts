import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Grant } from '../../grants/grant.ts';
import { holdStackLock } from '../../stack/apply/hold-lock.ts';
import type { BackupFacts } from '../../stack/backup/model.ts';
import {
  planRestore,
  type RestorePlan,
  type RestoreRun,
  restoreConsequences,
  runRestore,
  settleRestore,
} from '../../stack/backup/restore.ts';
import { StillContainers } from '../../stack/backup/stopped-containers.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { bytesText } from '../../text/quantities.ts';
import type { EngineScope } from '../engine-scope.ts';
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
    const remedy = `Its files and images are those of the backup already. Roll back: quarterdeck rollback ${id}`;
    throw new Fault('refused.nothingToRestore', `The data of ${id} were not restored. ${plan.homeless.join(' ')}`, remedy);
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
    title: `Restore the data of ${id} to ${plan.manifest.startedAt}`,
    request: `restore ${plan.items.map(({ saved }) => saved.id).join(', ')} of ${id} from ${store.where}, ${backup.stamp}`,
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
  const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: plan.component, by });
  await runRestore(grant, plan, run).finally(() => lock.release());
}
