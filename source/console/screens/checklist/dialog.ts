import type { ChoiceQuestion } from '../../../session/session.ts';
import type { DialogStep } from '../../interface-store.ts';
import type { KeyPress } from '../../key-press.ts';
import type { Keymap } from '../../keymap.ts';
import { amountOf, freeLetters, movedTo } from '../../screen.ts';

type ChecklistQuestion = ChoiceQuestion & Required<Pick<ChoiceQuestion, 'checklist'>>;

export interface ChecklistDialog {
  kind: 'checklist';
  question: ChecklistQuestion;
  at: number;
  scroll: number;
  problem: string | undefined;
}

export interface ChecklistRows {
  evidence: { height: number; total: number };
  /** The question on the screen: keys for a question that was not visible yet do nothing. */
  question: ChecklistQuestion | undefined;
}

export const isChecklist = (question: { kind: string; checklist?: unknown }): question is ChecklistQuestion =>
  question.kind === 'choice' && question.checklist !== undefined;

/** `go` belongs to the next step, an answer with the id of an item to that item. */
function itemOf(value: string, { choices, checklist: { items } }: ChecklistQuestion): number | undefined {
  const named = items.findIndex(({ id }) => id === value);
  if (named >= 0) return named;
  if (value !== 'go' || !choices.some((choice) => choice.value === 'go')) return undefined;
  const next = items.findIndex(({ state }) => state === 'todo');
  return next < 0 ? undefined : next;
}

export function openChecklist(question: ChecklistQuestion): ChecklistDialog {
  const { items } = question.checklist;
  const blocked = items.findIndex(({ state }) => state === 'blocked');
  const at = [
    blocked >= 0 ? blocked : (itemOf('go', question) ?? -1),
    ...['warning', 'todo'].map((wanted) => items.findIndex(({ state }) => state === wanted)),
  ].find((index) => index >= 0);
  return { kind: 'checklist', question, at: at ?? 0, scroll: 0, problem: undefined };
}

/** Enter and `s` act on the selected item; `r` checks again, Esc leaves, and answers without an item have a letter. */
export function checklistAnswers({ question, at }: ChecklistDialog): readonly { value: string; label: string; key: string }[] {
  const here = `skip:${question.checklist.items[at]?.id}`;
  const letterOf = freeLetters('jkgGsrq?:', 'abcdefimnoptuvwxy');
  return question.choices.flatMap(({ value, label }) => {
    if (value.startsWith('skip:')) return value === here ? [{ value, label: 'skip this', key: 's' }] : [];
    if (value === 'again') return [{ value, label, key: 'r' }];
    if (value === 'leave') return [{ value, label, key: 'esc' }];
    const about = itemOf(value, question);
    if (about !== undefined) return about === at ? [{ value, label, key: 'enter' }] : [];
    return [{ value, label, key: value === 'go' ? 'enter' : letterOf(value) }];
  });
}

function nothingHere({ question }: ChecklistDialog): string {
  const { choices, checklist } = question;
  for (const { value, label } of choices) {
    const item = checklist.items[itemOf(value, question) ?? -1];
    if (item)
      return `Enter has no effect on this item. Select "${item.title}" to ${label.charAt(0).toLowerCase()}${label.slice(1).replace(/:.*$/, '')}.`;
  }
  return 'Enter has no effect while an item is blocked.';
}

export function pressChecklist(dialog: ChecklistDialog, press: KeyPress, is: Keymap['is'], shown: ChecklistRows): DialogStep {
  if (is(press, 'cancel')) return 'leave';
  // A key pressed before the question was visible was meant for the previous screen.
  if (shown.question !== dialog.question) return undefined;
  const amount = amountOf((id) => is(press, id), 1, ['down', 'up', 'top', 'bottom']);
  if (amount !== undefined)
    return { change: { at: movedTo(dialog.at, dialog.question.checklist.items.length, amount), scroll: 0, problem: undefined } };
  const { height, total } = shown.evidence;
  const page = is(press, 'page-down') || is(press, 'half-down') ? 1 : is(press, 'page-up') || is(press, 'half-up') ? -1 : 0;
  if (page !== 0) return { change: { scroll: Math.max(0, Math.min(total - height, dialog.scroll + page * Math.max(1, height - 1))) } };
  if (press.together) return undefined;
  const answer = checklistAnswers(dialog).find(({ key }) => (key === 'enter' ? is(press, 'accept') : press.name === key));
  if (answer) return answer.value === 'leave' ? 'leave' : { answer: answer.value };
  if (is(press, 'accept')) return { change: { problem: nothingHere(dialog) } };
  if (press.name === 's') return { change: { problem: 'This item is not blocked, so it cannot be skipped.' } };
  return undefined;
}
