import { Fault, type FaultCode } from '../faults/fault.ts';
import type { Session, TextQuestion } from '../session/session.ts';

/** A question that a word or a flag may already answer, and the fault for an invalid word or flag. */
export interface ArgumentQuestion extends Omit<TextQuestion, 'kind'> {
  given: string | undefined;
  code: FaultCode;
  remedy: string;
}

export async function argumentOrPrompt(session: Session, { given, code, remedy, ...question }: ArgumentQuestion): Promise<string> {
  const answer = (given ?? (await session.ask.text(question))).trim();
  const problem = question.check?.(answer);
  if (problem !== undefined) throw new Fault(code, problem, remedy);
  return answer;
}
