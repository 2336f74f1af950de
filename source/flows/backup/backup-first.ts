import { Fault } from '../../faults/fault.ts';
import { reasonsAgainstUndo, snapshotRemedy } from '../../stack/apply/recover.ts';
import type { RunBackup } from '../../stack/apply/transaction.ts';
import { warning } from '../../stack/finding.ts';
import { cleanLine } from '../../text/clean.ts';
import type { ReadyPlan } from '../deploy/plan-component.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowContext, FlowInput } from '../flow.ts';
import { backUp, notThinnedText } from './backup.ts';
import { backupLocation, openStore } from './backup-target.ts';
import { restoreSnapshot } from './restore-snapshot.ts';

export const withoutBackup = 'bare';

export function worthSaving(context: FlowContext, ready: readonly ReadyPlan[]): ReadyPlan[] {
  if (context.practice) return [];
  return ready.filter(({ facts }) => facts.containers.length > 0 && facts.entry.backup.some(({ method }) => method !== 'skip'));
}

export const isBackupRequested = ({ options }: FlowInput): boolean => options['no-backup'] !== true;

export function noteBackup(ready: ReadyPlan, input: FlowInput): ReadyPlan {
  const { plan, findings, facts } = ready;
  const { context } = facts.scope;
  const unsafe = (facts.entry.upgrade?.rollback ?? 'unsafe') !== 'safe';
  const note = (text: string): ReadyPlan => ({ ...ready, plan: { ...plan, notes: [...plan.notes, text] } });
  const back = unsafe
    ? 'Once the new image has run, rolling back requires restoring a backup'
    : 'Rolling back afterwards requires no backup';
  if (worthSaving(context, [ready]).length === 0) return note(`${back}.`);
  if (!isBackupRequested(input)) return note(`${back}. No backup will be created first (--no-backup).`);
  const location = backupLocation(input, context);
  if (location !== undefined) {
    const where = location.startsWith('restic:') ? 'the restic repository' : cleanLine(location);
    return note(`${back}. The data is backed up first, to ${where}.`);
  }
  const message = `${plan.component} is not backed up first, because no backup destination is configured.`;
  const advice = `Pass --to /srv/backups, or add "backups: {${input.engineName}: /srv/backups}" to config.yaml to back up before every update.`;
  return { ...note(`${back}.`), findings: [...findings, warning('no-backup-place', message, advice)] };
}

export async function backUpFirst(scope: EngineScope, input: FlowInput, ready: readonly ReadyPlan[]): Promise<Record<string, RunBackup>> {
  const backups: Record<string, RunBackup> = {};
  const wanted = worthSaving(scope.context, ready);
  if (wanted.length === 0) return backups;
  const store = await openStore(scope, input);
  for (const { facts } of wanted) {
    const { id } = facts.entry;
    const component = scope.component(id);
    if (!component) continue;
    try {
      const saved = await backUp(scope, input, component, store);
      if (!saved) continue;
      backups[id] = { stamp: saved.manifest.stamp, where: store.where, ...(store.to !== undefined && { to: store.to }) };
      if (saved.notThinned) scope.session.show({ kind: 'text', text: `${id}: ${notThinnedText(saved.notThinned)}` });
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
      const message = `Nothing was updated, because the backup failed: ${thrown.message}`;
      throw new Fault(thrown.code, message, `${thrown.remedy} To update without a backup, add --no-backup.`, { cause: thrown });
    }
  }
  return backups;
}

/** Offers to restore the backups if rolling back is not safe. Throws the error with that information, unless a backup was restored. */
export async function offerSnapshots(
  scope: EngineScope,
  input: FlowInput,
  ready: readonly ReadyPlan[],
  backups: Readonly<Record<string, RunBackup>>,
  thrown: unknown,
): Promise<string> {
  const { session } = scope;
  if (!(thrown instanceof Fault) || thrown.kind !== 'failed' || session.signal.aborted) throw thrown;
  const saved = ready.filter(({ plan }) => backups[plan.component]);
  const migrated = [];
  for (const { plan } of saved) {
    const reasons = await reasonsAgainstUndo(scope.engine, [plan], session.signal);
    if (reasons.length > 0) migrated.push({ id: plan.component, reasons });
  }
  const remedy = snapshotRemedy({ backups: Object.fromEntries(migrated.flatMap(({ id }) => (backups[id] ? [[id, backups[id]]] : []))) });
  if (remedy === undefined) throw thrown;
  const reported = migrated.map(
    ({ id, reasons }) => `Backup of ${id} before the update: ${backups[id]?.stamp}, in ${backups[id]?.where}. ${reasons.join(' ')}`,
  );
  const failed = new Fault(thrown.code, `${thrown.message.replace(/[^.!?]$/, '$&.')} ${reported.join(' ')}`, remedy, { cause: thrown });
  if (!session.attended) throw failed;
  session.show({ kind: 'text', text: failed.message });
  const choice = await session.ask.choice({
    id: 'snapshot',
    label: 'How to continue',
    choices: [
      { value: 'leave', label: 'Leave as is', detail: 'you can inspect and repair the component' },
      {
        value: 'restore',
        label: 'Restore the backup',
        detail: 'data, image and files as before the update; later changes are lost',
      },
    ],
  });
  if (choice !== 'restore') throw failed;
  const outcomes: string[] = [];
  for (const { id } of migrated) {
    const restored = await restoreSnapshot(scope, input, id, backups[id]?.stamp ?? '').catch((cause: unknown) => {
      // Declining the restore leaves the failed update as it is.
      throw cause instanceof Fault && cause.code === 'interrupted.cancelled' ? failed : cause;
    });
    outcomes.push(restored.message);
  }
  return outcomes.join(' ');
}
