import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import type { Session } from '../session/session.ts';
import { recordBefore } from '../stack/recover.ts';
import type { Transaction } from '../stack/transaction.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowWorld } from './flow.ts';
import { fieldOf } from './secret-names.ts';
import { type HeldSecret, targetOf, tellData, tryValue } from './secret-proof.ts';
import { secretValues } from './secret-values.ts';
import { newestVersions, secretName } from './stack-facts.ts';

/** A secret that a run gives another value, in a component that was there before. */
export interface RotatedSecret extends HeldSecret {
  /** Versions in the vault. */
  before: string;
  after: string;
}

export async function rotatedIn(
  world: FlowWorld,
  host: Host,
  transaction: Transaction,
  signal: AbortSignal,
): Promise<readonly RotatedSecret[]> {
  const rotated: RotatedSecret[] = [];
  for (const plan of transaction.plans) {
    const entry = world.catalog.get(plan.component);
    if (!entry) continue;
    const before = (await recordBefore(host, transaction, plan.component, signal))?.secrets ?? {};
    for (const { variable, what, version: after } of plan.secrets) {
      const field = fieldOf(entry, variable);
      const old = before[variable];
      // What is kept can have another version with the same value.
      if (after === undefined || what === 'keep') continue;
      if (field && old !== undefined && old !== after)
        rotated.push({ component: plan.component, variable, entry, field, before: old, after });
    }
  }
  return rotated;
}

/** What going on with a run means for its secrets, for whoever chooses. Undefined where it changes none. */
export function whatChoicesMean(rotated: readonly RotatedSecret[]): { sentence: string; finish: string; undo: string } | undefined {
  if (rotated.length === 0) return undefined;
  const names = rotated.map(({ component, variable }) => `${component}/${variable}`).join(', ');
  return {
    sentence: `It gives ${names} a new value, and nobody has seen that one work. Finished, the new value is put in force and tried; taken back, the old one is in force again, also where the data hold it.`,
    finish: `puts the new value of ${names} in force, and tries it`,
    undo: `puts the old value of ${names} back, also where the data hold it`,
  };
}

/** Has the data hold the values that the containers have by now, which were started just before. */
export async function tellRotated(
  session: Session,
  world: FlowWorld,
  place: string,
  rotated: readonly RotatedSecret[],
  which: 'before' | 'after',
): Promise<void> {
  for (const secret of rotated)
    await tellVersion(session, world, place, { secret, version: secret[which], which: which === 'before' ? 'old' : 'new' });
}

/**
 * Has the data hold this version, where they hold one; the container may have been started just before.
 * @param settles the record of an interrupted rotation that this settles
 */
export async function tellVersion(
  session: Session,
  world: FlowWorld,
  place: string,
  { secret, version, which, settles = '' }: { secret: HeldSecret; version: string; which: 'old' | 'new'; settles?: string },
): Promise<void> {
  const { component, variable, field } = secret;
  if (!field.rotate || 'never' in field.rotate) return;
  const value = await readVersion(session, world, place, component, variable, version);
  await tellData(session, world, place, secret, value, {
    id: `tell ${component} ${variable} ${version} ${settles}`.trim(),
    which,
    patient: true,
  });
}

/** What was put back is what the next deploy has to use: in the vault the newest counts. */
export async function makeNewest(
  session: Session,
  world: FlowWorld,
  place: string,
  rotated: readonly Pick<RotatedSecret, 'component' | 'variable' | 'before'>[],
): Promise<void> {
  for (const { component, variable, before } of rotated) {
    const newest = (await newestVersions(session, world, place, component))[variable];
    if (newest === before) continue;
    const value = await readVersion(session, world, place, component, variable, before);
    const vault = await world.vault(session);
    const name = secretName(place, component, variable);
    if (newest !== undefined && (await vault.read(name, session.signal, newest)) === value) continue;
    await session.act({
      id: `keep the old ${name} after ${newest ?? 'none'}`,
      right: 'operate',
      request: `make the old value of ${cleanLine(name)} the newest again`,
      target: { host: place, component },
      run: async (grant) => void (await vault.write(grant, name, value, 'rotated')),
    });
  }
}

/** Throws `failed.rotate` where a component refuses a value that was put in force. What cannot be asked is not said to be wrong. */
export async function tryRotated(session: Session, world: FlowWorld, place: string, rotated: readonly RotatedSecret[]): Promise<void> {
  for (const { component, variable, entry, field, after } of rotated) {
    if (!field.proves) continue;
    const value = await readVersion(session, world, place, component, variable, after);
    const verdict = await session.act({
      id: `prove ${component} ${variable} ${after}`,
      right: 'operate',
      request: `authenticate to ${component} with the new value`,
      target: { host: place, component },
      run: async (grant) => tryValue(await targetOf(world, place, entry, grant.signal), field, value, { grant, patient: true }),
      failure: ({ says }) => (says === 'refused' ? 'the component does not accept the new value' : undefined),
    });
    if (verdict?.says !== 'refused') continue;
    throw new Fault({
      code: 'failed.rotate',
      message: `${component} does not accept the new value of ${field.name}.`,
      remedy: `Take the change back: quarterdeck rollback ${component}.`,
    });
  }
}

async function readVersion(
  session: Session,
  world: FlowWorld,
  place: string,
  component: string,
  variable: string,
  version: string,
): Promise<string> {
  return (await secretValues(session, world, place, component, { [variable]: version }))[variable] ?? '';
}
