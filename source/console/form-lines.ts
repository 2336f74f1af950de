import { mayStayEmpty } from '../session/form-checks.ts';
import type { FormField } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';
import { fieldText } from './filter-text.ts';
import { changedFields, type FormDialog, fieldAt, visibleProblems } from './form-dialog.ts';
import { keyText } from './key-press.ts';
import type { Keymap } from './keymap.ts';
import { windowStart } from './layout.ts';
import { cutStyled, padStyled, styledWidth } from './styled-text.ts';
import { characters } from './text-field.ts';
import type { Theme } from './theme.ts';

/** A secret that is not at hand does not tell how long it is. */
const restingMask = 8;

export interface FormScreen {
  rows: string[];
  /** Top row of the list of fields, for the next frame. */
  top: number;
  /** Fields on a page. */
  page: number;
}

/** What an empty field means. */
function emptyText(field: FormField): string {
  if (field.kind === 'secret' && field.kept) return 'kept as it is';
  if (field.kind === 'secret' && field.generated) return 'generated when left empty';
  return mayStayEmpty(field) ? 'none' : 'needed';
}

function choiceText(field: FormField, value: string, here: boolean, theme: Theme, room: number): string {
  const choices = field.choices ?? [];
  const now = choices.findIndex((choice) => choice.value === value);
  const label = (index: number) => cleanLine(choices[index]?.label ?? value);
  if (!here) return now < 0 ? theme.paint('warn', value === '' ? emptyText(field) : cleanLine(value)) : label(now);
  const { radio } = theme.ascii ? { radio: ['(*)', '( )'] } : { radio: ['◉', '○'] };
  const all = choices.map((_, index) => {
    const text = `${index === now ? radio[0] : radio[1]} ${label(index)}`;
    return index === now ? theme.paint('strong', text) : theme.paint('faint', text);
  });
  const line = all.join('   ');
  if (styledWidth(line) <= room) return line;
  const [left, right] = theme.ascii ? ['<', '>'] : ['‹', '›'];
  const count = theme.paint('faint', `${now + 1} of ${choices.length}`);
  return `${theme.paint('key', left ?? '')} ${now < 0 ? theme.paint('warn', emptyText(field)) : theme.paint('strong', label(now))} ${theme.paint('key', right ?? '')}  ${count}`;
}

function textOf(dialog: FormDialog, field: FormField, here: boolean, theme: Theme, room: number): string {
  const value = dialog.values[field.id] ?? '';
  const empty = emptyText(field);
  if (!here) {
    if (value === '') return theme.paint(empty === 'needed' ? 'warn' : 'faint', empty);
    return field.kind === 'secret' ? theme.glyphs.mask.repeat(restingMask) : cleanLine(value);
  }
  // What stands there instead stays where it is: the cursor is on its first letter.
  if (dialog.field.text === '') return caretLeads(theme) ? theme.paint('faint', empty) : caretOn(theme, empty);
  const hide = (text: string) => (field.kind === 'secret' ? theme.glyphs.mask.repeat(characters(text).length) : text);
  // A long value shows its end, where the cursor mostly is.
  // What stood there before may come from anywhere; what is typed is clean already.
  const all = characters(cleanLine(dialog.field.text));
  const from = Math.max(0, dialog.field.cursor - (room - 3));
  let typed = '';
  let shown = from;
  for (; shown < all.length && textWidth(hide(typed + all[shown])) <= room - 2; shown++) typed += all[shown];
  return fieldText(theme, { text: typed, cursor: dialog.field.cursor - from }, hide);
}

/** Without colours the cursor is a character of its own: it stands before the column then. */
const caretLeads = ({ depth }: Theme) => depth === 'none';
const caretOn = (theme: Theme, text: string) => `${theme.paint('badge', text.slice(0, 1))}${theme.paint('faint', text.slice(1))}`;

function fieldLine(dialog: FormDialog, index: number, theme: Theme, labelWidth: number, width: number, wrong: boolean): string {
  const field = dialog.form.fields[index] as FormField;
  const here = dialog.at === index;
  const { glyphs } = theme;
  const changed = dialog.values[field.id] !== field.value;
  const pointer = here ? theme.paint('accent', glyphs.pointer) : ' ';
  const label = pad(cleanLine(field.label), labelWidth, 'left', glyphs.ellipsis);
  const named = here ? theme.paint('strong', label) : label;
  const mark = wrong ? theme.paint('bad', glyphs.tone.bad) : changed ? theme.paint('accent', glyphs.mark) : ' ';
  const room = width - labelWidth - 6;
  const value =
    field.kind === 'choice'
      ? choiceText(field, dialog.values[field.id] ?? '', here, theme, room)
      : textOf(dialog, field, here, theme, room);
  const caret = here && field.kind !== 'choice' && dialog.field.text === '' && caretLeads(theme) ? '_' : ' ';
  return `${pointer} ${named} ${mark}${caret}${cutStyled(value, room, glyphs.ellipsis)}`;
}

function wayOn(dialog: FormDialog, theme: Theme, keymap: Keymap): string {
  const here = fieldAt(dialog) === undefined;
  const key = `  ${theme.paint('key', keyText(keymap.binding('apply-form').keys[0] ?? ''))} ${theme.paint('faint', 'from anywhere')}`;
  if (!here) return `  [ Continue ]${key}`;
  return `${theme.paint('accent', theme.glyphs.pointer)} ${theme.paint('badge', '[ Continue ]')}${key}`;
}

/** What a choice and its field mean, below the label where that is cut. */
function helpText(dialog: FormDialog, field: FormField, labelWidth: number): string {
  const label = cleanLine(field.label);
  const detail = field.choices?.find(({ value }) => value === dialog.values[field.id])?.detail;
  const whole = textWidth(label) > labelWidth ? `${label}:` : undefined;
  return [whole, detail === 'default' ? 'The default.' : detail, field.help].filter((text) => text !== undefined).join(' ');
}

/** Rows for what is about a field: enough for the longest of this form, so that nothing is cut and nothing jumps, and half of the screen at most. */
function aboutHeight(
  dialog: FormDialog,
  problems: Readonly<Record<string, string>>,
  { width, height, labelWidth }: { width: number; height: number; labelWidth: number },
): number {
  const needed = dialog.form.fields.map((field) => {
    const problem = problems[field.id];
    const help = helpText(dialog, field, labelWidth);
    return (
      (problem === undefined ? 0 : wrap(`x ${cleanLine(problem)}`, width).length) + (help === '' ? 0 : wrap(cleanLine(help), width).length)
    );
  });
  const least = Math.max(2, Math.min(4, Math.floor(height / 5)));
  return Math.max(least, Math.min(Math.floor(height / 2), Math.max(0, ...needed)));
}

/** About the field at hand: what is wrong with it, and what it means. Always of the same height, so that nothing jumps. */
function aboutLines(
  dialog: FormDialog,
  problems: Readonly<Record<string, string>>,
  theme: Theme,
  { width, height, labelWidth }: { width: number; height: number; labelWidth: number },
): string[] {
  const field = fieldAt(dialog);
  const lines: string[] = [];
  if (dialog.leaving) {
    const count = changedFields(dialog).length;
    lines.push(
      ...wrap(`Throw away what was typed into ${count === 1 ? 'one field' : `${count} fields`}?`, width).map((line) =>
        theme.paint('warn', line),
      ),
      `${theme.paint('key', 'y')} yes, leave     ${theme.paint('key', 'n')} no, stay`,
    );
  } else {
    const problem = field && problems[field.id];
    if (problem !== undefined) {
      lines.push(...wrap(`${theme.glyphs.tone.bad} ${cleanLine(problem)}`, width).map((line) => theme.paint('bad', line)));
    }
    const count = Object.keys(problems).length;
    if (!field && count > 0) lines.push(theme.paint('bad', `${count === 1 ? 'One field is' : `${count} fields are`} not right yet.`));
    const help = field ? helpText(dialog, field, labelWidth) : '';
    if (help !== '') lines.push(...wrap(cleanLine(help), width).map((line) => theme.paint('faint', line)));
    if (!field && count === 0) lines.push(theme.paint('faint', 'Shows what would be done before anything is.'));
  }
  const shown = lines.slice(0, height);
  if (lines.length > height)
    shown[height - 1] = cutStyled(`${shown[height - 1] ?? ''} ${theme.glyphs.ellipsis}`, width, theme.glyphs.ellipsis);
  while (shown.length < height) shown.push('');
  return shown;
}

/** The fields under their headings, as many as fit, and below them what is to be known about the one at hand. */
export function formScreen(
  dialog: FormDialog,
  theme: Theme,
  keymap: Keymap,
  { width, height, previousTop }: { width: number; height: number; previousTop: number },
): FormScreen {
  const inner = width - 2;
  const widest = Math.max(...dialog.form.fields.map(({ label }) => textWidth(cleanLine(label))), 8);
  const labelWidth = Math.min(widest, Math.max(8, Math.floor(inner * 0.42)));
  const problems = visibleProblems(dialog);
  const lines: string[] = [];
  let selected = 0;
  let section: string | undefined;
  const roomy = height >= 14;
  for (const [index, field] of dialog.form.fields.entries()) {
    if (field.section !== section) {
      section = field.section;
      if (roomy && lines.length > 0) lines.push('');
      if (section !== '') lines.push(theme.paint('heading', cut(cleanLine(section), inner, theme.glyphs.ellipsis)));
    }
    if (index === dialog.at) selected = lines.length;
    lines.push(fieldLine(dialog, index, theme, labelWidth, inner, problems[field.id] !== undefined));
  }
  if (roomy) lines.push('');
  if (fieldAt(dialog) === undefined) selected = lines.length;
  lines.push(wayOn(dialog, theme, keymap));

  const about = aboutHeight(dialog, problems, { width: inner, height, labelWidth });
  const listHeight = Math.max(1, height - about - 1);
  // The heading of the first field is seen with it.
  const top = dialog.at === 0 ? 0 : windowStart({ previous: previousTop, selected, height: listHeight, total: lines.length });
  const visible = lines.slice(top, top + listHeight);
  while (visible.length < listHeight) visible.push('');
  const more = fieldAt(dialog) ? ` ${dialog.at + 1} of ${dialog.form.fields.length} ` : '';
  const across = theme.frame(false).across;
  const rule = theme.paint('border', across.repeat(Math.max(0, inner - more.length))) + theme.paint('faint', more);
  const rows = [...visible, rule, ...aboutLines(dialog, problems, theme, { width: inner, height: about, labelWidth })];
  return { rows: rows.map((row) => ` ${padStyled(row, inner, theme.glyphs.ellipsis)} `), top, page: Math.max(1, listHeight - 2) };
}

/** `3 changed`, or nothing. */
export function changedText(dialog: FormDialog, theme: Theme): string {
  const count = changedFields(dialog).length;
  return count === 0 ? '' : theme.paint('accent', `${theme.glyphs.mark} ${count} changed`);
}

/** The field at hand in sentences. */
export function formSentences(dialog: FormDialog, theme: Theme): string[] {
  const { form, at } = dialog;
  const field = fieldAt(dialog);
  const problems = visibleProblems(dialog);
  const changed = changedFields(dialog).length;
  const lines = [`Form: ${cleanLine(form.title)}. ${changed === 0 ? 'Nothing changed' : `${changed} changed`}.`];
  if (dialog.leaving) return [...lines, `Throw away what was typed? y yes, n no.`];
  if (!field) {
    const count = Object.keys(problems).length;
    return [...lines, count === 0 ? 'End of the form. Enter goes on.' : `End of the form. ${count} not right yet.`];
  }
  const value = dialog.values[field.id] ?? '';
  const choice = field.choices?.findIndex((each) => each.value === value) ?? -1;
  const said =
    value === ''
      ? emptyText(field)
      : field.kind === 'secret'
        ? `secret, ${characters(value).length} characters`
        : field.kind === 'choice'
          ? `${cleanLine(field.choices?.[choice]?.label ?? value)}, ${choice + 1} of ${field.choices?.length ?? 0}`
          : cleanLine(value);
  lines.push(`Field ${at + 1} of ${form.fields.length}, ${cleanLine(field.section)}.`, `${cleanLine(field.label)}: ${said}.`);
  if (problems[field.id] !== undefined) lines.push(`${theme.glyphs.tone.bad} ${cleanLine(problems[field.id] ?? '')}`);
  if (field.help) lines.push(cleanLine(field.help));
  return lines;
}
