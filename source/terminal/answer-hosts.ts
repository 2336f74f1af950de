import { createInterface } from 'node:readline/promises';
import { Fault } from '../faults/fault.ts';
import type { Deck } from './deck.ts';
import { type HostQuestion, type HostQuestions, keyAnswerProblem, readKeyAnswer } from './host-questions.ts';
import type { Output } from './output.ts';
import { readSecret } from './secret-entry.ts';
import { inTurn } from './terminal-turns.ts';

interface Terminal {
  stdin: NodeJS.ReadStream;
  /** Where questions are put, so that what a verb prints can be piped on. */
  stderr: NodeJS.WriteStream;
  output: Output;
}

/** An engine is asked right after its host was reached; nobody waits longer for one. */
const placeLimitMs = 10_000;

/** For a verb: what ssh asks is asked on the terminal, where there is one, and what the verb is about is connected first. */
export async function answerHosts(deck: Deck, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const { questions, fleet, world } = deck;
  if (!questions || terminal.stdin.isTTY !== true || terminal.stderr.isTTY !== true) return;
  answerOnTerminal(questions, terminal, signal);
  const names = fleet.snapshot().places.map(({ name }) => name);
  const links = [...new Set(names.flatMap((name) => world.hostOf(name).link ?? []))];
  if (links.length === 0) return;
  let asked = false;
  const stop = questions.subscribe(() => {
    asked = true;
  });
  await Promise.allSettled(links.map((link) => link.ready(signal)));
  stop();
  signal.throwIfAborted();
  // While somebody typed, the engine was given up and is waited for: it is there now.
  if (asked) await placesBack(deck, signal);
}

async function placesBack({ fleet, world }: Deck, signal: AbortSignal): Promise<void> {
  const isBack = () =>
    fleet.snapshot().places.every(({ name, link }) => {
      const far = world.hostOf(name).link;
      return far?.view.state !== 'connected' || link.state === 'connected';
    });
  fleet.refresh();
  await new Promise<void>((resolve) => {
    const done = () => {
      stop();
      clearTimeout(limit);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const limit = setTimeout(done, placeLimitMs);
    const stop = fleet.subscribe(() => {
      if (isBack()) done();
    });
    signal.addEventListener('abort', done, { once: true });
    if (isBack()) done();
  });
}

/** Asks one question after the other, on lines. Ends with the signal. */
export function answerOnTerminal(questions: HostQuestions, terminal: Terminal, signal: AbortSignal): () => void {
  let current: HostQuestion | undefined;
  let withdrawn = new AbortController();
  let isPut = false;
  const touched = new WeakSet<HostQuestion>();
  const look = () => {
    for (const question of questions.waiting) {
      if (question.kind !== 'touch' || touched.has(question)) continue;
      touched.add(question);
      terminal.output.endProgress();
      terminal.output.note(`${question.host}: ${question.lines.join(' ')}`);
    }
    const { first } = questions;
    if (current && !questions.waiting.includes(current) && !withdrawn.signal.aborted) {
      withdrawn.abort(new DOMException('no longer asked', 'AbortError'));
      if (isPut) terminal.output.note(`${current.host}: ssh no longer waits for that.`);
    }
    if (current || !first || first.kind === 'touch') return;
    current = first;
    withdrawn = new AbortController();
    const asked = first;
    const limit = AbortSignal.any([signal, withdrawn.signal]);
    // A flow may be asking just now: its answer is not this one's.
    isPut = false;
    const ask = () => {
      isPut = true;
      return put(asked, terminal, limit);
    };
    const done = (answer: string | undefined) => {
      // Before it is answered: that calls back here, and is no withdrawal.
      current = undefined;
      asked.answer(answer);
      look();
    };
    void inTurn(terminal.stdin, limit, ask).then(done, () => done(undefined));
  };
  return questions.subscribe(look);
}

/** Undefined declines. */
async function put(question: HostQuestion, terminal: Terminal, signal: AbortSignal): Promise<string | undefined> {
  const { stdin, stderr, output } = terminal;
  const { host, kind, lines } = question;
  output.endProgress();
  if (kind === 'secret') {
    const before = lines.slice(0, -1);
    for (const line of before) output.note(line);
    const prompt = (lines.at(-1) ?? '').trim();
    return readSecret(stdin, stderr, `${prompt.includes(host) ? '' : `${host}: `}${prompt} `, signal, output.ascii ? '*' : '•');
  }
  output.note(output.paintError('strong', `${host}:`));
  const shown = kind === 'hostKey' ? lines.filter((line) => !/\(yes\/no/i.test(line)) : lines;
  for (const line of shown) output.note(`  ${line}`);
  if (kind === 'confirm') return /^y(?:es)?$/i.test(await readLine(terminal, 'Go on? [y/N] ', signal)) ? 'yes' : undefined;
  for (;;) {
    const typed = await readLine(terminal, 'Is that its key? yes, no, or the fingerprint it should have: ', signal);
    const answer = readKeyAnswer(typed);
    if (answer !== undefined) return answer;
    output.note(output.paintError('warn', keyAnswerProblem(typed) ?? ''));
  }
}

async function readLine({ stdin, stderr }: Terminal, prompt: string, signal: AbortSignal): Promise<string> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  const away = new Promise<never>((_, reject) => {
    const leave = () =>
      reject(new Fault({ code: 'interrupted.cancelled', message: 'Cancelled.', remedy: 'Run it again whenever you like.' }));
    reader.once('SIGINT', leave);
    reader.once('close', leave);
  });
  away.catch(() => {});
  try {
    return (await Promise.race([reader.question(prompt, { signal }), away])).trim();
  } finally {
    reader.close();
  }
}
