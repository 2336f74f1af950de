import { Fault } from '../faults/fault.ts';
import { newRun } from '../session/journal.ts';
import type { Session } from '../session/session.ts';
import {
  type HaltedRecord,
  haltedSentence,
  type RotatingSecret,
  readInterruptedHalts,
  removeHalted,
  secretsText,
  startHalted,
} from '../stack/halted-journal.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { readDeployment } from '../stack/read-deployment.ts';
import { cleanLine } from '../text/clean.ts';
import { namesText } from '../text/words.ts';
import { operatorOf } from './backup.ts';
import type { FlowWorld } from './flow.ts';
import { makeNewest, tellVersion } from './rotated-secrets.ts';
import { fieldOf } from './secret-names.ts';

const limitMs = 600_000;

/**
 * Starts what an interrupted flow had stopped for its own purposes, and gives secrets of an interrupted rotation the value that their containers have.
 * Throws `failed.stillStopped`, `failed.rotate`.
 */
export async function recoverHalted(
  session: Session,
  world: FlowWorld,
  place: string,
  record: HaltedRecord,
): Promise<'finish' | 'undo' | 'leave'> {
  session.show({ kind: 'text', text: `${cleanLine(record.run)}, by ${record.by}: ${haltedSentence(record)}` });
  if (record.secrets) return settleSecrets(session, world, place, record, record.secrets);
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  const by = await operatorOf(world, place, session.signal);
  const names = namesText(record.containers.map(({ name }) => cleanLine(name)));
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
  return 'finish';
}

/** Settles the interrupted rotations of a host. */
export async function settleRotations(session: Session, world: FlowWorld, place: string): Promise<void> {
  for (const record of await readInterrupted(session, world, place)) if (record.secrets) await recoverHalted(session, world, place, record);
}

export async function readInterrupted(session: Session, world: FlowWorld, place: string): Promise<HaltedRecord[]> {
  const stackFolder = await world.stackFolderOf(place, session.signal);
  return readInterruptedHalts(world.hostOf(place), async () => world.engineOf(place), stackFolder, session.signal);
}

/** What the journal holds of a rotation until the containers have the new value. */
export function rotationRecord(by: string, secrets: readonly RotatingSecret[]): HaltedRecord {
  const startedAt = new Date().toISOString();
  const component = secrets[0]?.component ?? '';
  return {
    ...{ schema: 1, flow: 'rotation', component, by, startedAt, containers: [] },
    run: `rotation-${newRun()}`,
    secrets: secrets.map((one) => ({ component: one.component, variable: one.variable })),
  };
}

/** Data, containers and keychain have the same value by now. */
export async function forgetRotation(
  session: Session,
  world: FlowWorld,
  place: string,
  record: HaltedRecord,
  request = `note that the data, the containers and the stored secrets have the same ${secretsText(record.secrets ?? [])}`,
): Promise<void> {
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  await session.act({
    id: `forget ${record.run}`,
    right: 'operate',
    request,
    target: { host: place, component: cleanLine(record.component) },
    run: (grant) => removeHalted(grant, host, stackFolder, record.run),
  });
}

/** The containers decide: data and keychain get the value that they were created with. `leave` where no record of a deploy says which one that is. */
async function settleSecrets(
  session: Session,
  world: FlowWorld,
  place: string,
  record: HaltedRecord,
  secrets: readonly RotatingSecret[],
): Promise<'undo' | 'leave'> {
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  const unknown: RotatingSecret[] = [];
  for (const { component, variable } of secrets) {
    const entry = world.catalog.get(component);
    const field = fieldOf(entry, variable);
    const version = entry && (await readDeployment(host, stackFolder, component, session.signal))?.record?.secrets[variable];
    if (!entry || !field || version === undefined) {
      unknown.push({ component, variable });
      continue;
    }
    await tellVersion(session, world, place, {
      secret: { component, variable, entry, field },
      ...{ version, which: 'old', settles: record.run },
    });
    await makeNewest(session, world, place, [{ component, variable, before: version }]);
  }
  const names = secretsText(unknown);
  await forgetRotation(session, world, place, record, unknown.length > 0 ? `forget the interrupted rotation of ${names}` : undefined);
  if (!session.rehearsing)
    session.show({
      kind: 'text',
      text:
        unknown.length === 0
          ? `Settled: the data, the containers and the stored secrets have the same ${secretsText(secrets)}.`
          : `Not settled: ${names}. Nothing records which value its containers have. Check its log: quarterdeck logs ${cleanLine(unknown[0]?.component ?? '')}`,
    });
  return unknown.length === 0 ? 'undo' : 'leave';
}
