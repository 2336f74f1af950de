import type { Form, FormField } from './session.ts';

export type FormValues = Readonly<Record<string, string>>;

/** `Session key (SESSION_KEY)` */
export const labelAndId = ({ label, id }: FormField): string => (label === id ? id : `${label} (${id})`);

/** An empty secret needs no answer if a value exists already, or one is generated. */
export function mayStayEmpty(field: FormField): boolean {
  return !field.required || (field.kind === 'secret' && (field.generated === true || field.kept === true));
}

export function fieldProblem(field: FormField, value: string): string | undefined {
  if (value === '') {
    if (mayStayEmpty(field)) return undefined;
    return field.kind === 'choice' ? 'Choose one.' : 'A value is required.';
  }
  if (field.kind === 'choice' && !field.choices?.some((choice) => choice.value === value))
    return `Choose one of ${(field.choices ?? []).map((choice) => choice.value).join(', ')}.`;
  return field.check?.(value);
}

/** Returns the problems by field, in the order of the form. Rules between fields are checked only if each field is valid by itself. */
export function formProblems(form: Form, values: FormValues): Record<string, string> {
  const problems: Record<string, string> = {};
  const between = form.check?.(values) ?? {};
  for (const field of form.fields) {
    const problem = fieldProblem(field, values[field.id] ?? '') ?? between[field.id];
    if (problem !== undefined) problems[field.id] = problem;
  }
  return problems;
}

export function initialValues(form: Form): Record<string, string> {
  return Object.fromEntries(form.fields.map(({ id, value }) => [id, value]));
}
