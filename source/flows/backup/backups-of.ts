import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Session } from '../../session/session.ts';
import type { BackupFacts, BackupPlan } from '../../stack/backup/model.ts';
import { planBackup } from '../../stack/backup/plan.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { entryOf } from '../call-target.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';

/**
 * Returns the backups of a component, newest first. Its name depends on how many instances of the product are on the host: `photo-library`
 * becomes `photo-library@lab` when a second one is created. Backups of the same project belong to it under any of these names; backups of
 * another existing instance do not, whatever name they are filed under.
 */
export async function listBackupsOf(
  { context, signal }: EngineScope,
  store: BackupStore,
  { key, id, entry = id, host, project }: ComponentView,
): Promise<readonly BackupFacts[]> {
  const names = new Set([id, entry, ...(project === '' ? [] : [`${entry}@${project}`])]);
  const { components } = context.fleet.snapshot();
  const instances = components.filter((one) => one.key !== key && one.host === host && (one.entry ?? one.id) === entry);
  const others = new Set(instances.map((one) => one.project));
  const found: BackupFacts[] = [];
  for (const name of names) {
    for (const backup of await store.list(signal, name)) {
      const saved = backup.manifest?.project ?? '';
      const isOfProject = saved !== '' && saved === project;
      const isOfOther = saved !== '' && !isOfProject && others.has(saved);
      if (isOfProject || (name === id && !isOfOther)) found.push(backup);
    }
  }
  return found.sort((one, other) => other.atMs - one.atMs);
}

export async function planLike(scope: EngineScope, { manifest }: BackupFacts, component: ComponentView): Promise<BackupPlan> {
  const { context, engine, host, signal } = scope;
  const stackFolder = await scope.stackFolder();
  const entry = entryOf(context, component);
  return planBackup({ entry, component, engine, host, stackFolder, choices: manifest?.choices, signal });
}

export const unauthenticatedText = ({ stamp, component, unauthenticated }: BackupFacts): string | undefined =>
  unauthenticated === undefined ? undefined : `The backup ${stamp} of ${component} cannot be authenticated: ${unauthenticated}.`;

export async function throwUnlessAuthentic(session: Session, { options }: FlowInput, backup: BackupFacts): Promise<void> {
  const why = unauthenticatedText(backup);
  if (why === undefined || options['unsigned'] === true) return;
  const answer = session.attended
    ? await session.ask.choice({
        id: 'unsigned',
        label: `${why} The backup may have been tampered with.`,
        initial: 'cancel',
        choices: [
          { value: 'cancel', label: 'Cancel', detail: 'change nothing' },
          { value: 'restore', label: 'Restore', detail: 'only if you trust the source of the backup' },
        ],
      })
    : 'cancel';
  if (answer === 'restore') return;
  throw new Fault('refused.unsigned', why, 'Nothing was restored. If you trust the source of the backup, add --unsigned.');
}
