import { Fault } from '../../faults/fault.ts';
import type { Choice, Session } from '../../session/session.ts';
import type { FlowInput } from '../flow.ts';

export type Recovery = 'finish' | 'undo' | 'leave';

/** Throws `refused.unfinished` without a flag or a user to prompt. */
export async function chooseRecovery(
  session: Session,
  { options }: Pick<FlowInput, 'options'>,
  { run, summary, choices }: { run: string; summary: string; choices: readonly (Choice & { value: Recovery })[] },
): Promise<Recovery> {
  if (options['finish'] === true) return 'finish';
  if (options['undo'] === true) return 'undo';
  if (!session.attended)
    throw new Fault('refused.unfinished', summary, 'Choose one: quarterdeck recover --finish, or quarterdeck recover --undo.');
  return (await session.ask.choice({
    id: `recover ${run}`,
    label: 'What about it?',
    choices: [...choices, { value: 'leave', label: 'Leave it' }],
  })) as Recovery;
}
