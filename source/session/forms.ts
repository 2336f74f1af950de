import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { type FormValues, formProblems, initialValues } from './form-checks.ts';
import type { Journal } from './journal.ts';
import { type createMasking, hiddenMark } from './masking.ts';
import type { Form, FormField, Operator, Review } from './session.ts';

interface Asking {
  operator: Operator;
  masking: ReturnType<typeof createMasking>;
  dryRun: boolean;
  signal: AbortSignal;
}

interface Filling extends Asking {
  journal: Journal;
  /** Replaces what the audit recorded of an answer before. */
  note(step: string, given: readonly string[]): void;
}

const stepOf = (form: Form, field: FormField): string => `${form.id}.${field.id}`;

/** A form that was filled in again replaces the earlier answers. */
function replayed(journal: Journal, step: string): string | undefined {
  let newest: string | undefined;
  for (let answer = journal.replay(step); answer !== undefined; answer = journal.replay(step))
    newest = typeof answer === 'string' ? answer : answer[0];
  return newest;
}

/** If the form has no secrets and all answers of the resumed run are still accepted, it is not shown again. */
export async function fillForm(form: Form, { operator, journal, masking, dryRun, signal, note }: Filling): Promise<FormValues> {
  signal.throwIfAborted();
  const known = form.fields.map((field) => (field.kind === 'secret' ? undefined : replayed(journal, stepOf(form, field))));
  const prefilled = { ...form, fields: form.fields.map((field, index) => ({ ...field, value: known[index] ?? field.value })) };
  const before = initialValues(prefilled);
  const answered = !known.includes(undefined) && Object.keys(formProblems(prefilled, before)).length === 0;
  const given = answered ? before : await operator.fill(prefilled, signal);

  const values = Object.fromEntries(form.fields.map(({ id }) => [id, given[id] ?? '']));
  for (const { id, kind } of form.fields) if (kind === 'secret') masking.add(values[id] ?? '');
  // Answers of scripts and files must not bypass `check`.
  const problems = Object.entries(formProblems(form, values));
  if (problems.length > 0) throw masking.thrown(notAccepted(form, values, problems));

  for (const field of form.fields) {
    const value = values[field.id] ?? '';
    const step = stepOf(form, field);
    if (field.kind !== 'secret' && !answered && !dryRun) await journal.answered(step, value);
    note(step, [recordedAnswer(field, value)].filter(Boolean));
  }
  return values;
}

function recordedAnswer({ kind, kept, generated }: FormField, value: string): string {
  if (kind !== 'secret') return value;
  if (value !== '') return hiddenMark;
  return kept ? '(kept)' : generated ? '(generated)' : '';
}

function notAccepted(form: Form, values: FormValues, problems: readonly (readonly [id: string, problem: string])[]): Fault {
  const sentences = problems.map(([id, problem]) => {
    const field = form.fields.find((each) => each.id === id);
    const value = values[id] ?? '';
    const what = value === '' ? 'missing value' : field?.kind === 'secret' ? 'the value is not accepted' : `"${value}" is not accepted`;
    return cleanLine(`${field?.label ?? id} (${id}): ${what}. ${problem}`);
  });
  return new Fault('usage.answer', sentences.join(' '), `Change the value of ${problems.map(([id]) => cleanLine(id)).join(', ')}.`);
}

/** Returns the chosen action. A blocked action, or one that was not offered, is refused for every kind of answer. */
export async function promptReview(review: Review, { operator, masking, dryRun, signal }: Asking): Promise<string> {
  signal.throwIfAborted();
  const shown = masking.review(review);
  if (dryRun) {
    operator.show({ kind: 'review', review: shown });
    return 'cancel';
  }
  const answer = await operator.review(shown, signal);
  const action = shown.actions.find(({ id }) => id === answer);
  if (action?.blocked !== undefined) {
    const message = cleanLine(`"${action.label}" is blocked: ${action.blocked}`);
    throw new Fault('refused.blocked', message, 'Resolve the blocking findings, then plan again.');
  }
  const isRemedy = shown.findings.some(({ id, remedy }) => remedy !== undefined && answer === `remedy:${id}`);
  if (action || isRemedy || answer === 'cancel') return answer;
  const choices = shown.actions.map(({ id }) => cleanLine(id)).join(', ');
  throw new Fault('usage.answer', cleanLine(`Unknown action "${answer}" for "${shown.title}".`), `Use one of: ${choices}, cancel.`);
}
