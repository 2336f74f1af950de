import type { QuarterdeckApp } from '../app/app.ts';
import { type HostQuestion, type HostQuestions, keyAnswerProblem, readKeyAnswer } from '../app/host-questions.ts';
import { limited } from '../faults/waits.ts';
import { type PromptTerminal, readLine, readSecret } from './secret-entry.ts';
import { inTurn } from './terminal-turns.ts';

/** An engine is queried right after its host is connected. This is the longest wait for one. */
const engineLimitMs = 10_000;

/** Answers prompts of ssh on the terminal, where there is one, and connects the hosts of the verb first. */
export async function answerHosts(app: QuarterdeckApp, terminal: PromptTerminal, signal: AbortSignal): Promise<void> {
  const { questions, fleet, context } = app;
  if (!questions || terminal.stdin.isTTY !== true || terminal.stderr.isTTY !== true) return;
  answerOnTerminal(questions, terminal, signal);
  const names = fleet.snapshot().engines.map(({ name }) => name);
  const links = [...new Set(names.flatMap((name) => context.hostOf(name).link ?? []))];
  if (links.length === 0) return;
  let asked = false;
  const stop = questions.subscribe(() => {
    asked = true;
  });
  await Promise.allSettled(links.map((link) => link.ready(signal)));
  stop();
  signal.throwIfAborted();
  // Engines may have timed out while the operator typed, so they are queried again and waited for.
  if (asked) await enginesBack(app, signal);
}

async function enginesBack({ fleet, context }: QuarterdeckApp, signal: AbortSignal): Promise<void> {
  const isBack = () =>
    fleet.snapshot().engines.every(({ name, link }) => {
      const remote = context.hostOf(name).link;
      return remote?.view.state !== 'connected' || link.state === 'connected';
    });
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (isBack()) resolve();
  };
  fleet.refresh();
  const stop = fleet.subscribe(look);
  look();
  await limited(signal, engineLimitMs, () => promise)
    .catch(() => {})
    .finally(stop);
}

export function answerOnTerminal(questions: HostQuestions, terminal: PromptTerminal, signal: AbortSignal): () => void {
  let current: HostQuestion | undefined;
  const touched = new WeakSet<HostQuestion>();
  const look = () => {
    for (const question of questions.waiting) {
      if (question.kind !== 'touch' || touched.has(question)) continue;
      touched.add(question);
      terminal.output.endProgress();
      terminal.output.note(`${question.host}: ${question.lines.join(' ')}`);
    }
    const { first: asked } = questions;
    if (current || !asked || asked.kind === 'touch') return;
    current = asked;
    const limit = AbortSignal.any([signal, asked.signal]);
    // A flow may be prompting now: its answer does not belong to this prompt.
    let isPut = false;
    const ask = () => {
      isPut = true;
      return put(asked, terminal, limit);
    };
    const done = (answer: string | undefined) => {
      // Reset before the answer, because answering calls back here and is not a withdrawal.
      current = undefined;
      asked.answer(answer);
      look();
    };
    void inTurn(terminal.stdin, limit, ask).then(done, () => {
      if (isPut && asked.signal.aborted) terminal.output.note(`${asked.host}: ssh is no longer waiting for this answer.`);
      done(undefined);
    });
  };
  return questions.subscribe(look);
}

/** Undefined declines. */
async function put(question: HostQuestion, terminal: PromptTerminal, signal: AbortSignal): Promise<string | undefined> {
  const { output } = terminal;
  const { host, kind, lines } = question;
  output.endProgress();
  if (kind === 'secret') {
    const before = lines.slice(0, -1);
    for (const line of before) output.note(line);
    const prompt = (lines.at(-1) ?? '').trim();
    return readSecret(terminal, `${prompt.includes(host) ? '' : `${host}: `}${prompt} `, signal);
  }
  output.note(output.paintError('strong', `${host}:`));
  const shown = kind === 'hostKey' ? lines.filter((line) => !/\(yes\/no/i.test(line)) : lines;
  for (const line of shown) output.note(`  ${line}`);
  const ask = async (label: string) => (await readLine(terminal, label, signal)).trim();
  if (kind === 'confirm') return /^y(?:es)?$/i.test(await ask('Continue? [y/N] ')) ? 'yes' : undefined;
  for (;;) {
    const typed = await ask('Is this the host key? Enter yes, no or the expected fingerprint: ');
    const answer = readKeyAnswer(typed);
    if (answer !== undefined) return answer;
    output.note(output.paintError('warning', keyAnswerProblem(typed) ?? ''));
  }
}
