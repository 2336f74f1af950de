import type { ReviewLine } from '../session/session.ts';
import { findingsInOrder, reviewLine } from '../terminal/review-text.ts';
import { cleanLine } from '../text/clean.ts';
import { cut, wrap } from '../text/width.ts';
import { windowStart } from './layout.ts';
import { actionKeys, type ReviewDialog, type ReviewPlace, type ReviewRows, remediesOf } from './review-dialog.ts';
import { cutStyled, padStyled } from './styled-text.ts';
import type { Theme } from './theme.ts';

interface PlacedRow extends ReviewPlace {
  text: string;
}

/** `+34 -2`, or how many lines there are. */
function figures(lines: readonly ReviewLine[], theme: Theme): string {
  const added = lines.filter(({ mark }) => mark === 'added').length;
  const removed = lines.filter(({ mark }) => mark === 'removed').length;
  const warned = lines.filter(({ mark }) => mark === 'warning').length;
  if (added + removed + warned === 0) return theme.paint('faint', lines.length === 1 ? '1 line' : `${lines.length} lines`);
  return [
    added > 0 ? theme.paint('good', `+${added}`) : '',
    removed > 0 ? theme.paint('bad', `-${removed}`) : '',
    warned > 0 ? theme.paint('warn', `!${warned}`) : '',
  ]
    .filter(Boolean)
    .join(' ');
}

function findingRows({ review }: ReviewDialog, theme: Theme, width: number): PlacedRow[] {
  const keys = new Map(remediesOf(review).map(({ finding, key }) => [finding, key]));
  return findingsInOrder(review.findings).flatMap(({ id, level, message, advice, rule, remedy }) => {
    const role = level === 'blocking' ? 'bad' : 'warn';
    const lead = `${theme.glyphs.tone[role]} ${level.padEnd(8)}  `;
    const indent = ' '.repeat(lead.length);
    const told = wrap(cleanLine(message), width - lead.length);
    const advised = wrap(cleanLine(rule === undefined ? advice : `${advice} (${rule})`), width - lead.length);
    const key = keys.get(id) ?? 'r';
    const texts = [
      ...told.map((line, index) =>
        index === 0 ? `${theme.paint(role, lead)}${theme.paint('strong', line)}` : indent + theme.paint('strong', line),
      ),
      ...advised.map((line) => indent + theme.paint('faint', line)),
      ...(remedy === undefined ? [] : [`${indent}${theme.paint('key', `[${key}]`)} ${cleanLine(remedy)}`]),
    ];
    return texts.map((text, index): PlacedRow => ({ text, finding: id, ...(index === 0 && { head: true }) }));
  });
}

/** What is about to happen is never cut: a long line goes on below, further in. */
function lineRows(line: ReviewLine, theme: Theme, width: number): string[] {
  const clean = cleanLine(line.text);
  const indent = /^ */.exec(clean)?.[0].slice(0, Math.floor(width / 3)) ?? '';
  return wrap(clean.trimStart(), width - indent.length - 6).map((part, index) => {
    const text = `${indent}${index === 0 ? '' : '  '}${part}`;
    return `  ${reviewLine({ ...line, text }, (paint, told) => theme.paint(paint, told), index > 0)}`;
  });
}

function sectionRows({ review, folded }: ReviewDialog, theme: Theme, width: number): PlacedRow[] {
  const [open, closed] = theme.ascii ? ['v', '>'] : ['▾', '▸'];
  let previous: number | undefined;
  return review.sections.flatMap(({ title, lines }, section) => {
    if (lines.length === 0) return [];
    const isFolded = folded.has(section);
    const head = `${theme.paint('accent', (isFolded ? closed : open) ?? '')} ${theme.paint('heading', cut(cleanLine(title), width - 16, theme.glyphs.ellipsis))}  ${figures(lines, theme)}`;
    const rows = isFolded ? [] : lines.flatMap((line) => lineRows(line, theme, width).map((text): PlacedRow => ({ text, section })));
    // A heading stands free of the lines before it.
    const gap: PlacedRow[] = previous !== undefined && !folded.has(previous) ? [{ text: '' }] : [];
    previous = section;
    return [...gap, { text: head, section, head: true as const }, ...rows];
  });
}

export interface ReviewScreen {
  rows: string[];
  measured: ReviewRows;
  top: number;
  total: number;
}

/** Findings on top, then what would be done, and at the bottom all of it in a sentence and why something cannot be done now. */
export function reviewScreen(
  dialog: ReviewDialog,
  theme: Theme,
  { width, height, previousTop }: { width: number; height: number; previousTop: number },
): ReviewScreen {
  const inner = width - 4;
  const findings = findingRows(dialog, theme, inner);
  const sections = sectionRows(dialog, theme, inner);
  const gap: PlacedRow[] = findings.length > 0 && sections.length > 0 ? [{ text: '' }] : [];
  const placed: PlacedRow[] = [...findings, ...gap, ...sections];
  if (placed.length === 0) placed.push({ text: theme.paint('faint', 'Nothing would change.') });

  const [first] = actionKeys(dialog.review);
  const { summary } = dialog.review;
  const why = [
    ...(first?.blocked !== undefined && dialog.problem === undefined
      ? wrap(`${theme.glyphs.tone.bad} ${cleanLine(first.label)} is blocked: ${cleanLine(first.blocked)}`, inner)
      : []),
    ...(dialog.problem === undefined ? [] : wrap(cleanLine(dialog.problem), inner)),
  ].map((line) => theme.paint('bad', line));
  const room = Math.max(1, Math.floor(height / 4));
  const told = summary === undefined ? [] : wrap(cleanLine(summary), inner).map((line) => theme.paint('strong', line));
  const bottom = [...told.slice(0, Math.max(0, room - why.length)), ...why.slice(0, room)];
  const rule = bottom.length > 0 ? [theme.paint('border', theme.frame(false).across.repeat(width - 2))] : [];
  const listHeight = Math.max(1, height - bottom.length - rule.length);
  const at = Math.min(dialog.at, placed.length - 1);
  const top = windowStart({ previous: previousTop, selected: at, height: listHeight, total: placed.length });
  const visible = placed.slice(top, top + listHeight).map(({ text }, row) => {
    const here = top + row === at;
    const line = `${here ? theme.glyphs.pointer : ' '} ${cutStyled(text, inner, theme.glyphs.ellipsis)}`;
    return here ? theme.paint('selected', padStyled(line, width - 2)) : line;
  });
  while (visible.length < listHeight) visible.push('');
  return {
    rows: [...visible, ...rule, ...bottom.map((line) => `  ${line}`)].map((row) => ` ${padStyled(row, width - 2, theme.glyphs.ellipsis)} `),
    measured: {
      height: listHeight,
      rows: placed.map(({ section, finding, head }) => ({
        ...(section !== undefined && { section }),
        ...(finding !== undefined && { finding }),
        ...(head && { head }),
      })),
      review: dialog.review,
    },
    top,
    total: placed.length,
  };
}

/** `2 blocking  1 warning  +38 -4`: what there is to see, on the upper edge. */
export function reviewCounts({ review }: ReviewDialog, theme: Theme): string {
  const count = (level: 'blocking' | 'warning') => review.findings.filter((finding) => finding.level === level).length;
  const blocking = count('blocking');
  const warning = count('warning');
  const lines = review.sections.flatMap((section) => section.lines);
  return [
    blocking > 0 ? theme.paint('bad', `${blocking} blocking`) : '',
    warning > 0 ? theme.paint('warn', `${warning} ${warning === 1 ? 'warning' : 'warnings'}`) : '',
    lines.some(({ mark }) => mark === 'added' || mark === 'removed') ? figures(lines, theme) : '',
  ]
    .filter(Boolean)
    .join('  ');
}

/** Rows around the one at hand, without a frame. */
export function reviewSentences(dialog: ReviewDialog, theme: Theme, width: number): { lines: string[]; measured: ReviewRows } {
  const { measured, total } = reviewScreen(dialog, theme, { width: width + 4, height: 14, previousTop: 0 });
  const all = [
    ...findingRows(dialog, theme, width),
    ...(dialog.review.findings.length > 0 ? [{ text: '' }] : []),
    ...sectionRows(dialog, theme, width),
  ];
  const at = Math.min(dialog.at, all.length - 1);
  const [first] = dialog.review.actions;
  return {
    measured,
    lines: [
      `Review: ${cleanLine(dialog.review.title)}. ${reviewCounts(dialog, theme)}.`,
      ...(dialog.review.summary === undefined ? [] : [cleanLine(dialog.review.summary)]),
      ...(first?.blocked === undefined ? [] : [`${cleanLine(first.label)} is blocked: ${cleanLine(first.blocked)}`]),
      `Line ${at + 1} of ${total}.`,
      ...all
        .slice(at, at + 12)
        .map(({ text }) => text.trim())
        .filter(Boolean),
      ...(dialog.problem === undefined ? [] : [cleanLine(dialog.problem)]),
    ],
  };
}
