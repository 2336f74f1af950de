import { Fault } from '../faults/fault.ts';
import type { Operator, Progress, Question, Shown, ShownSecret } from '../session/session.ts';
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

/** Creates the operator of a run in the console: prompts become dialogs of the run, and other output is shown with it. */
export function createConsoleOperator(
  change: (change: (run: RunView) => Partial<RunView>) => void,
  { terminalLoans, now, copy }: OperatorContext,
) {
  let waiting: PromiseWithResolvers<Answer> | undefined;

  /** Closes the dialog, and with it drops the secrets that were typed. */
  function close(): PromiseWithResolvers<Answer> | undefined {
    const closing = waiting;
    waiting = undefined;
    if (closing) change((run) => ({ dialog: undefined, scroll: 0, answeredAt: run.shown.length }));
    return closing;
  }

  async function open<T extends Answer>(dialog: Dialog, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const mine = Promise.withResolvers<Answer>();
    const abort = () => {
      if (waiting === mine) close()?.reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    waiting = mine;
    change(() => ({ dialog }));
    return mine.promise.finally(() => signal.removeEventListener('abort', abort)) as Promise<T>;
  }

  function show(shown: Shown) {
    if (shown.kind === 'secret') return showSecret(shown);
    change((run) => {
      // An item is shown once and then updated; other output is appended.
      const known = shown.kind === 'item' ? run.shown.findIndex((other) => other.kind === 'item' && other.id === shown.id) : -1;
      return {
        shown: known < 0 ? [...run.shown, shown] : run.shown.with(known, shown),
        ...(shown.kind === 'item' && run.watch === 'unasked' && { watch: 'shown' as const }),
      };
    });
  }

  /** Shows a secret and drops its value when the time is over. After that this process has no copy of it, except at the flow's source. */
  function showSecret(secret: ShownSecret): void {
    if (secret.copyOnly) {
      copy(secret.value);
      show({ kind: 'text', text: `${secret.label} was sent to the terminal clipboard. Not every terminal supports this.` });
      return;
    }
    const showMs = secret.secondsLeft * 1000;
    change((run) => ({ shown: [...run.shown, secret], watch: 'shown', secretUntilMs: now() + showMs }));
    const mask = ({ shown }: RunView) => shown.map((each) => (each.kind === 'secret' ? masked(each) : each));
    setTimeout(() => change((run) => ({ shown: mask(run), codeAlone: false })), showMs).unref();
  }

  function progress(progress: Progress): void {
    change((run) => {
      if (progress.output) return { tail: [...run.tail.slice(1 - keptLines), progress.label] };
      const known = run.progress.findIndex((other) => other.id === progress.id);
      const others = run.progress.filter((other) => other.id !== progress.id);
      // Each progress row keeps its position: rows that swap are unreadable.
      const rows = progress.done ? others : known < 0 ? [...others, progress] : run.progress.with(known, progress);
      return { progress: rows, ...(rows.length > 1 && run.watch === 'unasked' && { watch: 'shown' as const }) };
    });
  }

  return {
    kind: 'console',
    ask: (question, signal) => open(isChecklist(question) ? openChecklist(question) : openQuestion(question), signal),
    confirm: (confirmation, signal) => open({ kind: 'confirm', confirmation, field: fieldOf(), problem: undefined }, signal),
    fill: (form, signal) => open(openForm(form), signal),
    review: (review, signal) => open(openReview(review), signal),
    show,
    progress,
    lend: terminalLoans.lend,
    answer: (answer: Answer) => close()?.resolve(answer),
    dismiss: () =>
      close()?.reject(new Fault('interrupted.cancelled', 'Cancelled. No further changes were made.', 'Run the operation again.')),
  } satisfies Operator & Record<string, unknown>;
}

function openQuestion(question: Question): Dialog {
  const { kind, initial } = question;
  const chosen = 'choices' in question ? question.choices.findIndex(({ value }) => value === initial) : 0;
  return {
    kind: 'question',
    question,
    field: fieldOf(kind === 'choice' || kind === 'several' ? '' : initial),
    cursor: Math.max(0, chosen),
    picked: new Set(kind === 'several' ? initial : []),
    problem: undefined,
  };
}

const masked = ({ code, ...secret }: ShownSecret): ShownSecret => ({ ...secret, value: '' });
