import { findingsInOrder, reviewLine, reviewMarks } from '../../../app/review-text.ts';
import type { ReviewLine } from '../../../session/session.ts';
import { cleanLine } from '../../../text/clean.ts';
import { countText } from '../../../text/quantities.ts';
import { cut, wrap } from '../../../text/width.ts';
import { dialogIn, dialogScreen } from '../../front-run.ts';
import { keyText } from '../../key-press.ts';
import { filled, listWindow, type Room, type Screen } from '../../screen.ts';
import { cutStyled, padStyled, paragraph } from '../../styled-text.ts';
import type { Theme } from '../../theme.ts';
import { actionKeys, pressReview, type ReviewDialog, type ReviewRow, type ReviewRows, remediesOf } from './dialog.ts';

const keys = [
  { id: 'fold', keys: ['space'], title: 'Fold or unfold the section' },
  { id: 'fold-all', keys: ['z'], title: 'Fold or unfold all sections' },
  { id: 'remedy', keys: ['r'], title: 'Run the fix for this finding (or press its number)' },
  { id: 'next-section', keys: ['tab'], title: 'Next finding or section' },
  { id: 'previous-section', keys: ['shift+tab'], title: 'Previous finding or section' },
] as const;

export const review: Screen<'review', (typeof keys)[number]['id']> = {
  id: 'review',
  heading: 'Reviews',
  keys,
  ...dialogScreen('review'),
  open({ store, keymap, commands }) {
    let page: ReviewRows = { height: 1, rows: [], review: undefined };
    const seen = (rows: ReviewRows) => () => {
      page = rows;
    };
    return {
      draw({ theme, state, width, height, previousTop }) {
        const { run, dialog } = dialogIn(state, 'review');
        const { rows, measured, top, total } = reviewScreen(dialog, theme, { width: width - 2, height: height - 2, previousTop });
        return {
          title: cleanLine(dialog.review.title),
          aside: reviewCounts(dialog, theme),
          foot: total > measured.height ? theme.paint('faint', `${Math.min(top + measured.height, total)} of ${total}`) : '',
          below: run.command,
          edgeRole: dialog.review.actions[0]?.blocked === undefined ? undefined : 'error',
          rows,
          top,
          shown: seen(measured),
        };
      },
      speak({ theme, state, width }) {
        const { lines, measured } = reviewSentences(dialogIn(state, 'review').dialog, theme, width);
        return { lines, shown: seen(measured) };
      },
      footer({ state, of }) {
        const actions = actionKeys(dialogIn(state, 'review').dialog.review).filter(({ key }) => key !== 'esc' && key !== '');
        const always = actions.map(({ key, label, blocked }) => ({
          key: keyText(key),
          label: `${cleanLine(label)}${blocked === undefined ? '' : ' (blocked)'}`,
        }));
        return {
          items: [of('fold', 'fold'), of('next-section', 'next section'), of('page-down', 'page'), of('fold-all', 'fold all')],
          always: [...always, of('cancel', 'cancel')],
        };
      },
      press(press) {
        const { run, dialog } = dialogIn(store.get(), 'review');
        commands.runs.step(run.id, pressReview(dialog, press, keymap.is, page));
        return true;
      },
    };
  },
};

function figures(lines: readonly ReviewLine[], theme: Theme): string {
  const counts = Object.entries(reviewMarks).flatMap(([wanted, [sign, role]]) => {
    const { length } = lines.filter(({ mark }) => mark === wanted);
    return length > 0 ? [theme.paint(role, `${sign}${length}`)] : [];
  });
  return counts.length > 0 ? counts.join(' ') : theme.paint('faint', countText(lines.length, 'line'));
}

function findingRows({ review }: ReviewDialog, theme: Theme, width: number): ReviewRow[] {
  const keys = new Map(remediesOf(review).map(({ finding, key }) => [finding, key]));
  return findingsInOrder(review.findings).flatMap(({ id, level, message, advice, remedy }) => {
    const role = level === 'blocking' ? 'error' : 'warning';
    const lead = `${theme.glyphs.severity[role]} ${level.padEnd(8)}  `;
    const indent = ' '.repeat(lead.length);
    const texts = [
      ...paragraph(theme, 'strong', message, width - lead.length, theme.paint(role, lead)),
      ...paragraph(theme, 'faint', advice, width - lead.length, indent),
      ...(remedy === undefined ? [] : [`${indent}${theme.paint('key', `[${keys.get(id) ?? 'r'}]`)} ${cleanLine(remedy)}`]),
    ];
    return texts.map((text, index): ReviewRow => ({ text, finding: id, ...(index === 0 && { head: true }) }));
  });
}

/** Planned changes are never cut: a long line wraps with further indentation. */
function lineRows(line: ReviewLine, theme: Theme, width: number): string[] {
  const clean = cleanLine(line.text);
  const indent = /^ */.exec(clean)?.[0].slice(0, Math.floor(width / 3)) ?? '';
  return wrap(clean.trimStart(), width - indent.length - 6).map((part, index) => {
    const text = `${indent}${index === 0 ? '' : '  '}${part}`;
    return `  ${reviewLine({ ...line, text }, (paint, reported) => theme.paint(paint, reported), index > 0)}`;
  });
}

function sectionRows({ review, folded }: ReviewDialog, theme: Theme, width: number): ReviewRow[] {
  const [open, closed] = theme.ascii ? ['v', '>'] : ['▾', '▸'];
  let previous: number | undefined;
  return review.sections.flatMap(({ title, lines }, section) => {
    if (lines.length === 0) return [];
    const isFolded = folded.has(section);
    const head = `${theme.paint('accent', (isFolded ? closed : open) ?? '')} ${theme.paint('heading', cut(cleanLine(title), width - 16, theme.glyphs.ellipsis))}  ${figures(lines, theme)}`;
    const rows = isFolded ? [] : lines.flatMap((line) => lineRows(line, theme, width).map((text): ReviewRow => ({ text, section })));
    const gap: ReviewRow[] = previous !== undefined && !folded.has(previous) ? [{ text: '' }] : [];
    previous = section;
    return [...gap, { text: head, section, head: true as const }, ...rows];
  });
}

function reviewScreen(dialog: ReviewDialog, theme: Theme, { width, height, previousTop }: Room) {
  const inner = width - 4;
  const findings = findingRows(dialog, theme, inner);
  const sections = sectionRows(dialog, theme, inner);
  const gap: ReviewRow[] = findings.length > 0 && sections.length > 0 ? [{ text: '' }] : [];
  const placed: ReviewRow[] = [...findings, ...gap, ...sections];
  if (placed.length === 0) placed.push({ text: theme.paint('faint', 'No changes.') });

  const [first] = actionKeys(dialog.review);
  const { summary } = dialog.review;
  const blocked = first?.blocked === undefined ? '' : `${theme.glyphs.severity.error} ${first.label} is blocked: ${first.blocked}`;
  const why = paragraph(theme, 'error', dialog.problem ?? blocked, inner);
  const room = Math.max(1, Math.floor(height / 4));
  const reported = paragraph(theme, 'strong', summary ?? '', inner);
  const bottom = [...reported.slice(0, Math.max(0, room - why.length)), ...why.slice(0, room)];
  const rule = bottom.length > 0 ? [theme.paint('border', theme.frame(false).across.repeat(width - 2))] : [];
  const listHeight = Math.max(1, height - bottom.length - rule.length);
  const at = Math.min(dialog.at, placed.length - 1);
  const { top, visible } = listWindow(placed, { previous: previousTop, selected: at, height: listHeight });
  const list = visible.map(({ text }, row) => {
    const here = top + row === at;
    const line = `${here ? theme.glyphs.pointer : ' '} ${cutStyled(text, inner, theme.glyphs.ellipsis)}`;
    return here ? theme.paint('selected', padStyled(line, width - 2)) : line;
  });
  const rows = [...filled(list, listHeight), ...rule, ...bottom.map((line) => `  ${line}`)];
  return {
    rows: rows.map((row) => ` ${padStyled(row, width - 2, theme.glyphs.ellipsis)} `),
    measured: { height: listHeight, rows: placed, review: dialog.review },
    top,
    total: placed.length,
  };
}

function reviewCounts({ review }: ReviewDialog, theme: Theme): string {
  const warning = review.findings.filter(({ level }) => level === 'warning').length;
  const blocking = review.findings.length - warning;
  const lines = review.sections.flatMap((section) => section.lines);
  const parts = [
    blocking > 0 ? theme.paint('error', `${blocking} blocking`) : '',
    warning > 0 ? theme.paint('warning', countText(warning, 'warning')) : '',
    lines.some(({ mark }) => mark === 'added' || mark === 'removed') ? figures(lines, theme) : '',
  ];
  return parts.filter(Boolean).join('  ');
}

function reviewSentences(dialog: ReviewDialog, theme: Theme, width: number): { lines: string[]; measured: ReviewRows } {
  const { measured, total } = reviewScreen(dialog, theme, { width: width + 4, height: 14, previousTop: 0 });
  const at = Math.min(dialog.at, total - 1);
  const [first] = dialog.review.actions;
  return {
    measured,
    lines: [
      `Review: ${cleanLine(dialog.review.title)}. ${reviewCounts(dialog, theme)}.`,
      ...(dialog.review.summary === undefined ? [] : [cleanLine(dialog.review.summary)]),
      ...(first?.blocked === undefined ? [] : [`${cleanLine(first.label)} is blocked: ${cleanLine(first.blocked)}`]),
      `Line ${at + 1} of ${total}.`,
      ...measured.rows.slice(at, at + 12).flatMap(({ text }) => text.trim() || []),
      ...(dialog.problem === undefined ? [] : [cleanLine(dialog.problem)]),
    ],
  };
}
