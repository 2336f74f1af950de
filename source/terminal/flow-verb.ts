import { addAbortSignal } from 'node:stream';
import { Fault } from '../faults/fault.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome, Lasting } from '../flows/flow.ts';
import { refuseTypedPath } from '../flows/named-file.ts';
import type { Operator } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { type Answers, readAnswers, unasked, withAnswers } from './answers.ts';
import { commandsFor, subjectIn } from './commands-for.ts';
import { findComponent } from './find-component.ts';
import { deployedAs, findEntry } from './find-entry.ts';
import { speakerOf, subjectOf } from './flow-subject.ts';
import { JsonSink, TextSink } from './shown-text.ts';
import { whileWaiting } from './slow-waits.ts';
import { throwIfNothingAnswers } from './status-verb.ts';
import { TerminalOperator } from './terminal-operator.ts';
import { todoLines } from './todo-text.ts';
import { UnattendedOperator } from './unattended-operator.ts';
import type { VerbContext } from './verb.ts';
import { leftOutOf } from './way-text.ts';

const stdinLimitBytes = 64 * 1024 * 1024;

/** Run a program whose output is passed on. */
const passesOn: ReadonlySet<string> = new Set(['exec', 'shell', 'compose']);

/** Runs a flow of the registry as a plain command. */
export async function runFlowVerb(
  context: VerbContext,
  flow: Flow,
  words: readonly string[],
  flags: FlowInput['options'],
  resume?: string,
): Promise<number> {
  const { output, options, signal } = context;
  // Said before anything is looked at: not even a question is put in read-only mode.
  if (options.readOnly && flow.right !== 'read') throw await readOnlyRefusal(context, flow, words);
  // One that may be left away is looked for among what is there.
  const written = flow.about === 'host' || flow.speaks !== undefined ? undefined : subjectOf(flow, words);
  const deck = await context.deck();
  const snapshot = await whileWaiting(
    output,
    () => 'Waiting for the engine',
    () => deck.fleet.settle(signal),
  );
  if (options.host === 'all' && flow.right !== 'read' && !flow.offline && snapshot.places.length > 1) throw onAll(flow, snapshot);
  if (!flow.offline) throwIfNothingAnswers(snapshot);
  const subject = flow.speaks === undefined ? written : speakerOf(flow, flow.speaks, words, snapshot, options.host);
  const stdin = flags.stdin === true ? await readAll(context.stdin, signal, '--stdin') : undefined;
  const answers = await answersOf(context, stdin !== undefined);
  const common = { options: flags, ...(stdin && { stdin }) };

  const inputs: FlowInput[] = [];
  if (subject && flow.about === 'catalog') {
    const entry = findEntry(subject.name, deck.catalog);
    for (const place of placesOf(flow, snapshot, options.host)) {
      const component = deployedAs(entry, place, snapshot);
      inputs.push({ ...common, place, entry, words: subject.words, ...(component && { component }) });
    }
  } else if (subject && flow.all && subject.name === 'all') {
    for (const place of placesOf(flow, snapshot, options.host)) inputs.push({ ...common, place, words: subject.words });
  } else if (subject) {
    const { component, service } = findComponent(subject.name, snapshot, options.host);
    inputs.push({ ...common, place: component.host, component, words: subject.words, ...(service && { service: service.name }) });
  } else {
    for (const place of placesOf(flow, snapshot, options.host)) inputs.push({ ...common, place, words });
  }

  // What every host was to be asked for: those that cannot be asked are named.
  const leftOut = inputs.length > 0 && !flow.offline && !subject ? leftOutOf(snapshot) : [];
  const several = inputs.length > 1;
  const sink = options.json ? new JsonSink() : new TextSink(output);
  const present = whoIsThere(context, flow, sink);
  const operator = answers ? withAnswers(present, answers) : present;
  const outcomes: FlowOutcome[] = [];
  const codes: (NonNullable<ReturnType<TextSink['takeCode']>> & { place: string })[] = [];
  for (const input of inputs) {
    const run = () => deck.run(flow, input, operator, signal, resume);
    // A terminal sees progress; what a program inside writes, or does not, is its own affair.
    const outcome =
      present instanceof UnattendedOperator && !passesOn.has(flow.id)
        ? await whileWaiting(output, () => present.doing ?? flow.title, run)
        : await run();
    outcomes.push(outcome);
    if (outcome.lasts) return keep(context, flow, outcome, outcome.lasts);
    if (sink instanceof TextSink && sink.valueAlone) output.note(outcome.message);
    else if (!options.json && !passesOutputOn(flow, outcome))
      output.line(output.short(several ? `${cleanLine(input.place)}: ${outcome.message}` : outcome.message));
    const code = sink instanceof TextSink ? sink.takeCode() : undefined;
    if (code) codes.push({ ...code, place: input.place });
    if (outcome.todo && !options.json) {
      const confirm = commandsFor(subjectIn(snapshot.places, input.place), `quarterdeck duty ${outcome.todo.component}`);
      const style = {
        columns: output.proseColumns,
        strong: (text: string) => output.paint('strong', text),
        faint: (text: string) => output.paint('faint', text),
      };
      for (const line of todoLines(outcome.todo, { ...style, confirm })) output.line(line);
    }
  }
  // Last: what was done is reported by now, whatever becomes of this.
  for (const { place, ...code } of operator.kind === 'terminal' ? codes : []) {
    const { saveCode } = await import('../flows/save-code.ts');
    const save = saveCode({ ...code, nowMs: Date.now(), offered: true });
    output.line((await deck.run(save, { place, words: [], options: {} }, operator, signal)).message);
  }
  output.endProgress();
  const unused = answers ? unasked(answers) : [];
  if (unused.length > 0) output.note(`Not asked for, and not used: ${unused.map(cleanLine).join(', ')}.`);
  if (!options.json) for (const { host, message } of leftOut) output.note(`${cleanLine(host)} was left out: ${cleanLine(message)}`);
  if (sink instanceof JsonSink) {
    const [only] = outcomes;
    const data = several ? outcomes.map((outcome, index) => dataOn(inputs[index]?.place, outcome.data)) : only?.data;
    output.json({
      schema: 1,
      flow: flow.id,
      message: outcomes.map(({ message }, index) => (several ? `${inputs[index]?.place}: ${message}` : message)).join(' '),
      ...(data !== undefined && { data }),
      ...(leftOut.length > 0 && { leftOut }),
      ...(options.rehearse && { rehearsed: sink.shown }),
    });
  }
  return outcomes.find(({ exitCode }) => exitCode !== undefined && exitCode !== 0)?.exitCode ?? 0;
}

/** What lasts goes on until it is interrupted. What becomes of it is told as it comes: with `--json` an object a line. */
async function keep({ output, options, signal }: VerbContext, flow: Flow, outcome: FlowOutcome, lasts: Lasting): Promise<number> {
  const { message, data } = outcome;
  if (options.json) output.json({ schema: 1, flow: flow.id, message, ...(data !== undefined && { data }) });
  else output.line(message);
  if (output.interactive && !options.json) output.note('Ctrl-C closes it.');
  const stop = lasts.follow((state, sentence, told) => {
    const [first = '', ...more] = sentence.split('\n');
    if (options.json) output.json({ schema: 1, flow: flow.id, state, message: first, ...(told !== undefined && { data: told }) });
    else if (told === undefined) output.note(sentence);
    else for (const line of [first, ...more]) output.line(line);
  });
  const ended = AbortSignal.any([signal, lasts.closed, output.gone]);
  await new Promise<void>((resolve) => {
    if (ended.aborted) resolve();
    ended.addEventListener('abort', () => resolve(), { once: true });
  });
  stop();
  lasts.close();
  return signal.aborted ? 130 : 0;
}

async function readOnlyRefusal({ options, paths, env }: VerbContext, flow: Flow, [first]: readonly string[]): Promise<Fault> {
  const message = `Read-only: "${flow.verb}" changes something.`;
  const { openOwnAudit } = await import('./own-audit.ts');
  // The name is as it was typed, and further arguments are left out: none of them was checked.
  const named = flow.about !== 'host' && flow.speaks === undefined && first !== undefined && /^[\w./-]{1,100}$/.test(first);
  // The refusal stands, whether or not it can be written down.
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
  return new Fault({ code: 'refused.readOnly', message, remedy: 'Run it without --read-only.' });
}

function onAll(flow: Flow, { places }: FleetSnapshot): Fault {
  return new Fault({
    code: 'usage.host',
    message: `--host all is for looking, and "${flow.verb}" changes something.`,
    remedy: `Run it for one host after the other: ${places.map(({ name }) => `--host ${cleanLine(name)}`).join(', ')}.`,
  });
}

/** A program's output must reach a pipe alone: `exec db -- pg_dump > dump.sql`. */
function passesOutputOn(flow: Flow, outcome: FlowOutcome): boolean {
  return (flow.id === 'exec' || flow.id === 'compose') && outcome.exitCode !== undefined;
}

/** Looking is done everywhere, changing in one place that is named when there are several. */
/** Told of one host among several. */
function dataOn(host: string | undefined, data: unknown): unknown {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? { host, ...data } : data;
}

function placesOf(flow: Flow, { places }: FleetSnapshot, named: string | undefined): string[] {
  if (flow.offline) return places.slice(0, 1).map(({ name }) => name);
  const connected = places.filter(({ engine }) => engine.reachable).map(({ name }) => name);
  if (flow.right === 'read' || connected.length < 2) return connected;
  // A machine is called like the first of its engines.
  if (named !== undefined && connected.includes(named)) return [named];
  throw new Fault({
    code: 'usage.host',
    message: `There are several engines: ${connected.map(cleanLine).join(', ')}.`,
    remedy: `Name one: ${connected.map((name) => `--host ${cleanLine(name)}`).join(', ')}.`,
  });
}

async function answersOf({ options, stdin, signal }: VerbContext, isTaken: boolean): Promise<Answers | undefined> {
  if (options.answers === undefined) return undefined;
  if (options.answers === '-' && isTaken) {
    throw new Fault({
      code: 'usage.stdin',
      message: 'What is piped in cannot be the answers and the input of the program.',
      remedy: 'Take the answers from a file, or leave --stdin away.',
    });
  }
  if (options.answers !== '-') refuseTypedPath(options, options.answers);
  return readAnswers(options.answers, () => readAll(stdin, signal, '--answers -'), signal);
}

function whoIsThere({ output, options, stdin, stdout }: VerbContext, { flags }: Flow, sink: JsonSink | TextSink): Operator {
  const stderr = process.stderr;
  const attended = stdin.isTTY === true && stderr.isTTY === true;
  const answers = { sink, yes: options.yes, ...(options.confirm !== undefined && { typed: options.confirm }) };
  return attended
    ? new TerminalOperator({ stdin, stdout, stderr, output, ...answers })
    : new UnattendedOperator({ ...answers, ...(flags && { flags }) });
}

async function readAll(stdin: NodeJS.ReadStream, signal: AbortSignal, option: string): Promise<Uint8Array> {
  if (stdin.isTTY) {
    throw new Fault({
      code: 'usage.stdin',
      message: `${option} takes what is piped in, and the input is a terminal.`,
      remedy:
        option === '--stdin'
          ? 'Pipe something in, or use --tty for a program that asks.'
          : 'Pipe the answers in, or leave the option away to be asked.',
    });
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of addAbortSignal(signal, stdin)) {
    const bytes = Buffer.from(chunk as Buffer);
    size += bytes.length;
    if (size > stdinLimitBytes) {
      throw new Fault({
        code: 'usage.stdin',
        message: 'More than 64 MB were piped in.',
        remedy: 'Copy it in with quarterdeck cp, and let the program read the file.',
      });
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
