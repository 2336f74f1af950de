import { once } from 'node:events';
import { addAbortSignal } from 'node:stream';
import { commandsFor, subjectIn } from '../../app/commands-for.ts';
import { skippedHosts } from '../../app/connection-text.ts';
import { todoLines } from '../../app/todo-text.ts';
import { JsonSink, UnattendedOperator } from '../../app/unattended-operator.ts';
import { Fault } from '../../faults/fault.ts';
import { throwIfNothingAnswers } from '../../fleet/engine-view.ts';
import type { FleetSnapshot } from '../../fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome, Lasting } from '../../flows/flow.ts';
import { refuseTypedPath } from '../../flows/named-file.ts';
import type { Operator } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { type Answers, readAnswers, unusedAnswers, withAnswers } from '../answers.ts';
import type { VerbContext } from '../command.ts';
import { componentWithApi, deployedAs, findComponent, findEntry, subjectOf } from '../find-component.ts';
import { TextSink } from '../shown-text.ts';
import { whileWaiting } from '../slow-waits.ts';
import { createTerminalOperator } from '../terminal-operator.ts';
import { settleFleet } from './status.ts';

const stdinLimitBytes = 64 * 1024 * 1024;
const effectOf = ({ right }: Flow) => (right === 'reveal' ? 'reveals secrets' : 'makes changes');

const passesOn: ReadonlySet<string> = new Set(['exec', 'shell', 'compose']);

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a verb from its words to the exit code, in the order of its effects
export async function runFlowVerb(
  context: VerbContext,
  flow: Flow,
  words: readonly string[],
  flags: FlowInput['options'],
  resume?: string,
): Promise<number> {
  const { output, options, signal } = context;
  // Refused before anything is read: read-only mode does not even prompt.
  if (options.readOnly && flow.right !== 'read') throw await readOnlyRefusal(context, flow, words);
  // A component that may be omitted is searched for among the deployed ones.
  const written = flow.about === 'host' || flow.speaks !== undefined ? undefined : subjectOf(flow, words);
  const app = await context.app(flow.allHosts && 'all');
  const snapshot = await settleFleet(context, app.fleet);
  if (options.host === 'all' && flow.right !== 'read' && !flow.offline && snapshot.engines.length > 1) throw onAll(flow, snapshot);
  if (!flow.offline) throwIfNothingAnswers(snapshot);
  const subject = flow.speaks === undefined ? written : componentWithApi(flow, flow.speaks, words, snapshot, options.host);
  const stdin = flags.stdin === true ? await readAll(context.stdin, signal, '--stdin') : undefined;
  const answers = await answersOf(context, stdin !== undefined);
  const base = { options: flags, stdin, words: subject?.words ?? words };
  const onEngines = (about: (engineName: string) => Partial<FlowInput> = () => ({})) =>
    enginesOf(flow, snapshot, options.host).map((engineName): FlowInput => ({ ...base, engineName, ...about(engineName) }));
  let inputs: FlowInput[];
  if (subject && flow.about === 'catalog') {
    const entry = findEntry(subject.name, app.catalog);
    inputs = onEngines((engineName) => ({ entry, component: deployedAs(entry, engineName, snapshot) }));
  } else if (subject && !(flow.all && subject.name === 'all')) {
    const { component, service } = findComponent(subject.name, snapshot, options.host);
    inputs = [{ ...base, engineName: component.host, component, service: service?.name }];
  } else inputs = onEngines();

  // A query about every host names the hosts that cannot be queried.
  const skipped = inputs.length > 0 && !flow.offline && !subject ? skippedHosts(snapshot) : [];
  const several = inputs.length > 1;
  const sink = options.json ? new JsonSink() : new TextSink(output);
  const present = createOperator(context, flow, sink);
  const operator = answers ? withAnswers(present, answers) : present;
  const outcomes: FlowOutcome[] = [];
  const codes: (NonNullable<ReturnType<TextSink['takeCode']>> & { engineName: string })[] = [];
  for (const input of inputs) {
    const run = () => app.run(flow, input, operator, signal, resume);
    // The terminal shows progress; the output of a program inside is its own concern.
    const outcome =
      present instanceof UnattendedOperator && !passesOn.has(flow.id)
        ? await whileWaiting(output, () => present.doing ?? flow.title, run)
        : await run();
    outcomes.push(outcome);
    if (outcome.lasts) return keep(context, flow, outcome, outcome.lasts);
    // Only a program's output may reach the pipe: `exec db -- pg_dump > dump.sql`.
    const isOfProgram = (flow.id === 'exec' || flow.id === 'compose') && outcome.exitCode !== undefined;
    if (sink instanceof TextSink && sink.valueAlone) output.note(outcome.message);
    else if (!options.json && !isOfProgram)
      output.line(output.short(several ? `${cleanLine(input.engineName)}: ${outcome.message}` : outcome.message));
    const code = sink instanceof TextSink ? sink.takeCode() : undefined;
    if (code) codes.push({ ...code, engineName: input.engineName });
    if (outcome.todo && !options.json) {
      const confirm = commandsFor(subjectIn(snapshot.engines, input.engineName), `quarterdeck tasks ${outcome.todo.component}`);
      output.lines(todoLines(outcome.todo, { columns: output.proseColumns, paint: (role, text) => output.paint(role, text), confirm }));
    }
  }
  // Offered last: the outcome is already printed, whatever happens here.
  for (const { engineName, ...code } of operator.kind === 'terminal' ? codes : []) {
    const { saveCode } = await import('../../flows/save-file.ts');
    const save = saveCode({ ...code, nowMs: Date.now(), offered: true });
    output.line((await app.run(save, { engineName, words: [], options: {} }, operator, signal)).message);
  }
  output.endProgress();
  const unused = answers ? unusedAnswers(answers) : [];
  if (unused.length > 0) output.note(`Unused answers: ${unused.map(cleanLine).join(', ')}.`);
  if (!options.json) for (const { host, message } of skipped) output.note(`${cleanLine(host)} was skipped: ${cleanLine(message)}`);
  if (sink instanceof JsonSink) {
    const [only] = outcomes;
    const data = several ? outcomes.map((outcome, index) => dataOn(inputs[index]?.engineName, outcome.data)) : only?.data;
    output.json({
      schema: 1,
      flow: flow.id,
      message: outcomes.map(({ message }, index) => (several ? `${inputs[index]?.engineName}: ${message}` : message)).join(' '),
      data,
      skipped: skipped.length > 0 ? skipped : undefined,
      dryRunResult: options.dryRun ? sink.shown : undefined,
    });
  }
  return outcomes.find(({ exitCode }) => exitCode !== undefined && exitCode !== 0)?.exitCode ?? 0;
}

/** Keeps a lasting flow running until it is interrupted, and prints its updates as they come: with `--json`, one object per line. */
async function keep({ output, options, signal }: VerbContext, flow: Flow, outcome: FlowOutcome, lasts: Lasting): Promise<number> {
  const { message, data } = outcome;
  if (options.json) output.json({ schema: 1, flow: flow.id, message, data });
  else output.line(message);
  if (output.interactive && !options.json) output.note('Press Ctrl-C to stop.');
  const stop = lasts.follow((state, sentence, reported) => {
    const [first = '', ...more] = sentence.split('\n');
    if (options.json) output.json({ schema: 1, flow: flow.id, state, message: first, data: reported });
    else if (reported === undefined) output.note(sentence);
    else output.lines([first, ...more]);
  });
  const ended = AbortSignal.any([signal, lasts.closed, output.gone]);
  if (!ended.aborted) await once(ended, 'abort');
  stop();
  lasts.close();
  const failure = lasts.failure?.();
  if (failure !== undefined) throw failure;
  return signal.aborted && !lasts.isService ? 130 : 0;
}

async function readOnlyRefusal({ options, paths, env }: VerbContext, flow: Flow, [first]: readonly string[]): Promise<Fault> {
  const message = `"${flow.verb}" ${effectOf(flow)}, which read-only mode does not allow.`;
  const { openOwnAudit } = await import('../../app/audit-log.ts');
  // The name is recorded as typed, and further arguments are left out: none of them was validated.
  const named = flow.about !== 'host' && flow.speaks === undefined && first !== undefined && /^[\w./-]{1,100}$/.test(first);
  // The refusal is effective whether or not it can be recorded.
  await openOwnAudit(paths, env)
    .record({
      run: '',
      flow: flow.id,
      act: flow.id,
      phase: 'after',
      outcome: 'refused',
      right: flow.right,
      request: `quarterdeck ${flow.verb}`,
      host: options.host ?? 'local',
      ...(named && { component: first }),
      message,
    })
    .catch(() => {});
  return new Fault('refused.readOnly', message, 'Run the command without --read-only.');
}

function onAll(flow: Flow, { engines }: FleetSnapshot): Fault {
  const remedy = `Run the command once for each host: ${engines.map(({ name }) => `--host ${cleanLine(name)}`).join(', ')}.`;
  return new Fault('usage.host', `--host all is valid only for read-only commands, but "${flow.verb}" ${effectOf(flow)}.`, remedy);
}

function dataOn(host: string | undefined, data: unknown): unknown {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? { host, ...data } : data;
}

/** Returns every engine for a query. A change uses one engine, which must be named when there are several. */
function enginesOf(flow: Flow, { engines }: FleetSnapshot, named: string | undefined): string[] {
  if (flow.offline) return engines.slice(0, 1).map(({ name }) => name);
  const connected = engines.filter(({ engine }) => engine.reachable).map(({ name }) => name);
  if (flow.right === 'read' || connected.length < 2) return connected;
  // A machine has the same name as the first of its engines.
  if (named !== undefined && connected.includes(named)) return [named];
  const message = `A host is required, because several engines are available: ${connected.map(cleanLine).join(', ')}.`;
  throw new Fault('usage.host', message, `Use one of: ${connected.map((name) => `--host ${cleanLine(name)}`).join(', ')}.`);
}

async function answersOf({ options, stdin, signal }: VerbContext, isTaken: boolean): Promise<Answers | undefined> {
  if (options.answers === undefined) return undefined;
  if (options.answers === '-' && isTaken) {
    const message = 'Standard input cannot provide both the answers and the input for --stdin.';
    throw new Fault('usage.stdin', message, 'Read the answers from a file, or omit --stdin.');
  }
  if (options.answers !== '-') refuseTypedPath(options, options.answers);
  return readAnswers(options.answers, () => readAll(stdin, signal, '--answers -'), signal);
}

function createOperator({ output, options, stdin, stdout }: VerbContext, { flags }: Flow, sink: JsonSink | TextSink): Operator {
  const stderr = process.stderr;
  const attended = stdin.isTTY === true && stderr.isTTY === true;
  const answers = { sink, yes: options.yes, typed: options.confirm };
  return attended ? createTerminalOperator({ stdin, stdout, stderr, output, ...answers }) : new UnattendedOperator({ ...answers, flags });
}

async function readAll(stdin: NodeJS.ReadStream, signal: AbortSignal, option: string): Promise<Uint8Array> {
  if (stdin.isTTY)
    throw new Fault('usage.stdin', `${option} reads standard input, which is a terminal.`, 'Pipe the input, or omit the option.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of addAbortSignal(signal, stdin)) {
    const bytes = Buffer.from(chunk as Buffer);
    size += bytes.length;
    if (size > stdinLimitBytes)
      throw new Fault('usage.stdin', 'Standard input is larger than 64 MB.', 'Pass a file, or copy it into the container: quarterdeck cp');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
