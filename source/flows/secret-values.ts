import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import type { Deployment } from '../stack/model.ts';
import type { FlowWorld } from './flow.ts';
import { newestVersions, secretName } from './stack-facts.ts';

/**
 * Values for one compose command, by variable, in these versions; everything that is read is hidden from here on. Throws `failed.secret` for a version that
 * the vault no longer has.
 */
export async function secretValues(
  session: Session,
  world: FlowWorld,
  place: string,
  component: string,
  versions: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  const wanted = Object.entries(versions);
  if (wanted.length === 0) return values;
  const vault = await world.vault(session);
  for (const [variable, version] of wanted) {
    const value = await vault.read(secretName(place, component, variable), session.signal, version);
    if (value === undefined) {
      throw new Fault({
        code: 'failed.secret',
        message: `The version ${version} of ${variable} of ${component} is no longer in ${vault.where}.`,
        remedy: `Set it again: quarterdeck secrets set ${component} ${variable}.`,
      });
    }
    session.hide(value);
    values[variable] = value;
  }
  return values;
}

/** The newest of each that the vault has: for a program in a component's container, or a compose command of the operator's. */
export async function newestValues(session: Session, world: FlowWorld, place: string, component: string): Promise<Record<string, string>> {
  return secretValues(session, world, place, component, await newestVersions(session, world, place, component));
}

/** Those that a deployed component has in force; the newest ones where nothing says which these are. */
export async function valuesInForce(
  session: Session,
  world: FlowWorld,
  place: string,
  { component, record }: Pick<Deployment, 'component' | 'record'>,
): Promise<Record<string, string>> {
  return record?.secrets ? secretValues(session, world, place, component, record.secrets) : newestValues(session, world, place, component);
}
