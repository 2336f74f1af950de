import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import { saveCode } from '../flows/save-code.ts';
import type { Operator } from '../session/session.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import { pressChecklist } from './checklist-dialog.ts';
import { commandOf } from './command-of.ts';
import { namesOf } from './component-rows.ts';
import { ConsoleOperator } from './console-operator.ts';
import { pasteForm, pressForm } from './form-dialog.ts';
import { homeOf } from './hosts-lines.ts';
import type { Dialog, InterfaceStore, RunView } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import type { Keymap } from './keymap.ts';
import type { Measured } from './measured.ts';
import { onHost } from './offers.ts';
import { pressReview } from './review-dialog.ts';
import { shownCode } from './run-lines.ts';
import type { TerminalLender } from './terminal-lender.ts';
import { editField, typeInto } from './text-field.ts';

/** Long enough to read a sentence. */
const noticeMs = 6000;

export interface FlowRuns {
  start(flow: Flow, input: FlowInput): void;
  /** Asks something that no flow asks, as a flow's questions are asked. Rejects when it is dismissed, or the signal ends. */
  ask<T>(title: string, put: (operator: Operator, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** The run that has something on the screen that wants an answer or to be read. */
  front(): RunView | undefined;
  /** A key for what `front` shows. False when there is nothing. */
  press(press: KeyPress): boolean;
  /** True when a text field took it. */
  paste(text: string): boolean;
  /** Cancels the run that the notice line names, unless it was hidden. False when there is none. */
  cancel(): boolean;
  /** Looks at what runs. False when nothing does. */
  show(): boolean;
  /** Ends all, for leaving the console. */
  close(): void;
}

interface Options {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  lender: TerminalLender;
  now: () => number;
  copy: (text: string) => void;
  /** After each run, however it ended. */
  ended?: () => void;
  /** What the last frame showed. */
  measured: () => Measured;
}

/** What was shown stays until it is read, the outcome with it; a sentence alone is a notice. */
const isToRead = ({ shown, todo }: RunView) => shown.length > 0 || todo !== undefined;

/** Paths below the home of a machine that is here, or is practised on, as people write them. */
function shortOn(deck: Deck, place: string): (text: string) => string {
  const here = deck.fleet.snapshot().places.find(({ name }) => name === place)?.hostKind !== 'ssh';
  const home = homeOf(deck) ?? (here ? process.env.HOME : undefined) ?? '';
  return home.length < 2 ? (text) => text : (text) => text.replaceAll(`${home}/`, '~/');
}

export function frontRun(runs: readonly RunView[]): RunView | undefined {
  return (
    runs.find((run) => run.dialog) ??
    runs.find((run) => run.state === 'failed' || (run.state === 'done' && isToRead(run))) ??
    runs.find((run) => run.state === 'running' && run.watch === 'shown')
  );
}

export function createFlowRuns({ deck, store, keymap, lender, now, copy, measured, ended = () => {} }: Options): FlowRuns {
  const live = new Map<number, { operator: ConsoleOperator; stop: AbortController }>();
  let lastId = 0;

  const change = (id: number, by: (run: RunView) => Partial<RunView>) =>
    store.update((state) => ({ runs: state.runs.map((run) => (run.id === id ? { ...run, ...by(run) } : run)) }));
  const drop = (id: number) => store.update((state) => ({ runs: state.runs.filter((run) => run.id !== id) }));
  const notice = (tone: 'good' | 'warn' | 'idle', text: string) =>
    store.update(() => ({ notice: { tone, text: cleanLine(text), untilMs: now() + noticeMs } }));

  async function run(id: number, flow: Flow, input: FlowInput): Promise<void> {
    const stop = new AbortController();
    const operator = new ConsoleOperator((by) => change(id, by), { lender, now, copy });
    live.set(id, { operator, stop });
    const short = shortOn(deck, input.place);
    try {
      await confirmInterruption(flow, input, operator, stop.signal);
      const outcome = await deck.run(flow, input, operator, AbortSignal.any([stop.signal, deck.options.signal]));
      change(id, (view) => ({
        state: 'done',
        dialog: undefined,
        progress: [],
        outcome: short(cleanLine(outcome.message)),
        amiss: (outcome.exitCode ?? 0) !== 0,
        todo: outcome.todo,
        scroll: view.scroll,
      }));
      if (store.get().runs.some((view) => view.id === id && isToRead(view))) return;
      drop(id);
      notice(outcome.exitCode ? 'warn' : 'good', short(outcome.message));
    } catch (thrown) {
      if (
        stop.signal.aborted ||
        deck.options.signal.aborted ||
        (thrown instanceof Fault && (thrown.kind === 'interrupted' || thrown.code === 'refused.notConfirmed'))
      ) {
        drop(id);
        notice('idle', thrown instanceof Fault ? short(thrown.message) : `Cancelled: ${flow.title}`);
        return;
      }
      // Nobody stopped it: a limit did.
      const late = isAbort(thrown) && {
        message: `${flow.title} took too long, and was given up.`,
        remedy: 'Look whether the engine and the host answer, then start it again.',
      };
      const fault =
        late ||
        (thrown instanceof Fault
          ? { message: short(cleanLine(thrown.message)), remedy: short(cleanLine(thrown.remedy)) }
          : {
              message: `Something went wrong inside Quarterdeck: ${cleanLine(messageOf(thrown))}`,
              remedy: 'Please report it; the rest of the console goes on.',
            });
      change(id, () => ({ state: 'failed', dialog: undefined, progress: [], fault }));
    } finally {
      live.delete(id);
      ended();
    }
  }

  /** A key is pressed more easily than a command is typed. */
  async function confirmInterruption(flow: Flow, input: FlowInput, operator: Operator, signal: AbortSignal): Promise<void> {
    const { component, service, place } = input;
    if (!flow.interrupts || !component || !deck.settings.confirm || deck.options.rehearsing) return;
    const name = namesOf(deck.fleet.snapshot().components).get(component.key) ?? cleanLine(component.id);
    const what = service === undefined ? name : `service ${cleanLine(service)} of ${name}`;
    const title = `${flow.verb.charAt(0).toUpperCase()}${flow.verb.slice(1)} ${what} on ${cleanLine(place)}`;
    if (await operator.confirm({ id: flow.id, title, consequences: [flow.interrupts], lenient: true }, signal)) return;
    throw new Fault({ code: 'refused.notConfirmed', message: `Cancelled: ${title}`, remedy: 'Start it again and confirm.' });
  }

  const is = (press: KeyPress, command: Parameters<Keymap['binding']>[0]) => keymap.binding(command).keys.includes(press.name);

  function editDialog(view: RunView, by: (dialog: Dialog) => Partial<Dialog>): void {
    change(view.id, (current) => (current.dialog ? { dialog: { ...current.dialog, ...by(current.dialog) } as Dialog } : {}));
  }

  const moves = {
    down: 1,
    up: -1,
    'half-down': 0.5,
    'half-up': -0.5,
    'page-down': 0.9,
    'page-up': -0.9,
    top: Number.NEGATIVE_INFINITY,
    bottom: Number.POSITIVE_INFINITY,
  } as const;

  function scrollShown(view: RunView, press: KeyPress, commands: readonly (keyof typeof moves)[]): boolean {
    const command = commands.find((candidate) => is(press, candidate));
    if (!command) return false;
    const { height, total, base } = measured().run;
    const amount = moves[command];
    const step = Math.abs(amount) < 1 ? Math.round(amount * height) : amount;
    const last = Math.max(0, total - height);
    change(view.id, (current) => {
      const top = Math.min(last, base + current.scroll);
      return { scroll: Math.max(0, Math.min(last, top + step)) - base };
    });
    return true;
  }

  function pressDialog(view: RunView, dialog: Dialog, press: KeyPress): void {
    if (dialog.kind === 'form' || dialog.kind === 'review' || dialog.kind === 'checklist') {
      const operator = live.get(view.id)?.operator;
      const step =
        dialog.kind === 'form'
          ? pressForm(dialog, press, is, measured().form)
          : dialog.kind === 'review'
            ? pressReview(dialog, press, is, measured().review)
            : pressChecklist(dialog, press, is, measured().checklist);
      if (step === 'leave') operator?.dismiss();
      else if (step && 'answer' in step) operator?.answer(step.answer);
      else if (step) editDialog(view, () => step.change);
      return;
    }
    if (scrollShown(view, press, ['page-down', 'page-up'])) return;
    const operator = live.get(view.id)?.operator;
    if (is(press, 'cancel')) {
      if (dialog.kind === 'confirm') operator?.answer(false);
      else operator?.dismiss();
      return;
    }
    if (dialog.kind === 'confirm') {
      const { typed } = dialog.confirmation;
      if (typed === undefined) {
        // Harm is answered for by a key of its own: what came with others may have been meant for the screen before, or was pasted.
        const yes = is(press, 'yes') || (dialog.confirmation.lenient && is(press, 'accept'));
        if (yes && !press.together) operator?.answer(true);
        else if (is(press, 'no')) operator?.answer(false);
        return;
      }
      if (is(press, 'accept')) {
        if (dialog.field.text === typed) operator?.answer(true);
        else editDialog(view, () => ({ problem: `That is not "${typed}".` }));
        return;
      }
      const field = editField(dialog.field, press);
      if (field) editDialog(view, () => ({ field, problem: undefined }));
      return;
    }
    const { question } = dialog;
    if (question.kind === 'choice' || question.kind === 'several') {
      const move = is(press, 'choice-down') || press.name === 'j' ? 1 : is(press, 'choice-up') || press.name === 'k' ? -1 : 0;
      const last = question.choices.length - 1;
      if (press.name === 'home' || press.name === 'end') {
        editDialog(view, () => ({ cursor: press.name === 'end' ? last : 0 }));
        return;
      }
      if (move !== 0) {
        editDialog(view, () => ({ cursor: Math.min(last, Math.max(0, dialog.cursor + move)) }));
        return;
      }
      const current = question.choices[dialog.cursor]?.value;
      if (question.kind === 'several' && is(press, 'toggle') && current !== undefined) {
        const picked = new Set(dialog.picked);
        if (!picked.delete(current)) picked.add(current);
        editDialog(view, () => ({ picked, problem: undefined }));
        return;
      }
      if (!is(press, 'accept') || current === undefined) return;
      const chosen =
        question.kind === 'several' ? question.choices.map((choice) => choice.value).filter((value) => dialog.picked.has(value)) : current;
      const problem = [chosen]
        .flat()
        .map((value) => question.check?.(value))
        .find(Boolean);
      if (problem) editDialog(view, () => ({ problem }));
      else operator?.answer(chosen);
      return;
    }
    if (is(press, 'accept')) {
      const problem = question.check?.(dialog.field.text);
      if (problem) editDialog(view, () => ({ problem }));
      else operator?.answer(dialog.field.text);
      return;
    }
    const field = editField(dialog.field, press);
    if (field) editDialog(view, () => ({ field, problem: undefined }));
  }

  /** A key for the QR code that was shown. False where it is none. */
  function pressCode(view: RunView, { code, label }: NonNullable<ReturnType<typeof shownCode>>, press: KeyPress): boolean {
    const alone = view.codeAlone && measured().drawn;
    if (is(press, 'save-code')) {
      change(view.id, () => ({ codeAlone: false }));
      start(saveCode({ code, label, nowMs: now() }), { place: view.place, words: [], options: {} });
    } else if (is(press, 'swap-code')) change(view.id, ({ codeSwapped }) => ({ codeSwapped: !codeSwapped }));
    else if (is(press, 'show-code')) change(view.id, () => ({ codeAlone: measured().drawn && !alone }));
    else if (!alone) return false;
    else if ((['accept', 'back', 'quit', 'cancel'] as const).some((id) => is(press, id))) change(view.id, () => ({ codeAlone: false }));
    // What is below the code cannot be seen, and is not acted on.
    return true;
  }

  function pressShown(view: RunView, press: KeyPress): void {
    const secret = view.shown.findLast((shown) => shown.kind === 'secret');
    if (secret && is(press, 'copy-secret')) {
      if (secret.value === '') notice('idle', `${secret.label} is masked again, and not copied.`);
      else {
        copy(secret.value);
        notice('good', `Copied ${secret.label}`);
      }
      return;
    }
    const code = shownCode(view);
    if (code && pressCode(view, code, press)) return;
    if (view.state === 'running') {
      if (is(press, 'stop-run')) stop(view.id);
      else if (is(press, 'hide-run') || is(press, 'show-run')) change(view.id, () => ({ watch: 'hidden' }));
      return;
    }
    if (is(press, 'accept') || is(press, 'back') || is(press, 'quit') || is(press, 'cancel')) {
      drop(view.id);
      return;
    }
    scrollShown(view, press, Object.keys(moves) as (keyof typeof moves)[]);
  }

  const stop = (id: number) =>
    live
      .get(id)
      ?.stop.abort(new Fault({ code: 'interrupted.cancelled', message: 'Cancelled.', remedy: 'Start it again whenever you like.' }));
  const front = () => frontRun(store.get().runs);

  function begin(id: number, title: string, { where = '', command = '', place = '' } = {}): void {
    const view: RunView = {
      id,
      title: cleanLine(title) + where,
      where,
      place,
      command,
      state: 'running',
      dialog: undefined,
      shown: [],
      progress: [],
      tail: [],
      outcome: undefined,
      todo: undefined,
      fault: undefined,
      scroll: 0,
      answeredAt: 0,
      watch: 'unasked',
      secretUntilMs: undefined,
      codeAlone: false,
      codeSwapped: false,
    };
    store.update((state) => ({ runs: [...state.runs, view] }));
  }

  function start(flow: Flow, input: FlowInput): void {
    const id = ++lastId;
    const about = input.component ?? input.entry;
    const named = about ? [about.id] : flow.about === 'host' ? input.words : [];
    const subject = named.length > 0 ? `: ${named.join(' ')}` : '';
    begin(id, `${flow.title}${subject}`, {
      where: onHost(deck, flow, input.place),
      command: commandOf(deck, flow, input),
      place: input.place,
    });
    void run(id, flow, input);
  }

  return {
    front,
    start,
    async ask(title, put, signal) {
      const id = ++lastId;
      const stop = new AbortController();
      const operator = new ConsoleOperator((by) => change(id, by), { lender, now, copy });
      live.set(id, { operator, stop });
      begin(id, title);
      try {
        return await put(operator, AbortSignal.any([signal, stop.signal]));
      } finally {
        live.delete(id);
        drop(id);
      }
    },
    press(press) {
      const view = front();
      if (!view) return false;
      if (view.dialog) pressDialog(view, view.dialog, press);
      else pressShown(view, press);
      return true;
    },
    paste(text) {
      const view = front();
      const dialog = view?.dialog;
      if (!view || !dialog || dialog.kind === 'review' || dialog.kind === 'checklist') return false;
      if (dialog.kind === 'form') {
        const pasted = pasteForm(dialog, text);
        if (pasted) editDialog(view, () => pasted);
        return pasted !== undefined;
      }
      if (
        dialog.kind === 'confirm'
          ? dialog.confirmation.typed === undefined
          : dialog.question.kind === 'choice' || dialog.question.kind === 'several'
      )
        return false;
      // What pasted lines end with is no answer: Enter is pressed by a person.
      // A secret is taken as it is, but for what cannot be typed.
      const secret = dialog.kind === 'question' && dialog.question.kind === 'secret';
      const clean = secret ? text.trim().replace(/[\x00-\x1f\x7f]/g, '') : cleanLine(text.trim());
      editDialog(view, () => ({ field: typeInto(dialog.field, clean), problem: undefined }));
      return true;
    },
    cancel() {
      // What was looked at and hidden is long, and meant to go on: it is cancelled where it is seen.
      const named = store.get().runs.findLast((view) => view.state === 'running' && !view.dialog);
      if (named?.watch !== 'unasked') return false;
      stop(named.id);
      return true;
    },
    show() {
      const hidden = store.get().runs.findLast((view) => view.state === 'running' && !view.dialog);
      if (hidden) change(hidden.id, () => ({ watch: 'shown' }));
      return hidden !== undefined;
    },
    close() {
      for (const { stop } of live.values())
        stop.abort(new Fault({ code: 'interrupted.left', message: 'The console was closed.', remedy: 'Start it again.' }));
    },
  };
}
