import { Fault } from '../../faults/fault.ts';
import type { Deployment } from '../../stack/model.ts';
import { newestVersions } from '../deploy/stack-facts.ts';
import type { EngineScope } from '../engine-scope.ts';
import { secretName } from './secret-names.ts';

/** All values are masked from here on. Throws `failed.secret` for a version that no longer exists. */
export async function secretValues(scope: EngineScope, component: string, versions: Readonly<Record<string, string>>) {
  const { session, context, engineName } = scope;
  const values: Record<string, string> = {};
  const wanted = Object.entries(versions);
  if (wanted.length === 0) return values;
  const vault = await context.vault(session);
  for (const [variable, version] of wanted) {
    const value = await vault.read(secretName(engineName, component, variable), session.signal, version);
    if (value === undefined) {
      const message = `Version ${version} of ${variable} (${component}) is no longer in ${vault.where}.`;
      const remedy = `Set the secret again (quarterdeck secrets set ${component} ${variable}), then run: quarterdeck deploy ${component}`;
      throw new Fault('failed.secret', message, remedy);
    }
    session.hide(value);
    values[variable] = value;
  }
  return values;
}

export async function valuesInForce(scope: EngineScope, { component, record }: Pick<Deployment, 'component' | 'record'>) {
  return secretValues(scope, component, record?.secrets ?? (await newestVersions(scope, component)));
}
