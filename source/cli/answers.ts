import { resolve } from 'node:path';
import { forwarding } from '../app/commands-for.ts';
import { textOfPeople } from '../config/encoding.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { initialValues } from '../session/form-checks.ts';
import type { Form, Operator, Question } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';

type Answer = string | readonly string[];

/** Prepared answers: `{"share": ["...", "...", "..."]}`, from step id to value. */
export interface Answers {
  steps: Map<string, Answer[]>;
  /** Secrets are accepted only from stdin, because a file stays on disk. */
  secret: boolean;
}

const sizeLimitBytes = 1024 * 1024;

/** Reads the answers from the file, or from stdin with `-`. Throws `usage.answers`. */
export async function readAnswers(from: string, piped: () => Promise<Uint8Array>, signal: AbortSignal): Promise<Answers> {
  const isPiped = from === '-';
  const bytes = isPiped ? await piped() : await readFrom(from, signal);
  const where = isPiped ? 'the input' : cleanLine(from);
  if (bytes.length > sizeLimitBytes) throw malformed(where, 'they are larger than 1 MB');
  let parsed: unknown;
  try {
    parsed = parseJson(textOfPeople(bytes, where, 'usage.answers'));
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    // The parser's own message quotes the input.
    const position = /at position \d+(?: \(line \d+ column \d+\))?/.exec(messageOf(thrown))?.[0];
    throw malformed(where, `they are not valid JSON${position ? `, ${position}` : ''}`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw malformed(where, 'they are not a JSON object');
  const steps = Object.entries(parsed).map(([step, value]): [string, Answer[]] => [step, answersOf(where, step, value)]);
  return { steps: new Map(steps), secret: isPiped };
}

async function readFrom(path: string, signal: AbortSignal): Promise<Uint8Array> {
  const content = await localFiles.read(resolve(path), { signal, limitBytes: sizeLimitBytes + 1 }).catch((thrown: unknown) => {
    signal.throwIfAborted();
    throw unreadable(path, messageOf(thrown));
  });
  if (!content) throw unreadable(path, 'the file does not exist.');
  return content;
}

function answersOf(where: string, step: string, value: unknown): Answer[] {
  if (!Array.isArray(value)) return [textOf(where, step, value)];
  return value.map((each) => (Array.isArray(each) ? each.map((part) => textOf(where, step, part)) : textOf(where, step, each)));
}

function textOf(where: string, step: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw malformed(where, `"${cleanLine(step)}" must be a string, a number, a boolean, or a list of these`);
}

export function withAnswers(operator: Operator, answers: Answers): Operator {
  const take = (question: Question): Answer | undefined => {
    const left = answers.steps.get(question.id);
    // The revealed value would not be seen.
    if (!left || left.length === 0 || question.reveals) return undefined;
    if (question.kind === 'secret' && !answers.secret) throw secretInFile(question);
    // For `several`, the list is one answer, unless it contains one list for each time the question comes.
    if (question.kind === 'several' && left.every((part) => typeof part === 'string')) {
      answers.steps.set(question.id, []);
      return left;
    }
    return left.shift();
  };
  return forwarding(operator, {
    ask: async (question, signal) => take(question) ?? operator.ask(question, signal),
    fill: (form, signal) => operator.fill(filled(form, answers), signal),
  });
}

function filled(form: Form, answers: Answers): Form {
  const initial = initialValues(form);
  const fields = form.fields.map((field) => {
    const [answer] = answers.steps.get(field.id)?.splice(0, 1) ?? [];
    if (answer === undefined) return field;
    if (field.kind === 'secret' && !answers.secret) throw secretInFile(field);
    return { ...field, value: typeof answer === 'string' ? answer : answer.join(',') };
  });
  return fields.some((field) => field.value !== initial[field.id]) ? { ...form, fields } : form;
}

export function unusedAnswers({ steps }: Answers): string[] {
  return [...steps].filter(([, left]) => left.length > 0).map(([step]) => step);
}

function secretInFile({ id, label }: Pick<Question, 'id' | 'label'>): Fault {
  const message = `${cleanLine(label)} is a secret. Secrets are not read from a file.`;
  return new Fault('refused.secretAnswer', message, `Pipe the answer to step "${cleanLine(id)}" instead: --answers -`);
}

function unreadable(path: string, why: string): Fault {
  const message = `Cannot read the answers from ${cleanLine(path)}: ${cleanLine(why)}`;
  return new Fault('usage.answers', message, 'Pass a file with a JSON object, or - for standard input.');
}

function malformed(where: string, why: string): Fault {
  const message = `The answers in ${where} cannot be used: ${why}.`;
  return new Fault('usage.answers', message, 'Pass a JSON object that maps steps to answers: {"duration": "4h", "share": ["...", "..."]}');
}
