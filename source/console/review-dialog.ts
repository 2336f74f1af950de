import type { Review } from '../session/session.ts';
import { findingsInOrder } from '../terminal/review-text.ts';
import type { KeyPress } from './key-press.ts';
import type { CommandId } from './keymap.ts';

/** A review on the screen. */
export interface ReviewDialog {
  kind: 'review';
  review: Review;
  /** The row at hand. */
  at: number;
  /** Sections of which only the heading is shown. */
  folded: ReadonlySet<number>;
  /** Why the last key did nothing. */
  problem: string | undefined;
}

/** What stands on the rows of the last frame: what belongs together, and where it begins. Written while drawing, read by keys. */
export interface ReviewRows {
  height: number;
  rows: readonly ReviewPlace[];
  /** Of which review: keys for one that nobody has seen yet do nothing. */
  review: Review | undefined;
}
export interface ReviewPlace {
  section?: number;
  finding?: string;
  /** First row of its finding or section. */
  head?: true;
}

/** Longer sections begin folded, where not all of them fit onto a few screens: what was written anew is there to be read, and in nobody's way. */
const longSection = 24;
const manyLines = 60;

export function openReview(review: Review): ReviewDialog {
  const total = review.sections.reduce((sum, { lines }) => sum + lines.length, 0);
  const folded = review.sections.flatMap(({ lines }, index) => (total > manyLines && lines.length > longSection ? [index] : []));
  return { kind: 'review', review, at: 0, folded: new Set(folded), problem: undefined };
}

/** What can be done about findings, in the order in which they stand: the first nine have a number. */
export function remediesOf({ findings }: Review): readonly { finding: string; key: string | undefined }[] {
  return findingsInOrder(findings)
    .filter(({ remedy }) => remedy !== undefined)
    .map(({ id }, index) => ({ finding: id, key: index < 9 ? String(index + 1) : undefined }));
}

/** Keys of a review that mean something else. */
const spoken = new Set('jkgGhlrz?q:');

/** The ways on with their keys: Enter for the first, Esc for `cancel`, for others a letter of their name. */
export function actionKeys({ actions }: Review): readonly { id: string; label: string; blocked?: string; key: string }[] {
  const taken = new Set(spoken);
  return actions.map((action, index) => {
    if (index === 0) return { ...action, key: 'enter' };
    if (action.id === 'cancel') return { ...action, key: 'esc' };
    const letter = [...`${action.id}${action.label}abcdefimnopstuvwxy`.toLowerCase()].find(
      (each) => /[a-z]/.test(each) && !taken.has(each),
    );
    taken.add(letter ?? '');
    return { ...action, key: letter ?? '' };
  });
}

export type ReviewStep = { change: Partial<ReviewDialog> } | { answer: string } | undefined;

type Is = (press: KeyPress, command: CommandId) => boolean;

function moved(press: KeyPress, is: Is, height: number): number | undefined {
  if (is(press, 'down')) return 1;
  if (is(press, 'up')) return -1;
  if (is(press, 'page-down')) return Math.max(1, height - 1);
  if (is(press, 'page-up')) return -Math.max(1, height - 1);
  if (is(press, 'half-down')) return Math.max(1, height >> 1);
  if (is(press, 'half-up')) return -Math.max(1, height >> 1);
  if (is(press, 'top')) return Number.NEGATIVE_INFINITY;
  if (is(press, 'bottom')) return Number.POSITIVE_INFINITY;
  return undefined;
}

function fold(dialog: ReviewDialog, { rows }: ReviewRows, wanted?: boolean): ReviewStep {
  const section = rows[dialog.at]?.section;
  if (section === undefined) return undefined;
  const folded = new Set(dialog.folded);
  if (wanted ?? !folded.has(section)) folded.add(section);
  else folded.delete(section);
  return { change: { folded, at: rows.findIndex((row) => row.section === section), problem: undefined } };
}

function toHead(dialog: ReviewDialog, { rows }: ReviewRows, step: 1 | -1): ReviewStep {
  const heads = rows.flatMap(({ head }, index) => (head ? [index] : []));
  const next = step > 0 ? heads.find((row) => row > dialog.at) : heads.findLast((row) => row < dialog.at);
  return { change: { at: next ?? dialog.at, problem: undefined } };
}

export function pressReview(dialog: ReviewDialog, press: KeyPress, is: Is, shown: ReviewRows): ReviewStep {
  const { review } = dialog;
  if (is(press, 'cancel')) return { answer: 'cancel' };
  // What came before it was seen was meant for the screen before.
  if (shown.review !== review) return undefined;
  const step = moved(press, is, shown.height);
  if (step !== undefined) return { change: { at: Math.max(0, Math.min(shown.rows.length - 1, dialog.at + step)), problem: undefined } };
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
  if (is(press, 'remedy')) return { change: { problem: 'There is no finding here that something can be done about from this screen.' } };
  const action = actionKeys(review).find(({ key }) => (key === 'enter' ? is(press, 'accept') : press.name === key));
  if (!action) return undefined;
  return action.blocked === undefined ? { answer: action.id } : { change: { problem: `Not now: ${action.blocked}` } };
}
