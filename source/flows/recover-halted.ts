import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { type HaltedRecord, haltedSentence, startHalted } from '../stack/halted-journal.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { cleanLine } from '../text/clean.ts';
import { namesText } from '../text/words.ts';
import { operatorOf } from './backup.ts';
import type { FlowWorld } from './flow.ts';

const limitMs = 600_000;

/** Starts what an interrupted flow had stopped for its own purposes. Throws `failed.stillStopped`. */
export async function recoverHalted(session: Session, world: FlowWorld, place: string, record: HaltedRecord): Promise<void> {
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  const by = await operatorOf(world, place, session.signal);
  const names = namesText(record.containers.map(({ name }) => cleanLine(name)));
  session.show({ kind: 'text', text: `${cleanLine(record.run)}, by ${record.by}: ${haltedSentence(record)}` });
  await session.act({
    id: `start ${record.run}`,
    right: 'operate',
    title: `Start ${names} again`,
    request: `start ${names}, stopped by an interrupted ${cleanLine(record.flow)}`,
    target: { host: place, component: cleanLine(record.component) },
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'backup', component: record.component, by });
      const failures = await startHalted(grant, record, { host, engine: world.engineOf(place), stackFolder }).finally(() => lock.release());
      const [first] = failures;
      if (!first) return;
      throw new Fault({
        code: 'failed.stillStopped',
        message: `${namesText(failures.map(({ container }) => cleanLine(container.name)))} could not be started again: ${cleanLine(first.reason)}`,
        remedy: 'Check its log, then run quarterdeck recover again.',
      });
    },
  });
  world.fleet.refresh();
}
