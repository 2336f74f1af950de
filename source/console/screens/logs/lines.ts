import { type Entries, entryAt } from '../../../logs/entry-list.ts';
import type { LogEdge, LogEntry } from '../../../logs/store.ts';
import { cleanLine, jsonText } from '../../../text/clean.ts';
import { parsedJson } from '../../../text/json-value.ts';
import { agoText, numberText } from '../../../text/quantities.ts';
import { cut, textWidth } from '../../../text/width.ts';
import type { Keymap } from '../../keymap.ts';
import { type Page, scrolledText, type View } from '../../screen.ts';
import { paragraph } from '../../styled-text.ts';
import type { Role, Theme } from '../../theme.ts';
import {
  clockText,
  dateColumns,
  dateText,
  markOf,
  sourceColumns,
  sourceNamingOf,
  sourceParts,
  sourceText,
  timeColumns,
  timeText,
} from './line-prefix.ts';
import { type LogGeometry, type PositionedRow, positionedRows, positionOf, withCursorSeen } from './model.ts';
import type { LogsState } from './state.ts';
import { type CutPiece, type LineText, lineText, segmentsOf, shiftedPiece, untimedText, wrappedHeight, wrappedPieces } from './text.ts';
import { type LogViewer, sourceRoles } from './viewer.ts';

export interface LogLinesOptions extends Pick<View, 'theme' | 'width' | 'height' | 'focused' | 'nowMs'> {
  keymap: Keymap;
  viewer: LogViewer;
  logs: LogsState;
  filter: string;
  componentKeys: readonly string[];
  /** All names that `sourceName` can return here: with more than one, each line names its source. */
  services: readonly string[];
}

/** `cut`: a line is wider than the screen; undefined before any was measured. `whole`: the page of the line shown in full. */
export type LogMeasured = LogGeometry & { cut: boolean | undefined; whole: Page };

function prefixRole(line: LineText, entry: LogEntry): Role {
  if (line.level === 'fatal' || line.level === 'error') return 'error';
  if (line.level === 'warn' || (line.level === undefined && entry.stream === 'stderr')) return 'warning';
  return 'faint';
}

const levelWord = /\b(?:fatal|panic|crit(?:ical)?|error|err|warn(?:ing)?)\b/i;
/** Programs write the level within these characters; further on it is an ordinary word. */
const levelCharacters = 80;

function withLevel(text: string, role: Role, theme: Theme): string {
  const found = levelWord.exec(text.slice(0, levelCharacters));
  if (!found) return text;
  const end = found.index + found[0].length;
  return text.slice(0, found.index) + theme.paint(role, text.slice(found.index, end)) + text.slice(end);
}

export function logLines(options: LogLinesOptions) {
  const { theme, width, height, viewer, logs, focused, componentKeys, nowMs } = options;
  const entries = viewer.entries();
  const naming = sourceNamingOf(componentKeys);
  const merged = naming !== 'service';
  const colours = merged ? viewer.coloursOf(componentKeys) : undefined;

  const times = width >= 40 ? logs.times : 'off';
  const filter = viewer.filter();
  const today = dateText(nowMs, times);
  // A date precedes the time when the line above has another date, and on the first line when it is not today. The date narrows the text,
  // so wrapping must know about it before the visible lines are known.
  const isDated = (entry: LogEntry | undefined) => entry?.timeMs !== undefined && dateText(entry.timeMs, times) !== today;
  const lowest = entryAt(entries, logs.at ? Math.max(0, positionOf(entries, logs.at.bottom)) : entries.length - 1);
  const highest = entryAt(entries, Math.max(0, (lowest ? positionOf(entries, lowest.index) : 0) - height));
  const mayDate = (times === 'local' || times === 'utc') && (!logs.wrap || isDated(lowest) || isDated(highest));
  const nameColumns = sourceColumns(options.services, naming, width);
  const prefixColumns = 1 + timeColumns(times) + (nameColumns > 0 ? nameColumns + 1 : 0) + 2;
  const room = Math.max(1, width - prefixColumns - 1);
  const wrapRoom = Math.max(1, room - (mayDate ? dateColumns : 0));

  const shownText = (entry: LogEntry) => (logs.raw || times === 'off' ? lineText(entry, logs.raw) : untimedText(entry, filter));
  const rowsOf = (entry: LogEntry) => (logs.wrap ? wrappedHeight(shownText(entry), wrapRoom) : 1);
  const geometry = { height, rowsOf };
  const measured: LogMeasured = { ...geometry, cut: entries.length === 0 ? undefined : false, whole: { height, total: 0 } };
  const highlightsOnly = filter !== undefined && (!logs.hides || viewer.inContext());
  const cursorPosition = logs.at && positionOf(entries, logs.at.cursor);

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: called for every visible line of every frame, which parts would slow down
  function draw({ position, row }: PositionedRow, date: string): string {
    const entry = entryAt(entries, position);
    if (!entry) return edgeRow(options, viewer.edges().back);
    const line = shownText(entry);
    const shifted: CutPiece = logs.wrap
      ? { ...(wrappedPieces(line, wrapRoom)[row] ?? { start: 0, end: 0 }), cut: false }
      : shiftedPiece(line, logs.shift, room - date.length);
    if (shifted.cut) measured.cut = true;
    const under = position === cursorPosition;
    const marked = logs.marks.size > 0 && logs.marks.has(markOf(entry));
    const segments = segmentsOf(line, shifted, filter, theme.depth !== 'none' && !under);
    const found = highlightsOnly && (segments.some(({ match }) => match) || filter.passes(entry.text));
    const gutter = row > 0 ? ' ' : under ? theme.glyphs.pointer : marked ? theme.glyphs.mark : found ? '=' : ' ';
    // The mark of the line under the cursor is here, because the first column has the pointer.
    const signs = (entry.stream === 'stderr' ? '!' : '') + (marked && under ? theme.glyphs.mark : '');
    const sign = row > 0 ? '  ' : signs.padEnd(2);
    const time = date + (row > 0 ? ' '.repeat(timeColumns(times)) : timeText(entry.timeMs, times, nowMs));
    const who =
      nameColumns === 0 ? '' : `${row > 0 ? ' '.repeat(nameColumns) : sourceText(entry, naming, nameColumns, theme.glyphs.ellipsis)} `;
    const end = shifted.cut ? '>' : '';
    if (under) {
      const bar = focused ? 'selected' : 'resting';
      const used = date.length + prefixColumns + segments.reduce((sum, { text }) => sum + textWidth(text), 0) + end.length;
      return (
        theme.paint(bar, gutter + time + who + sign) +
        segments.map(({ text, match }) => theme.paint(match ? 'match' : bar, text)).join('') +
        theme.paint(bar, end + ' '.repeat(Math.max(0, width - used)))
      );
    }
    const role = prefixRole(line, entry);
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
    const edge = gutter === ' ' ? ' ' : theme.paint(marked ? 'key' : 'warning', gutter);
    return edge + lead + body + (end && theme.paint('faint', end));
  }

  let lines: string[];
  const underCursor = cursorPosition === undefined ? undefined : entryAt(entries, Math.max(0, cursorPosition));
  if (logs.whole !== undefined && underCursor) {
    const text = scrolledText(theme, wholeLines(underCursor, options), logs.whole, height);
    measured.whole = text.page;
    lines = text.rows;
  } else if (entries.length === 0) lines = paragraph(theme, 'faint', emptyText(options), width - 4, '  ');
  else {
    let above = today;
    lines = positionedRows(entries, logs.at && withCursorSeen(entries, logs.at, geometry), geometry).map((placed) => {
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

/** The store truncates longer lines to this length: `LogEntry`. */
const keptCharacters = 16_384;

export function wholeLines(entry: LogEntry, { theme, width, nowMs, componentKeys }: LogLinesOptions): string[] {
  const line = lineText(entry, true);
  const when =
    entry.timeMs === undefined
      ? 'time unknown'
      : `${new Date(entry.timeMs).toISOString().replace('T', ' ')}, ${agoText(nowMs - entry.timeMs)}`;
  const subject = sourceParts(entry, sourceNamingOf(componentKeys) === 'host' ? 'host' : 'component').join('/');
  const head = [when, `${subject}, ${entry.stream}`, line.level].filter(Boolean).join(` ${theme.glyphs.dot} `);
  const room = Math.max(1, width - 2);
  const cutNote =
    entry.text.length >= keptCharacters
      ? ['', ` ${theme.paint('warning', `Only the first ${numberText(keptCharacters)} characters of this line are available.`)}`]
      : [];
  return [
    ...paragraph(theme, 'faint', head, room, ' '),
    '',
    ...spreadOut(entry.text).flatMap((text) => {
      const piece: LineText = { text, styled: undefined, level: undefined, ascii: /^[\x20-\x7e]*$/.test(text) };
      return wrappedPieces(piece, room).map(({ start, end }) => ` ${text.slice(start, end)}`);
    }),
    ...cutNote,
  ];
}

function spreadOut(text: string): string[] {
  if (!/^\s*[{[]/.test(text)) return [text];
  const value = parsedJson(text);
  return value === undefined ? [text] : jsonText(value, 2).split('\n').map(cleanLine);
}

const linesText = (count: number) => `${numberText(count)} ${count === 1 ? 'line' : 'lines'}`;

function edgeText(edge: LogEdge, filtered: boolean, direction: 'back' | 'forth', keymap: Keymap): string | undefined {
  if (edge.state === 'failed') return cleanLine(edge.message);
  if (edge.state !== 'loading') return undefined;
  const to = edge.timeMs === undefined ? '' : `, ${direction === 'back' ? 'back' : 'up'} to ${clockText(edge.timeMs)}`;
  const stop = ` (${keymap.keyOf('back')} to stop)`;
  if (!filtered) return `loading ${direction === 'back' ? 'older' : 'newer'} lines${to}${stop}`;
  if (edge.searched === 0) return `searching${stop}`;
  return `searched ${numberText(edge.searched)} lines${to}${stop}`;
}

function edgeRow({ theme, width, viewer, logs, keymap }: LogLinesOptions, edge: LogEdge): string {
  const filtered = isFiltered({ viewer, logs });
  const text =
    edgeText(edge, filtered, 'back', keymap) ??
    (edge.state === 'reached'
      ? 'start of the log'
      : `older lines: ${keymap.keyOf('up')} or ${keymap.keyOf('page-up')} ${filtered ? 'searches them' : 'loads them'}`);
  const { across } = theme.frame(false);
  const shown = cut(text, width - 8, theme.glyphs.ellipsis);
  const line = `${across.repeat(2)} ${shown} ${across.repeat(Math.max(0, width - textWidth(shown) - 6))}`;
  return ` ${theme.paint(edge.state === 'failed' ? 'error' : edge.state === 'loading' ? 'busy' : 'faint', line)} `;
}

function isFiltered({ viewer, logs }: Pick<LogLinesOptions, 'viewer' | 'logs'>): boolean {
  return viewer.filter() !== undefined && logs.hides && !viewer.inContext();
}

function stateText({ viewer, logs }: LogLinesOptions, following: boolean): string {
  if (logs.at === undefined) return following ? 'following' : 'ended';
  const waiting = viewer.reading()?.waiting() ?? 0;
  return waiting === 0 ? 'paused' : `paused, ${numberText(waiting)} ${waiting === 1 ? 'new line' : 'new lines'}`;
}

function filterCountText({ viewer, logs, filter }: LogLinesOptions, matches: number, total: number): string {
  if (viewer.isChanging()) return 'filtering';
  if (viewer.inContext()) return 'in context';
  if (filter === '' || viewer.filter() === undefined) return linesText(total);
  if (!logs.hides) return `highlighted in ${linesText(total)}`;
  return matches <= total ? `${numberText(matches)} of ${linesText(total)} match` : `${numberText(matches)} match`;
}

function statusText(options: LogLinesOptions, entries: Entries<LogEntry>): string {
  const { theme, viewer, logs } = options;
  const source = viewer.source();
  // The error of the typed filter uses this space until it is corrected.
  if (!source || viewer.problem() !== undefined) return '';
  const { following, message } = source.state();
  const state = message && !logs.at ? cleanLine(message) : stateText(options, following);
  const count = filterCountText(options, entries.length, source.total());
  return theme.paint(logs.at ? 'warning' : 'faint', [state, count].join(` ${theme.glyphs.dot} `));
}

function notesText({ theme, viewer, logs, keymap }: LogLinesOptions): string {
  const notes: string[] = [];
  const problem = viewer.problem();
  if (problem !== undefined) notes.push(theme.paint('error', cleanLine(problem)));
  else notes.push(theme.paint('faint', cleanLine(viewer.hint() ?? '')));
  const { back, forth } = viewer.edges();
  const filtered = isFiltered({ viewer, logs });
  const doing = viewer.doing();
  const searching = typeof doing === 'object' ? doing : undefined;
  const progress =
    (searching && edgeText(searching, true, 'back', keymap)) ??
    edgeText(back, filtered, 'back', keymap) ??
    edgeText(forth, filtered, 'forth', keymap);
  if (typeof doing === 'string') notes.push(theme.paint('busy', `${doing} (${keymap.keyOf('back')} to stop)`));
  else if (progress !== undefined)
    notes.push(theme.paint([back, forth, searching].some((edge) => edge?.state === 'loading') ? 'busy' : 'error', progress));
  const set = [
    logs.marks.size > 0 ? `${logs.marks.size} marked` : '',
    logs.wrap ? 'wrapped' : '',
    logs.shift > 0 ? `column ${logs.shift + 1}` : '',
    logs.raw ? 'unformatted' : '',
  ].filter(Boolean);
  const dot = ` ${theme.glyphs.dot} `;
  return [...notes, theme.paint('faint', set.join(dot))].filter(Boolean).join(theme.paint('faint', dot));
}

function emptyText({ viewer, filter, logs, theme, keymap, componentKeys }: LogLinesOptions): string {
  if (componentKeys.length === 0) return 'No component is selected.';
  const source = viewer.source();
  const reading = `Reading the log${theme.glyphs.ellipsis}`;
  if (!source) return reading;
  const { back } = viewer.edges();
  const progress = edgeText(back, filter !== '' && logs.hides, 'back', keymap);
  if (progress !== undefined) return progress;
  // A log that was not read to its beginning may have lines.
  const isWhole = back.state === 'reached';
  if (filter !== '' && (source.total() > 0 || !isWhole)) {
    const further = back.state === 'more' ? `${keymap.keyOf('up')} searches further back, ` : '';
    return `No line matches "${filter}". ${further}Esc clears the filter.`;
  }
  return source.state().message || (isWhole ? 'No log lines yet.' : reading);
}
