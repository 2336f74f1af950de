import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Grant } from '../grants/grant.ts';
import type { Session } from '../session/session.ts';
import type { BackupFacts } from '../stack/backup-model.ts';
import { planBackup } from '../stack/backup-plan.ts';
import { planRestore, type RestorePlan, type RestoreRun, restoreConsequences, runRestore, settleRestore } from '../stack/backup-restore.ts';
import { StillContainers } from '../stack/backup-still.ts';
import type { BackupStore } from '../stack/backup-store.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { bytesText } from '../text/quantities.ts';
import { operatorOf } from './backup.ts';
import type { FlowWorld } from './flow.ts';
import { entryOf } from './secret-proof.ts';

const limitMs = 24 * 3_600_000;

/**
 * Puts the data of a backup into the volumes and databases of a component that is there; what ran before runs again afterwards. Answers what went where: one
 * without items had nothing to do. In a rehearsal it only says what it would do.
 * @param whole every item of the backup must have a place
 */
export async function restoreData(
  session: Session,
  world: FlowWorld,
  { component, store, backup, whole = false }: { component: ComponentView; store: BackupStore; backup: BackupFacts; whole?: boolean },
): Promise<RestorePlan> {
  const { id, host: place } = component;
  const engine = world.engineOf(place);
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  const now = await planBackup({
    entry: entryOf(world, component),
    component,
    engine,
    host,
    stackFolder,
    ...(backup.manifest?.choices && { choices: backup.manifest.choices }),
    signal: session.signal,
  });
  const plan = planRestore(backup, now);
  if (whole && plan.homeless.length > 0) {
    throw new Fault({
      code: 'refused.nothingToRestore',
      message: `The data of ${id} were not restored. ${plan.homeless.join(' ')}`,
      remedy: `Its files and images are those of the backup already. Roll back: quarterdeck rollback ${id}`,
    });
  }
  if (plan.items.length === 0) return plan;
  const by = await operatorOf(world, place, session.signal);
  const run: RestoreRun = {
    ...{ store, engine, host, stackFolder, by },
    still: new StillContainers(engine),
    told: ({ label, bytes }) => session.progress({ id: 'restore', label: bytes === undefined ? label : `${label}: ${bytesText(bytes)}` }),
  };
  let running: Promise<void> | undefined;
  await session.act({
    id: `restore ${id}`,
    right: 'destroy',
    title: `Restore the data of ${id} to ${plan.manifest.startedAt}`,
    request: `restore ${plan.items.map(({ saved }) => saved.id).join(', ')} of ${id} from ${store.where}, ${backup.stamp}`,
    target: { host: place, component: component.key },
    consequences: restoreConsequences(plan),
    limitMs,
    run: (grant) => {
      running = restoreUnderLock(grant, plan, run);
      return running;
    },
    afterwards: async (grant) => {
      // A cancel does not wait for what it ends: the containers that it works in go first.
      await running?.catch(() => undefined);
      await settleRestore(grant, plan, run);
    },
  });
  session.progress({ id: 'restore', label: `Restored ${id}`, fraction: 1, done: true });
  world.fleet.refresh(component.key);
  return plan;
}

async function restoreUnderLock(grant: Grant, plan: RestorePlan, run: RestoreRun): Promise<void> {
  const { host, stackFolder, by } = run;
  // The journal of the restore goes there; with it the lock can be held where nothing was deployed from here.
  await host.files.makeFolder(grant, posix.join(stackFolder, '.quarterdeck'), { mode: 0o700 });
  const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: plan.component, by });
  await runRestore(grant, plan, run).finally(() => lock.release());
}
