import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import type { BackupFacts } from '../stack/backup-model.ts';
import { planBackup } from '../stack/backup-plan.ts';
import { planRestore, type RestorePlan, restoreConsequences, runRestore } from '../stack/backup-restore.ts';
import { StillContainers } from '../stack/backup-still.ts';
import type { BackupStore } from '../stack/backup-store.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { bytesText } from '../text/quantities.ts';
import { operatorOf } from './backup.ts';
import type { FlowWorld } from './flow.ts';

const limitMs = 24 * 3_600_000;

/**
 * Puts the data of a backup into the volumes and databases of a component that is there; what ran before runs again afterwards. Answers what went where: one
 * without items had nothing to do. In a rehearsal it only says what it would do.
 */
export async function restoreData(
  session: Session,
  world: FlowWorld,
  { component, store, backup }: { component: ComponentView; store: BackupStore; backup: BackupFacts },
): Promise<RestorePlan> {
  const { id, host: place } = component;
  const engine = world.engineOf(place);
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  const now = await planBackup({ entry: world.catalog.get(id), component, engine, host, stackFolder, signal: session.signal });
  const plan = planRestore(backup, now);
  if (plan.items.length === 0) return plan;
  const by = await operatorOf(world, place, session.signal);
  const still = new StillContainers(engine);
  await session.act({
    id: `restore ${id}`,
    right: 'destroy',
    title: `Restore the data of ${id} to ${plan.manifest.startedAt}`,
    request: `restore ${plan.items.map(({ saved }) => saved.id).join(', ')} of ${id} from ${store.where}, ${backup.stamp}`,
    target: { host: place, component: component.key },
    consequences: restoreConsequences(plan),
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: id, by });
      await runRestore(grant, plan, {
        store,
        engine,
        still,
        told: ({ label, bytes }) =>
          session.progress({ id: 'restore', label: bytes === undefined ? label : `${label}: ${bytesText(bytes)}` }),
      }).finally(() => lock.release());
    },
    afterwards: (grant) => still.release(grant),
  });
  session.progress({ id: 'restore', label: `Restored ${id}`, fraction: 1, done: true });
  world.fleet.refresh(component.key);
  return plan;
}
