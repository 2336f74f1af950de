import { reviewLines } from '../../../app/review-text.ts';
import { tableLines } from '../../../app/table.ts';
import { todoLines } from '../../../app/todo-text.ts';
import type { Choice, Shown, ShownSecret } from '../../../session/session.ts';
import { cleanLine, cleanLines } from '../../../text/clean.ts';
import { blockSize, type Modules, moduleBlocks } from '../../../text/module-blocks.ts';
import { pad, textWidth, wrap } from '../../../text/width.ts';
import { fieldText } from '../../filter-text.ts';
import { isRunning } from '../../front-run.ts';
import type { Dialog, RunView } from '../../interface-store.ts';
import type { CommandId, Keymap } from '../../keymap.ts';
import { filled, listWindow, type View } from '../../screen.ts';
import { cutStyled, paragraph, styledWidth } from '../../styled-text.ts';
import { characters } from '../../text-field.ts';
import type { Theme } from '../../theme.ts';
import { limitedRows, wholeRow } from '../../widgets/table-rows.ts';
import { itemLines, progressBar, runningLines } from './progress.ts';

/** The width of a date: narrower columns are not cut. */
const shortCell = 10;

function shownTable(table: Extract<Shown, { kind: 'table' }>, { theme, room }: RunSpace): string[] {
  const rows = table.rows.map((row) => row.map(cleanLine));
  // A cut date or number would be misleading.
  const isShort = (index: number) => rows.every((row) => textWidth(row[index] ?? '') <= shortCell);
  const columns = table.columns.map((heading, index) => ({
    heading,
    align: table.align?.[index] ?? ('left' as const),
    ...(!isShort(index) && { least: 8 }),
  }));
  return [
    ...(table.title ? [theme.paint('heading', cleanLine(table.title))] : []),
    ...tableLines(columns, rows, { width: room, heading: (text) => theme.paint('faint', text), whole: true }),
  ];
}

/** A run, and where and how it is shown. */
interface RunSpace extends Pick<View, 'theme' | 'height' | 'nowMs'> {
  run: RunView;
  keymap: Keymap;
  /** The width of its texts. */
  room: number;
  /** False where output is kept, as in the scrollback of a screen reader. */
  drawn: boolean;
}

const secondsLeftOf = ({ secretUntilMs }: RunView, nowMs: number) => Math.max(0, Math.ceil(((secretUntilMs ?? nowMs) - nowMs) / 1000));

function secretLines({ label, value, secondsLeft, code }: ShownSecret, space: RunSpace): string[] {
  const { theme, room } = space;
  const head = [...paragraph(theme, 'strong', label, room), ''];
  const hidden = theme.glyphs.mask.repeat(8);
  if (value === '') return [...head, hidden, '', ...paragraph(theme, 'faint', 'Masked. A stored value can be shown again.', room)];
  const left = `${Math.min(secondsLeft, secondsLeftOf(space.run, space.nowMs))} s`;
  return [
    ...head,
    ...(space.drawn ? valueLines(value, space) : [hidden]),
    ...(code ? ['', ...codeLines(code, space)] : []),
    '',
    `${theme.paint('key', space.keymap.keyOf('copy-secret'))} copies it   ${theme.paint('faint', `masked again in ${left}`)}`,
  ];
}

/** An empty line of a secret stays. */
function valueLines(value: string, { theme, room }: RunSpace): string[] {
  return cleanLines(value).flatMap((line) => wrap(line, room).map((part) => theme.paint('accent', part)));
}

function codeLines(code: Modules, { run, theme, room, height, keymap, drawn }: RunSpace): string[] {
  const size = blockSize(code, theme);
  // A camera cannot read half of a code.
  if (drawn && size.columns <= room && size.rows <= height - endRows) return codeBlocks(code, theme, run.codeSwapped);
  const save = keymap.keyOf('save-code');
  const how = drawn
    ? `${keymap.keyOf('show-code')} shows its QR code on the whole screen, ${save} saves it to a file.`
    : `${save} saves its QR code to a file.`;
  return paragraph(theme, 'faint', how, room);
}

function codeBlocks(code: Modules, theme: Theme, swapped: boolean): string[] {
  const { ascii, depth } = theme;
  const background = swapped ? (theme.background === 'dark' ? 'light' : 'dark') : theme.background;
  return moduleBlocks(code, { ascii, colour: depth !== 'none', background });
}

export function shownCode({ shown }: RunView): (ShownSecret & { code: Modules }) | undefined {
  return shown.findLast((each): each is ShownSecret & { code: Modules } => each.kind === 'secret' && each.code !== undefined);
}

export function codeScreen(run: RunView, keymap: Keymap, { theme, width: columns, height: rows, nowMs }: View): string[] {
  const code = shownCode(run)?.code;
  if (!code) return [];
  const size = blockSize(code, theme);
  const key = (id: CommandId, what: string) => `${theme.paint('key', keymap.keyOf(id))} ${theme.paint('faint', what)}`;
  const keys = [
    key('back', 'back'),
    ...(theme.depth === 'none' ? [key('swap-code', 'swap light and dark')] : []),
    key('save-code', 'save'),
    theme.paint('faint', `masked again in ${secondsLeftOf(run, nowMs)} s`),
  ];
  const foot = cutStyled(` ${keys.join('   ')}`, columns, theme.glyphs.ellipsis);
  const fits = size.columns <= columns && size.rows < rows;
  const advice = `Make the terminal larger, or press ${keymap.keyOf('save-code')} to save the code to a file.`;
  const tooSmall = `The QR code needs ${size.columns} x ${size.rows + 1} characters, but this terminal has ${columns} x ${rows}. ${advice}`;
  const body = fits ? codeBlocks(code, theme, run.codeSwapped) : wrap(tooSmall, Math.min(columns - 4, 70));
  const across = Math.max(...body.map(styledWidth));
  const indent = ' '.repeat(Math.max(0, (columns - across) >> 1));
  const above = filled([], (rows - 1 - body.length) >> 1);
  return [...filled([...above, ...body.map((line) => indent + line)], rows - 1), foot];
}

function wrapIndented(line: string, room: number): string[] {
  const indent = ' '.repeat(Math.min(line.length - line.trimStart().length, room >> 1));
  return wrap(line.trimStart(), room - indent.length).map((part) => indent + part);
}

function shownLines(shown: Shown, space: RunSpace): string[] {
  const { theme, room } = space;
  switch (shown.kind) {
    case 'text':
      return cleanLines(shown.text).flatMap((line) => wrapIndented(line, room));
    case 'review':
      return reviewLines(shown.review, { paint: (role, text) => theme.paint(role, text), columns: room }).map((line) =>
        cutStyled(line, room, theme.glyphs.ellipsis),
      );
    case 'secret':
      return secretLines(shown, space);
    case 'output':
      return cleanLines(new TextDecoder().decode(shown.bytes)).flatMap((line) =>
        wrap(line, room).map((part) => (shown.stream === 'stderr' ? theme.paint('warning', part) : part)),
      );
    case 'table':
      return shownTable(shown, space);
    case 'item':
      return itemLines(shown, theme, room);
  }
}

type ConfirmDialog = Extract<Dialog, { kind: 'confirm' }>;

/** Returns the action and its request. A long request is cut, because the table above lists all of its names. */
function confirmHead({ confirmation }: ConfirmDialog, { theme, room }: RunSpace, requestRows: number): string[] {
  const request = paragraph(theme, undefined, confirmation.request ?? '', room);
  const shown = limitedRows(request, requestRows, room, theme);
  return [...paragraph(theme, 'strong', confirmation.title, room), ...shown.map((line) => theme.paint('faint', line))];
}

function confirmKeys({ confirmation, field, problem }: ConfirmDialog, { theme, keymap, room }: RunSpace): string[] {
  const key = (id: 'yes' | 'no' | 'accept' | 'cancel') => theme.paint('key', keymap.keyOf(id));
  if (confirmation.lenient) return [`${key('accept')} yes     ${key('cancel')} cancel`];
  if (confirmation.typed === undefined) return [`${key('yes')} yes     ${key('no')} no`];
  return [
    ...wrap(`Type ${cleanLine(confirmation.typed)} to confirm:`, room),
    `${theme.paint('accent', '>')} ${fieldText(theme, field)}`,
    ...(problem ? [theme.paint('error', cleanLine(problem))] : []),
  ];
}

/** Where the screen is too low for all, the consequences scroll with the output, and the keys stay. */
function confirmParts(dialog: ConfirmDialog, space: RunSpace): Prompt {
  const { theme, room, height } = space;
  const head = confirmHead(dialog, space, 2);
  const sign = theme.paint('warning', theme.glyphs.severity.warning);
  const lost = dialog.confirmation.consequences.flatMap((text) => paragraph(theme, 'warning', text, room - 2, `${sign} `));
  const keys = confirmKeys(dialog, space);
  const whole = [...head, ...(lost.length > 0 ? ['', ...lost] : []), '', ...keys];
  const request = confirmHead(dialog, space, Number.POSITIVE_INFINITY);
  const isCut = (rows: number) => request.length > confirmHead(dialog, space, rows).length;
  if (whole.length <= height) return { scrolled: isCut(2) ? request : [], ask: whole };
  return { scrolled: [...lost, ...(isCut(1) ? ['', ...request] : [])], ask: [...confirmHead(dialog, space, 1), '', ...keys] };
}

function revealedLines({ label, value }: Pick<ShownSecret, 'label' | 'value'>, space: RunSpace): string[] {
  const { theme, room, drawn } = space;
  const head = paragraph(theme, undefined, label, room);
  if (drawn) return [...head, ...valueLines(value, space)];
  const advice = 'Secrets are not shown in screen-reader mode. Run this command in a terminal.';
  return [...head, theme.glyphs.mask.repeat(8), ...wrap(advice, room)];
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the space for the choices depends on the lines around them
function questionLines(dialog: Extract<Dialog, { kind: 'question' }>, space: RunSpace): Prompt {
  const { question, field, cursor, picked, problem } = dialog;
  const { theme, room, height } = space;
  const { glyphs } = theme;
  let choices: ChoiceRows | undefined;
  const lines = [...paragraph(theme, 'strong', question.label, room), ...paragraph(theme, 'faint', question.help ?? '', room)];
  if (question.reveals) lines.push('', ...revealedLines(question.reveals, space));
  lines.push('');
  if (question.kind === 'choice' || question.kind === 'several') {
    const textOf = ({ label, detail }: Choice) => `${cleanLine(label)}${detail ? `  ${cleanLine(detail)}` : ''}`;
    const chosen = question.choices[cursor];
    const boxWidth = question.kind === 'several' ? 4 : 0;
    const about = chosen ? wholeRow(textWidth(textOf(chosen)) + boxWidth + 2 > room, textOf(chosen), { theme, width: room, height }) : [];
    const most = Math.max(3, height - lines.length - 2 - (about.length > 0 ? about.length + 1 : 0));
    const { top, visible } = listWindow(question.choices, { previous: 0, selected: cursor, height: most });
    choices = { from: lines.length, count: visible.length, selected: cursor - top };
    for (const choice of visible) {
      const box = question.kind === 'several' ? `[${picked.has(choice.value) ? 'x' : ' '}] ` : '';
      lines.push(pad(`${choice === chosen ? glyphs.pointer : ' '} ${box}${textOf(choice)}`, room, 'left', glyphs.ellipsis));
    }
    if (question.choices.length > most) lines.push(theme.paint('faint', `${cursor + 1} of ${question.choices.length}`));
    if (about.length > 0) lines.push('', ...about);
  } else {
    const hide = (text: string) => (question.kind === 'secret' ? glyphs.mask.repeat(characters(text).length) : text);
    // A long answer shows its end, where the cursor usually is.
    const all = characters(field.text);
    const from = Math.max(0, field.cursor - (room - 4));
    lines.push(
      `${theme.paint('accent', '>')} ${fieldText(theme, { text: all.slice(from, from + room - 3).join(''), cursor: field.cursor - from }, hide)}`,
    );
  }
  lines.push(...paragraph(theme, 'error', problem ?? '', room));
  return { ask: lines, choices };
}

function tailLines({ run: { tail }, theme, room }: RunSpace): string[] {
  return tail.flatMap((line) => paragraph(theme, 'faint', line, room));
}

function leftLines({ run: { todo }, theme, keymap, room }: RunSpace): string[] {
  if (!todo) return [];
  return ['', ...todoLines(todo, { columns: room, paint: theme.paint, confirm: `${keymap.keyOf('palette')} tasks ${todo.component}` })];
}

/** An outcome of two lines, and a blank line. */
const endRows = 3;

interface ChoiceRows {
  from: number;
  count: number;
  selected: number;
}

/** The prompt of a run below its output, and what precedes it there. */
interface Prompt {
  ask: string[];
  scrolled?: string[];
  choices?: ChoiceRows | undefined;
}

function promptOf(space: RunSpace): Prompt {
  const { dialog } = space.run;
  if (dialog?.kind === 'confirm') return confirmParts(dialog, space);
  return dialog?.kind === 'question' ? questionLines(dialog, space) : { ask: [] };
}

function outcomeLines({ run: { fault, outcome, amiss }, theme, room }: RunSpace): string[] {
  const { severity, arrow } = theme.glyphs;
  const role = amiss ? 'warning' : 'ok';
  if (!fault) return outcome ? paragraph(theme, role, `${severity[role]} ${outcome}`, room) : [];
  return [
    ...paragraph(theme, 'error', `${severity.error} ${fault.message}`, room),
    '',
    ...paragraph(theme, undefined, `${arrow} ${fault.remedy}`, room),
  ];
}

export function runScreen(space: RunSpace, step: number) {
  const { run, theme, room, height } = space;
  const linesOf = (shown: readonly Shown[]) => shown.flatMap((each) => shownLines(each, space));
  if (isRunning(run)) {
    const reported = [...linesOf(run.shown.filter(({ kind }) => kind !== 'item')), ...tailLines(space)];
    const lines = runningLines(run, theme, { room, height, step, reported });
    return { lines, shown: { height: lines.length, total: lines.length, base: 0 } };
  }
  const { scrolled = [], ask, choices } = promptOf(space);
  const end = outcomeLines(space);
  const left = leftLines(space);
  // A list that is too long to fit below the outcome scrolls above it.
  const below = end.length + left.length <= Math.max(0, height - 4);
  const bottom = [...ask, ...end, ...(below ? left : [])].slice(0, height);
  // The cause of a failure is usually in the last output.
  const tail = run.state === 'failed' ? tailLines(space) : [];
  const all = [...(below ? [] : [...left, '']), ...linesOf(run.shown), ...tail, ...scrolled];
  const shownRoom = Math.max(0, height - bottom.length - (bottom.length > 0 && all.length > 0 ? 1 : 0));
  const shownHeight = Math.min(all.length, shownRoom);
  const base = run.dialog ? linesOf(run.shown.slice(0, run.answeredAt)).length : 0;
  const top = Math.max(0, Math.min(base + run.scroll, all.length - shownHeight));
  const visible = all.slice(top, top + shownHeight);
  const above = [...visible, ...(visible.length > 0 && bottom.length > 0 ? [''] : [])];
  return {
    lines: [...above, ...bottom],
    ...(choices && { choices: { ...choices, from: above.length + choices.from } }),
    // For scrolling; `base` is the first line of the output that belongs to the current prompt.
    shown: { height: shownHeight, total: all.length, base },
  };
}

export function progressText(run: RunView, theme: Theme): string {
  const progress = run.progress.at(-1);
  if (!progress) return '';
  if (run.progress.length > 1) {
    const fraction = run.progress.reduce((sum, each) => sum + (each.fraction ?? 0), 0) / run.progress.length;
    return `${run.progress.length} in parallel, ${Math.round(fraction * 100)} % ${progressBar(fraction, theme, 12)}`;
  }
  if (progress.fraction === undefined) return cleanLine(progress.label);
  return `${cleanLine(progress.label)} ${progressBar(progress.fraction, theme, 12)} ${Math.round(progress.fraction * 100)} %`;
}
