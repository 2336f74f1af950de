import { mayStayEmpty } from '../../../session/form-checks.ts';
import type { FormField } from '../../../session/session.ts';
import { cleanLine } from '../../../text/clean.ts';
import { cut, pad, textWidth, wrap } from '../../../text/width.ts';
import { fieldText } from '../../filter-text.ts';
import { dialogIn, dialogScreen } from '../../front-run.ts';
import type { Keymap } from '../../keymap.ts';
import { filled, listWindow, type Room, type Screen } from '../../screen.ts';
import { cutStyled, padStyled, paragraph, styledWidth } from '../../styled-text.ts';
import { characters } from '../../text-field.ts';
import type { Theme } from '../../theme.ts';
import { changedFields, type FormDialog, fieldAt, pasteForm, pressForm, visibleProblems } from './dialog.ts';

const keys = [
  { id: 'next-field', keys: ['tab', 'down'], title: 'Next field (also Enter)' },
  { id: 'previous-field', keys: ['shift+tab', 'up'], title: 'Previous field' },
  { id: 'next-choice', keys: ['right', 'space'], title: 'Next choice of a field (also l)' },
  { id: 'previous-choice', keys: ['left'], title: 'Previous choice of a field (also h)' },
  { id: 'apply-form', keys: ['ctrl+s'], title: 'Continue with these answers' },
] as const;

export const form: Screen<'form', (typeof keys)[number]['id']> = {
  id: 'form',
  heading: 'Forms',
  keys,
  ...dialogScreen('form'),
  open({ store, keymap, commands }) {
    let page = 1;
    return {
      draw({ theme, state, width, height, previousTop }) {
        const { run, dialog } = dialogIn(state, 'form');
        const changed = changedFields(dialog).length;
        const { page: seen, ...drawn } = formScreen(dialog, theme, keymap, { width: width - 2, height: height - 2, previousTop });
        return {
          title: cleanLine(dialog.form.title) + run.where,
          aside: changed > 0 ? theme.paint('accent', `${theme.glyphs.mark} ${changed} changed`) : '',
          below: run.command,
          edgeRole: dialog.leaving ? 'warning' : undefined,
          ...drawn,
          shown: () => {
            page = seen;
          },
        };
      },
      speak: ({ theme, state }) => ({ lines: formSentences(dialogIn(state, 'form').dialog, theme) }),
      footer({ state, of }) {
        const { dialog } = dialogIn(state, 'form');
        if (dialog.leaving) return { items: [of('yes', 'yes, leave')], always: [of('no', 'no'), of('cancel', 'stay')] };
        const field = fieldAt(dialog);
        const items =
          field?.kind === 'choice'
            ? [{ key: `${of('previous-choice').key}/${of('next-choice').key}`, label: 'choose' }, of('next-field', 'next')]
            : [...(field ? [of('accept', 'next')] : []), of('previous-field', 'previous')];
        return { items, always: [field ? of('apply-form', 'continue') : of('accept', 'continue'), of('cancel', 'cancel')] };
      },
      press(press) {
        const { run, dialog } = dialogIn(store.get(), 'form');
        commands.runs.step(run.id, pressForm(dialog, press, keymap.is, page));
        return true;
      },
      paste(text) {
        const { run, dialog } = dialogIn(store.get(), 'form');
        const change = pasteForm(dialog, text);
        commands.runs.step(run.id, change && { change });
        return change !== undefined;
      },
    };
  },
};

/** The mask of a secret in an unselected field does not reveal its length. */
const restingMask = 8;

function emptyText(field: FormField): string {
  if (field.kind === 'secret' && field.kept) return 'unchanged';
  if (field.kind === 'secret' && field.generated) return 'generated if empty';
  return mayStayEmpty(field) ? 'none' : 'required';
}

function choiceText(field: FormField, value: string, here: boolean, theme: Theme, room: number): string {
  const choices = field.choices ?? [];
  const now = choices.findIndex((choice) => choice.value === value);
  const label = (index: number) => cleanLine(choices[index]?.label ?? value);
  if (!here) return now < 0 ? theme.paint('warning', value === '' ? emptyText(field) : cleanLine(value)) : label(now);
  const [on, off, left, right] = theme.ascii ? (['(*)', '( )', '<', '>'] as const) : (['◉', '○', '‹', '›'] as const);
  const line = choices
    .map((_, index) => (index === now ? theme.paint('strong', `${on} ${label(index)}`) : theme.paint('faint', `${off} ${label(index)}`)))
    .join('   ');
  if (styledWidth(line) <= room) return line;
  const count = theme.paint('faint', now < 0 ? `${choices.length} choices` : `${now + 1} of ${choices.length}`);
  const chosen = now < 0 ? theme.paint('warning', emptyText(field)) : theme.paint('strong', label(now));
  return `${theme.paint('key', left)} ${chosen} ${theme.paint('key', right)}  ${count}`;
}

function textOf(dialog: FormDialog, field: FormField, here: boolean, theme: Theme, room: number): string {
  const value = dialog.values[field.id] ?? '';
  const empty = emptyText(field);
  if (!here) {
    if (value === '') return theme.paint(empty === 'required' ? 'warning' : 'faint', empty);
    return field.kind === 'secret' ? theme.glyphs.mask.repeat(restingMask) : cleanLine(value);
  }
  // The placeholder stays in position: the cursor is on its first letter.
  if (dialog.field.text === '') return caretLeads(theme) ? theme.paint('faint', empty) : caretOn(theme, empty);
  const hide = (text: string) => (field.kind === 'secret' ? theme.glyphs.mask.repeat(characters(text).length) : text);
  // A long value shows its end, where the cursor usually is.
  // The initial value may contain any characters; typed text is clean already.
  const all = characters(cleanLine(dialog.field.text));
  const from = Math.max(0, dialog.field.cursor - (room - 3));
  let typed = '';
  let shown = from;
  for (; shown < all.length && textWidth(hide(typed + all[shown])) <= room - 2; shown++) typed += all[shown];
  return fieldText(theme, { text: typed, cursor: dialog.field.cursor - from }, hide);
}

/** Without colours the cursor is an extra character, and precedes the text. */
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
  const mark = wrong ? theme.paint('error', glyphs.severity.error) : changed ? theme.paint('accent', glyphs.mark) : ' ';
  const room = width - labelWidth - 6;
  const value =
    field.kind === 'choice'
      ? choiceText(field, dialog.values[field.id] ?? '', here, theme, room)
      : textOf(dialog, field, here, theme, room);
  const caret = here && field.kind !== 'choice' && dialog.field.text === '' && caretLeads(theme) ? '_' : ' ';
  const line = `${pointer} ${named} ${mark}${caret}${cutStyled(value, room, glyphs.ellipsis)}`;
  const variable = field.id === field.label ? '' : `  ${field.id}`;
  const rest = width - styledWidth(line) - variable.length;
  return rest < 0 ? line : `${line}${' '.repeat(rest)}${theme.paint('faint', variable)}`;
}

function continueLine(dialog: FormDialog, theme: Theme, keymap: Keymap): string {
  const key = `  ${theme.paint('key', keymap.keyOf('apply-form'))} ${theme.paint('faint', 'from anywhere')}`;
  if (fieldAt(dialog)) return `  [ Continue ]${key}`;
  return `${theme.paint('accent', theme.glyphs.pointer)} ${theme.paint('badge', '[ Continue ]')}${key}`;
}

function helpText(dialog: FormDialog, field: FormField, labelWidth: number): string {
  const label = cleanLine(field.label);
  const detail = field.choices?.find(({ value }) => value === dialog.values[field.id])?.detail;
  const whole = textWidth(label) > labelWidth ? `${label}:` : undefined;
  return [whole, detail === 'default' ? 'Default.' : detail, field.help].filter((text) => text !== undefined).join(' ');
}

interface AboutSpace extends Pick<Room, 'width' | 'height'> {
  theme: Theme;
  labelWidth: number;
  problems: Readonly<Record<string, string>>;
}

/** Enough for the longest help of this form, so that nothing is cut and nothing jumps, and half of the screen at most. */
function aboutHeight(dialog: FormDialog, { width, height, labelWidth, problems }: AboutSpace): number {
  const rowsOf = (text: string) => (text === '' ? 0 : wrap(cleanLine(text), width).length);
  const needed = dialog.form.fields.map((field) => {
    const problem = problems[field.id];
    return rowsOf(problem === undefined ? '' : `x ${problem}`) + rowsOf(helpText(dialog, field, labelWidth));
  });
  const least = Math.max(2, Math.min(4, Math.floor(height / 5)));
  return Math.max(least, Math.min(Math.floor(height / 2), Math.max(0, ...needed)));
}

function aboutLines(dialog: FormDialog, { theme, width, height, labelWidth, problems }: AboutSpace): string[] {
  const field = fieldAt(dialog);
  const lines: string[] = [];
  if (dialog.leaving) {
    const count = changedFields(dialog).length;
    lines.push(
      ...paragraph(theme, 'warning', `Discard the changes to ${count === 1 ? 'one field' : `${count} fields`}?`, width),
      `${theme.paint('key', 'y')} yes, leave     ${theme.paint('key', 'n')} no, stay`,
    );
  } else if (field) {
    const problem = problems[field.id];
    if (problem !== undefined) lines.push(...paragraph(theme, 'error', `${theme.glyphs.severity.error} ${problem}`, width));
    lines.push(...paragraph(theme, 'faint', helpText(dialog, field, labelWidth), width));
  } else {
    const count = Object.keys(problems).length;
    if (count > 0) lines.push(theme.paint('error', `${count === 1 ? 'One field is' : `${count} fields are`} invalid.`));
    else lines.push(theme.paint('faint', 'Continues with these answers.'));
  }
  const shown = lines.slice(0, height);
  if (lines.length > height)
    shown[height - 1] = cutStyled(`${shown[height - 1] ?? ''} ${theme.glyphs.ellipsis}`, width, theme.glyphs.ellipsis);
  return filled(shown, height);
}

function formScreen(dialog: FormDialog, theme: Theme, keymap: Keymap, { width, height, previousTop }: Room) {
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
  lines.push(continueLine(dialog, theme, keymap));

  const space = { theme, width: inner, labelWidth, problems };
  const aboutRows = aboutHeight(dialog, { ...space, height });
  const listHeight = Math.max(1, height - aboutRows - 1);
  // The heading of the first field stays visible with it.
  const { top, visible } = listWindow(lines, { previous: previousTop, selected: dialog.at === 0 ? 0 : selected, height: listHeight });
  const more = fieldAt(dialog) ? ` ${dialog.at + 1} of ${dialog.form.fields.length} ` : '';
  const { across } = theme.frame(false);
  const rule = theme.paint('border', across.repeat(Math.max(0, inner - more.length))) + theme.paint('faint', more);
  const about = aboutLines(dialog, { ...space, height: aboutRows });
  const rows = [...filled(visible, listHeight), rule, ...about];
  return { rows: rows.map((row) => ` ${padStyled(row, inner, theme.glyphs.ellipsis)} `), top, page: Math.max(1, listHeight - 2) };
}

function formSentences(dialog: FormDialog, theme: Theme): string[] {
  const { form, at } = dialog;
  const field = fieldAt(dialog);
  const problems = visibleProblems(dialog);
  const changed = changedFields(dialog).length;
  const lines = [`Form: ${cleanLine(form.title)}. ${changed === 0 ? 'Nothing changed' : `${changed} changed`}.`];
  if (dialog.leaving) return [...lines, `Discard the changes? y yes, n no.`];
  if (!field) {
    const count = Object.keys(problems).length;
    return [...lines, count === 0 ? 'End of the form. Enter continues.' : `End of the form. Invalid fields: ${count}.`];
  }
  const value = dialog.values[field.id] ?? '';
  const choices = field.choices ?? [];
  const choice = choices.findIndex((each) => each.value === value);
  const said = {
    ...{ text: value, secret: `secret, ${characters(value).length} characters` },
    choice: choice < 0 ? value : `${choices[choice]?.label}, ${choice + 1} of ${choices.length}`,
  }[field.kind];
  const shown = value === '' ? emptyText(field) : cleanLine(said);
  lines.push(`Field ${at + 1} of ${form.fields.length}, ${cleanLine(field.section)}.`, `${cleanLine(field.label)}: ${shown}.`);
  if (problems[field.id] !== undefined) lines.push(`${theme.glyphs.severity.error} ${cleanLine(problems[field.id] ?? '')}`);
  if (field.help) lines.push(cleanLine(field.help));
  return lines;
}
