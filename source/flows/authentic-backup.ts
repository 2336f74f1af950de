import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import type { BackupFacts } from '../stack/backup-model.ts';
import type { FlowInput } from './flow.ts';

/** One sentence; undefined where the backup is signed with a key of this operator. */
export const unauthenticatedText = ({ stamp, component, unauthenticated }: BackupFacts): string | undefined =>
  unauthenticated === undefined ? undefined : `The backup ${stamp} of ${component} cannot be authenticated: ${unauthenticated}.`;

/** A backup of which nothing tells who wrote it is restored only where the operator says so. Throws `refused.unsigned`. */
export async function throwUnlessAuthentic(session: Session, { options }: FlowInput, backup: BackupFacts): Promise<void> {
  const why = unauthenticatedText(backup);
  if (why === undefined || options['unsigned'] === true) return;
  const answer = session.attended
    ? await session.ask.choice({
        id: 'unsigned',
        label: `${why} Whoever can write there may have changed it. Restore it?`,
        initial: 'leave',
        choices: [
          { value: 'leave', label: 'Leave it', detail: 'nothing is changed' },
          { value: 'restore', label: 'Restore it', detail: 'where you know where it comes from' },
        ],
      })
    : 'leave';
  if (answer === 'restore') return;
  throw new Fault({
    code: 'refused.unsigned',
    message: why,
    remedy: 'Nothing was changed. If you know where it comes from, restore it with --unsigned.',
  });
}
