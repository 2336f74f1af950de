import { Fault } from '../faults/fault.ts';
import type { FormValues } from '../session/form-checks.ts';
import type { Confirmation, Form, Operator, Progress, Question, Review, Shown, ShownSecret, TerminalLoan } from '../session/session.ts';
import type { Answer, Dialog, RunView } from './interface-store.ts';
import { isChecklist, openChecklist } from './screens/checklist/dialog.ts';
import { openForm } from './screens/form/dialog.ts';
import { openReview } from './screens/review/dialog.ts';
import type { TerminalLoans } from './terminal-loan.ts';
import { fieldOf } from './text-field.ts';

const keptLines = 40;

export interface OperatorContext {
  terminalLoans: TerminalLoans;
  now: () => number;
  copy: (text: string) => void;
}

/** The operator of the console: prompts become dialogs of the run, and other output is shown with it. */
export class ConsoleOperator implements Operator {
  readonly kind = 'console';
  readonly #change: (change: (run: RunView) => Partial<RunView>) => void;
  readonly #context: OperatorContext;
  #waiting: PromiseWithResolvers<Answer> | undefined;

  constructor(change: (change: (run: RunView) => Partial<RunView>) => void, context: OperatorContext) {
    this.#change = change;
    this.#context = context;
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

  show(shown: Shown) {
    if (shown.kind === 'secret') return this.#showSecret(shown);
    this.#change((run) => {
      // An item is shown once and then updated; other output is appended.
      const known = shown.kind === 'item' ? run.shown.findIndex((other) => other.kind === 'item' && other.id === shown.id) : -1;
      return {
        shown: known < 0 ? [...run.shown, shown] : run.shown.with(known, shown),
        ...(shown.kind === 'item' && run.watch === 'unasked' && { watch: 'shown' as const }),
      };
    });
  }

  /** Shows a secret and drops its value when the time is over. After that this process has no copy of it, except at the flow's source. */
  #showSecret(secret: ShownSecret): void {
    if (secret.copyOnly) {
      this.#context.copy(secret.value);
      this.show({ kind: 'text', text: `${secret.label} was handed to the clipboard of this terminal; not every terminal takes it.` });
      return;
    }
    const showMs = secret.secondsLeft * 1000;
    this.#change((run) => ({ shown: [...run.shown, secret], watch: 'shown', secretUntilMs: this.#context.now() + showMs }));
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
      // Each progress row keeps its position: rows that swap are unreadable.
      const now = progress.done ? others : known < 0 ? [...others, progress] : run.progress.with(known, progress);
      return { progress: now, ...(now.length > 1 && run.watch === 'unasked' && { watch: 'shown' as const }) };
    });
  }

  lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    return this.#context.terminalLoans.lend(use);
  }

  answer(answer: Answer): void {
    this.#close()?.resolve(answer);
  }

  dismiss(): void {
    this.#close()?.reject(new Fault('interrupted.cancelled', 'Cancelled, nothing further was done.', 'Start it again whenever you like.'));
  }

  /** Closes the dialog, and with it drops the secrets that were typed. */
  #close(): PromiseWithResolvers<Answer> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#change((run) => ({ dialog: undefined, scroll: 0, answeredAt: run.shown.length }));
    return waiting;
  }

  async #open(dialog: Dialog, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const waiting = Promise.withResolvers<Answer>();
    const abort = () => {
      if (this.#waiting === waiting) this.#close()?.reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    this.#waiting = waiting;
    this.#change(() => ({ dialog }));
    return waiting.promise.finally(() => signal.removeEventListener('abort', abort));
  }
}

function masked({ code, ...secret }: ShownSecret): ShownSecret {
  return { ...secret, value: '' };
}
