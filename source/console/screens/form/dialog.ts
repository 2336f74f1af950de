import { type FormValues, fieldProblem, formProblems, initialValues } from '../../../session/form-checks.ts';
import type { Form, FormField } from '../../../session/session.ts';
import type { DialogStep } from '../../interface-store.ts';
import type { KeyPress } from '../../key-press.ts';
import type { Keymap } from '../../keymap.ts';
import { editField, fieldOf, pasteInto, type TextField } from '../../text-field.ts';

export interface FormDialog {
  kind: 'form';
  form: Form;
  values: FormValues;
  /** Index of the selected field. The number of fields stands for the button below them. */
  at: number;
  field: TextField;
  /** Fields that were changed: errors of other fields are not shown yet. */
  touched: ReadonlySet<string>;
  /** The form was submitted: from now on every error is shown. */
  tried: boolean;
  /** Esc was pressed, and changes would be lost. */
  leaving: boolean;
}

export function openForm(form: Form): FormDialog {
  const values = initialValues(form);
  const problems = formProblems(form, values);
  const invalid = form.fields.findIndex(({ id }) => problems[id] !== undefined);
  const at = Math.max(0, invalid);
  return {
    kind: 'form',
    form,
    values,
    at,
    field: fieldOf(values[form.fields[at]?.id ?? ''] ?? ''),
    touched: new Set(),
    tried: false,
    leaving: false,
  };
}

export const fieldAt = ({ form, at }: FormDialog): FormField | undefined => form.fields[at];

export function changedFields({ form, values }: FormDialog): readonly FormField[] {
  return form.fields.filter(({ id, value }) => values[id] !== value);
}

/** Returns the errors to show: those of changed fields and between fields, and after a submit all of them. */
export function visibleProblems({ form, values, touched, tried }: FormDialog): Readonly<Record<string, string>> {
  const problems = formProblems(form, values);
  if (tried) return problems;
  return Object.fromEntries(
    form.fields.flatMap((field) => {
      const problem = problems[field.id];
      const own = problem !== undefined && fieldProblem(field, values[field.id] ?? '') === problem;
      return problem === undefined || (own && !touched.has(field.id)) ? [] : [[field.id, problem]];
    }),
  );
}

function atField(dialog: FormDialog, at: number): Pick<FormDialog, 'at' | 'field'> {
  const next = Math.max(0, Math.min(dialog.form.fields.length, at));
  return { at: next, field: fieldOf(dialog.values[dialog.form.fields[next]?.id ?? ''] ?? '') };
}

function withText(dialog: FormDialog, id: string, field: TextField): Partial<FormDialog> {
  if (field.text === dialog.values[id]) return { field };
  return { field, values: { ...dialog.values, [id]: field.text }, touched: new Set([...dialog.touched, id]) };
}

function chosen(dialog: FormDialog, { id, choices = [] }: FormField, step: number): Partial<FormDialog> {
  const now = choices.findIndex(({ value }) => value === dialog.values[id]);
  const next = choices[now < 0 ? 0 : (now + step + choices.length) % choices.length];
  return next ? { values: { ...dialog.values, [id]: next.value }, touched: new Set([...dialog.touched, id]) } : {};
}

function goOn(dialog: FormDialog): DialogStep {
  const problems = formProblems(dialog.form, dialog.values);
  const first = dialog.form.fields.findIndex(({ id }) => problems[id] !== undefined);
  return first < 0 ? { answer: dialog.values } : { change: { ...atField(dialog, first), tried: true } };
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the order of these cases is the precedence of the keys
export function pressForm(dialog: FormDialog, press: KeyPress, is: Keymap['is'], page: number): DialogStep {
  if (dialog.leaving) {
    if ((is(press, 'yes') && !press.together) || press.name === 'ctrl+c') return 'leave';
    return is(press, 'no') || is(press, 'cancel') || is(press, 'accept') ? { change: { leaving: false } } : undefined;
  }
  const field = fieldAt(dialog);
  if (is(press, 'cancel')) return changedFields(dialog).length > 0 ? { change: { leaving: true } } : 'leave';
  if (is(press, 'apply-form')) return goOn(dialog);
  if (is(press, 'accept')) return field ? { change: atField(dialog, dialog.at + 1) } : goOn(dialog);
  const step = is(press, 'next-choice') || press.name === 'l' ? 1 : is(press, 'previous-choice') || press.name === 'h' ? -1 : 0;
  if (field?.kind === 'choice' && step !== 0) return { change: chosen(dialog, field, step) };
  const isTyped = field !== undefined && field.kind !== 'choice';
  const at = fieldTarget(dialog, press, is, page, isTyped);
  if (at !== undefined) return { change: atField(dialog, at) };
  const edited = isTyped && editField(dialog.field, press);
  return edited ? { change: withText(dialog, field.id, edited) } : undefined;
}

/** Returns the field that a key selects. Letters, Home and End do so only where no text is typed. */
function fieldTarget({ at, form }: FormDialog, press: KeyPress, is: Keymap['is'], page: number, isTyped: boolean): number | undefined {
  const { name } = press;
  if (is(press, 'next-field') || (!isTyped && name === 'j')) return at + 1;
  if (is(press, 'previous-field') || (!isTyped && name === 'k')) return at - 1;
  if (name === 'pagedown') return at + page;
  if (name === 'pageup') return at - page;
  if (isTyped) return undefined;
  if (name === 'home' || name === 'g') return 0;
  return name === 'end' || name === 'G' ? form.fields.length : undefined;
}

export function pasteForm(dialog: FormDialog, text: string): Partial<FormDialog> | undefined {
  const field = fieldAt(dialog);
  if (dialog.leaving || !field || field.kind === 'choice') return undefined;
  return withText(dialog, field.id, pasteInto(dialog.field, text, field.kind === 'secret'));
}
