import { createInterface } from 'node:readline/promises';
import { Fault } from '../faults/fault.ts';
import type { Choice, Confirmation, Form, Operator, Progress, Question, Review, Shown, TerminalLoan } from '../session/session.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { cut, wrap } from '../text/width.ts';
import type { Output } from './output.ts';
import { cancelled, readSecret } from './secret-entry.ts';
import type { ShownSink } from './shown-text.ts';
import { fillOnLines, type LineAsking, reviewOnLines } from './terminal-form.ts';
import { inTurn, isTaken } from './terminal-turns.ts';

export interface TerminalOperatorOptions {
  stdin: NodeJS.ReadStream;
  /** Where a borrowed terminal writes. */
  stdout: NodeJS.WriteStream;
  /** Where questions are put, so that what a verb prints can be piped on. */
  stderr: NodeJS.WriteStream;
  output: Output;
  sink: ShownSink;
  /** Confirm without asking, except where a name must be typed. */
  yes: boolean;
  /** The name to type, given in advance. */
  typed?: string;
}

const ownScreen = { enter: '\x1b[?1049h\x1b[2J\x1b[H', leave: '\x1b[2J\x1b[?1049l' };

/** Who borrows the terminal ends by itself. */
const unending = new AbortController().signal;

/** A person at a plain terminal: one question, one line. */
export class TerminalOperator implements Operator {
  readonly kind = 'terminal';
  readonly #options: TerminalOperatorOptions;
  /** How far what is under way is, by its id. */
  readonly #going = new Map<string, number | undefined>();

  constructor(options: TerminalOperatorOptions) {
    this.#options = options;
  }

  ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]> {
    return inTurn(this.#options.stdin, signal, () => this.#revealing(question, () => this.#ask(question, signal)));
  }

  /** On a screen of its own, which leaves nothing behind in what can be scrolled back. */
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

  async #ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]> {
    const { output } = this.#options;
    output.endProgress();
    if (question.help)
      for (const line of wrap(cleanLine(question.help), output.proseColumns)) output.note(output.paintError('faint', line));
    const choices = 'choices' in question ? question.choices : undefined;
    if (choices) this.#list(choices);
    for (;;) {
      const label = cleanLine(question.label);
      let answer: string | readonly string[] | undefined;
      if (question.kind === 'secret') {
        answer = await this.#readSecret(`${label}: `, signal);
      } else {
        const initial =
          question.initial === undefined ? '' : typeof question.initial === 'string' ? question.initial : question.initial.join(' ');
        const line = (await this.#readLine(`${label}${initial === '' ? '' : ` [${initial}]`}: `, signal)).trim();
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
      output.note(output.paintError('warn', cleanLine(problem ?? '')));
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
    for (const consequence of consequences) {
      const [first = '', ...more] = wrap(cleanLine(consequence), output.proseColumns - 4);
      output.note(`  - ${first}`);
      for (const line of more) output.note(`    ${line}`);
    }
    if (typed !== undefined) {
      if (given !== undefined) return given === typed;
      const answer = await this.#readLine(`This is production. Type ${cleanLine(typed)} to go on: `, signal);
      return answer.trim() === typed;
    }
    if (yes) return true;
    const answer = await this.#readLine('Go on? [y/N] ', signal);
    return /^y(es)?$/i.test(answer.trim());
  }

  fill(form: Form, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    this.#options.output.endProgress();
    return fillOnLines(form, this.#asking, { signal, onlyWrong: this.#options.yes });
  }

  review(review: Review, signal: AbortSignal): Promise<string> {
    return inTurn(this.#options.stdin, signal, () => {
      this.#options.output.endProgress();
      return reviewOnLines(review, this.#asking, { signal, yes: this.#options.yes });
    });
  }

  get #asking(): LineAsking {
    return {
      output: this.#options.output,
      turn: (ask, signal) => inTurn(this.#options.stdin, signal, ask),
      readLine: (prompt, signal) => this.#readLine(prompt, signal),
      readSecret: (prompt, signal) => this.#readSecret(prompt, signal),
      listChoices: (choices) => this.#list(choices),
    };
  }

  show(shown: Shown): void {
    // A step that is under way is a line that changes; it is printed when it is over.
    if (shown.kind === 'item' && (shown.state === 'running' || shown.state === 'todo')) {
      if (shown.state === 'running') this.progress({ id: `item ${shown.id}`, label: shown.title });
      return;
    }
    if (shown.kind === 'item') this.#going.delete(`item ${shown.id}`);
    this.#options.output.endProgress();
    this.#options.sink.show(shown);
  }

  /** One line for all that is under way: of several things how many, how far they are together, and the one that moved last. */
  progress({ id, label, fraction, done }: Progress): void {
    const { output } = this.#options;
    if (done) this.#going.delete(id);
    else this.#going.set(id, fraction);
    if (this.#going.size === 0) {
      output.endProgress();
      return;
    }
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

  #list(choices: readonly Choice[]): void {
    const { output } = this.#options;
    for (const [index, { value, label, detail }] of choices.entries()) {
      const name = label.toLowerCase() === value ? label : `${label} (${value})`;
      output.note(
        `  ${String(index + 1).padStart(2)}  ${cleanLine(name)}${detail ? output.paintError('faint', `  ${cleanLine(detail)}`) : ''}`,
      );
    }
  }

  #readSecret(prompt: string, signal: AbortSignal): Promise<string> {
    const { stdin, stderr, output } = this.#options;
    return readSecret(stdin, stderr, prompt, signal, output.ascii ? '*' : '•');
  }

  async #readLine(prompt: string, signal: AbortSignal): Promise<string> {
    const { stdin, stderr } = this.#options;
    const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
    // Ctrl-C and the end of input walk away. The reader swallows SIGINT while it has the terminal.
    const away = new Promise<never>((_, reject) => {
      reader.once('SIGINT', () => reject(cancelled()));
      reader.once('close', () => reject(cancelled()));
    });
    away.catch(() => {});
    try {
      return await Promise.race([reader.question(prompt, { signal }), away]);
    } catch (thrown) {
      stderr.write('\n');
      if (signal.aborted) throw signal.reason;
      throw thrown;
    } finally {
      reader.close();
    }
  }
}

export function noTerminal(): Fault {
  return new Fault({
    code: 'refused.noTerminal',
    message: 'This needs a terminal, and there is none.',
    remedy: 'Run it in a terminal, without pipes on its input and output (over ssh: ssh -t).',
  });
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
