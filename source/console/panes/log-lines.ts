import { entryAt } from '../../fleet/entry-list.ts';
import type { LogEntry } from '../../fleet/log-store.ts';
import { textWidth } from '../../text/width.ts';
import type { InterfaceState } from '../interface-store.ts';
import type { Keymap } from '../keymap.ts';
import { type LogHub, sourceRoles } from '../log-hub.ts';
import { markOf, tellingOf } from '../log-line-text.ts';
import { type LineText, lineText, type Piece, segmentsOf, shiftedPiece, untimedText, wrappedHeight, wrappedPieces } from '../log-text.ts';
import { type PlacedRow, placedRows, positionOf, withCursorSeen } from '../log-view.ts';
import type { Measured } from '../measured.ts';
import type { Role, Theme } from '../theme.ts';
import { dateColumns, dateText, timeColumns, timeText, whoColumns, whoText } from './log-lead.ts';
import { edgeRow, emptyLines, notesText, statusText } from './log-notices.ts';
import { wholeLines } from './whole-line.ts';

export interface LogLinesOptions {
  theme: Theme;
  keymap: Keymap;
  width: number;
  height: number;
  focused: boolean;
  hub: LogHub;
  logs: InterfaceState['logs'];
  filter: string;
  /** Components whose logs these are. */
  componentKeys: readonly string[];
  /** All that `whoOf` can say here: with more than one, each line says whose it is. */
  services: readonly string[];
  nowMs: number;
}

/** The visible part of a log, and what the pane's edges say about it. */
export interface LogLines {
  lines: string[];
  status: string;
  /** What is going on, wrong or set: for the other edge. */
  notes: string;
  measured: Measured['logs'];
}

function leadRole(line: LineText, entry: LogEntry): Role {
  if (line.level === 'fatal' || line.level === 'error') return 'bad';
  if (line.level === 'warn' || (line.level === undefined && entry.stream === 'stderr')) return 'warn';
  return 'faint';
}

const levelWord = /\b(?:fatal|panic|crit(?:ical)?|error|err|warn(?:ing)?)\b/i;
/** Where programs write the level; further on it is a word like any other. */
const levelCharacters = 80;

/** The word that states the level stands out where it is written. */
function withLevel(text: string, role: Role, theme: Theme): string {
  const found = levelWord.exec(text.slice(0, levelCharacters));
  if (!found) return text;
  const end = found.index + found[0].length;
  return text.slice(0, found.index) + theme.paint(role, text.slice(found.index, end)) + text.slice(end);
}

export function logLines(options: LogLinesOptions): LogLines {
  const { theme, width, height, hub, logs, focused, componentKeys, nowMs } = options;
  const entries = hub.entries();
  const telling = tellingOf(componentKeys);
  const merged = telling !== 'service';
  const colours = merged ? hub.sources.of(componentKeys) : undefined;

  const times = width >= 40 ? logs.times : 'off';
  const filter = hub.filter();
  const today = dateText(nowMs, times);
  // A date goes before a time where the line above it is of another day, the first one where it is not of today. The text gives it room; what is
  // wrapped has to know how much before it is known which lines are on the screen.
  const isDated = (entry: LogEntry | undefined) => entry?.timeMs !== undefined && dateText(entry.timeMs, times) !== today;
  const lowest = entryAt(entries, logs.at ? Math.max(0, positionOf(entries, logs.at.bottom)) : entries.length - 1);
  const highest = entryAt(entries, Math.max(0, (lowest ? positionOf(entries, lowest.index) : 0) - height));
  const mayDate = (times === 'local' || times === 'utc') && (!logs.wrap || isDated(lowest) || isDated(highest));
  const nameColumns = whoColumns(options.services, telling, width);
  const leadColumns = 1 + timeColumns(times) + (nameColumns > 0 ? nameColumns + 1 : 0) + 2;
  const room = Math.max(1, width - leadColumns - 1);
  const wrapRoom = Math.max(1, room - (mayDate ? dateColumns : 0));

  const shownText = (entry: LogEntry) => (logs.raw || times === 'off' ? lineText(entry, logs.raw) : untimedText(entry, filter));
  const rowsOf = (entry: LogEntry) => (logs.wrap ? wrappedHeight(shownText(entry), wrapRoom) : 1);
  const geometry = { height, rowsOf };
  const measured: Measured['logs'] = { ...geometry, cut: entries.length === 0 ? undefined : false, whole: { height, total: 0 } };
  const highlightsOnly = filter !== undefined && (!logs.hides || hub.inContext());
  const cursorPosition = logs.at && positionOf(entries, logs.at.cursor);

  function draw({ position, row }: PlacedRow, date: string): string {
    const entry = entryAt(entries, position);
    if (!entry) return edgeRow(options, hub.edges().back);
    const line = shownText(entry);
    const shifted: Piece & { cut: boolean } = logs.wrap
      ? { ...(wrappedPieces(line, wrapRoom)[row] ?? { start: 0, end: 0 }), cut: false }
      : shiftedPiece(line, logs.shift, room - date.length);
    if (shifted.cut) measured.cut = true;
    const under = position === cursorPosition;
    const marked = logs.marks.size > 0 && logs.marks.has(markOf(entry));
    const segments = segmentsOf(line, shifted, filter, theme.depth !== 'none' && !under);
    const found = highlightsOnly && (segments.some(({ match }) => match) || filter.passes(entry.text));
    const gutter = row > 0 ? ' ' : under ? theme.glyphs.pointer : marked ? theme.glyphs.mark : found ? '=' : ' ';
    // What is under the cursor has its mark here: the first column is the pointer's.
    const signs = (entry.stream === 'stderr' ? '!' : '') + (marked && under ? theme.glyphs.mark : '');
    const sign = row > 0 ? '  ' : signs.padEnd(2);
    const time = date + (row > 0 ? ' '.repeat(timeColumns(times)) : timeText(entry.timeMs, times, nowMs));
    const who =
      nameColumns === 0 ? '' : `${row > 0 ? ' '.repeat(nameColumns) : whoText(entry, telling, nameColumns, theme.glyphs.ellipsis)} `;
    const end = shifted.cut ? '>' : '';
    if (under) {
      const bar = focused ? 'selected' : 'resting';
      const used = date.length + leadColumns + segments.reduce((sum, { text }) => sum + textWidth(text), 0) + end.length;
      return (
        theme.paint(bar, gutter + time + who + sign) +
        segments.map(({ text, match }) => theme.paint(match ? 'match' : bar, text)).join('') +
        theme.paint(bar, end + ' '.repeat(Math.max(0, width - used)))
      );
    }
    const role = leadRole(line, entry);
    const lead = !merged
      ? theme.paint(role, time + who + sign)
      : theme.paint(role, time) + theme.paint(sourceRoles[colours?.get(entry.component) ?? 0] ?? 'faint', who) + theme.paint(role, sign);
    const quiet = line.level === 'debug' || line.level === 'trace';
    const loud = role !== 'faint' && row === 0 && line.styled === undefined ? role : undefined;
    const body = segments
      .map(({ text, match }, at) => {
        if (match) return theme.paint('match', text);
        if (quiet) return theme.paint('faint', text);
        return loud && at === 0 ? withLevel(text, loud, theme) : text;
      })
      .join('');
    const edge = gutter === ' ' ? ' ' : theme.paint(marked ? 'key' : 'warn', gutter);
    return edge + lead + body + (end && theme.paint('faint', end));
  }

  let lines: string[];
  if (logs.whole !== undefined && cursorPosition !== undefined && entryAt(entries, Math.max(0, cursorPosition))) {
    const all = wholeLines(entryAt(entries, Math.max(0, cursorPosition)) as LogEntry, options);
    const top = Math.max(0, Math.min(logs.whole, all.length - height));
    measured.whole = { height, total: all.length };
    lines = all.slice(top, top + height);
  } else if (entries.length === 0) lines = emptyLines(options);
  else {
    let above = today;
    lines = placedRows(entries, logs.at && withCursorSeen(entries, logs.at, geometry), geometry).map((placed) => {
      const timeMs = placed.row > 0 ? undefined : entryAt(entries, placed.position)?.timeMs;
      if (!mayDate || timeMs === undefined) return draw(placed, '');
      const own = dateText(timeMs, times);
      const date = own === above ? '' : `${own} `;
      above = own;
      return draw(placed, date);
    });
  }
  return { lines, status: statusText(options, entries), notes: notesText(options), measured };
}
