import type { ScannerState } from '../fleet/scanner-state.ts';
import type { Triaged } from '../products/vulnerabilities/triage.ts';
import { cleanLine } from '../text/clean.ts';
import { numberText } from '../text/quantities.ts';
import { cut, pad, wrap } from '../text/width.ts';
import { padStyled, unstyled } from './styled-text.ts';
import type { Theme } from './theme.ts';
import type { TriageRow, TriageView } from './triage-watch.ts';
import { wholeRow } from './widgets/whole-row.ts';

export const triageShows = ['all', 'undecided', 'late'] as const;
export type TriageShows = (typeof triageShows)[number];

interface Context {
  theme: Theme;
  width: number;
  nowMs: number;
}

let last: { view: TriageView; filter: string; shows: TriageShows; rows: readonly TriageRow[] } | undefined;
const texts = new WeakMap<TriageRow, string>();

function searchText(row: TriageRow): string {
  const known = texts.get(row);
  if (known !== undefined) return known;
  const { one } = row;
  const text = `${one.id} ${one.aliases.join(' ')} ${one.package} ${one.subject} ${one.band} ${one.standing} ${one.title}`.toLowerCase();
  texts.set(row, text);
  return text;
}

/** The rows in the order of urgency. A hundred thousand are filtered when something changes, and not for each frame. */
export function triageRows(view: TriageView, filter: string, shows: TriageShows): readonly TriageRow[] {
  if (last?.view === view && last.filter === filter && last.shows === shows) return last.rows;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted =
    shows === 'late' ? view.all.filter((row) => row.isLate) : shows === 'undecided' ? view.all.filter((row) => row.isUndecided) : view.all;
  const rows = words.length === 0 ? wanted : wanted.filter((row) => words.every((word) => searchText(row).includes(word)));
  last = { view, filter, shows, rows };
  return rows;
}

function dueText({ dueMs, standing }: Triaged, nowMs: number): string {
  if (dueMs === undefined) return standing;
  const hours = Math.round(Math.abs(dueMs - nowMs) / 3_600_000);
  const length = hours < 48 ? `${hours}h` : `${Math.round(hours / 24)}d`;
  return dueMs < nowMs ? `${length} late` : `${standing} ${length}`;
}

type Title = 'Band' | 'CVSS' | 'Vulnerability' | 'Package' | 'Fixed in' | 'Where' | 'Deadline';

function cellOf(one: Triaged, title: Title, nowMs: number): string {
  const cells: Record<Title, string> = {
    Band: one.band,
    CVSS: one.score?.toFixed(1) ?? '',
    Vulnerability: one.id,
    Package: one.package,
    'Fixed in': one.fixedIn,
    Where: one.subject,
    Deadline: dueText(one, nowMs),
  };
  return cleanLine(cells[title]);
}

interface Column {
  title: Title;
  columns: number;
  align?: 'right';
}

/** Where there is little room the deadline says more than where it was found. */
function columnsFor(width: number): Column[] {
  const wide = width >= 110;
  const begin: Column[] = [
    { title: 'Band', columns: 8 },
    { title: 'CVSS', columns: 4, align: 'right' },
    { title: 'Vulnerability', columns: wide ? 20 : 16 },
  ];
  const end: Column = { title: 'Deadline', columns: wide ? 16 : 13 };
  const room = width - 2 - [...begin, end].reduce((sum, { columns }) => sum + columns + 2, 0);
  if (room < 26) return [...begin, { title: 'Package', columns: Math.max(6, room) }, end];
  const middle: Column[] = wide
    ? [
        { title: 'Package', columns: 24 },
        { title: 'Fixed in', columns: 16 },
      ]
    : [{ title: 'Package', columns: 14 }];
  const taken = middle.reduce((sum, { columns }) => sum + columns + 2, 0);
  return [...begin, ...middle, { title: 'Where', columns: room - taken }, end];
}

function drawn(columns: readonly Column[], cells: readonly string[], mark: string): string {
  return columns.map((column, at) => pad(cells[at] ?? '', column.columns, column.align ?? 'left', mark)).join('  ');
}

export function triageHeading({ theme, width }: Pick<Context, 'theme' | 'width'>): string {
  const columns = columnsFor(width);
  const titles = columns.map(({ title }) => title);
  return theme.paint('faint', pad(`  ${drawn(columns, titles, theme.glyphs.ellipsis)}`, width, 'left', theme.glyphs.ellipsis));
}

export function triageLine({ one, isLate, isUndecided }: TriageRow, marked: boolean, { theme, width, nowMs }: Context): string {
  const columns = columnsFor(width);
  const cells = columns.map(({ title }) => cellOf(one, title, nowMs));
  const text = drawn(columns, cells, theme.glyphs.ellipsis);
  const shown = isLate ? theme.paint('bad', text) : isUndecided ? text : theme.paint('faint', text);
  const line = padStyled(`${marked ? theme.paint('accent', theme.glyphs.pointer) : ' '} ${shown}`, width, theme.glyphs.ellipsis);
  return marked ? theme.paint('selected', line) : line;
}

/** Above the list: how the scanner's feeds are (R60), and what else makes it less than the truth. */
export function triageRemarks(
  view: TriageView,
  scanners: readonly ScannerState[],
  { theme, width }: Pick<Context, 'theme' | 'width'>,
): string[] {
  const lines = (tone: ScannerState['tone'], text: string) =>
    wrap(cleanLine(text), Math.max(1, width - 4)).map(
      (line, row) => ` ${theme.paint(tone === 'good' ? 'faint' : tone, `${row === 0 ? theme.glyphs.tone[tone] : ' '} ${line}`)}`,
    );
  return [...scanners.flatMap(({ tone, text }) => lines(tone, text)), ...view.remarks.flatMap((text) => lines('warn', text))];
}

/** About the row under the cursor, below the list: all of it where the list cuts it, otherwise what the list has no column for. */
export function triageFoot(row: TriageRow | undefined, { theme, width, nowMs }: Context, height: number): string[] {
  if (!row) return [''];
  const { one } = row;
  const { decision } = one;
  const said = decision ? `${decision.reason === '' ? '' : `${decision.reason}, `}${decision.by}` : one.title;
  const isCut = unstyled(triageLine(row, false, { theme, width, nowMs })).includes(theme.glyphs.ellipsis);
  const sentence = isCut ? `${triageSentence(row, nowMs)}${decision ? ` ${said}.` : ''}` : said;
  const lines = wholeRow(true, sentence, { theme, width, height });
  return lines.length === 0 ? [''] : lines;
}

/** For who hears it. */
export function triageSentence({ one }: TriageRow, nowMs: number): string {
  const parts = [
    one.band,
    one.score === undefined ? '' : `CVSS ${one.score.toFixed(1)}`,
    one.id,
    `in ${one.package} of ${one.subject}`,
    one.fixedIn === '' ? 'not mended yet' : `mended in ${one.fixedIn}`,
    dueText(one, nowMs),
    one.title,
  ];
  return `${parts.map(cleanLine).filter(Boolean).join(', ')}.`;
}

export function triageCounts({ all, state }: TriageView): string {
  if (state === 'reading') return '';
  return `${numberText(all.length)}, ${numberText(all.filter((row) => row.isLate).length)} late, ${numberText(all.filter((row) => row.isUndecided).length)} undecided`;
}

/** What stands where there is no row. */
export function triageEmpty(
  view: TriageView,
  filter: string,
  shows: TriageShows,
  importKey: string,
  { theme, width }: Pick<Context, 'theme' | 'width'>,
): string[] {
  if (view.state === 'reading') return [`  ${theme.paint('busy', 'Reading ...')}`];
  if (view.trouble)
    return wrap(cleanLine(`${view.trouble.message} ${view.trouble.remedy}`), width - 4).map((line) => `  ${theme.paint('bad', line)}`);
  if (!view.hasScans)
    return wrap(`No report was imported yet: ${importKey} imports one, of Trivy, Grype, OpenVAS or in SARIF.`, width - 4).map(
      (line) => `  ${line}`,
    );
  if (filter !== '') return [`  ${cut(`Nothing matches "${filter}".`, width - 4)}`];
  return [shows === 'late' ? '  Nothing is late.' : shows === 'undecided' ? '  All of it was decided about.' : '  Nothing was found.'];
}
