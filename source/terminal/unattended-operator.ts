import { Fault } from '../faults/fault.ts';
import type { Flow } from '../flows/flow.ts';
import { formProblems, initialValues } from '../session/form-checks.ts';
import type { Confirmation, Form, Operator, Progress, Question, Review, Shown, TerminalLoan } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { changesInOneLine } from './review-text.ts';
import type { ShownSink } from './shown-text.ts';
import { noTerminal } from './terminal-operator.ts';

export interface UnattendedOperatorOptions {
  sink: ShownSink;
  yes: boolean;
  typed?: string;
  /** Of the verb: one that is called as a question is says the answer. */
  flags?: Flow['flags'];
}

/** Nobody is there: what the command line does not say is refused, never guessed. */
export class UnattendedOperator implements Operator {
  readonly kind = 'unattended';
  readonly #options: UnattendedOperatorOptions;

  constructor(options: UnattendedOperatorOptions) {
    this.#options = options;
  }

  async ask(question: Question): Promise<string> {
    const id = cleanLine(question.id);
    const flag = this.#options.flags?.[question.id];
    const option = flag ? `: ${optionText(question.id, flag)}` : '';
    const choices = 'choices' in question ? ` (one of: ${question.choices.map(({ value }) => cleanLine(value)).join(', ')})` : '';
    throw new Fault({
      code: 'usage.unanswered',
      message: `Nobody is there to answer: ${cleanLine(question.label)}`,
      remedy:
        question.kind === 'secret'
          ? `Run it in a terminal, or pipe it in: --answers - takes {"${id}": "..."}. Secrets are not taken from the command line.`
          : `Run it in a terminal, or say it on the command line${option}${choices}.`,
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

  /** What stands in the fields, all that is wrong with it at once. */
  async fill(form: Form): Promise<Readonly<Record<string, string>>> {
    const values = initialValues(form);
    const problems = formProblems(form, values);
    const wrong = form.fields.filter(({ id }) => problems[id] !== undefined);
    if (wrong.length === 0) return values;
    const secrets = wrong.filter(({ kind }) => kind === 'secret').map(({ id }) => cleanLine(id));
    const { flags = {} } = this.#options;
    const named = wrong.filter(({ kind, id }) => kind !== 'secret' && (flags[id] || flags['set']));
    const options = named.map(({ id }) => (flags[id] ? optionText(id, flags[id]) : `--set ${cleanLine(id)}=...`));
    const others = wrong.filter((field) => field.kind !== 'secret' && !named.includes(field)).map(({ id }) => cleanLine(id));
    const sentences = wrong.map(({ id, label, kind, value }) => {
      const said = kind === 'secret' || value === '' ? '' : ` "${value}"`;
      return cleanLine(`${label === id ? id : `${label} (${id})`}${said}: ${problems[id]}`);
    });
    throw new Fault({
      code: 'usage.answer',
      message: `Nobody is there to fill in "${cleanLine(form.title)}". ${sentences.join(' ')}`,
      remedy: [
        options.length > 0 ? `Add ${options.join(' ')} to the command line.` : '',
        others.length > 0 ? `Run it in a terminal, or pass --answers FILE with a value for ${others.join(', ')}.` : '',
        secrets.length > 0 ? `Run it in a terminal to type the secrets: ${secrets.join(', ')}.` : '',
      ]
        .filter(Boolean)
        .join(' '),
    });
  }

  async review(review: Review): Promise<string> {
    const title = cleanLine(review.title);
    const [first] = review.actions;
    if (!first || first.blocked !== undefined) {
      const blocking = review.findings.filter(({ level }) => level === 'blocking');
      throw new Fault({
        code: 'refused.preflight',
        message: [
          `${title} cannot be done now.`,
          ...(blocking.length > 0 ? blocking.map(({ message }) => message) : [first?.blocked ?? '']),
        ]
          .map(cleanLine)
          .join(' ')
          .trim(),
        remedy: [...new Set(blocking.map(({ advice }) => cleanLine(advice)))].join(' ') || 'Look at it in a terminal.',
      });
    }
    if (!this.#options.yes) {
      throw new Fault({
        code: 'refused.notConfirmed',
        message: `Nobody is there to confirm: ${changesInOneLine(review)}`,
        remedy: 'Read with --rehearse what would be done, then add --yes.',
      });
    }
    // What is done without being asked about is on record all the same.
    this.show({ kind: 'review', review });
    return first.id;
  }

  show(shown: Shown): void {
    this.#options.sink.show(shown);
  }

  /** What is going on, as far as it says so. */
  doing: string | undefined;

  progress({ label, done }: Progress): void {
    this.doing = done || label === '' ? undefined : label;
  }

  async lend<T>(_: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    throw noTerminal();
  }
}

/** `--user NAME` */
function optionText(id: string, { value }: { value?: string }): string {
  return `--${cleanLine(id)}${value === undefined ? '' : ` ${value}`}`;
}
