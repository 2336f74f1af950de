import { Fault } from '../faults/fault.ts';
import type { Confirmation, Form, Operator, Progress, Question, Review, Shown, TerminalLoan } from '../session/session.ts';
import type { Dialog, RunView } from './interface-store.ts';
import type { TerminalLender } from './terminal-lender.ts';
import { fieldOf } from './text-field.ts';

type Answer = string | readonly string[] | boolean;

interface Waiting {
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

/** The operator in front of the console: questions become dialogs of the run, everything else is shown with it. */
export class ConsoleOperator implements Operator {
  readonly kind = 'console';
  readonly #change: (change: (run: RunView) => Partial<RunView>) => void;
  readonly #lender: TerminalLender;
  #waiting: Waiting | undefined;

  constructor(change: (change: (run: RunView) => Partial<RunView>) => void, lender: TerminalLender) {
    this.#change = change;
    this.#lender = lender;
  }

  async ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]> {
    const initial = 'initial' in question ? question.initial : undefined;
    const chosen = 'choices' in question ? question.choices.findIndex((choice) => choice.value === initial) : 0;
    const answer = await this.#open(
      {
        kind: 'question',
        question,
        field: fieldOf(question.kind !== 'choice' && question.kind !== 'several' ? (question.initial ?? '') : ''),
        cursor: Math.max(0, chosen),
        picked: new Set(question.kind === 'several' ? question.initial : []),
        problem: undefined,
      },
      signal,
    );
    return answer as string | readonly string[];
  }

  async confirm(confirmation: Confirmation, signal: AbortSignal): Promise<boolean> {
    return (await this.#open({ kind: 'confirm', confirmation, field: fieldOf(), problem: undefined }, signal)) as boolean;
  }

  async fill(form: Form, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const values: Record<string, string> = {};
    for (const field of form.fields) {
      const { id, label, value, choices, help, check } = field;
      const common = { id, label, ...(help !== undefined && { help }), ...(check && { check }) };
      const question: Question =
        field.kind === 'choice'
          ? { ...common, kind: 'choice', choices: choices ?? [], initial: value }
          : { ...common, kind: field.kind, initial: value };
      values[id] = (await this.ask(question, signal)) as string;
    }
    return values;
  }

  async review({ id, title, actions }: Review, signal: AbortSignal): Promise<string> {
    const choices = actions.map((action) => ({ value: action.id, label: action.label }));
    return (await this.ask({ id, label: title, kind: 'choice', choices }, signal)) as string;
  }

  show(shown: Shown): void {
    this.#change((run) => {
      // An item is shown once and then changes; everything else is added.
      const known = shown.kind === 'item' ? run.shown.findIndex((other) => other.kind === 'item' && other.id === shown.id) : -1;
      return { shown: known < 0 ? [...run.shown, shown] : run.shown.with(known, shown) };
    });
  }

  progress(progress: Progress): void {
    this.#change((run) => {
      const others = run.progress.filter((other) => other.id !== progress.id);
      return { progress: progress.done ? others : [...others, progress] };
    });
  }

  lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    return this.#lender.lend(use);
  }

  /** The answer to the open dialog. */
  answer(answer: Answer): void {
    const waiting = this.#close();
    waiting?.resolve(answer);
  }

  /** The operator walked away from the open dialog. */
  dismiss(): void {
    const waiting = this.#close();
    waiting?.reject(
      new Fault({
        code: 'interrupted.cancelled',
        message: 'Cancelled, nothing further was done.',
        remedy: 'Start it again whenever you like.',
      }),
    );
  }

  /** Secrets that were typed go with the dialog. */
  #close(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#change(() => ({ dialog: undefined }));
    return waiting;
  }

  #open(dialog: Dialog, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    return new Promise<Answer>((resolve, reject) => {
      const abort = () => {
        this.#close();
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          signal.removeEventListener('abort', abort);
          then(value);
        };
      this.#waiting = { resolve: settle(resolve), reject: settle(reject) };
      this.#change(() => ({ dialog }));
    });
  }
}
