import { Fault } from '../../faults/fault.ts';
import { newRun } from '../../session/journal.ts';
import { holdStackLock } from '../../stack/apply/lock.ts';
import type { HaltedRecord, RotatingSecret } from '../../stack/backup/stopped-containers.ts';
import { haltedSentence, readInterruptedHalts, removeHalted, secretsText, startHalted } from '../../stack/backup/stopped-containers.ts';
import { readDeployment } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import { restoreNewest, writeVersion } from '../deploy/rotated-secrets.ts';
import type { EngineScope } from '../engine-scope.ts';
import { fieldOf } from '../secrets/secret-names.ts';
import { operatorOf } from './backup.ts';
import type { Recovery } from './restore-data.ts';

const limitMs = 600_000;

/** Also sets the secrets of an interrupted rotation to the value of their containers. Throws `failed.stillStopped`, `failed.rotate`. */
export async function recoverHalted(scope: EngineScope, record: HaltedRecord): Promise<Recovery> {
  const { session, context, engineName, host } = scope;
  session.show({ kind: 'text', text: `${cleanLine(record.run)}, by ${record.by}: ${haltedSentence(record)}` });
  if (record.secrets) return settleSecrets(scope, record, record.secrets);
  const stackFolder = await scope.stackFolder();
  const by = await operatorOf(scope);
  const names = namesText(record.containers.map(({ name }) => cleanLine(name)));
  await session.act({
    id: `start ${record.run}`,
    right: 'operate',
    title: `Start ${names} again`,
    request: `start or unpause ${names}, halted by an interrupted ${cleanLine(record.flow)}`,
    target: { host: engineName, component: cleanLine(record.component) },
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'backup', component: record.component, by });
      const failures = await startHalted(grant, record, { host, engine: scope.engine, stackFolder }).finally(() => lock.release());
      const [first] = failures;
      if (!first) return;
      const message = `${namesText(failures.map(({ container }) => cleanLine(container.name)))} could not be restarted: ${cleanLine(first.reason)}`;
      throw new Fault('failed.stillStopped', message, 'Check the log, then run quarterdeck recover again.');
    },
  });
  context.fleet.refresh();
  return 'finish';
}

export async function settleRotations(scope: EngineScope): Promise<void> {
  for (const record of await readInterrupted(scope)) if (record.secrets) await recoverHalted(scope, record);
}

export async function readInterrupted(scope: EngineScope): Promise<HaltedRecord[]> {
  const stackFolder = await scope.stackFolder();
  return readInterruptedHalts(scope.host, async () => scope.engine, stackFolder, scope.signal);
}

export function rotationRecord(by: string, secrets: readonly RotatingSecret[]): HaltedRecord {
  const startedAt = new Date().toISOString();
  const component = secrets[0]?.component ?? '';
  const named = secrets.map((secret) => ({ component: secret.component, variable: secret.variable }));
  return { schema: 1, run: `rotation-${newRun()}`, flow: 'rotation', component, by, startedAt, containers: [], secrets: named };
}

/** Data, containers and keychain have the same value by now. */
export async function forgetRotation(
  scope: EngineScope,
  record: HaltedRecord,
  request = `record that the data, the containers and the stored secrets have the same value for ${secretsText(record.secrets ?? [])}`,
): Promise<void> {
  const { session, engineName, host } = scope;
  const stackFolder = await scope.stackFolder();
  await session.act({
    id: `forget ${record.run}`,
    right: 'operate',
    request,
    target: { host: engineName, component: cleanLine(record.component) },
    run: (grant) => removeHalted(grant, host, stackFolder, record.run),
  });
}

/** The containers decide: data and keychain get their value. `leave` if it is unknown for one of them; the record is removed anyway. */
async function settleSecrets(scope: EngineScope, record: HaltedRecord, secrets: readonly RotatingSecret[]): Promise<'undo' | 'leave'> {
  const { session, context, host } = scope;
  const stackFolder = await scope.stackFolder();
  const unknown: RotatingSecret[] = [];
  for (const { component, variable } of secrets) {
    const entry = context.catalog.get(component);
    const field = fieldOf(entry, variable);
    const version = entry && (await readDeployment(host, stackFolder, component, session.signal))?.record?.secrets[variable];
    if (!entry || !field || version === undefined) {
      unknown.push({ component, variable });
      continue;
    }
    await writeVersion(scope, { secret: { component, variable, entry, field }, version, which: 'old', settles: record.run });
    await restoreNewest(scope, [{ component, variable, before: version }]);
  }
  const names = secretsText(unknown);
  await forgetRotation(scope, record, unknown.length > 0 ? `clear the interrupted rotation of ${names}` : undefined);
  const [first] = unknown;
  const text = first
    ? `Unresolved: ${names}. Quarterdeck cannot determine which value the containers use. Check the log: quarterdeck logs ${cleanLine(first.component)}`
    : `Resolved: the data, the containers and the stored secrets have the same value for ${secretsText(secrets)}.`;
  if (!session.dryRun) session.show({ kind: 'text', text });
  return first ? 'leave' : 'undo';
}
