import { Fault } from '../../source/faults/fault.ts';
import type { Confirmation, Operator, Progress, Question, Shown, TerminalLoan } from '../../source/session/session.ts';

/** An operator who answers from a list and remembers what was put in front of them. */
export class OperatorDouble implements Operator {
  readonly kind;
  readonly shown: Shown[] = [];
  readonly steps: Progress[] = [];
  readonly asked: Question[] = [];
  readonly confirmations: Confirmation[] = [];
  answers: Record<string, (string | readonly string[])[]> = {};
  confirms: boolean | (() => Promise<boolean>) = true;
  terminal: TerminalLoan | undefined;

  constructor(kind: Operator['kind'] = 'terminal') {
    this.kind = kind;
  }

  async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    const answer = this.answers[question.id]?.shift();
    if (answer === undefined) throw new Error(`nobody answers ${question.id}`);
    return answer;
  }

  async confirm(confirmation: Confirmation): Promise<boolean> {
    this.confirmations.push(confirmation);
    return typeof this.confirms === 'function' ? this.confirms() : this.confirms;
  }

  show(shown: Shown): void {
    this.shown.push(shown);
  }

  progress(progress: Progress): void {
    this.steps.push(progress);
  }

  async lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    if (!this.terminal) throw new Fault({ code: 'refused.noTerminal', message: 'No terminal.', remedy: 'Take one.' });
    return use(this.terminal);
  }

  texts(): string[] {
    return this.shown.flatMap((shown) => (shown.kind === 'text' ? [shown.text] : []));
  }
}
