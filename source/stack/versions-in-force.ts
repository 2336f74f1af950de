import type { Host } from '../hosts/host.ts';
import { parseJson } from '../text/json-value.ts';
import type { DeployRecord } from './model.ts';
import { recordPath } from './read-deployment.ts';
import { recordBefore } from './recover.ts';
import { readRuns } from './run-journal.ts';

/** How many of a component's changes can be gone back from: the last, and the one before, whose backup is kept as well. */
const waysBack = 2;

/**
 * Versions of a secret that something on the host still names: what is deployed, changes that are not finished, and what was in force before the last ones, to which a
 * rollback or a snapshot goes back.
 */
export async function versionsInForce(
  host: Host,
  { stackFolder, component, variable }: { stackFolder: string; component: string; variable: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const bytes = await host.files.read(recordPath(stackFolder, component), { signal });
  const named = [bytes && versionIn(Buffer.from(bytes).toString(), variable)];
  const runs = (await readRuns(host, stackFolder, signal)).filter(({ transaction }) =>
    transaction.plans.some((plan) => plan.component === component),
  );
  const open = runs.filter(({ state }) => state !== 'undone' && state !== 'verified');
  const last = runs.filter(({ state }) => state !== 'undone' && state !== 'staged').slice(-waysBack);
  for (const { transaction } of new Set([...open, ...last])) {
    for (const plan of transaction.plans.filter((one) => one.component === component))
      named.push(plan.secrets.find((secret) => secret.variable === variable)?.version);
    named.push((await recordBefore(host, transaction, component, signal))?.secrets?.[variable]);
  }
  return new Set(named.filter((version) => version !== undefined));
}

function versionIn(record: string, variable: string): string | undefined {
  try {
    return (parseJson(record) as Partial<DeployRecord> | null)?.secrets?.[variable];
  } catch {
    return undefined;
  }
}
