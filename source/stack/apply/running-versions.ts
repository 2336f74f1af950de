import type { Host } from '../../hosts/host.ts';
import { parsedJson } from '../../text/json-value.ts';
import type { DeployRecord } from '../model.ts';
import { recordPath } from '../read-deployment.ts';
import { recordBefore } from './recover.ts';
import { readRuns } from './run-journal.ts';

/** The changes of a component that can be undone: the last, and the one before, whose backup is kept as well. */
const undoableChanges = 2;

/** In deployments, in unfinished changes, and in the states before the last changes, which a rollback or a snapshot restores. */
export async function versionsInForce(
  host: Host,
  { stackFolder, component, variable }: { stackFolder: string; component: string; variable: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const bytes = await host.files.read(recordPath(stackFolder, component), { signal });
  const deployed = bytes && (parsedJson(Buffer.from(bytes).toString()) as Partial<DeployRecord> | null | undefined);
  const named = [deployed?.secrets?.[variable]];
  const runs = (await readRuns(host, stackFolder, signal)).filter(({ transaction }) =>
    transaction.plans.some((plan) => plan.component === component),
  );
  const open = runs.filter(({ state }) => state !== 'undone' && state !== 'verified');
  const last = runs.filter(({ state }) => state !== 'undone' && state !== 'staged').slice(-undoableChanges);
  for (const { transaction } of new Set([...open, ...last])) {
    for (const plan of transaction.plans.filter((one) => one.component === component))
      named.push(plan.secrets.find((secret) => secret.variable === variable)?.version);
    named.push((await recordBefore(host, transaction, component, signal))?.secrets?.[variable]);
  }
  return new Set(named.filter((version) => version !== undefined));
}
