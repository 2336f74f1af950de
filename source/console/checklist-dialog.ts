import type { ChoiceQuestion } from '../session/session.ts';
import type { KeyPress } from './key-press.ts';
import type { CommandId } from './keymap.ts';

type ChecklistQuestion = ChoiceQuestion & Required<Pick<ChoiceQuestion, 'checklist'>>;

/** A checklist on the screen, with the ways on from it. */
export interface ChecklistDialog {
  kind: 'checklist';
  question: ChecklistQuestion;
  /** The item at hand. */
  at: number;
  /** Top line of its evidence. */
  scroll: number;
  /** Why the last key did nothing. */
  problem: string | undefined;
}

/** Of the last frame. */
export interface ChecklistRows {
  height: number;
  /** Lines of evidence that are shown, and how many there are. */
  evidence: { height: number; total: number };
  /** Of which question: keys for one that nobody has seen yet do nothing. */
  question: ChecklistQuestion | undefined;
}

export const isChecklist = (question: { kind: string; checklist?: unknown }): question is ChecklistQuestion =>
  question.kind === 'choice' && question.checklist !== undefined;

/** The item that an answer is about: a way on is about the next step, what has the name of an item about that one. Undefined for what is about no item. */
function itemOf(value: string, { choices, checklist: { items } }: ChecklistQuestion): number | undefined {
  const named = items.findIndex(({ id }) => id === value);
  if (named >= 0) return named;
  if (value !== 'go' || !choices.some((choice) => choice.value === 'go')) return undefined;
  const next = items.findIndex(({ state }) => state === 'todo');
  return next < 0 ? undefined : next;
}

/** At the first item that blocks; where none does, at the next step. */
export function openChecklist(question: ChecklistQuestion): ChecklistDialog {
  const { items } = question.checklist;
  const blocked = items.findIndex(({ state }) => state === 'blocked');
  const at = [
    blocked >= 0 ? blocked : (itemOf('go', question) ?? -1),
    ...['warning', 'todo'].map((wanted) => items.findIndex(({ state }) => state === wanted)),
  ].find((index) => index >= 0);
  return { kind: 'checklist', question, at: at ?? 0, scroll: 0, problem: undefined };
}

/** Keys of a checklist that mean something else. */
const spoken = new Set('jkgGsrq?:');

export interface ChecklistWay {
  value: string;
  label: string;
  key: string;
}

/**
 * The answers with their keys. Enter and `s` act on the selected item, and are offered where there is something to do about it; `r` checks again, Esc leaves, and what
 * is about no item has a letter.
 */
export function checklistWays({ question, at }: ChecklistDialog): readonly ChecklistWay[] {
  const here = `skip:${question.checklist.items[at]?.id}`;
  const taken = new Set(spoken);
  const ways = question.choices.flatMap(({ value, label }): ChecklistWay[] => {
    if (value.startsWith('skip:')) return value === here ? [{ value, label: 'skip this', key: 's' }] : [];
    if (value === 'again') return [{ value, label, key: 'r' }];
    if (value === 'leave') return [{ value, label, key: 'esc' }];
    const about = itemOf(value, question);
    if (about !== undefined) return about === at ? [{ value, label, key: 'enter' }] : [];
    if (value === 'go') return [{ value, label, key: 'enter' }];
    const letter = [...`${value}abcdefimnoptuvwxy`.toLowerCase()].find((each) => /[a-z]/.test(each) && !taken.has(each)) ?? '';
    taken.add(letter);
    return [{ value, label, key: letter }];
  });
  return ways;
}

/** Why Enter does nothing at this item, and where it does something. */
function nothingHere({ question }: ChecklistDialog): string {
  const { choices, checklist } = question;
  for (const { value, label } of choices) {
    const item = checklist.items[itemOf(value, question) ?? -1];
    if (item) return `Enter does nothing at this item. Select "${item.title}" to ${firstLower(label.replace(/:.*$/, ''))}.`;
  }
  return 'Enter does nothing while an item blocks.';
}

function firstLower(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

export type ChecklistStep = { change: Partial<ChecklistDialog> } | { answer: string } | 'leave' | undefined;

export function pressChecklist(
  dialog: ChecklistDialog,
  press: KeyPress,
  is: (press: KeyPress, command: CommandId) => boolean,
  shown: ChecklistRows,
): ChecklistStep {
  if (is(press, 'cancel')) return 'leave';
  // What came before it was seen was meant for the screen before.
  if (shown.question !== dialog.question) return undefined;
  const last = dialog.question.checklist.items.length - 1;
  const to = (at: number): ChecklistStep => ({ change: { at: Math.max(0, Math.min(last, at)), scroll: 0, problem: undefined } });
  if (is(press, 'down')) return to(dialog.at + 1);
  if (is(press, 'up')) return to(dialog.at - 1);
  if (is(press, 'top')) return to(0);
  if (is(press, 'bottom')) return to(last);
  const { height, total } = shown.evidence;
  const page = is(press, 'page-down') || is(press, 'half-down') ? 1 : is(press, 'page-up') || is(press, 'half-up') ? -1 : 0;
  if (page !== 0) return { change: { scroll: Math.max(0, Math.min(total - height, dialog.scroll + page * Math.max(1, height - 1))) } };
  if (press.together) return undefined;
  const way = checklistWays(dialog).find(({ key }) => (key === 'enter' ? is(press, 'accept') : press.name === key));
  if (way) return way.value === 'leave' ? 'leave' : { answer: way.value };
  if (is(press, 'accept')) return { change: { problem: nothingHere(dialog) } };
  if (press.name === 's') return { change: { problem: 'This item does not block, so it cannot be skipped.' } };
  return undefined;
}
