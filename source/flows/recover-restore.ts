import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import { throwIfRestoreOpen as throwIfOpen, undoRestore } from '../stack/backup-restore.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { type RestoreRecord, restoreSentence } from '../stack/restore-journal.ts';
import { cleanLine } from '../text/clean.ts';
import { operatorOf } from './backup.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { waitUntilHealthy } from './wait-until-healthy.ts';

const limitMs = 24 * 3_600_000;

/** Settles a restore that was interrupted: puts the data from before back, and for `finish` restores the same backup again. */
export async function recoverRestore(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  record: RestoreRecord,
): Promise<'finish' | 'undo' | 'leave'> {
  const choice = await chosen(session, input, record);
  if (choice === 'leave') return choice;
  const host = world.hostOf(input.place);
  const engine = world.engineOf(input.place);
  const stackFolder = await world.stackFolderOf(input.place, session.signal);
  const by = await operatorOf(world, input.place, session.signal);
  const component = cleanLine(record.component);
  const complete = record.state === 'replaced';
  await session.act({
    id: `undo ${record.run}`,
    right: 'operate',
    title: complete ? `Finish the restore of ${component}` : `Put back the data of ${component} from before the restore`,
    request: complete
      ? `remove what the restore of ${component} kept, and start its containers`
      : `put back the data of ${component} from before the restore of ${cleanLine(record.backup)}`,
    target: { host: input.place, component },
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: record.component, by });
      await undoRestore(grant, record, { engine, host, stackFolder }).finally(() => lock.release());
    },
  });
  world.fleet.refresh();
  if (session.rehearsing) return choice;
  const seen = world.fleet
    .snapshot()
    .components.find(({ host: at, id, project }) => at === input.place && id === record.component && project === record.project);
  if (choice === 'finish' && !complete && seen) {
    // Loaded when used: it loads this.
    const { restore } = await import('./restore.ts');
    const options = { ...input.options, ...(record.to !== undefined && { to: record.to }) };
    session.show({
      kind: 'text',
      text: (await restore.run(session, { ...input, component: seen, words: [record.backup], options }, world)).message,
    });
  } else if (seen?.project === record.component) await waitUntilHealthy(session, world, input.place, record.component);
  return choice;
}

async function chosen(session: Session, { options }: FlowInput, record: RestoreRecord): Promise<'finish' | 'undo' | 'leave'> {
  const sentence = restoreSentence(record);
  session.show({ kind: 'text', text: `${cleanLine(record.run)}, by ${record.by}: ${cleanLine(record.component)}. ${sentence}` });
  if (options['finish'] === true) return 'finish';
  if (options['undo'] === true) return 'undo';
  if (!session.attended) {
    throw new Fault({
      code: 'refused.unfinished',
      message: `${cleanLine(record.component)}: ${sentence}`,
      remedy: 'Choose one: quarterdeck recover --finish, or quarterdeck recover --undo.',
    });
  }
  return (await session.ask.choice({
    id: `recover ${record.run}`,
    label: 'What about it?',
    choices:
      record.state === 'replaced'
        ? [
            { value: 'finish', label: 'Finish it', detail: 'removes the data from before, starts what was stopped' },
            { value: 'leave', label: 'Leave it' },
          ]
        : [
            { value: 'undo', label: 'Undo it', detail: 'the data from before the restore; starts what was stopped' },
            { value: 'finish', label: 'Restore again', detail: 'puts the data from before back first, then restores the same backup' },
            { value: 'leave', label: 'Leave it' },
          ],
  })) as 'finish' | 'undo' | 'leave';
}

/** @throws Fault `refused.unfinished`, `refused.locked`: half of each must not run, and is not worth a backup. */
export async function throwIfRestoreOpen(session: Session, world: FlowWorld, { id, project, host: place }: ComponentView): Promise<void> {
  if (world.practice) return;
  const stackFolder = await world.stackFolderOf(place, session.signal);
  await throwIfOpen(world.hostOf(place), stackFolder, { component: id, project }, session.signal);
}
