import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { runFolder } from './apply-script.ts';
import type { Plan } from './model.ts';
import type { RunOnHost } from './transaction.ts';

/** How a run ended that did not end well. */
export function endedFault({ transaction, state, entries, sentence, output }: RunOnHost, host: Host): Fault {
  const last = output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-20)
    .join('\n');
  const where = runFolder(stackFolderOf(transaction.plans), transaction.run);
  if (/no space left on device|disk quota exceeded/i.test(last) && entries.at(-1)?.step.startsWith('place:')) {
    return noRoom(stackFolderOf(transaction.plans), sentence, host);
  }
  return new Fault({
    code: state === 'failed' ? 'failed.apply' : 'failed.applyStopped',
    message: `${sentence}${last === '' ? '' : `\n${last}`}`,
    remedy: `Finish it or take it back: quarterdeck recover. What its programs wrote is in ${where}/output.log${onHost(host)}.`,
  });
}

/** An image that cannot be had stops a change before it has begun: whoever reads why it failed wants to know that first. */
export function unchangedFault(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') return thrown;
  const { code, message, remedy, where } = thrown;
  return new Fault({ code, message: `${message} Nothing was changed.`, remedy, ...(where && { where }), cause: thrown });
}

export function lockedFault({ by, since, run }: { by: string; since: string; run: string }): Fault {
  const [, what = '', component = ''] = /^(backup|restore|rotation)-(.+)$/.exec(run) ?? [];
  const doing = { backup: 'backing up', restore: 'restoring', rotation: 'rotating a secret of' }[what];
  if (doing !== undefined) {
    return new Fault({
      code: 'refused.locked',
      message: `${cleanLine(by)} is ${doing} ${cleanLine(component)} since ${cleanLine(since)}.`,
      remedy: 'Wait until that is done, then try again.',
    });
  }
  return new Fault({
    code: 'refused.locked',
    message: `${cleanLine(by)} has been changing this stack since ${cleanLine(since)}${run === '' ? '' : ` (run ${cleanLine(run)})`}.`,
    remedy: 'Wait until that is done, then plan anew: what is there will have changed.',
  });
}

export function goesOn(cause: unknown): Fault {
  return new Fault({
    code: 'interrupted.applying',
    message: 'Nobody watches the change any more, but it goes on on the host.',
    remedy: 'The next start says how it ended.',
    cause,
  });
}

/** Which machine it is, where that is not this one. */
export const onHost = ({ link, name }: Host): string => (link ? ` on ${cleanLine(name)}` : '');

export function noRoom(stackFolder: string, reason: string, host: Host): Fault {
  return new Fault({
    code: 'failed.noRoom',
    message: `There is no room left on the filesystem of ${stackFolder}${onHost(host)}; the files there are as they were. ${reason}`,
    remedy: 'Make room there, then try again.',
  });
}

export function stackFolderOf(plans: readonly Plan[]): string {
  const folder = plans[0]?.stackFolder;
  if (folder === undefined) throw new TypeError('a transaction has plans');
  return folder;
}
