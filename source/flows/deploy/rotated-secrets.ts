import { Fault } from '../../faults/fault.ts';
import { recordBefore } from '../../stack/apply/recover.ts';
import type { Transaction } from '../../stack/apply/transaction.ts';
import { cleanLine } from '../../text/clean.ts';
import { targetOf } from '../call-target.ts';
import type { EngineScope } from '../engine-scope.ts';
import { fieldOf, secretName } from '../secrets/secret-names.ts';
import { type HeldSecret, tryValue, writeToData } from '../secrets/secret-proof.ts';
import { secretValues } from '../secrets/secret-values.ts';
import { newestVersions } from './stack-facts.ts';

/** A secret that a run sets to another value, in a component that existed before. */
export interface RotatedSecret extends HeldSecret {
  /** Versions in the secret backend. */
  before: string;
  after: string;
}

export async function listRotated({ context, host, signal }: EngineScope, transaction: Transaction): Promise<readonly RotatedSecret[]> {
  const rotated: RotatedSecret[] = [];
  for (const plan of transaction.plans) {
    const entry = context.catalog.get(plan.component);
    if (!entry) continue;
    const before = (await recordBefore(host, transaction, plan.component, signal))?.secrets ?? {};
    for (const { variable, what, version: after } of plan.secrets) {
      const field = fieldOf(entry, variable);
      const old = before[variable];
      // A kept secret can have another version with the same value.
      if (after === undefined || what === 'keep') continue;
      if (field && old !== undefined && old !== after)
        rotated.push({ component: plan.component, variable, entry, field, before: old, after });
    }
  }
  return rotated;
}

export function describeChoices(rotated: readonly RotatedSecret[]): { summary: string; finish: string; undo: string } | undefined {
  if (rotated.length === 0) return undefined;
  const names = rotated.map(({ component, variable }) => `${component}/${variable}`).join(', ');
  return {
    summary: `The change sets a new value for ${names}, which is not verified yet. Finish applies and verifies the new value; undo restores the old one, also in the data.`,
    finish: `applies and verifies the new value for ${names}`,
    undo: `restores the old value of ${names}, also in the data`,
  };
}

/** The container may have just been started. `settles`: the record of an interrupted rotation that this settles. */
export async function writeVersion(
  scope: EngineScope,
  { secret, version, which, settles = '' }: { secret: HeldSecret; version: string; which: 'old' | 'new'; settles?: string },
): Promise<void> {
  const { component, variable, field } = secret;
  if (!field.rotate || 'never' in field.rotate) return;
  const value = await readVersion(scope, component, variable, version);
  await writeToData(scope, secret, value, { id: `tell ${component} ${variable} ${version} ${settles}`.trim(), which, patient: true });
}

/** Adds the restored values as the newest versions: the next deploy uses the newest version of each secret. */
export async function restoreNewest(scope: EngineScope, rotated: readonly Pick<RotatedSecret, 'component' | 'variable' | 'before'>[]) {
  const { session, context, engineName } = scope;
  for (const { component, variable, before } of rotated) {
    const newest = (await newestVersions(scope, component))[variable];
    if (newest === before) continue;
    const value = await readVersion(scope, component, variable, before);
    const vault = await context.vault(session);
    const name = secretName(engineName, component, variable);
    if (newest !== undefined && (await vault.read(name, session.signal, newest)) === value) continue;
    await session.act({
      id: `keep the old ${name} after ${newest ?? 'none'}`,
      right: 'operate',
      request: `store the old value of ${cleanLine(name)} as the newest version`,
      target: { host: engineName, component },
      run: async (grant) => void (await vault.write(grant, name, value, 'rotated')),
    });
  }
}

/** Throws `failed.rotate` if a component refuses its new value. Values that cannot be checked are not reported as wrong. */
export async function verifyRotated(scope: EngineScope, rotated: readonly RotatedSecret[]): Promise<void> {
  const { session, context, engineName } = scope;
  for (const { component, variable, entry, field, after } of rotated) {
    if (!field.verify) continue;
    const value = await readVersion(scope, component, variable, after);
    const verdict = await session.act({
      id: `prove ${component} ${variable} ${after}`,
      right: 'operate',
      request: `authenticate to ${component} with the new value`,
      target: { host: engineName, component },
      run: async (grant) => tryValue(await targetOf(context, engineName, entry, grant.signal), field, value, { grant, patient: true }),
      failure: ({ says }) => (says === 'refused' ? 'the component does not accept the new value' : undefined),
    });
    if (verdict?.says !== 'refused') continue;
    const message = `${component} does not accept the new value of ${field.name}.`;
    throw new Fault('failed.rotate', message, `Undo the change: quarterdeck rollback ${component}`);
  }
}

async function readVersion(scope: EngineScope, component: string, variable: string, version: string): Promise<string> {
  return (await secretValues(scope, component, { [variable]: version }))[variable] ?? '';
}
