import { Fault } from '../faults/fault.ts';
import type { Flow } from '../flows/flow.ts';
import { formProblems, initialValues, labelAndId } from '../session/form-checks.ts';
import type { Confirmation, Form, Operator, Progress, Question, Review, Shown, TerminalLoan } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { changesInOneLine } from './review-text.ts';

interface UnattendedOperatorOptions {
  sink: ShownSink;
  yes: boolean;
  typed?: string;
  /** Flags of the verb. A flag with the id of a question is its answer. */
  flags?: Flow['flags'];
}

/** Answers for a run without an operator: whatever the command line leaves open is refused, never guessed. */
export class UnattendedOperator implements Operator {
  readonly kind = 'unattended';
  /** The work in progress. */
  doing: string | undefined;

  constructor(private readonly options: UnattendedOperatorOptions) {}

  async ask(question: Question): Promise<string> {
    const id = cleanLine(question.id);
    const flag = this.options.flags?.[question.id];
    const option = flag ? `on the command line: ${optionText(question.id, flag)}` : `with --answers FILE: {"${id}": "..."}`;
    const choices = 'choices' in question ? ` (one of: ${question.choices.map(({ value }) => cleanLine(value)).join(', ')})` : '';
    const remedy =
      question.kind === 'secret' && !question.reveals
        ? `Run the command in a terminal, or pipe the secret in: --answers - reads {"${id}": "..."}. Secrets are not accepted on the command line.`
        : `Run the command in a terminal${question.reveals ? '' : `, or pass the answer ${option}${choices}`}.`;
    throw new Fault('usage.unanswered', `Cannot prompt without a terminal: ${cleanLine(question.label)}`, remedy);
  }

  async confirm({ title, typed }: Confirmation): Promise<boolean> {
    if (typed !== undefined) {
      if (this.options.typed === typed) return true;
      const message = `${cleanLine(typed)} is a production host, and the change must be confirmed with its name: ${cleanLine(title)}`;
      throw notConfirmed(message, `--confirm ${cleanLine(typed)}`);
    }
    if (this.options.yes) return true;
    throw notConfirmed(`Cannot confirm without a terminal: ${cleanLine(title)}`);
  }

  async fill(form: Form): Promise<Readonly<Record<string, string>>> {
    const values = initialValues(form);
    const problems = formProblems(form, values);
    const wrong = form.fields.filter(({ id }) => problems[id] !== undefined);
    if (wrong.length === 0) return values;
    const secrets = wrong.filter(({ kind }) => kind === 'secret').map(({ id }) => cleanLine(id));
    const { flags = {} } = this.options;
    const named = wrong.filter(({ kind, id }) => kind !== 'secret' && (flags[id] || flags['set']));
    const options = named.map(({ id }) => (flags[id] ? optionText(id, flags[id]) : `--set ${cleanLine(id)}=...`));
    const others = wrong.filter((field) => field.kind !== 'secret' && !named.includes(field)).map(({ id }) => cleanLine(id));
    const sentences = wrong.map((field) => {
      const said = field.kind === 'secret' || field.value === '' ? '' : ` "${field.value}"`;
      return cleanLine(`${labelAndId(field)}${said}: ${problems[field.id]}`);
    });
    const remedies = [
      options.length > 0 ? `Add ${options.join(' ')} to the command line.` : '',
      others.length > 0 ? `Run the command in a terminal, or pass --answers FILE with a value for ${others.join(', ')}.` : '',
      secrets.length > 0 ? `Run the command in a terminal to type the secrets: ${secrets.join(', ')}.` : '',
    ];
    const message = `Cannot fill in "${cleanLine(form.title)}" without a terminal. ${sentences.join(' ')}`;
    throw new Fault('usage.answer', message, remedies.filter(Boolean).join(' '));
  }

  async review(review: Review): Promise<string> {
    const title = cleanLine(review.title);
    const [first] = review.actions;
    if (!first || first.blocked !== undefined) {
      const blocking = review.findings.filter(({ level }) => level === 'blocking');
      const reasons = blocking.length > 0 ? blocking.map(({ message }) => message) : [first?.blocked ?? ''];
      const message = [`"${title}" is not possible now.`, ...reasons].map(cleanLine).join(' ').trim();
      const advice = [...new Set(blocking.map((finding) => cleanLine(finding.advice)))].join(' ');
      throw new Fault('refused.preflight', message, advice || 'Run the command in a terminal to see the details.');
    }
    if (!this.options.yes) throw notConfirmed(`Cannot confirm without a terminal: ${changesInOneLine(review)}`);
    // Changes that require no prompt are recorded nevertheless.
    this.show({ kind: 'review', review });
    return first.id;
  }

  show(shown: Shown): void {
    this.options.sink.show(shown);
  }

  progress({ label, done }: Progress): void {
    this.doing = done || label === '' ? undefined : label;
  }

  async lend<T>(_: (terminal: TerminalLoan) => Promise<T>): Promise<T> {
    throw noTerminal();
  }
}

function optionText(id: string, { value }: { value?: string }): string {
  return `--${cleanLine(id)}${value === undefined ? '' : ` ${value}`}`;
}

function notConfirmed(message: string, option = '--yes'): Fault {
  return new Fault('refused.notConfirmed', message, `Run the command with --dry-run to see what would be done, then add ${option}.`);
}

export function noTerminal(): Fault {
  const remedy = 'Run the command in a terminal, without redirecting input or output (over ssh: ssh -t).';
  return new Fault('refused.noTerminal', 'This command requires a terminal.', remedy);
}

export type ShownSink = Pick<Operator, 'show'>;

/** Collects everything that would be shown, except secrets. The output of programs is in the outcome already. */
export class JsonSink implements ShownSink {
  readonly shown: Exclude<Shown, { kind: 'output' | 'secret' }>[] = [];

  show(shown: Shown): void {
    if (shown.kind === 'secret') {
      if (!shown.plain) throw secretIntoPipe(shown.label, '--json prints no secrets', ' without --json');
    } else if (shown.kind !== 'output') this.shown.push(shown);
  }
}

export function secretIntoPipe(label: string, why = 'the output is not a terminal', without = ''): Fault {
  const remedy = `Run the command in a terminal${without}, or add --plain${without} to print only the value.`;
  return new Fault('refused.pipe', `${cleanLine(label)} is a secret, and ${why}.`, remedy);
}
