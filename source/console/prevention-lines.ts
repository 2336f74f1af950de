import { kindsOf, leftText, whatOf } from '../flows/decision-words.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText, numberText } from '../text/quantities.ts';
import { cut, pad, wrap } from '../text/width.ts';
import { type PreventionLook, type PreventionRow, sortFor, sortTitles } from './prevention-rows.ts';
import type { PreventionView } from './prevention-watch.ts';
import { padStyled, unstyled } from './styled-text.ts';
import type { Theme } from './theme.ts';
import { wholeRow } from './widgets/whole-row.ts';

export interface PreventionContext {
  theme: Theme;
  width: number;
  nowMs: number;
}

type ColumnId = 'ago' | 'what' | 'why' | 'events' | 'country' | 'network' | 'kinds' | 'source' | 'left';
type Cells = Partial<Record<ColumnId, string>>;

interface Column {
  id: ColumnId;
  title: string;
  columns: number;
  align?: 'left' | 'right';
}

/** Columns of this tab; what is least needed is left out where there is little room. The reason takes what is left. */
function columnsFor(look: PreventionLook, width: number): Column[] {
  const wide = width >= 110;
  const narrow = width < 70;
  const value: Column = { id: 'what', title: look.tab === 'alerts' ? 'Who' : 'What', columns: wide ? 30 : narrow ? 18 : 22 };
  const country: Column = { id: 'country', title: '', columns: 2 };
  const network: Column[] = wide ? [{ id: 'network', title: 'Network', columns: 24 }] : [];
  const ends: Column[] =
    look.tab === 'alerts'
      ? [
          ...(narrow ? [] : [{ id: 'events', title: 'Events', columns: 6, align: 'right' } as const]),
          country,
          ...network,
          { id: 'kinds', title: 'Decisions', columns: 10 },
        ]
      : [
          country,
          ...network,
          { id: 'source', title: 'Source', columns: wide ? 12 : 9 },
          { id: 'left', title: 'Left', columns: 6, align: 'right' },
        ];
  const begins: Column[] = look.tab === 'alerts' ? [{ id: 'ago', title: 'Ago', columns: 4, align: 'right' }, value] : [value];
  const taken = [...begins, ...ends].reduce((sum, { columns }) => sum + columns + 2, 3);
  return [...begins, { id: 'why', title: 'Why', columns: Math.max(10, width - taken) }, ...ends];
}

function drawn(columns: readonly Column[], cells: Cells, mark: string): string {
  return columns.map((column) => pad(cells[column.id] ?? '', column.columns, column.align ?? 'left', mark)).join('  ');
}

export function headingLine(look: PreventionLook, { theme, width }: Pick<PreventionContext, 'theme' | 'width'>): string {
  const columns = columnsFor(look, width);
  return theme.paint(
    'faint',
    pad(`  ${drawn(columns, Object.fromEntries(columns.map(({ id, title }) => [id, title])), theme.glyphs.ellipsis)}`, width),
  );
}

/** Most of what the hub has comes from CrowdSec itself: that is not said where there is little room. */
function reasonText(reason: string, wide: boolean): string {
  return cleanLine(wide ? reason : reason.replace(/^crowdsecurity\//, ''));
}

function cellsOf(row: PreventionRow, wide: boolean, nowMs: number): Cells {
  if (row.kind === 'alert') {
    const { alert } = row;
    return {
      ago: alert.createdMs === undefined ? '' : durationText(nowMs - alert.createdMs),
      what: whatOf(alert),
      why: reasonText(alert.reason, wide),
      events: numberText(alert.events),
      country: cleanLine(alert.country),
      network: cleanLine(alert.network),
      kinds: alert.simulated ? 'simulated' : kindsOf(alert),
    };
  }
  const { decision } = row;
  const type = decision.type === 'ban' ? '' : `${decision.type}: `;
  return {
    what: whatOf(decision),
    why: `${decision.simulated ? 'simulated ' : ''}${cleanLine(type)}${reasonText(decision.reason, wide)}`,
    country: cleanLine(decision.country),
    network: cleanLine(decision.network),
    source: !wide && decision.origin === 'cscli-import' ? 'imported' : cleanLine(decision.origin),
    left: decision.endsMs <= nowMs ? 'over' : leftText(decision.endsMs - nowMs),
  };
}

export function preventionLine(row: PreventionRow, look: PreventionLook, marked: boolean, context: PreventionContext): string {
  const { theme, width, nowMs } = context;
  const columns = columnsFor(look, width);
  const text = drawn(columns, cellsOf(row, width >= 110, nowMs), theme.glyphs.ellipsis);
  const line = padStyled(`${marked ? theme.paint('accent', theme.glyphs.pointer) : ' '} ${text}`, width, theme.glyphs.ellipsis);
  return marked ? theme.paint('selected', line) : line;
}

/** The row under the cursor as a sentence, where the list has no room for all of it. */
export function preventionFoot(row: PreventionRow | undefined, look: PreventionLook, context: PreventionContext, height: number): string[] {
  if (!row) return [];
  const { theme, width, nowMs } = context;
  const line = unstyled(preventionLine(row, look, false, context));
  const isLeftOut = row.kind === 'alert' && columnsFor(look, width).every(({ id }) => id !== 'events');
  return wholeRow(isLeftOut || line.includes(theme.glyphs.ellipsis), rowSentence(row, nowMs), { theme, width, height });
}

/** All about a row: what has no value is left out. */
export function rowSentence(row: PreventionRow, nowMs: number): string {
  if (row.kind === 'alert') {
    const { alert } = row;
    const ago = alert.createdMs === undefined ? '' : `${durationText(nowMs - alert.createdMs)} ago`;
    const parts = [whatOf(alert), alert.reason, `${numberText(alert.events)} events`, alert.country, alert.network, ago, kindsOf(alert)];
    return `${parts.map(cleanLine).filter(Boolean).join(', ')}.`;
  }
  const { decision } = row;
  const parts = [whatOf(decision), decision.type, decision.reason, decision.country, decision.network, `from ${decision.origin}`];
  return `${parts.map(cleanLine).filter(Boolean).join(', ')}, ${leftText(decision.endsMs - nowMs)} left.`;
}

/** What stands where there is no row. */
export function emptyLines(view: PreventionView | undefined, filter: string, look: PreventionLook, context: PreventionContext): string[] {
  const { theme, width } = context;
  if (!view || view.state === 'asking') return [`  ${theme.paint('busy', 'Asking CrowdSec ...')}`];
  if (view.state === 'failed' && view.trouble) return troubleLines(view, context);
  if (filter !== '') return [`  ${cut(`Nothing matches "${filter}".`, width - 4)}`];
  if (look.tab === 'alerts') return ['  No alert: nothing was noticed.'];
  return [look.shared ? '  Nobody is shut out.' : '  Nobody is shut out, apart from what shared lists say.'];
}

export function troubleLines({ trouble }: PreventionView, { theme, width }: Pick<PreventionContext, 'theme' | 'width'>): string[] {
  if (!trouble) return [];
  return wrap(cleanLine(`${trouble.message} ${trouble.remedy}`), width - 4).map((line) => `  ${theme.paint('bad', line)}`);
}

/** `41 and 3 imported, without shared lists`, `41 and 15,000 of shared lists`; of alerts the number. */
export function countsText(view: PreventionView | undefined, look: PreventionLook): string {
  if (!view || view.state === 'asking') return '';
  if (look.tab === 'alerts') return numberText(view.alerts.length);
  const added = view.decisions.filter(({ origin }) => origin === 'cscli-import' || origin === 'console').length;
  const own = `${numberText(view.decisions.length - added)}${added > 0 ? ` and ${numberText(added)} imported` : ''}`;
  if (!look.shared) return `${own}, without shared lists`;
  return view.shared === undefined ? `${own}, fetching shared lists` : `${own} and ${numberText(view.shared.length)} of shared lists`;
}

export function orderText(look: PreventionLook): string {
  return sortTitles[sortFor(look)];
}
