import { Fault } from '../../faults/fault.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import type { Plan } from '../model.ts';
import { runFolder } from './script.ts';
import type { LockHolder, RunOnHost, Transaction } from './transaction.ts';

export function endedFault({ transaction, state, entries, summary, output }: RunOnHost, host: Host): Fault {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const last = lines.slice(-20).join('\n');
  const stackFolder = stackFolderOf(transaction.plans);
  if (/no space left on device|disk quota exceeded/i.test(last) && entries.at(-1)?.step.startsWith('place:'))
    return noSpaceFault(stackFolder, summary, host, 'finish or undo the change: quarterdeck recover');
  const log = `${runFolder(stackFolder, transaction.run)}/output.log${onHost(host)}`;
  const remedy = `Finish or undo the change: quarterdeck recover. The output is in ${log}.`;
  return new Fault(state === 'failed' ? 'failed.apply' : 'failed.applyStopped', [summary, last].filter(Boolean).join('\n'), remedy);
}

/** An unavailable image stops a change before it has begun: that is the first information that the operator needs. */
export function unchangedFault(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') return thrown;
  const { code, message, remedy, where } = thrown;
  return new Fault(code, `${message} Nothing was changed.`, remedy, { where, cause: thrown });
}

export function lockedFault(lock: Pick<LockHolder, 'by' | 'since' | 'run'> | undefined): Fault {
  const { by, since, run } = lock ?? { run: '', by: 'Another process', since: 'an unknown time' };
  const [, what = '', component = ''] = /^(backup|restore|rotation)-(.+)$/.exec(run) ?? [];
  const doing = { backup: 'backing up', restore: 'restoring', rotation: 'rotating a secret of' }[what];
  if (doing !== undefined) {
    const message = `${cleanLine(by)} has been ${doing} ${cleanLine(component)} since ${cleanLine(since)}.`;
    return new Fault('refused.locked', message, 'Wait until that operation has finished, then try again.');
  }
  const message = `${cleanLine(by)} has been changing this stack since ${cleanLine(since)}${run === '' ? '' : ` (run ${cleanLine(run)})`}.`;
  return new Fault('refused.locked', message, 'Wait until that change has finished, then try again.');
}

/** The journal of the run has ended, but its script or a program that it started has not. */
export function stillLockedFault({ run, plans }: Transaction, host: Host): Fault {
  const lock = `${stackFolderOf(plans)}/.quarterdeck/lock`;
  const message = `The last step of run ${cleanLine(run)} has ended, but its script has not released the lock of the stack.`;
  const remedy = `Wait, then check: quarterdeck recover. If the script never ends, end the process whose pid is in ${lock}${onHost(host)}.`;
  return new Fault('failed.locked', message, remedy);
}

export function noRunFault({ run }: Transaction, remedy = 'Plan the change again.'): Fault {
  return new Fault('failed.noRun', `The run ${cleanLine(run)} no longer exists on the host.`, remedy);
}

export function continuesFault(cause: unknown, how = 'but it continues on the host'): Fault {
  const message = `Quarterdeck no longer follows the change, ${how}.`;
  return new Fault('interrupted.applying', message, 'To check on it: quarterdeck recover', { cause });
}

export const onHost = ({ link, name }: Host): string => (link ? ` on ${cleanLine(name)}` : '');

export function noSpaceFault(stackFolder: string, reason: string, host: Host, then = 'try again.'): Fault {
  const message = `No space left on the filesystem of ${stackFolder}${onHost(host)}. ${reason}`;
  return new Fault('failed.noRoom', message, `Free some space on that filesystem, then ${then}`);
}

export function stackFolderOf(plans: readonly Plan[]): string {
  const folder = plans[0]?.stackFolder;
  if (folder === undefined) throw new TypeError('a transaction has plans');
  return folder;
}
