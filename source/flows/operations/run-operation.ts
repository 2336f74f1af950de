import type { WholeCallAnswer } from '../../calls/call.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { credentialInputs } from '../../catalog/credential-inputs.ts';
import { fillPlaceholders, requestPath } from '../../catalog/placeholders.ts';
import type { ComponentCall } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import type { Session } from '../../session/session.ts';
import { modelTooLarge } from '../../stack/model-memory.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { bytesText, durationMs } from '../../text/quantities.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import { entryOf, targetOf } from '../call-target.ts';
import { componentOf } from '../components/service-targets.ts';
import type { FlowInput, FlowOutcome, Procedure } from '../flow.ts';
import { optionOf, wordsUpTo } from '../flow-options.ts';
import { saveFile } from '../save-file.ts';
import { signInFor, storedCredentials } from './credentials.ts';
import { failureOf } from './failure-of.ts';
import { listedOperations, readOnlyProblem } from './listed-operations.ts';
import { completeInputs, givenInputs } from './operation-inputs.ts';
import { showAnswer } from './show-answer.ts';

type Operation = CatalogEntry['operations'][number];

/** A response is kept in memory, so that one that failed never replaces a file. */
const responseLimitBytes = 256 * 1024 * 1024;
/** Time for what surrounds the call: it has a limit of its own. */
const graceMs = 5_000;

export const runOperation: Procedure = async (session, input, context) => {
  const component = componentOf(input);
  const entry = entryOf(context, component);
  if (!entry || entry.operations.length === 0) {
    const message = `${component.id} has no operations.`;
    throw new Fault('usage.operation', message, 'List the components that have operations: quarterdeck ops');
  }
  const operation = await operationMeant(session, input, entry, component.id);
  const call = entry.calls[operation.call] as ComponentCall;
  if (call.gives) {
    const message = `The response of "${operation.title}" contains credentials, which are not shown.`;
    throw new Fault('usage.operation', message, `Log in, and store them: quarterdeck login ${component.id}`);
  }
  const problem = session.readOnly && operation.right === 'read' ? readOnlyProblem(call) : undefined;
  if (problem !== undefined) throw new Fault('refused.readOnly', problem, 'Run the command without --read-only.');
  const known = { ...(await storedCredentials(session, context, component, entry, call)), ...givenInputs(input, call) };
  const missing = credentialInputs(call).find((name) => known[name] === undefined && signInFor(entry, name));
  if (missing !== undefined)
    throw new Fault('refused.login', `${component.id} requires a login for this operation.`, `Log in: quarterdeck login ${component.id}`);
  if (session.dryRun && operation.right === 'read') {
    session.show({ kind: 'text', text: `Would send: ${requestText(call, known)}` });
    return { message: 'Dry run: nothing was sent.' };
  }
  const inputs = await completeInputs(session, call, operation.id, known);
  for (const [name, { secret }] of Object.entries(call.inputs)) if (secret && inputs[name]) session.hide(inputs[name]);
  await warnOfModels(session, context.hostOf(input.engineName), call, inputs);
  const { runCall } = await import('../../calls/run-call.ts');
  // Programs draw their own progress, one line over the other.
  const heard = (bytes: Uint8Array) => {
    const lines = Buffer.from(bytes)
      .toString('utf8')
      .split(/[\r\n]/);
    const label = lines.map((line) => cleanLine(line).trim()).findLast((line) => line !== '');
    if (label !== undefined) session.progress({ id: 'output', label, output: true });
  };
  const send = async (signal: AbortSignal, grant?: Grant) => {
    const target = await targetOf(context, input.engineName, entry, signal, component);
    return await runCall(
      { ...target, execAllowed: !session.readOnly },
      { name: operation.call, call, inputs, signal, grant, limitBytes: responseLimitBytes, heard },
    );
  };
  session.progress({ id: 'op', label: operation.title });
  const answer: WholeCallAnswer | undefined =
    operation.right === 'read'
      ? await send(session.signal)
      : await session.act({
          id: operation.id,
          right: operation.right,
          title: `${operation.title}: ${component.id}`,
          request: requestText(call, inputs),
          consequences: operation.consequences,
          limitMs: durationMs(call.limit) + graceMs,
          run: (grant) => send(grant.signal, grant),
          failure: (reported) => failureOf(call, reported, component.id)?.message,
        });
  session.progress({ id: 'op', label: operation.title, fraction: 1, done: true });
  if (answer === undefined) return { message: 'Dry run: nothing was sent.' };
  return outcomeOf(session, input, { component: component.id, operation, call, answer });
};

/** A model that does not fit into memory ends other programs of the host, or itself, when it is loaded (R78). */
async function warnOfModels(session: Session, host: Host, call: ComponentCall, inputs: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, { languageModel }] of Object.entries(call.inputs)) {
    if (!languageModel) continue;
    const { memoryBytes } = await host.facts(session.signal);
    const title = modelTooLarge(inputs[name] ?? '', memoryBytes);
    if (title !== undefined) session.show({ kind: 'item', id: name, title, state: 'warning' });
  }
}

async function operationMeant(session: Session, input: FlowInput, entry: CatalogEntry, component: string): Promise<Operation> {
  const { operations } = entry;
  const takes = { takes: 'Pass one operation', remedy: 'Set inputs with --set NAME=VALUE.' };
  const [written] = wordsUpTo(1, input, takes);
  const id =
    written ??
    (await session.ask.choice({
      id: 'operation',
      label: 'Operation',
      choices: listedOperations(entry).map(({ id: value, title, right }) => ({
        ...{ value, label: title },
        ...(right !== 'read' && { detail: right }),
      })),
    }));
  const found = operations.find((operation) => operation.id === id);
  if (found) return found;
  const names = operations.map((operation) => operation.id);
  throw new Fault('usage.operation', `${component} has no operation "${cleanLine(id)}".`, nameRemedy(id, names, ''));
}

/** Without bodies, which may be long or private, and without secrets. */
function requestText({ http, exec, file, tcp, inputs }: ComponentCall, values: Readonly<Record<string, string>>): string {
  const fill = (text: string) =>
    cleanLine(fillPlaceholders(text, (name) => (inputs[name]?.secret ? '***' : inputs[name]?.file ? undefined : values[name])));
  if (http) return `${http.method} ${requestPath(http, fill)}`;
  if (exec)
    return `exec in ${exec.service}${exec.user === undefined ? '' : ` as ${exec.user}`}: ${exec.argv.map((word) => quotedWord(fill(word))).join(' ')}`;
  if (file) return `read ${fill(file.path)} in ${file.service}`;
  return tcp ? `connect to port ${tcp.port}` : 'inspect the container';
}

interface Answered {
  component: string;
  operation: Operation;
  call: ComponentCall;
  answer: WholeCallAnswer;
}

async function outcomeOf(session: Session, input: FlowInput, { component, operation, call, answer }: Answered): Promise<FlowOutcome> {
  const failure = failureOf(call, answer, component);
  if (failure) throw failure;
  const out = optionOf(input, 'out');
  const size = bytesText(answer.body.length);
  const data = { component, operation: operation.id, status: answer.status, bytes: answer.body.length };
  if (!answer.whole) {
    const message = `The response is larger than ${bytesText(responseLimitBytes)}, so it was discarded.`;
    throw new Fault('failed.operation', message, 'Download it in the web UI of the component.');
  }
  if (out !== undefined) {
    const file = await saveFile(session, { id: 'save', right: 'operate', path: out, content: answer.body, what: size });
    return file === undefined
      ? { message: 'Dry run: nothing was saved.' }
      : { message: `Saved the response (${size}) to ${file}.`, data: { ...data, file } };
  }
  showAnswer(session, answer);
  return {
    message: `${operation.title}: ${component} responded in ${answer.tookMs} ms.`,
    data: { ...data, response: answer.json ?? Buffer.from(answer.body).toString('utf8') },
  };
}
