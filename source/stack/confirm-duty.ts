import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { lockedFault } from './apply-faults.ts';
import type { DeployRecord } from './model.ts';
import { readDeployment, recordPath } from './read-deployment.ts';
import { readLock } from './stack-lock.ts';

const recordMode = 0o600;

/**
 * Writes down that a first-run duty is done. Throws `refused.locked` while somebody changes the stack, as their change writes the same record, and `refused.notOurs`
 * where there is none.
 */
export async function confirmDuty(
  grant: Grant,
  host: Host,
  stackFolder: string,
  { component, duty, at }: { component: string; duty: string; at: string },
): Promise<void> {
  const lock = await readLock(host, stackFolder, grant.signal);
  if (lock?.alive) throw lockedFault(lock);
  const record = (await readDeployment(host, stackFolder, component, grant.signal))?.record;
  if (!record) throw notDeployed(component);
  const after: DeployRecord = { ...record, duties: { ...record.duties, [duty]: at } };
  const text = `${JSON.stringify(after, undefined, 2)}\n`;
  await host.files.write(grant, recordPath(stackFolder, component), new TextEncoder().encode(text), { mode: recordMode });
}

export function notDeployed(component: string, why = 'there is no record of what is left to do'): Fault {
  return new Fault({
    code: 'refused.notOurs',
    message: `${component} was not deployed from here: ${why}.`,
    remedy: 'Use the tool that deployed it. Existing containers cannot be adopted yet.',
  });
}
