import type { LogSource } from '../../fleet/log-store.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { wrap } from '../../text/width.ts';
import type { InterfaceState } from '../interface-store.ts';
import { type LogRowOptions, type LogWindow, visibleRows } from '../log-view.ts';
import { unstyled } from '../styled-text.ts';
import type { Theme } from '../theme.ts';

const mostServiceColumns = 14;

interface Options {
  theme: Theme;
  width: number;
  height: number;
  window: LogWindow;
  source: LogSource | undefined;
  logs: InterfaceState['logs'];
  filter: string;
  /** Services of the component: with more than one, each line says whose it is. */
  services: readonly string[];
}

/** The visible part of a log, and what the pane's edge says about it. */
export function logLines(options: Options): { lines: string[]; status: string } {
  const { theme, width, height, window, source, logs, filter, services } = options;
  const last = window.length - 1;
  const bottom = logs.bottom === undefined ? last : window.positionOf(logs.bottom);
  const waiting = last - bottom;
  const rowOptions: LogRowOptions = {
    // A space at either edge.
    columns: width - 2,
    wrap: logs.wrap,
    timestamps: logs.timestamps && width >= 40,
    serviceColumns: services.length > 1 ? Math.min(mostServiceColumns, Math.max(...services.map((name) => name.length))) : 0,
  };
  const lines = visibleRows(window, bottom, height, rowOptions).map(
    // Plain for the most part: colour only where it says something, and none of the terminal's slow characters.
    ({ lead, stream, text }) =>
      ` ${lead === '' ? '' : theme.paint(stream === 'stderr' ? 'warn' : 'faint', lead)}${filter === '' ? text : marked(theme, text, filter)}`,
  );
  if (lines.length === 0) lines.push(...emptyLines(options));

  const total = source?.total() ?? 0;
  const state =
    logs.bottom === undefined
      ? source?.state().following
        ? 'following'
        : 'ended'
      : `paused, ${countText(waiting, 'line waits', 'lines wait')}`;
  const count = filter === '' ? countText(total, 'line') : `${window.length} of ${countText(total, 'line')} match`;
  const message = source?.state().message;
  const role = logs.bottom !== undefined ? 'warn' : 'faint';
  return { lines, status: theme.paint(role, [message ? cleanLine(message) : state, count].join(` ${theme.glyphs.dot} `)) };
}

function marked(theme: Theme, text: string, filter: string): string {
  if (theme.depth === 'none') return text;
  const plain = unstyled(text);
  const at = /\p{Lu}/u.test(filter) ? plain.indexOf(filter) : plain.toLowerCase().indexOf(filter.toLowerCase());
  if (at < 0) return text;
  return plain.slice(0, at) + theme.paint('match', plain.slice(at, at + filter.length)) + plain.slice(at + filter.length);
}

function emptyLines({ source, filter, theme, width }: Options): string[] {
  const message = source?.state().message;
  const text =
    source === undefined
      ? 'No component is selected.'
      : filter !== '' && source.total() > 0
        ? `No line matches "${filter}". Esc clears the filter.`
        : message
          ? cleanLine(message)
          : 'Nothing was logged yet.';
  return wrap(text, width - 4).map((line) => `  ${theme.paint('faint', line)}`);
}
