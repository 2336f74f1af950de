import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { type FormValues, formProblems } from './form-checks.ts';
import type { Journal } from './journal.ts';
import { hiddenMark, type Masking } from './masking.ts';
import type { Form, FormField, Operator, Review } from './session.ts';

interface Asking {
  operator: Operator;
  masking: Masking;
  rehearsing: boolean;
  signal: AbortSignal;
}

interface Filling extends Asking {
  journal: Journal;
  /** What the audit says of an answer, in the place of what it said before. */
  note(step: string, given: readonly string[]): void;
}

/** The key of a field's answer in journal and audit. */
function stepOf(form: Form, field: FormField): string {
  return `${form.id}.${field.id}`;
}

/** The newest answer of the run that is gone on with: a form that was filled again replaces what it said before. */
function replayed(journal: Journal, step: string): string | undefined {
  let newest: string | undefined;
  for (let answer = journal.replay(step); answer !== undefined; answer = journal.replay(step)) {
    newest = typeof answer === 'string' ? answer : answer[0];
  }
  return newest;
}

/**
 * Plain answers of the run that is gone on with stand in their fields. Where there is no secret and all of them are still accepted, nobody is asked again; secrets
 * are in no journal.
 */
export async function fillForm(form: Form, { operator, journal, masking, rehearsing, signal, note }: Filling): Promise<FormValues> {
  signal.throwIfAborted();
  let known = true;
  const fields = form.fields.map((field) => {
    const value = field.kind === 'secret' ? undefined : replayed(journal, stepOf(form, field));
    if (value === undefined) known = false;
    return value === undefined ? field : { ...field, value };
  });
  const standing = { ...form, fields };
  const before = Object.fromEntries(fields.map(({ id, value }) => [id, value]));
  const answered = known && Object.keys(formProblems(standing, before)).length === 0;
  const given = answered ? before : await operator.fill(standing, signal);

  const values: Record<string, string> = {};
  for (const field of form.fields) {
    const value = given[field.id] ?? '';
    values[field.id] = value;
    if (field.kind === 'secret') masking.add(value);
  }
  // An operator that is no person may not look at `check`.
  const problems = Object.entries(formProblems(form, values));
  if (problems.length > 0) throw masking.thrown(notAccepted(form, values, problems));

  for (const field of form.fields) {
    const value = values[field.id] ?? '';
    const step = stepOf(form, field);
    if (field.kind !== 'secret') {
      if (!answered && !rehearsing) await journal.answered(step, value);
      note(step, value === '' ? [] : [value]);
    } else if (value !== '') note(step, [hiddenMark]);
    else note(step, field.kept ? ['(kept)'] : field.generated ? ['(generated)'] : []);
  }
  return values;
}

function notAccepted(form: Form, values: FormValues, problems: readonly (readonly [id: string, problem: string])[]): Fault {
  const sentences = problems.map(([id, problem]) => {
    const field = form.fields.find((each) => each.id === id);
    const value = values[id] ?? '';
    const what = value === '' ? 'no answer' : field?.kind === 'secret' ? 'the answer is not accepted' : `"${value}" is not accepted`;
    return cleanLine(`${field?.label ?? id} (${id}): ${what}. ${problem}`);
  });
  return new Fault({
    code: 'usage.answer',
    message: sentences.join(' '),
    remedy: `Answer ${problems.map(([id]) => cleanLine(id)).join(', ')} differently.`,
  });
}

/** The way on that was chosen. What is blocked or was not offered is refused, whoever answers it. */
export async function askReview(review: Review, { operator, masking, rehearsing, signal }: Asking): Promise<string> {
  signal.throwIfAborted();
  const shown = masking.review(review);
  if (rehearsing) {
    operator.show({ kind: 'review', review: shown });
    return 'cancel';
  }
  const answer = await operator.review(shown, signal);
  const action = shown.actions.find(({ id }) => id === answer);
  if (action?.blocked !== undefined) {
    throw new Fault({
      code: 'refused.blocked',
      message: cleanLine(`"${action.label}" cannot be done now: ${action.blocked}`),
      remedy: 'Do what the blocking findings advise, and plan again.',
    });
  }
  const remedy = shown.findings.some(({ id, remedy: offered }) => offered !== undefined && answer === `remedy:${id}`);
  if (action || remedy || answer === 'cancel') return answer;
  throw new Fault({
    code: 'usage.answer',
    message: cleanLine(`"${answer}" is no way on from "${shown.title}".`),
    remedy: `Choose one of ${shown.actions.map(({ id }) => cleanLine(id)).join(', ')}, cancel.`,
  });
}
