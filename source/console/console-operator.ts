import { Fault } from '../faults/fault.ts';
import type { FormValues } from '../session/form-checks.ts';
import type { Confirmation, Form, Operator, Progress, Question, Review, Shown, ShownSecret, TerminalLoan } from '../session/session.ts';
import { isChecklist, openChecklist } from './checklist-dialog.ts';
import { openForm } from './form-dialog.ts';
import type { Dialog, RunView } from './interface-store.ts';
import { openReview } from './review-dialog.ts';
import type { TerminalLender } from './terminal-lender.ts';
import { fieldOf } from './text-field.ts';

type Answer = string | readonly string[] | boolean | FormValues;

/** Of what programs write while a flow runs. */
const keptLines = 40;

/** What an operator has at hand beside the screen. */
export interface OperatorDesk {
  lender: TerminalLender;
  now: () => number;
  /** To the clipboard of the operator's terminal. */
  copy: (text: string) => void;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

/** The operator in front of the console: questions become dialogs of the run, everything else is shown with it. */
export class ConsoleOperator implements Operator {
  readonly kind = 'console';
  readonly #change: (change: (run: RunView) => Partial<RunView>) => void;
  readonly #desk: OperatorDesk;
  #waiting: Waiting | undefined;

  constructor(change: (change: (run: RunView) => Partial<RunView>) => void, desk: OperatorDesk) {
    this.#change = change;
    this.#desk = desk;
  }

  async ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]> {
    if (isChecklist(question)) return (await this.#open(openChecklist(question), signal)) as string;
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

  async fill(form: Form, signal: AbortSignal): Promise<FormValues> {
    return (await this.#open(openForm(form), signal)) as FormValues;
  }

  async review(review: Review, signal: AbortSignal): Promise<string> {
    return (await this.#open(openReview(review), signal)) as string;
  }

  show(shown: Shown): void {
    if (shown.kind === 'secret') {
      this.#showSecret(shown);
      return;
    }
    this.#change((run) => {
      // An item is shown once and then changes; everything else is added.
      const known = shown.kind === 'item' ? run.shown.findIndex((other) => other.kind === 'item' && other.id === shown.id) : -1;
      return {
        shown: known < 0 ? [...run.shown, shown] : run.shown.with(known, shown),
        ...(shown.kind === 'item' && run.watch === 'unasked' && { watch: 'shown' as const }),
      };
    });
  }

  /** The value is dropped when its time is over: after that it is nowhere in this process but where the flow had it from. */
  #showSecret(secret: ShownSecret): void {
    if (secret.copyOnly) {
      this.#desk.copy(secret.value);
      this.show({ kind: 'text', text: `${secret.label} was handed to the clipboard of this terminal; not every terminal takes it.` });
      return;
    }
    const showMs = secret.secondsLeft * 1000;
    this.#change((run) => ({ shown: [...run.shown, secret], watch: 'shown', secretUntilMs: this.#desk.now() + showMs }));
    const timer = setTimeout(
      () => this.#change((run) => ({ shown: run.shown.map((each) => (each.kind === 'secret' ? masked(each) : each)), codeAlone: false })),
      showMs,
    );
    timer.unref();
  }

  progress(progress: Progress): void {
    this.#change((run) => {
      if (progress.output) return { tail: [...run.tail.slice(1 - keptLines), progress.label] };
      const known = run.progress.findIndex((other) => other.id === progress.id);
      const others = run.progress.filter((other) => other.id !== progress.id);
      // Each keeps its place: rows that swap cannot be read.
      const now = progress.done ? others : known < 0 ? [...others, progress] : run.progress.with(known, progress);
      return { progress: now, ...(now.length > 1 && run.watch === 'unasked' && { watch: 'shown' as const }) };
    });
  }

  lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    return this.#desk.lender.lend(use);
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
    if (waiting) this.#change((run) => ({ dialog: undefined, scroll: 0, answeredAt: run.shown.length }));
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

function masked({ code, ...secret }: ShownSecret): ShownSecret {
  return { ...secret, value: '' };
}
