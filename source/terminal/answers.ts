import { resolve } from 'node:path';
import { textOfPeople } from '../config/encoding.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { initialValues } from '../session/form-checks.ts';
import type { Form, Operator, Question } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';

type Answer = string | readonly string[];

/** Answers that were written down before: `{"share": ["...", "...", "..."]}`, step id to value. */
export interface Answers {
  /** Steps with what is still to be given to them, in turn. */
  steps: Map<string, Answer[]>;
  /** Secrets are taken from what was piped in alone: a file stays. */
  secret: boolean;
}

const sizeLimitBytes = 1024 * 1024;

/** The file, or `-` for what was piped in. Throws `usage.answers`. */
export async function readAnswers(from: string, piped: () => Promise<Uint8Array>, signal: AbortSignal): Promise<Answers> {
  const isPiped = from === '-';
  const bytes = isPiped ? await piped() : await readFrom(from, signal);
  const where = isPiped ? 'the input' : cleanLine(from);
  if (bytes.length > sizeLimitBytes) throw malformed(where, 'it has more than a megabyte');
  let parsed: unknown;
  try {
    parsed = parseJson(textOfPeople(bytes, where, 'usage.answers'));
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    // The parser's own words quote what it read.
    const place = /at position \d+(?: \(line \d+ column \d+\))?/.exec(messageOf(thrown))?.[0];
    throw malformed(where, `it is no JSON${place ? `, ${place}` : ''}`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw malformed(where, 'it is no object');
  const steps = new Map<string, Answer[]>();
  for (const [step, value] of Object.entries(parsed)) steps.set(step, answersOf(where, step, value));
  return { steps, secret: isPiped };
}

async function readFrom(path: string, signal: AbortSignal): Promise<Uint8Array> {
  let content: Uint8Array | undefined;
  try {
    content = await localFiles.read(resolve(path), { signal, limitBytes: sizeLimitBytes + 1 });
  } catch (thrown) {
    signal.throwIfAborted();
    throw unreadable(path, messageOf(thrown));
  }
  if (!content) throw unreadable(path, 'there is no such file.');
  return content;
}

function answersOf(where: string, step: string, value: unknown): Answer[] {
  if (!Array.isArray(value)) return [textOf(where, step, value)];
  return value.map((each) => (Array.isArray(each) ? each.map((part) => textOf(where, step, part)) : textOf(where, step, each)));
}

function textOf(where: string, step: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw malformed(where, `"${cleanLine(step)}" is no text, number or list of them`);
}

/** Answers what was written down, and leaves the rest to whoever is there. */
export function withAnswers(operator: Operator, answers: Answers): Operator {
  const take = (question: Question): Answer | undefined => {
    const left = answers.steps.get(question.id);
    // What it reveals would be seen by nobody.
    if (!left || left.length === 0 || question.reveals) return undefined;
    if (question.kind === 'secret' && !answers.secret) throw secretInFile(question);
    // `several` is one answer of many parts, unless each time it is asked has a list of its own.
    if (question.kind === 'several' && left.every((part) => typeof part === 'string')) {
      answers.steps.set(question.id, []);
      return left;
    }
    return left.shift();
  };
  return {
    kind: operator.kind,
    ask: async (question, signal) => take(question) ?? operator.ask(question, signal),
    fill: (form, signal) => operator.fill(filled(form, answers), signal),
    confirm: (confirmation, signal) => operator.confirm(confirmation, signal),
    review: (review, signal) => operator.review(review, signal),
    show: (shown) => operator.show(shown),
    progress: (progress) => operator.progress(progress),
    lend: (use) => operator.lend(use),
  };
}

function filled(form: Form, answers: Answers): Form {
  const standing = initialValues(form);
  const fields = form.fields.map((field) => {
    const [answer] = answers.steps.get(field.id)?.splice(0, 1) ?? [];
    if (answer === undefined) return field;
    if (field.kind === 'secret' && !answers.secret) throw secretInFile(field);
    return { ...field, value: typeof answer === 'string' ? answer : answer.join(',') };
  });
  return fields.some((field) => field.value !== standing[field.id]) ? { ...form, fields } : form;
}

/** Steps whose answers nobody asked for; empty where all were of use. */
export function unasked({ steps }: Answers): string[] {
  return [...steps].filter(([, left]) => left.length > 0).map(([step]) => step);
}

function secretInFile({ id, label }: Pick<Question, 'id' | 'label'>): Fault {
  return new Fault({
    code: 'refused.secretAnswer',
    message: `${cleanLine(label)} is a secret, and secrets are not read from a file that stays.`,
    remedy: `Pipe the answers in: --answers - (step "${cleanLine(id)}").`,
  });
}

function unreadable(path: string, why: string): Fault {
  return new Fault({
    code: 'usage.answers',
    message: `The answers cannot be read from ${cleanLine(path)}: ${cleanLine(why)}`,
    remedy: 'Name a file with a JSON object, or - for what is piped in.',
  });
}

function malformed(where: string, why: string): Fault {
  return new Fault({
    code: 'usage.answers',
    message: `The answers of ${where} cannot be used: ${why}.`,
    remedy: 'Write one JSON object, step to answer: {"duration": "4h", "share": ["...", "..."]}',
  });
}
