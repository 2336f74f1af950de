import { noTerminal, type ShownSink } from '../app/unattended-operator.ts';
import type { Confirmation, Operator, Progress, Question } from '../session/session.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { cut, wrap } from '../text/width.ts';
import { hangingLines } from './output.ts';
import { type PromptTerminal, readLine } from './secret-entry.ts';
import { fillOnLines, promptLines, reviewOnLines } from './terminal-form.ts';
import { inTurn, isTaken } from './terminal-turns.ts';

export interface TerminalOperatorOptions extends PromptTerminal {
  stdout: NodeJS.WriteStream;
  sink: ShownSink;
  /** Confirms without a prompt, except where a name must be typed. */
  yes: boolean;
  typed?: string;
}

const ownScreen = { enter: '\x1b[?1049h\x1b[2J\x1b[H', leave: '\x1b[2J\x1b[?1049l' };

/** A program that borrows the terminal ends by itself. */
const unending = new AbortController().signal;

export function createTerminalOperator(options: TerminalOperatorOptions): Operator {
  const { stdin, stdout, output, sink, yes } = options;
  /** The fractions of the work in progress. */
  const going = new Map<string, number | undefined>();
  const turn = <T>(signal: AbortSignal, use: () => Promise<T>): Promise<T> =>
    inTurn(stdin, signal, () => {
      output.endProgress();
      return use();
    });

  /** Shows all running work on one line: for several items their number, their total progress, and the one that changed last. */
  function progress({ id, label, fraction, done }: Progress) {
    if (done) going.delete(id);
    else going.set(id, fraction);
    if (going.size === 0) return output.endProgress();
    if (done || isTaken(stdin)) return;
    const fractions = [...going.values()].filter((each) => each !== undefined);
    const together = fractions.reduce((sum, each) => sum + each, 0) / fractions.length;
    const percent = fractions.length === 0 ? '' : `${String(Math.round(together * 100)).padStart(3)} %  `;
    const count = fractions.length > 1 ? `${fractions.length} in parallel  ` : '';
    output.progress(cut(`${percent}${count}${cleanLine(label)}`, output.progressColumns));
  }

  return {
    kind: 'terminal',
    ask: (question, signal) => turn(signal, () => revealing(question, options, () => promptLines(question, options, signal))),
    confirm: (confirmation, signal) => turn(signal, () => confirmOnLines(confirmation, options, signal)),
    fill(form, signal) {
      output.endProgress();
      return fillOnLines(form, options, { signal, onlyWrong: yes });
    },
    review: (review, signal) => turn(signal, () => reviewOnLines(review, options, { signal, yes })),
    show(shown) {
      // A running step is a line that changes; it is printed when the step is over.
      if (shown.kind === 'item' && (shown.state === 'running' || shown.state === 'todo')) {
        if (shown.state === 'running') progress({ id: `item ${shown.id}`, label: shown.title });
        return;
      }
      if (shown.kind === 'item') going.delete(`item ${shown.id}`);
      output.endProgress();
      sink.show(shown);
    },
    progress,
    async lend(use) {
      if (!stdin.isTTY || !stdout.isTTY) throw noTerminal();
      return turn(unending, () => use({ input: stdin, output: stdout }));
    },
  };
}

/** Prompts on the alternate screen, which leaves nothing in the scrollback. */
async function revealing<T>({ reveals }: Question, { output, stderr }: PromptTerminal, ask: () => Promise<T>): Promise<T> {
  if (!reveals) return ask();
  stderr.write(ownScreen.enter);
  try {
    output.note(output.paintError('strong', `${cleanLine(reveals.label)}:`));
    output.note('');
    for (const line of cleanLines(reveals.value)) output.note(`  ${line}`);
    output.note('');
    return await ask();
  } finally {
    stderr.write(ownScreen.leave);
  }
}

async function confirmOnLines(
  { title, request, consequences, typed }: Confirmation,
  terminal: TerminalOperatorOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { output, yes, typed: given } = terminal;
  output.note(output.paintError('strong', cleanLine(title)));
  if (request !== undefined)
    for (const line of wrap(cleanLine(request), output.proseColumns - 2)) output.note(output.paintError('faint', `  ${line}`));
  for (const consequence of consequences)
    for (const line of hangingLines('  - ', cleanLine(consequence), output.proseColumns)) output.note(line);
  if (typed !== undefined) {
    if (given !== undefined) return given === typed;
    const answer = await readLine(terminal, `This is a production host. Type ${cleanLine(typed)} to continue: `, signal);
    return answer.trim() === typed;
  }
  return yes || /^y(es)?$/i.test((await readLine(terminal, 'Continue? [y/N] ', signal)).trim());
}
