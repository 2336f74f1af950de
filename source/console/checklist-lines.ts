import type { ChecklistItem } from '../session/checklist.ts';
import { cleanLine } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import type { ChecklistDialog, ChecklistRows } from './checklist-dialog.ts';
import { windowStart } from './layout.ts';
import { cutStyled, padStyled, styledWidth } from './styled-text.ts';
import type { Theme } from './theme.ts';

const tones = { todo: 'idle', running: 'busy', ok: 'good', warning: 'warn', blocked: 'bad', skipped: 'idle' } as const;

interface ListRow {
  text: string;
  item?: number;
}

/** `● ok       Nodes             4 nodes ready`: state, what it is, what was seen. */
function itemRow({ state, title, summary, reason }: ChecklistItem, theme: Theme, titleWidth: number, width: number): string {
  const tone = tones[state];
  const told = cleanLine(state === 'skipped' ? (reason ?? summary) : summary);
  const name = padStyled(
    cutStyled(state === 'todo' ? theme.paint('faint', cleanLine(title)) : cleanLine(title), titleWidth, theme.glyphs.ellipsis),
    titleWidth,
  );
  return cutStyled(
    `${theme.paint(tone, `${theme.glyphs.tone[tone]} ${state.padEnd(8)}`)} ${name}  ${theme.paint('faint', told)}`,
    width,
    theme.glyphs.ellipsis,
  );
}

function listRows(items: readonly ChecklistItem[], theme: Theme, width: number): ListRow[] {
  const longest = Math.max(...items.map(({ title }) => cleanLine(title).length), 0);
  const titleWidth = Math.min(longest, Math.max(18, Math.floor(width / 3)));
  let section = '';
  return items.flatMap((item, index): ListRow[] => {
    const heading = item.section === section ? [] : [{ text: theme.paint('heading', cleanLine(item.section)) }];
    section = item.section;
    return [...heading, { text: itemRow(item, theme, titleWidth, width), item: index }];
  });
}

/** All that was seen of one item: who saw it when, the evidence, and what to do. */
export function evidenceLines(
  { title, state, summary, evidence, advice, reason, by, at }: ChecklistItem,
  theme: Theme,
  width: number,
): string[] {
  const who = by && at && state !== 'todo' ? `${cleanLine(by)}, ${at.slice(0, 16).replace('T', ' ')} UTC` : '';
  const head = `${theme.paint('strong', cleanLine(title))}: ${theme.paint(tones[state], state)}`;
  const titles = wrap(`${cleanLine(title)}: ${state}`, width).map((line) => theme.paint('strong', line));
  const isOneRow = styledWidth(head) + who.length + 2 <= width;
  return [
    ...(isOneRow
      ? [head + (who === '' ? '' : `  ${theme.paint('faint', who)}`)]
      : [...titles, ...(who === '' ? [] : [theme.paint('faint', who)])]),
    ...(reason === undefined ? [] : wrap(`Skipped because: ${cleanLine(reason)}`, width).map((line) => theme.paint('warn', line))),
    ...(summary === '' ? [] : wrap(cleanLine(summary), width)),
    ...(advice === undefined ? [] : wrap(`${theme.glyphs.arrow} ${cleanLine(advice)}`, width).map((line) => theme.paint('accent', line))),
    ...evidence
      .filter((line) => line !== summary)
      .flatMap((line) => wrap(cleanLine(line), width - 2).map((part) => `  ${theme.paint('faint', part)}`)),
  ];
}

export interface ChecklistScreen {
  rows: string[];
  measured: ChecklistRows;
  top: number;
}

/** The list above, below it the evidence of the item at hand, and at the bottom what is asked. */
export function checklistScreen(
  { question, at, scroll, problem }: ChecklistDialog,
  theme: Theme,
  { width, height, previousTop }: { width: number; height: number; previousTop: number },
): ChecklistScreen {
  const inner = width - 4;
  const { items } = question.checklist;
  const all = listRows(items, theme, inner);
  const questionLines = [
    ...wrap(cleanLine(question.label), inner).map((line) => theme.paint('strong', line)),
    ...(problem === undefined
      ? wrap(cleanLine(question.help ?? ''), inner).map((line) => theme.paint('faint', line))
      : wrap(cleanLine(problem), inner).map((line) => theme.paint('bad', line))),
  ];
  const asked = questionLines.slice(0, Math.max(2, Math.floor(height / 5)));
  const rule = theme.paint('border', theme.frame(false).across.repeat(width - 2));
  const item = items[at];
  // A question that is too long for its rows stands whole below the evidence, which scrolls.
  const whole = asked.length < questionLines.length ? ['', ...questionLines] : [];
  const evidence = [...(item ? evidenceLines(item, theme, inner) : []), ...whole];
  const room = height - asked.length - 2;
  const evidenceHeight = Math.max(
    3,
    Math.min(evidence.length, Math.floor(room * 0.4), Math.max(room - all.length, Math.floor(room * 0.3))),
  );
  const listHeight = Math.max(3, Math.min(all.length, room - evidenceHeight));
  const selected = all.findIndex((row) => row.item === at);
  const top = windowStart({ previous: previousTop, selected: selected === 1 ? 0 : selected, height: listHeight, total: all.length });
  const list = all.slice(top, top + listHeight).map(({ text, item: index }) => {
    const here = index !== undefined && index === at;
    const line = `${here ? theme.glyphs.pointer : ' '} ${text}`;
    return here ? theme.paint('selected', padStyled(line, width - 2)) : line;
  });
  const below = Math.max(1, room - list.length);
  const from = Math.max(0, Math.min(scroll, evidence.length - below));
  const shown = evidence.slice(from, from + below).map((line) => `  ${line}`);
  while (shown.length < below) shown.push('');
  const rows = [...list, rule, ...shown, rule, ...asked.map((line) => `  ${line}`)];
  return {
    rows: rows.map((row) => ` ${padStyled(row, width - 2, theme.glyphs.ellipsis)} `),
    measured: { height: listHeight, evidence: { height: below, total: evidence.length }, question },
    top,
  };
}

/** `2 blocked  3 warnings  9 ok`, on the upper edge. */
export function checklistCounts(items: readonly ChecklistItem[], theme: Theme): string {
  return (['blocked', 'warning', 'ok', 'skipped', 'todo'] as const)
    .map((state) => ({ state, count: items.filter((item) => item.state === state).length }))
    .filter(({ count }) => count > 0)
    .map(({ state, count }) =>
      theme.paint(tones[state], `${count} ${state === 'warning' && count !== 1 ? 'warnings' : state === 'todo' ? 'to do' : state}`),
    )
    .join('  ');
}

/** For screen readers: the item at hand and those that want something. */
export function checklistSentences({ question, at, problem }: ChecklistDialog, theme: Theme, width: number): string[] {
  const { title, items } = question.checklist;
  const item = items[at];
  return [
    `Checklist: ${cleanLine(title)}. ${checklistCounts(items, theme)}.`,
    `Item ${at + 1} of ${items.length}.`,
    ...(item ? evidenceLines(item, theme, width).map((line) => line.trim()) : []),
    cleanLine(question.label),
    ...(problem === undefined ? [] : [cleanLine(problem)]),
  ];
}
