import { Fault } from '../../source/faults/fault.ts';
import type { Question } from '../../source/session/session.ts';
import { OperatorDouble } from './operator-double.ts';

/** Answers from a list. */
export function answering(answers: OperatorDouble['answers'], kind?: OperatorDouble['kind']): OperatorDouble {
  const operator = new OperatorDouble(kind);
  operator.answers = answers;
  return operator;
}

/** Answers from a list, and walks away from one question. */
export class Leaver extends OperatorDouble {
  readonly #at: string;

  constructor(at: string, answers: OperatorDouble['answers']) {
    super();
    this.#at = at;
    this.answers = answers;
  }

  override async ask(question: Question): Promise<string | readonly string[]> {
    if (question.id !== this.#at) return super.ask(question);
    throw new Fault('interrupted.cancelled', 'Left.', 'Come back.');
  }
}
