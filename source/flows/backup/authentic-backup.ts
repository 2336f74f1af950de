import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import type { BackupFacts } from '../../stack/backup/model.ts';
import type { FlowInput } from '../flow.ts';

export const unauthenticatedText = ({ stamp, component, unauthenticated }: BackupFacts): string | undefined =>
  unauthenticated === undefined ? undefined : `The backup ${stamp} of ${component} cannot be authenticated: ${unauthenticated}.`;

export async function throwUnlessAuthentic(session: Session, { options }: FlowInput, backup: BackupFacts): Promise<void> {
  const why = unauthenticatedText(backup);
  if (why === undefined || options['unsigned'] === true) return;
  const answer = session.attended
    ? await session.ask.choice({
        id: 'unsigned',
        label: `${why} It may have been tampered with. Restore it anyway?`,
        initial: 'cancel',
        choices: [
          { value: 'cancel', label: 'Cancel', detail: 'nothing is changed' },
          { value: 'restore', label: 'Restore', detail: 'only if you know where the backup comes from' },
        ],
      })
    : 'cancel';
  if (answer === 'restore') return;
  throw new Fault('refused.unsigned', why, 'Nothing was changed. If you know where the backup comes from, add --unsigned.');
}
