import type { LogEdge, LogEntry } from '../../fleet/log-store.ts';
import { cleanLine, jsonText } from '../../text/clean.ts';
import { agoText, durationText, numberText } from '../../text/quantities.ts';
import { cut, pad, textWidth, wrap } from '../../text/width.ts';
import type { InterfaceState, LogTimes } from '../interface-store.ts';
import type { Keymap } from '../keymap.ts';
import type { LogHub } from '../log-hub.ts';
import { componentName, markOf } from '../log-line-text.ts';
import { type LineText, lineText, type Piece, segmentsOf, shiftedPiece, wrappedHeight, wrappedPieces } from '../log-text.ts';
import { placedRows, positionOf } from '../log-view.ts';
import type { Measured } from '../measured.ts';
import type { Role, Theme } from '../theme.ts';

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

const day = 86_400_000;
const two = (value: number) => String(value).padStart(2, '0');

const linesText = (count: number) => `${numberText(count)} ${count === 1 ? 'line' : 'lines'}`;

/** `14:01:02`, in the operator's time zone. */
export function clockText(timeMs: number): string {
  const time = new Date(timeMs);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** `11-19 `, in the operator's time zone. */
function dateText(timeMs: number, utc: boolean): string {
  const time = new Date(utc ? timeMs : timeMs - new Date(timeMs).getTimezoneOffset() * 60_000);
  return `${time.toISOString().slice(5, 10)} `;
}

/** Columns of a time with the space behind it. Dates only where some line is not of today. */
function timeColumns(times: LogTimes, dated: boolean): number {
  return times === 'off' ? 0 : times === 'relative' ? 5 : (times === 'utc' ? 10 : 9) + (dated ? 6 : 0);
}

function timeText(timeMs: number | undefined, times: LogTimes, dated: boolean, nowMs: number): string {
  if (times === 'off') return '';
  const columns = timeColumns(times, dated);
  if (timeMs === undefined) return ' '.repeat(columns);
  if (times === 'relative') return `${durationText(nowMs - timeMs).padStart(columns - 1)} `;
  const date = dated ? dateText(timeMs, times === 'utc') : '';
  return times === 'utc' ? `${date}${new Date(timeMs).toISOString().slice(11, 19)}Z ` : `${date}${clockText(timeMs)} `;
}

/** Colours that tell the components of a merged log apart. The name stands there as well. */
const nameRoles: readonly Role[] = ['accent', 'unknown', 'good', 'busy', 'heading', 'idle'];

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
  const merged = componentKeys.length > 1;

  const ages = logs.times === 'local' || logs.times === 'utc';
  // Which lines are on the screen depends on the room, and the room on their dates: the last one decides.
  const lowest = entries[logs.at ? Math.max(0, positionOf(entries, logs.at.bottom)) : entries.length - 1];
  const highest = entries[Math.max(0, (lowest ? positionOf(entries, lowest.index) : 0) - height)];
  const dated = ages && width >= 60 && [lowest, highest].some((entry) => entry?.timeMs !== undefined && isOtherDay(entry.timeMs, nowMs));
  const times = width >= 40 ? logs.times : 'off';
  const whoColumns = whoWidth(options, merged);
  const leadColumns = 1 + timeColumns(times, dated) + (whoColumns > 0 ? whoColumns + 1 : 0) + 2;
  const room = Math.max(1, width - leadColumns - 1);

  const rowsOf = (entry: LogEntry) => (logs.wrap ? wrappedHeight(lineText(entry, logs.raw), room) : 1);
  const geometry = { height, rowsOf };
  const measured: Measured['logs'] = { ...geometry, cut: entries.length === 0 ? undefined : false, whole: { height, total: 0 } };
  const filter = hub.filter();
  const highlightsOnly = filter !== undefined && (!logs.hides || hub.inContext());
  const cursorPosition = logs.at && positionOf(entries, logs.at.cursor);

  function draw(position: number, row: number): string {
    const entry = entries[position];
    if (!entry) return edgeRow(options, hub.edges().back);
    const line = lineText(entry, logs.raw);
    const shifted: Piece & { cut: boolean } = logs.wrap
      ? { ...(wrappedPieces(line, room)[row] ?? { start: 0, end: 0 }), cut: false }
      : shiftedPiece(line, logs.shift, room);
    if (shifted.cut) measured.cut = true;
    const under = position === cursorPosition;
    const marked = logs.marks.size > 0 && logs.marks.has(markOf(entry));
    const segments = segmentsOf(line, shifted, filter, theme.depth !== 'none' && !under);
    const found = highlightsOnly && (segments.some(({ match }) => match) || filter.passes(line.text));
    const gutter = row > 0 ? ' ' : under ? theme.glyphs.pointer : marked ? theme.glyphs.mark : found ? '=' : ' ';
    // What is under the cursor has its mark here: the first column is the pointer's.
    const sign = row > 0 ? '  ' : (entry.stream === 'stderr' ? '!' : ' ') + (marked && under ? theme.glyphs.mark : ' ');
    const time = row > 0 ? ' '.repeat(timeColumns(times, dated)) : timeText(entry.timeMs, times, dated, nowMs);
    const who = whoColumns === 0 ? '' : `${pad(row > 0 ? '' : whoOf(entry, merged), whoColumns, 'left', theme.glyphs.ellipsis)} `;
    const end = shifted.cut ? '>' : '';
    if (under) {
      const bar = focused ? 'selected' : 'resting';
      const used = leadColumns + segments.reduce((sum, { text }) => sum + textWidth(text), 0) + end.length;
      return (
        theme.paint(bar, gutter + time + who + sign) +
        segments.map(({ text, match }) => theme.paint(match ? 'match' : bar, text)).join('') +
        theme.paint(bar, end + ' '.repeat(Math.max(0, width - used)))
      );
    }
    const role = leadRole(line, entry);
    const lead = !merged
      ? theme.paint(role, time + who + sign)
      : theme.paint(role, time) +
        theme.paint(nameRoles[Math.max(0, componentKeys.indexOf(entry.component)) % nameRoles.length] ?? 'faint', who) +
        theme.paint(role, sign);
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
  if (logs.whole !== undefined && cursorPosition !== undefined && entries[Math.max(0, cursorPosition)]) {
    const all = wholeLines(entries[Math.max(0, cursorPosition)] as LogEntry, options);
    const top = Math.max(0, Math.min(logs.whole, all.length - height));
    measured.whole = { height, total: all.length };
    lines = all.slice(top, top + height);
  } else if (entries.length === 0) lines = emptyLines(options);
  else lines = placedRows(entries, logs.at, geometry).map(({ position, row }) => draw(position, row));
  return { lines, status: statusText(options, entries), notes: notesText(options), measured };
}

function isOtherDay(timeMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - timeMs) > day || new Date(timeMs).getDate() !== new Date(nowMs).getDate();
}

/** Whose a line is: the service, and among several components the component before it. */
export function whoOf({ component, service }: Pick<LogEntry, 'component' | 'service'>, merged: boolean): string {
  if (!merged) return service;
  const name = componentName(component);
  return service === name || service === '' ? name : `${name}/${service}`;
}

function whoWidth({ width, services }: LogLinesOptions, merged: boolean): number {
  const most = !merged ? 14 : width >= 100 ? 24 : 16;
  return merged || services.length > 1 ? Math.min(most, Math.max(0, ...services.map(textWidth))) : 0;
}

/** What is said about the search or the loading at an edge; undefined when nothing goes on there. */
function edgeText(edge: LogEdge, filtered: boolean, direction: 'back' | 'forth', keymap: Keymap): string | undefined {
  if (edge.state === 'failed') return cleanLine(edge.message);
  if (edge.state !== 'loading') return undefined;
  const to = edge.timeMs === undefined ? '' : `, ${direction === 'back' ? 'back' : 'up'} to ${clockText(edge.timeMs)}`;
  const stop = `, ${keymap.keyOf('back')} stops`;
  if (!filtered) return `loading ${direction === 'back' ? 'older' : 'newer'} lines${to}${stop}`;
  if (edge.searched === 0) return `searching${stop}`;
  return `searched ${numberText(edge.searched)} lines${to}${stop}`;
}

/** The row above the first line: whether anything is older. */
function edgeRow({ theme, width, hub, logs, keymap }: LogLinesOptions, edge: LogEdge): string {
  const filtered = hub.filter() !== undefined && logs.hides && !hub.inContext();
  const text =
    edgeText(edge, filtered, 'back', keymap) ??
    (edge.state === 'reached'
      ? 'start of the log'
      : `older lines: ${keymap.keyOf('up')} or ${keymap.keyOf('page-up')} ${filtered ? 'searches on' : 'loads them'}`);
  const { across } = theme.frame(false);
  const shown = cut(text, width - 8, theme.glyphs.ellipsis);
  const line = `${across.repeat(2)} ${shown} ${across.repeat(Math.max(0, width - textWidth(shown) - 6))}`;
  return ` ${theme.paint(edge.state === 'failed' ? 'bad' : edge.state === 'loading' ? 'busy' : 'faint', line)} `;
}

function statusText({ theme, hub, logs, filter }: LogLinesOptions, entries: readonly LogEntry[]): string {
  const source = hub.source();
  if (!source) return '';
  const total = source.total();
  const waiting = hub.reading()?.waiting() ?? 0;
  const { following, message } = source.state();
  const state =
    logs.at === undefined
      ? following
        ? 'following'
        : 'ended'
      : waiting === 0
        ? 'paused'
        : `paused, ${numberText(waiting)} ${waiting === 1 ? 'line waits' : 'lines wait'}`;
  const applied = filter !== '' && hub.filter() !== undefined;
  const count = hub.isChanging()
    ? 'filtering'
    : hub.inContext()
      ? 'among its neighbours'
      : !applied
        ? linesText(total)
        : !logs.hides
          ? `highlighted in ${linesText(total)}`
          : entries.length <= total
            ? `${numberText(entries.length)} of ${linesText(total)} match`
            : `${numberText(entries.length)} match`;
  return theme.paint(logs.at ? 'warn' : 'faint', [message && !logs.at ? cleanLine(message) : state, count].join(` ${theme.glyphs.dot} `));
}

function notesText({ theme, hub, logs, keymap }: LogLinesOptions): string {
  const notes: string[] = [];
  const problem = hub.problem();
  const hint = hub.hint();
  if (problem !== undefined) notes.push(theme.paint('bad', cleanLine(problem)));
  else if (hint !== undefined) notes.push(theme.paint('faint', cleanLine(hint)));
  const { back, forth } = hub.edges();
  const filtered = hub.filter() !== undefined && logs.hides && !hub.inContext();
  const searching = hub.searching();
  const going =
    (searching && edgeText(searching, true, 'back', keymap)) ??
    edgeText(back, filtered, 'back', keymap) ??
    edgeText(forth, filtered, 'forth', keymap);
  const doing = hub.doing();
  if (doing !== undefined) notes.push(theme.paint('busy', `${doing}, ${keymap.keyOf('back')} stops`));
  else if (going !== undefined)
    notes.push(theme.paint([back, forth, searching].some((edge) => edge?.state === 'loading') ? 'busy' : 'bad', going));
  const set = [
    logs.marks.size > 0 ? `${logs.marks.size} marked` : '',
    logs.wrap ? 'wrapped' : '',
    logs.shift > 0 ? `from column ${logs.shift + 1}` : '',
    logs.raw ? 'as written' : '',
  ].filter(Boolean);
  if (set.length > 0) notes.push(theme.paint('faint', set.join(` ${theme.glyphs.dot} `)));
  return notes.join(theme.paint('faint', ` ${theme.glyphs.dot} `));
}

/** Of a longer line the store keeps no more: `LogEntry`. */
const keptCharacters = 16_384;

/** One line in full: when, whose, and all of its text; JSON spread out. */
export function wholeLines(entry: LogEntry, { theme, width, nowMs }: Pick<LogLinesOptions, 'theme' | 'width' | 'nowMs'>): string[] {
  const line = lineText(entry, true);
  const when =
    entry.timeMs === undefined
      ? 'at a time that the engine does not tell'
      : `${new Date(entry.timeMs).toISOString().replace('T', ' ')}, ${agoText(nowMs - entry.timeMs)}`;
  const whose = [componentName(entry.component), entry.service]
    .filter((name, at, all) => name !== '' && all.indexOf(name) === at)
    .join('/');
  const head = [when, `${whose}, ${entry.stream}`, line.level].filter(Boolean).join(` ${theme.glyphs.dot} `);
  const room = Math.max(1, width - 2);
  const cutNote =
    entry.text.length >= keptCharacters
      ? ['', ` ${theme.paint('warn', `Only its first ${numberText(keptCharacters)} characters are kept.`)}`]
      : [];
  return [
    ...wrap(cleanLine(head), room).map((row) => ` ${theme.paint('faint', row)}`),
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
  try {
    return jsonText(JSON.parse(text), 2).split('\n').map(cleanLine);
  } catch {
    return [text];
  }
}

function emptyLines({ hub, filter, logs, theme, width, keymap }: LogLinesOptions): string[] {
  const source = hub.source();
  const message = source?.state().message;
  const { back } = hub.edges();
  const going = edgeText(back, filter !== '' && logs.hides, 'back', keymap);
  const text =
    source === undefined
      ? 'No component is selected.'
      : going !== undefined
        ? going
        : filter !== '' && (source.total() > 0 || back.state !== 'reached')
          ? `No line matches "${filter}". ${back.state === 'more' ? `${keymap.keyOf('up')} searches further back, ` : ''}Esc clears the filter.`
          : message
            ? cleanLine(message)
            : 'Nothing was logged yet.';
  return wrap(text, width - 4).map((line) => `  ${theme.paint('faint', line)}`);
}
