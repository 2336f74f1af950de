import { findingsInOrder } from '../../../app/review-text.ts';
import type { Review } from '../../../session/session.ts';
import type { DialogStep } from '../../interface-store.ts';
import type { KeyPress } from '../../key-press.ts';
import type { Keymap } from '../../keymap.ts';
import { amountOf, freeLetters, movedTo } from '../../screen.ts';

export interface ReviewDialog {
  kind: 'review';
  review: Review;
  at: number;
  /** Indices of the collapsed sections. */
  folded: ReadonlySet<number>;
  problem: string | undefined;
}

/** The rows of the last frame: the section or finding of each, and where it begins. Written while drawing, read by keys. */
export interface ReviewRows {
  height: number;
  rows: readonly ReviewRow[];
  /** The review on the screen: keys for a review that was not visible yet do nothing. */
  review: Review | undefined;
}

export interface ReviewRow {
  text: string;
  section?: number;
  finding?: string;
  /** First row of its finding or section. */
  head?: true;
}

/** Longer sections start collapsed when the whole review does not fit onto a few screens. */
const longSection = 24;
const manyLines = 60;

export function openReview(review: Review): ReviewDialog {
  const total = review.sections.reduce((sum, { lines }) => sum + lines.length, 0);
  const folded = review.sections.flatMap(({ lines }, index) => (total > manyLines && lines.length > longSection ? [index] : []));
  return { kind: 'review', review, at: 0, folded: new Set(folded), problem: undefined };
}

/** Returns the remedies of findings, in their order: the first nine have a number. */
export function remediesOf({ findings }: Review): readonly { finding: string; key: string | undefined }[] {
  return findingsInOrder(findings)
    .filter(({ remedy }) => remedy !== undefined)
    .map(({ id }, index) => ({ finding: id, key: index < 9 ? String(index + 1) : undefined }));
}

/** Returns the actions with their keys: Enter for the first, Esc for `cancel`, for others a letter of their name. */
export function actionKeys({ actions }: Review): readonly { id: string; label: string; blocked?: string; key: string }[] {
  const letterOf = freeLetters('jkgGhlrz?q:', 'abcdefimnopstuvwxy');
  return actions.map((action, index) => {
    if (index === 0) return { ...action, key: 'enter' };
    return { ...action, key: action.id === 'cancel' ? 'esc' : letterOf(`${action.id}${action.label}`) };
  });
}

function fold(dialog: ReviewDialog, { rows }: ReviewRows, wanted?: boolean): DialogStep {
  const section = rows[dialog.at]?.section;
  if (section === undefined) return undefined;
  const folded = new Set(dialog.folded);
  if (wanted ?? !folded.has(section)) folded.add(section);
  else folded.delete(section);
  return { change: { folded, at: rows.findIndex((row) => row.section === section), problem: undefined } };
}

function toHead(dialog: ReviewDialog, { rows }: ReviewRows, step: 1 | -1): DialogStep {
  const heads = rows.flatMap(({ head }, index) => (head ? [index] : []));
  const next = step > 0 ? heads.find((row) => row > dialog.at) : heads.findLast((row) => row < dialog.at);
  return { change: { at: next ?? dialog.at, problem: undefined } };
}

export function pressReview(dialog: ReviewDialog, press: KeyPress, is: Keymap['is'], shown: ReviewRows): DialogStep {
  const { review } = dialog;
  if (is(press, 'cancel')) return { answer: 'cancel' };
  // A key pressed before the review was visible was meant for the previous screen.
  if (shown.review !== review) return undefined;
  const amount = amountOf((id) => is(press, id), shown.height);
  if (amount !== undefined) return { change: { at: movedTo(dialog.at, shown.rows.length, amount), problem: undefined } };
  if (is(press, 'next-section')) return toHead(dialog, shown, 1);
  if (is(press, 'previous-section')) return toHead(dialog, shown, -1);
  if (is(press, 'fold')) return fold(dialog, shown);
  if (press.name === 'l' || press.name === 'right') return fold(dialog, shown, false);
  if (press.name === 'h' || press.name === 'left') return fold(dialog, shown, true);
  if (is(press, 'fold-all')) {
    const all = dialog.folded.size < review.sections.length;
    return { change: { folded: new Set(all ? review.sections.keys() : []), at: 0, problem: undefined } };
  }
  if (press.together) return undefined;
  const remedies = remediesOf(review);
  const here = shown.rows[dialog.at]?.finding;
  const remedy = remedies.find(({ finding, key }) => press.name === key || (is(press, 'remedy') && finding === here));
  if (remedy) return { answer: `remedy:${remedy.finding}` };
  if (is(press, 'remedy')) return { change: { problem: 'This line has no action.' } };
  const action = actionKeys(review).find(({ key }) => (key === 'enter' ? is(press, 'accept') : press.name === key));
  if (!action) return undefined;
  return action.blocked === undefined ? { answer: action.id } : { change: { problem: `Blocked: ${action.blocked}` } };
}
