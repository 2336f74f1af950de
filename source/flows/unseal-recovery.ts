import { Fault } from '../faults/fault.ts';
import type { SealStatus } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';

/** One that opens itself does so when it is started. Where it was sealed by hand its recovery shares open it too; where what opens it is away they do not. */
export async function chooseRecovery(session: Session, { recoverySeal, migration, type }: SealStatus, id: string): Promise<void> {
  if (!recoverySeal || migration) return;
  const sentence = `${id} opens itself (${type}) when it is started. Sealed by hand it can be opened with its recovery shares too; where what opens it is away they open nothing.`;
  if (!session.attended) {
    session.show({ kind: 'text', text: sentence });
    return;
  }
  const way = await session.ask.choice({
    id: 'recovery',
    label: 'It opens itself. Give its recovery shares all the same?',
    help: sentence,
    choices: [
      { value: 'shares', label: 'Give recovery shares', detail: 'it was sealed by hand' },
      { value: 'leave', label: 'Leave, and restart it', detail: `quarterdeck restart ${id}` },
    ],
    initial: 'leave',
    fresh: true,
  });
  if (way === 'shares') return;
  throw new Fault({
    code: 'interrupted.cancelled',
    message: `${id} is still sealed; no share was given.`,
    remedy: `Restart it: quarterdeck restart ${id}. If it stays sealed, what opens it (${type}) is away: look at its log.`,
  });
}
