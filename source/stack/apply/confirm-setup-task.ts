import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import type { DeployRecord } from '../model.ts';
import { readDeployment, recordPath } from '../read-deployment.ts';
import { lockedFault } from './faults.ts';
import { writeRecord } from './journal-file.ts';
import { readLock } from './lock.ts';

/** Throws `refused.locked` while another user changes the stack, as that change writes the same record, and `refused.notOurs`. */
export async function confirmSetupTask(
  grant: Grant,
  host: Host,
  stackFolder: string,
  { component, task, at }: { component: string; task: string; at: string },
): Promise<void> {
  const lock = await readLock(host, stackFolder, grant.signal);
  if (lock?.alive) throw lockedFault(lock);
  const record = (await readDeployment(host, stackFolder, component, grant.signal))?.record;
  if (!record) throw notDeployed(component);
  const after: DeployRecord = { ...record, setupTasks: { ...record.setupTasks, [task]: at } };
  await writeRecord(grant, host, recordPath(stackFolder, component), after);
}

export function notDeployed(component: string, why = 'it has no record of setup tasks'): Fault {
  const message = `${component} was not deployed by Quarterdeck: ${why}.`;
  return new Fault('refused.notOurs', message, 'Use the tool that deployed the component. Existing containers cannot be adopted yet.');
}
