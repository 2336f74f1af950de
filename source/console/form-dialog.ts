import { type FormValues, fieldProblem, formProblems, initialValues } from '../session/form-checks.ts';
import type { Form, FormField } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { KeyPress } from './key-press.ts';
import type { CommandId } from './keymap.ts';
import { editField, fieldOf, type TextField, typeInto } from './text-field.ts';

/** A form on the screen, with what was typed so far. */
export interface FormDialog {
  kind: 'form';
  form: Form;
  values: FormValues;
  /** Which field is at hand; as many as there are fields is the way on, below them. */
  at: number;
  /** The text of the field at hand, where it has one. */
  field: TextField;
  /** Fields that were changed: what is wrong with others is not held against anybody yet. */
  touched: ReadonlySet<string>;
  /** It was tried to go on with it: now everything that is wrong is said. */
  tried: boolean;
  /** Esc was pressed, and something would be lost. */
  leaving: boolean;
}

export function openForm(form: Form): FormDialog {
  const values = initialValues(form);
  const problems = formProblems(form, values);
  const at = Math.max(
    0,
    form.fields.findIndex(({ id }) => problems[id] !== undefined),
  );
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

export function fieldAt({ form, at }: FormDialog): FormField | undefined {
  return form.fields[at];
}

/** Fields whose value is not what stood in them at first. */
export function changedFields({ form, values }: FormDialog): readonly FormField[] {
  return form.fields.filter(({ id, value }) => values[id] !== value);
}

/** What is wrong and should be said now: of fields that were changed, between fields, and everything once it was tried to go on. */
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

/** The dialog with another field at hand, the cursor at the end of its text. */
export function atField(dialog: FormDialog, at: number): Pick<FormDialog, 'at' | 'field'> {
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

/** What a key leads to: another state of the dialog, the answer, or leaving it. */
export type FormStep = { change: Partial<FormDialog> } | { answer: FormValues } | 'leave' | undefined;

function goOn(dialog: FormDialog): FormStep {
  const problems = formProblems(dialog.form, dialog.values);
  const first = dialog.form.fields.findIndex(({ id }) => problems[id] !== undefined);
  return first < 0 ? { answer: dialog.values } : { change: { ...atField(dialog, first), tried: true } };
}

export function pressForm(
  dialog: FormDialog,
  press: KeyPress,
  is: (press: KeyPress, command: CommandId) => boolean,
  page: number,
): FormStep {
  if (dialog.leaving) {
    if ((is(press, 'yes') && !press.together) || press.name === 'ctrl+c') return 'leave';
    return is(press, 'no') || is(press, 'cancel') || is(press, 'accept') ? { change: { leaving: false } } : undefined;
  }
  const field = fieldAt(dialog);
  if (is(press, 'cancel')) return changedFields(dialog).length > 0 ? { change: { leaving: true } } : 'leave';
  if (is(press, 'apply-form')) return goOn(dialog);
  if (is(press, 'accept')) return field ? { change: atField(dialog, dialog.at + 1) } : goOn(dialog);
  if (field?.kind === 'choice') {
    if (is(press, 'next-choice') || press.name === 'l') return { change: chosen(dialog, field, 1) };
    if (is(press, 'previous-choice') || press.name === 'h') return { change: chosen(dialog, field, -1) };
  }
  const typing = field !== undefined && field.kind !== 'choice';
  if (is(press, 'next-field') || (!typing && press.name === 'j')) return { change: atField(dialog, dialog.at + 1) };
  if (is(press, 'previous-field') || (!typing && press.name === 'k')) return { change: atField(dialog, dialog.at - 1) };
  if (press.name === 'pagedown') return { change: atField(dialog, dialog.at + page) };
  if (press.name === 'pageup') return { change: atField(dialog, dialog.at - page) };
  if (!typing) {
    if (press.name === 'home' || press.name === 'g') return { change: atField(dialog, 0) };
    if (press.name === 'end' || press.name === 'G') return { change: atField(dialog, dialog.form.fields.length) };
    return undefined;
  }
  const edited = editField(dialog.field, press);
  return edited && { change: withText(dialog, field.id, edited) };
}

/** Undefined where nothing can be typed. */
export function pasteForm(dialog: FormDialog, text: string): Partial<FormDialog> | undefined {
  const field = fieldAt(dialog);
  if (dialog.leaving || !field || field.kind === 'choice') return undefined;
  // A secret is taken as it is, but for what cannot be typed; and what pasted lines end with is no Enter.
  const clean = field.kind === 'secret' ? text.trim().replace(/[\x00-\x1f\x7f]/g, '') : cleanLine(text.trim());
  return withText(dialog, field.id, typeInto(dialog.field, clean));
}
