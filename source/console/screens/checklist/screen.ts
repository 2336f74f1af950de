import type { ChecklistItem } from '../../../session/checklist.ts';
import { cleanLine } from '../../../text/clean.ts';
import { dialogIn, dialogScreen } from '../../front-run.ts';
import { keyText } from '../../key-press.ts';
import { filled, listWindow, type Room, type Screen } from '../../screen.ts';
import { cutStyled, padStyled, paragraph, styledWidth } from '../../styled-text.ts';
import type { Theme } from '../../theme.ts';
import { itemSeverities } from '../run/progress.ts';
import { type ChecklistDialog, type ChecklistRows, checklistAnswers, pressChecklist } from './dialog.ts';

export const checklist: Screen<'checklist'> = {
  id: 'checklist',
  ...dialogScreen('checklist'),
  open({ store, keymap, commands }) {
    let page: ChecklistRows = { evidence: { height: 1, total: 0 }, question: undefined };
    return {
      draw({ theme, state, width, height, previousTop }) {
        const { run, dialog } = dialogIn(state, 'checklist');
        const { rows, measured, top } = checklistScreen(dialog, theme, { width: width - 2, height: height - 2, previousTop });
        const { title, items } = dialog.question.checklist;
        const { total, height: seen } = measured.evidence;
        return {
          title: cleanLine(title),
          aside: checklistCounts(items, theme),
          foot: total > seen ? theme.paint('faint', `${Math.min(dialog.scroll + seen, total)} of ${total} lines`) : '',
          below: run.command,
          edgeRole: items.some((item) => item.state === 'blocked') ? 'error' : undefined,
          rows,
          top,
          shown: () => {
            page = measured;
          },
        };
      },
      speak({ theme, state, width }) {
        const { dialog } = dialogIn(state, 'checklist');
        const shown = () => {
          page = { evidence: { height: 100, total: 0 }, question: dialog.question };
        };
        return { lines: checklistSentences(dialog, theme, width), shown };
      },
      footer({ state, of }) {
        const answers = checklistAnswers(dialogIn(state, 'checklist').dialog);
        const first = answers.find(({ key }) => key === 'enter');
        const others = answers
          .filter((answer) => answer !== first && answer.value !== 'leave')
          .map(({ key, label, value }) => ({ key: keyText(key), label: value === 'again' ? 'check again' : cleanLine(label) }));
        const next = first ? [{ key: keyText(first.key), label: cleanLine(first.label).replace(/:.*$/, '').toLowerCase() }] : [];
        return { items: [of('down', 'item'), of('page-down', 'evidence')], always: [...next, ...others, of('cancel', 'leave')] };
      },
      press(press) {
        const { run, dialog } = dialogIn(store.get(), 'checklist');
        commands.runs.step(run.id, pressChecklist(dialog, press, keymap.is, page));
        return true;
      },
    };
  },
};

function itemRow({ state, title, summary, reason }: ChecklistItem, theme: Theme, titleWidth: number, width: number): string {
  const severity = itemSeverities[state];
  const reported = cleanLine(state === 'skipped' ? (reason ?? summary) : summary);
  const name = padStyled(state === 'todo' ? theme.paint('faint', cleanLine(title)) : cleanLine(title), titleWidth, theme.glyphs.ellipsis);
  const sign = theme.paint(severity, `${theme.glyphs.severity[severity]} ${state.padEnd(8)}`);
  return cutStyled(`${sign} ${name}  ${theme.paint('faint', reported)}`, width, theme.glyphs.ellipsis);
}

function listRows(items: readonly ChecklistItem[], theme: Theme, width: number): { text: string; item?: number }[] {
  const longest = Math.max(...items.map(({ title }) => cleanLine(title).length), 0);
  const titleWidth = Math.min(longest, Math.max(18, Math.floor(width / 3)));
  let section = '';
  return items.flatMap((item, index) => {
    const heading = item.section === section ? [] : [{ text: theme.paint('heading', cleanLine(item.section)) }];
    section = item.section;
    return [...heading, { text: itemRow(item, theme, titleWidth, width), item: index }];
  });
}

function evidenceLines({ title, state, summary, evidence, advice, reason, by, at }: ChecklistItem, theme: Theme, width: number): string[] {
  const who = by && at && state !== 'todo' ? `${cleanLine(by)}, ${at.slice(0, 16).replace('T', ' ')} UTC` : '';
  const head = `${theme.paint('strong', cleanLine(title))}: ${theme.paint(itemSeverities[state], state)}`;
  const isOneRow = styledWidth(head) + who.length + 2 <= width;
  return [
    ...(isOneRow
      ? [head + (who === '' ? '' : `  ${theme.paint('faint', who)}`)]
      : [...paragraph(theme, 'strong', `${title}: ${state}`, width), ...(who === '' ? [] : [theme.paint('faint', who)])]),
    ...(reason === undefined ? [] : paragraph(theme, 'warning', `Skipped because: ${reason}`, width)),
    ...paragraph(theme, undefined, summary, width),
    ...(advice === undefined ? [] : paragraph(theme, 'accent', `${theme.glyphs.arrow} ${advice}`, width)),
    ...evidence.filter((line) => line !== summary).flatMap((line) => paragraph(theme, 'faint', line, width - 2, '  ')),
  ];
}

function checklistScreen({ question, at, scroll, problem }: ChecklistDialog, theme: Theme, { width, height, previousTop }: Room) {
  const inner = width - 4;
  const { items } = question.checklist;
  const all = listRows(items, theme, inner);
  const questionLines = [
    ...paragraph(theme, 'strong', question.label, inner),
    ...(problem === undefined ? paragraph(theme, 'faint', question.help ?? '', inner) : paragraph(theme, 'error', problem, inner)),
  ];
  const asked = questionLines.slice(0, Math.max(2, Math.floor(height / 5)));
  const rule = theme.paint('border', theme.frame(false).across.repeat(width - 2));
  const item = items[at];
  // A question that is too long for its rows is repeated in full below the evidence, which scrolls.
  const whole = asked.length < questionLines.length ? ['', ...questionLines] : [];
  const evidence = [...(item ? evidenceLines(item, theme, inner) : []), ...whole];
  const room = height - asked.length - 2;
  const mostEvidence = Math.max(room - all.length, Math.floor(room * 0.3));
  const evidenceHeight = Math.max(3, Math.min(evidence.length, Math.floor(room * 0.4), mostEvidence));
  const listHeight = Math.max(3, Math.min(all.length, room - evidenceHeight));
  const row = all.findIndex(({ item: index }) => index === at);
  const { top, visible } = listWindow(all, { previous: previousTop, selected: row === 1 ? 0 : row, height: listHeight });
  const list = visible.map(({ text, item: index }) => {
    const here = index !== undefined && index === at;
    const line = `${here ? theme.glyphs.pointer : ' '} ${text}`;
    return here ? theme.paint('selected', padStyled(line, width - 2)) : line;
  });
  const below = Math.max(1, room - list.length);
  const from = Math.max(0, Math.min(scroll, evidence.length - below));
  const shown = evidence.slice(from, from + below).map((line) => `  ${line}`);
  const rows = [...list, rule, ...filled(shown, below), rule, ...asked.map((line) => `  ${line}`)];
  return {
    rows: rows.map((row) => ` ${padStyled(row, width - 2, theme.glyphs.ellipsis)} `),
    measured: { evidence: { height: below, total: evidence.length }, question } satisfies ChecklistRows,
    top,
  };
}

function checklistCounts(items: readonly ChecklistItem[], theme: Theme): string {
  return (['blocked', 'warning', 'ok', 'skipped', 'todo'] as const)
    .map((state) => ({ state, count: items.filter((item) => item.state === state).length }))
    .filter(({ count }) => count > 0)
    .map(({ state, count }) => {
      const word = state === 'warning' && count !== 1 ? 'warnings' : state === 'todo' ? 'to do' : state;
      return theme.paint(itemSeverities[state], `${count} ${word}`);
    })
    .join('  ');
}

function checklistSentences({ question, at, problem }: ChecklistDialog, theme: Theme, width: number): string[] {
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
