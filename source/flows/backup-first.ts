import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { reasonsAgainstUndo, snapshotRemedy } from '../stack/recover.ts';
import type { RunBackup } from '../stack/transaction.ts';
import { cleanLine } from '../text/clean.ts';
import { backUp } from './backup.ts';
import { openStore } from './backup-target.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import type { ReadyPlan } from './plan-component.ts';
import { restoreSnapshot } from './restore-snapshot.ts';

/** Choices of the review besides `apply`. */
export const withoutBackup = 'bare';

/** Those of these plans whose component says how it is backed up, and has something to save. What is practised has not. */
export function worthSaving(world: FlowWorld, ready: readonly ReadyPlan[]): ReadyPlan[] {
  if (world.practice) return [];
  return ready.filter(({ facts }) => facts.containers.length > 0 && facts.entry.backup.some(({ way }) => way !== 'skip'));
}

export function wantsBackup({ options }: FlowInput): boolean {
  return options['no-backup'] !== true;
}

/** Where backups go, as the command line or the settings say; undefined where nobody has said so. */
export function backupPlace(input: FlowInput, world: FlowWorld): string | undefined {
  return typeof input.options.to === 'string' ? input.options.to : world.backupTargetOf?.(input.place);
}

/** What the plan of an update says about the backup before it: that there will be one, that nobody wants one, or that nobody has said where it would go. */
export function tellBackup(ready: ReadyPlan, input: FlowInput, world: FlowWorld): ReadyPlan {
  const { plan, findings, facts } = ready;
  const unsafe = (facts.entry.upgrade?.rollback ?? 'unsafe') !== 'safe';
  const note = (text: string): ReadyPlan => ({ ...ready, plan: { ...plan, notes: [...plan.notes, text] } });
  if (!unsafe && worthSaving(world, [ready]).length === 0) return note('Going back afterwards is safe.');
  const back = unsafe ? 'Once the new image has run, going back means restoring a backup' : 'Going back afterwards is safe';
  if (worthSaving(world, [ready]).length === 0) return note(`${back}.`);
  if (!wantsBackup(input)) return note(`${back}. No backup is taken first, as you said.`);
  const place = backupPlace(input, world);
  if (place !== undefined) return note(`${back}: it is backed up first, ${placeText(place)}.`);
  return {
    ...note(`${back}.`),
    findings: [
      ...findings,
      {
        id: 'no-backup-place',
        level: 'warning',
        message: `${plan.component} is not backed up before this: nobody has said where backups go.`,
        advice: `Say --to /srv/backups, or write "backups: {${input.place}: /srv/backups}" into config.yaml: every update saves it first then.`,
      },
    ],
  };
}

const placeText = (place: string) => (place.startsWith('restic:') ? 'to its restic repository' : `to ${cleanLine(place)}`);

/** Backs up what the plans are about. Throws `failed.backup` and the like before anything was changed. */
export async function backUpFirst(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  ready: readonly ReadyPlan[],
): Promise<Record<string, RunBackup>> {
  const backups: Record<string, RunBackup> = {};
  const wanted = worthSaving(world, ready);
  if (wanted.length === 0) return backups;
  const store = await openStore(session, input, world);
  for (const { facts } of wanted) {
    const { id } = facts.entry;
    const component = world.fleet.snapshot().components.find((one) => one.host === input.place && one.id === id && one.project === id);
    if (!component) continue;
    try {
      const manifest = await backUp(session, input, world, component, store);
      if (manifest) backups[id] = { stamp: manifest.stamp, where: store.where };
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
      throw new Fault({
        code: thrown.code,
        message: `Nothing was updated, because the backup before it failed: ${thrown.message}`,
        remedy: `${thrown.remedy} Or update without one: --no-backup.`,
        cause: thrown,
      });
    }
  }
  return backups;
}

/**
 * After a change that failed: names the backups that it took, where rolling back would not be safe, and offers to go back to them. Throws what was thrown, with that
 * said in it, unless somebody went back.
 */
export async function offerSnapshots(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  ready: readonly ReadyPlan[],
  backups: Readonly<Record<string, RunBackup>>,
  thrown: unknown,
): Promise<string> {
  if (!(thrown instanceof Fault) || thrown.kind !== 'failed' || session.signal.aborted) throw thrown;
  const saved = ready.filter(({ plan }) => backups[plan.component]);
  const migrated = [];
  for (const { plan } of saved) {
    const reasons = await reasonsAgainstUndo(world.engineOf(input.place), [plan], session.signal);
    if (reasons.length > 0) migrated.push({ id: plan.component, reasons });
  }
  const remedy = snapshotRemedy({ backups: Object.fromEntries(migrated.flatMap(({ id }) => (backups[id] ? [[id, backups[id]]] : []))) });
  if (remedy === undefined) throw thrown;
  const told = migrated.map(
    ({ id, reasons }) => `${id} was backed up before it: ${backups[id]?.stamp}, in ${backups[id]?.where}. ${reasons.join(' ')}`,
  );
  const failed = new Fault({
    code: thrown.code,
    message: `${thrown.message.replace(/[^.!?]$/, '$&.')} ${told.join(' ')}`,
    remedy,
    cause: thrown,
  });
  if (!session.attended) throw failed;
  session.show({ kind: 'text', text: failed.message });
  const choice = await session.ask.choice({
    id: 'snapshot',
    label: 'What about it?',
    choices: [
      { value: 'leave', label: 'Leave it as it is', detail: 'to look at it, and repair it' },
      {
        value: 'restore',
        label: 'Go back to the backup',
        detail: 'data, image and files as they were before; what was written since is lost',
      },
    ],
  });
  if (choice !== 'restore') throw failed;
  const outcomes: string[] = [];
  for (const { id } of migrated) outcomes.push((await restoreSnapshot(session, input, world, id, backups[id]?.stamp ?? '')).message);
  return outcomes.join(' ');
}
