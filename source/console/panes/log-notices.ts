import type { Entries } from '../../fleet/entry-list.ts';
import type { LogEdge, LogEntry } from '../../fleet/log-store.ts';
import { cleanLine } from '../../text/clean.ts';
import { numberText } from '../../text/quantities.ts';
import { cut, textWidth, wrap } from '../../text/width.ts';
import type { Keymap } from '../keymap.ts';
import { clockText } from './log-lead.ts';
import type { LogLinesOptions } from './log-lines.ts';

const linesText = (count: number) => `${numberText(count)} ${count === 1 ? 'line' : 'lines'}`;

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
export function edgeRow({ theme, width, hub, logs, keymap }: LogLinesOptions, edge: LogEdge): string {
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

export function statusText({ theme, hub, logs, filter }: LogLinesOptions, entries: Entries<LogEntry>): string {
  const source = hub.source();
  // What is wrong with what is typed needs the room, and comes first until it is right.
  if (!source || hub.problem() !== undefined) return '';
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

export function notesText({ theme, hub, logs, keymap }: LogLinesOptions): string {
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

/** What stands in a log that shows no line. */
export function emptyLines({ hub, filter, logs, theme, width, keymap }: LogLinesOptions): string[] {
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
