import { noTerminal, type ShownSink } from '../app/unattended-operator.ts';
import type { Choice, Confirmation, Form, Operator, Progress, Question, Review, Shown, TerminalLoan } from '../session/session.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { cut, wrap } from '../text/width.ts';
import { hangingLines, type Output } from './output.ts';
import { readLine, readSecret } from './secret-entry.ts';
import { fillOnLines, type LineAsking, reviewOnLines } from './terminal-form.ts';
import { inTurn, isTaken } from './terminal-turns.ts';

export interface TerminalOperatorOptions {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  /** Prompts go here, so that stdout can be piped. */
  stderr: NodeJS.WriteStream;
  output: Output;
  sink: ShownSink;
  /** Confirms without a prompt, except where a name must be typed. */
  yes: boolean;
  typed?: string;
}

const ownScreen = { enter: '\x1b[?1049h\x1b[2J\x1b[H', leave: '\x1b[2J\x1b[?1049l' };

/** A program that borrows the terminal ends by itself. */
const unending = new AbortController().signal;

export class TerminalOperator implements Operator {
  readonly kind = 'terminal';
  readonly #options: TerminalOperatorOptions;
  readonly #lines: LineAsking;
  readonly #going = new Map<string, number | undefined>();

  constructor(options: TerminalOperatorOptions) {
    const { stdin, stderr, output } = options;
    this.#options = options;
    this.#lines = {
      output,
      turn: (ask, signal) => inTurn(stdin, signal, ask),
      readLine: (prompt, signal) => readLine(stdin, stderr, prompt, signal),
      readSecret: (prompt, signal) => readSecret(stdin, stderr, prompt, signal, output.ascii ? '*' : '•'),
      listChoices: (choices) => listChoices(choices, output),
    };
  }

  ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]> {
    return inTurn(this.#options.stdin, signal, () => this.#revealing(question, () => this.#ask(question, signal)));
  }

  /** Prompts on the alternate screen, which leaves nothing in the scrollback. */
  async #revealing<T>({ reveals }: Question, ask: () => Promise<T>): Promise<T> {
    const { output, stderr } = this.#options;
    if (!reveals) return ask();
    output.endProgress();
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

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each kind of question has its prompt and its hint
  async #ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]> {
    const { output } = this.#options;
    output.endProgress();
    if (question.help)
      for (const line of wrap(cleanLine(question.help), output.proseColumns)) output.note(output.paintError('faint', line));
    const choices = 'choices' in question ? question.choices : undefined;
    if (choices) this.#lines.listChoices(choices);
    for (;;) {
      const label = cleanLine(question.label);
      let answer: string | readonly string[] | undefined;
      if (question.kind === 'secret') {
        answer = await this.#lines.readSecret(`${label}: `, signal);
      } else {
        const initial = [question.initial ?? ''].flat().join(' ');
        const line = (await this.#lines.readLine(`${label}${initial === '' ? '' : ` [${initial}]`}: `, signal)).trim();
        const written = line === '' ? initial : line;
        answer =
          question.kind === 'choice'
            ? chosen(written, question.choices)
            : question.kind === 'several'
              ? several(written, question.choices)
              : written;
      }
      const problem =
        answer === undefined
          ? `Write the number or the name of ${question.kind === 'several' ? 'each one that you choose, or "all" or "none"' : 'one of them'}.`
          : typeof answer === 'string'
            ? question.check?.(answer)
            : undefined;
      if (answer !== undefined && problem === undefined) return answer;
      output.note(output.paintError('warning', cleanLine(problem ?? '')));
    }
  }

  confirm(confirmation: Confirmation, signal: AbortSignal): Promise<boolean> {
    return inTurn(this.#options.stdin, signal, () => this.#confirm(confirmation, signal));
  }

  async #confirm({ title, request, consequences, typed }: Confirmation, signal: AbortSignal): Promise<boolean> {
    const { output, yes, typed: given } = this.#options;
    output.endProgress();
    output.note(output.paintError('strong', cleanLine(title)));
    if (request !== undefined)
      for (const line of wrap(cleanLine(request), output.proseColumns - 2)) output.note(output.paintError('faint', `  ${line}`));
    for (const consequence of consequences)
      for (const line of hangingLines('  - ', cleanLine(consequence), output.proseColumns)) output.note(line);
    if (typed !== undefined) {
      if (given !== undefined) return given === typed;
      const answer = await this.#lines.readLine(`This is production. Type ${cleanLine(typed)} to go on: `, signal);
      return answer.trim() === typed;
    }
    if (yes) return true;
    const answer = await this.#lines.readLine('Go on? [y/N] ', signal);
    return /^y(es)?$/i.test(answer.trim());
  }

  fill(form: Form, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    this.#options.output.endProgress();
    return fillOnLines(form, this.#lines, { signal, onlyWrong: this.#options.yes });
  }

  review(review: Review, signal: AbortSignal): Promise<string> {
    return inTurn(this.#options.stdin, signal, () => {
      this.#options.output.endProgress();
      return reviewOnLines(review, this.#lines, { signal, yes: this.#options.yes });
    });
  }

  show(shown: Shown): void {
    // A running step is a line that changes; it is printed when the step is over.
    if (shown.kind === 'item' && (shown.state === 'running' || shown.state === 'todo')) {
      if (shown.state === 'running') this.progress({ id: `item ${shown.id}`, label: shown.title });
      return;
    }
    if (shown.kind === 'item') this.#going.delete(`item ${shown.id}`);
    this.#options.output.endProgress();
    this.#options.sink.show(shown);
  }

  /** Shows all running work on one line: for several items their number, their total progress, and the one that changed last. */
  progress({ id, label, fraction, done }: Progress) {
    const { output } = this.#options;
    if (done) this.#going.delete(id);
    else this.#going.set(id, fraction);
    if (this.#going.size === 0) return output.endProgress();
    if (done || isTaken(this.#options.stdin)) return;
    const fractions = [...this.#going.values()].filter((each) => each !== undefined);
    const together = fractions.reduce((sum, each) => sum + each, 0) / fractions.length;
    const percent = fractions.length === 0 ? '' : `${String(Math.round(together * 100)).padStart(3)} %  `;
    const count = fractions.length > 1 ? `${fractions.length} at once  ` : '';
    output.progress(cut(`${percent}${count}${cleanLine(label)}`, output.progressColumns));
  }

  async lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    const { stdin, stdout, output } = this.#options;
    if (!stdin.isTTY || !stdout.isTTY) throw noTerminal();
    return inTurn(stdin, unending, () => {
      output.endProgress();
      return use({ input: stdin, output: stdout });
    });
  }
}

function listChoices(choices: readonly Choice[], output: Output): void {
  for (const [index, { value, label, detail }] of choices.entries()) {
    const name = label.toLowerCase() === value ? label : `${label} (${value})`;
    const about = detail ? output.paintError('faint', `  ${cleanLine(detail)}`) : '';
    output.note(`  ${String(index + 1).padStart(2)}  ${cleanLine(name)}${about}`);
  }
}

function chosen(written: string, choices: readonly Choice[]): string | undefined {
  return choices.find(({ value }) => value === written)?.value ?? choices[Number(written) - 1]?.value;
}

function several(written: string, choices: readonly Choice[]): readonly string[] | undefined {
  if (written === 'all') return choices.map(({ value }) => value);
  if (written === 'none') return [];
  const found = written
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => chosen(word, choices));
  return found.length > 0 && found.every((value) => value !== undefined) ? [...new Set(found)] : undefined;
}
