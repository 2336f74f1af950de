import { Fault } from '../../source/faults/fault.ts';
import { initialValues } from '../../source/session/form-checks.ts';
import type { Confirmation, Form, Operator, Progress, Question, Review, Shown, TerminalLoan } from '../../source/session/session.ts';

/** An operator who answers from a list and remembers what was put in front of them. */
export class OperatorDouble implements Operator {
  readonly kind;
  readonly shown: Shown[] = [];
  readonly steps: Progress[] = [];
  readonly asked: Question[] = [];
  readonly confirmations: Confirmation[] = [];
  answers: Record<string, (string | readonly string[])[]> = {};
  readonly forms: Form[] = [];
  readonly reviews: Review[] = [];
  /** What is typed into a form, by its id, once per time that it is filled; other fields stay as they are. */
  typed: Record<string, Record<string, string>[]> = {};
  /** The ways on that are taken from a review, by its id; afterwards, and for others, the first one, even when it is blocked. */
  takes: Record<string, string[]> = {};
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

  async fill(form: Form): Promise<Readonly<Record<string, string>>> {
    this.forms.push(form);
    return { ...initialValues(form), ...this.typed[form.id]?.shift() };
  }

  async review(review: Review): Promise<string> {
    this.reviews.push(review);
    return this.takes[review.id]?.shift() ?? review.actions[0]?.id ?? 'cancel';
  }

  show(shown: Shown): void {
    this.shown.push(shown);
  }

  progress(progress: Progress): void {
    this.steps.push(progress);
  }

  async lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    if (!this.terminal) throw new Fault('refused.noTerminal', 'No terminal.', 'Take one.');
    return use(this.terminal);
  }

  texts(): string[] {
    return this.shown.flatMap((shown) => (shown.kind === 'text' ? [shown.text] : []));
  }
}
