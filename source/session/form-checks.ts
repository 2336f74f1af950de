import type { Form, FormField } from './session.ts';

export type FormValues = Readonly<Record<string, string>>;

/** An empty secret that needs no answer: there is one already, or one is made up. */
export function mayStayEmpty(field: FormField): boolean {
  return !field.required || (field.kind === 'secret' && (field.generated === true || field.kept === true));
}

/** What is wrong with the value of this field alone; undefined when nothing is. */
export function fieldProblem(field: FormField, value: string): string | undefined {
  if (value === '') {
    if (mayStayEmpty(field)) return undefined;
    return field.kind === 'choice' ? 'Choose one.' : 'This is needed.';
  }
  if (field.kind === 'choice' && !field.choices?.some((choice) => choice.value === value)) {
    return `Choose one of ${(field.choices ?? []).map((choice) => choice.value).join(', ')}.`;
  }
  return field.check?.(value);
}

/** What is wrong, by field, in the order of the form. What is wrong between fields is looked at where each is right by itself. */
export function formProblems(form: Form, values: FormValues): Record<string, string> {
  const problems: Record<string, string> = {};
  const between = form.check?.(values) ?? {};
  for (const field of form.fields) {
    const problem = fieldProblem(field, values[field.id] ?? '') ?? between[field.id];
    if (problem !== undefined) problems[field.id] = problem;
  }
  return problems;
}

/** What stands in the fields at first. */
export function initialValues(form: Form): Record<string, string> {
  return Object.fromEntries(form.fields.map(({ id, value }) => [id, value]));
}
