import { Fault } from '../faults/fault.ts';
import type { Confirmation, Operator, Progress, Question, Shown, TerminalLoan } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { ShownSink } from './shown-text.ts';
import { noTerminal } from './terminal-operator.ts';

export interface UnattendedOperatorOptions {
  sink: ShownSink;
  yes: boolean;
  typed?: string;
}

/** Nobody is there: what the command line does not say is refused, never guessed. */
export class UnattendedOperator implements Operator {
  readonly kind = 'unattended';
  readonly #options: UnattendedOperatorOptions;

  constructor(options: UnattendedOperatorOptions) {
    this.#options = options;
  }

  async ask(question: Question): Promise<string> {
    throw new Fault({
      code: 'usage.unanswered',
      message: `Nobody is there to answer: ${cleanLine(question.label)}`,
      remedy: `Run it in a terminal, or say it on the command line${'choices' in question ? ` (one of: ${question.choices.map(({ value }) => cleanLine(value)).join(', ')})` : ''}.`,
    });
  }

  async confirm({ title, typed }: Confirmation): Promise<boolean> {
    if (typed !== undefined) {
      if (this.#options.typed === typed) return true;
      throw new Fault({
        code: 'refused.notConfirmed',
        message: `${cleanLine(typed)} is a production host, and its name was not given: ${cleanLine(title)}`,
        remedy: `Read with --rehearse what would be lost, then add --confirm ${cleanLine(typed)}.`,
      });
    }
    if (this.#options.yes) return true;
    throw new Fault({
      code: 'refused.notConfirmed',
      message: `Nobody is there to confirm: ${cleanLine(title)}`,
      remedy: 'Read with --rehearse what would be lost, then add --yes.',
    });
  }

  show(shown: Shown): void {
    this.#options.sink.show(shown);
  }

  progress(_: Progress): void {}

  async lend<T>(_: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    throw noTerminal();
  }
}
