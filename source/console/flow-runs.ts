import type { QuarterdeckApp } from '../app/app.ts';
import { hostToName } from '../app/commands-for.ts';
import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import { shellWord } from '../hosts/ssh/shell-words.ts';
import type { Operator } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { createConsoleOperator, type OperatorContext } from './console-operator.ts';
import type { ConsoleParts } from './context.ts';
import { isRunning, isToRead } from './front-run.ts';
import type { Dialog, DialogStep, RunView } from './interface-store.ts';
import { onHost } from './offers.ts';
import { namesOf } from './screens/components/rows.ts';
import { homeOf } from './screens/hosts/lines.ts';

const noticeMs = 6000;

type Options = Pick<ConsoleParts, 'app' | 'store'> & OperatorContext & { ended: () => void };

/** Returns a function that shortens paths below the home of a local machine or a practice machine: `~/stack`. */
function shortOn(app: QuarterdeckApp, engineName: string): (text: string) => string {
  const here = app.fleet.snapshot().engines.find(({ name }) => name === engineName)?.hostKind !== 'ssh';
  const home = homeOf(app) ?? (here ? process.env.HOME : undefined) ?? '';
  return home.length < 2 ? (text) => text : (text) => text.replaceAll(`${home}/`, '~/');
}

export function createFlowRuns({ app, store, ended, ...context }: Options) {
  const live = new Map<number, { operator: ReturnType<typeof createConsoleOperator>; stop: AbortController }>();
  let lastId = 0;

  const change = (id: number, by: (run: RunView) => Partial<RunView>) =>
    store.update((state) => ({ runs: state.runs.map((run) => (run.id === id ? { ...run, ...by(run) } : run)) }));
  const drop = (id: number) => store.update((state) => ({ runs: state.runs.filter((run) => run.id !== id) }));
  const notice = (severity: 'ok' | 'warning' | 'off', text: string, forMs = noticeMs) =>
    store.update(() => ({ notice: { severity, text: cleanLine(text), untilMs: context.now() + forMs } }));

  async function run({ id, operator, stop }: ReturnType<typeof begin>, flow: Flow, input: FlowInput): Promise<void> {
    const short = shortOn(app, input.engineName);
    try {
      await confirmInterruption(flow, input, operator, stop.signal);
      const outcome = await app.run(flow, input, operator, AbortSignal.any([stop.signal, app.options.signal]));
      const { message, exitCode = 0, todo } = outcome;
      change(id, () => ({ ...over, state: 'done', outcome: short(cleanLine(message)), amiss: exitCode !== 0, todo }));
      if (store.get().runs.some((view) => view.id === id && isToRead(view))) return;
      drop(id);
      notice(exitCode ? 'warning' : 'ok', short(message));
    } catch (thrown) {
      const isRefused = thrown instanceof Fault && (thrown.kind === 'interrupted' || thrown.code === 'refused.notConfirmed');
      if (stop.signal.aborted || app.options.signal.aborted || isRefused) {
        drop(id);
        notice('off', thrown instanceof Fault ? short(thrown.message) : `Cancelled: ${flow.title}.`);
      } else change(id, () => ({ ...over, state: 'failed', fault: failureOf(thrown, flow, short) }));
    } finally {
      live.delete(id);
      ended();
    }
  }

  /** Asks for confirmation, because a key is pressed more easily than a command is typed. */
  async function confirmInterruption(flow: Flow, input: FlowInput, operator: Operator, signal: AbortSignal): Promise<void> {
    const { component, service, engineName } = input;
    if (!flow.interrupts || !component || !app.settings.confirm || app.options.dryRun) return;
    const name = namesOf(app.fleet.snapshot().components).get(component.key) ?? cleanLine(component.id);
    const what = service === undefined ? name : `service ${cleanLine(service)} of ${name}`;
    const title = `${flow.verb.charAt(0).toUpperCase()}${flow.verb.slice(1)} ${what} on ${cleanLine(engineName)}`;
    if (await operator.confirm({ id: flow.id, title, consequences: [flow.interrupts], lenient: true }, signal)) return;
    throw new Fault('refused.notConfirmed', `Cancelled: ${title}.`, 'Run the operation again and confirm it.');
  }

  const stop = (id: number) => live.get(id)?.stop.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Run the operation again.'));

  function begin(title: string, { where = '', command = '', engineName = '' } = {}) {
    const id = ++lastId;
    const stop = new AbortController();
    const operator = createConsoleOperator((by) => change(id, by), context);
    live.set(id, { operator, stop });
    const view: RunView = {
      ...{ id, title: cleanLine(title) + where, where, engineName, command, state: 'running', watch: 'unasked' },
      ...{ shown: [], progress: [], tail: [], scroll: 0, answeredAt: 0, codeAlone: false, codeSwapped: false },
    };
    store.update((state) => ({ runs: [...state.runs, view] }));
    return { id, operator, stop };
  }

  function start(flow: Flow, input: FlowInput): void {
    const about = input.component ?? input.entry;
    const named = about ? [about.id] : flow.about === 'host' ? input.words : [];
    const subject = named.length > 0 ? `: ${named.join(' ')}` : '';
    const where = onHost(app, flow, input.engineName);
    const started = begin(`${flow.title}${subject}`, { where, command: commandOf(app, flow, input), engineName: input.engineName });
    void run(started, flow, input);
  }

  return {
    ...{ start, change, drop, notice, stop },
    /** Prompts outside of a flow, in the same way as a flow. Rejects when the prompt is dismissed, or the signal aborts. */
    async ask<T>(title: string, put: (operator: Operator, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
      const { id, operator, stop } = begin(title);
      try {
        return await put(operator, AbortSignal.any([signal, stop.signal]));
      } finally {
        live.delete(id);
        drop(id);
      }
    },
    step(id: number, step: DialogStep) {
      const operator = live.get(id)?.operator;
      if (step === 'leave') operator?.dismiss();
      else if (step && 'answer' in step) operator?.answer(step.answer);
      else if (step) change(id, ({ dialog }) => (dialog ? { dialog: { ...dialog, ...step.change } as Dialog } : {}));
    },
    cancel() {
      // A hidden run is long and meant to continue: it can only be cancelled where it is visible.
      const named = store.get().runs.findLast(isRunning);
      if (named?.watch !== 'unasked') return false;
      stop(named.id);
      return true;
    },
    show() {
      const hidden = store.get().runs.findLast(isRunning);
      if (hidden) change(hidden.id, () => ({ watch: 'shown' }));
      return hidden !== undefined;
    },
    close() {
      const closed = new Fault('interrupted.left', 'The console was closed.', 'Run the operation again.');
      for (const { stop } of live.values()) stop.abort(closed);
    },
  };
}

export type FlowRuns = ReturnType<typeof createFlowRuns>;

/** A run that ended has neither a prompt nor progress. */
const over = { dialog: undefined, progress: [] } as const;

function failureOf(thrown: unknown, { title }: Flow, short: (text: string) => string): NonNullable<RunView['fault']> {
  // The run was not cancelled but exceeded a time limit.
  if (isAbort(thrown)) {
    const remedy = 'Check that the engine and the host respond, then run the operation again.';
    return { message: `"${title}" timed out.`, remedy };
  }
  if (thrown instanceof Fault) return { message: short(cleanLine(thrown.message)), remedy: short(cleanLine(thrown.remedy)) };
  const message = `Internal error: ${cleanLine(messageOf(thrown))}`;
  return { message, remedy: 'Please report this error. The console keeps running.' };
}

function commandOf(app: QuarterdeckApp, flow: Flow, { component, entry, service, words, engineName }: FlowInput): string {
  // Flows that exist only in the console, about a marked line or a code on the screen, have no command.
  if (!app.flows.some(({ id }) => id === flow.id)) return '';
  const container = component?.services.find(({ name }) => name === service)?.containerName;
  const about = flow.about === 'host' ? [] : [container ?? (component ?? entry)?.id];
  const host = flow.offline ? undefined : hostToName(app.fleet.snapshot().engines, engineName);
  const where = app.options.practice ? ['--practice'] : host === undefined ? [] : ['--host', host];
  const argv = ['quarterdeck', ...flow.verb.split(' '), ...about, ...words, ...where];
  return cleanLine(argv.flatMap((word) => (word ? [shellWord(word)] : [])).join(' '));
}
