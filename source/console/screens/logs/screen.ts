import type { Screen } from '../../screen.ts';
import { describeLog, drawLog, logReads, useLog } from './shown-log.ts';
import { firstLogs, type LogsState, logSubject } from './state.ts';

const keys = [
  { id: 'ban-line', keys: ['b'], title: 'Ban an address in the line' },
  { id: 'follow', keys: ['space', 'f'], title: 'Pause the logs, or follow them again', label: 'pause', find: true },
  { id: 'enter-line', keys: ['enter'], title: 'Show the line in context or, without a filter, in full', label: 'line' },
  { id: 'whole-line', keys: ['V'], title: 'Show the whole line, with JSON formatted' },
  { id: 'next-found', keys: ['n'], title: 'Next match below' },
  { id: 'previous-found', keys: ['N'], title: 'Previous match, including in older lines' },
  { id: 'hiding', keys: ['*'], title: 'Hide other lines, or only highlight matches', find: true },
  { id: 'wrap', keys: ['w'], title: 'Wrap or truncate long lines', label: 'wrap', find: true },
  { id: 'scroll-right', keys: ['l', 'right'], title: 'Scroll long lines to the right' },
  { id: 'scroll-left', keys: ['h', 'left'], title: 'Scroll long lines to the left' },
  { id: 'timestamps', keys: ['t'], title: 'Show local time, UTC, age or no time', label: 'time', find: true },
  { id: 'raw', keys: ['J'], title: 'Format JSON and logfmt, or show lines unformatted', find: true },
  { id: 'jump', keys: ['T'], title: 'Go to a time: 14:02, 10m, 2026-11-20 14:02', find: true },
  { id: 'mark', keys: ['m'], title: 'Mark or unmark the line', label: 'mark' },
  { id: 'next-mark', keys: ["'"], title: 'Next marked line' },
  { id: 'unmark', keys: ['M'], title: 'Clear all marks' },
  { id: 'copy-line', keys: ['y'], title: 'Copy the line or the marked lines', label: 'copy' },
  { id: 'copy-full', keys: ['Y'], title: 'Copy the lines with time and service' },
  { id: 'save-logs', keys: ['W'], title: 'Save the shown or marked lines to a file', label: 'save', find: true },
] as const;

export const logs: Screen<'logs', (typeof keys)[number]['id'], LogsState> = {
  id: 'logs',
  heading: 'Logs',
  keys,
  state: firstLogs,
  kind: 'pane',
  open(parts) {
    const { theme, commands, app, store } = parts;
    return {
      reads: (state) => logReads(parts, state),
      useChanges: (view) => useLog(parts, view, view.height - 2, true),
      draw(view) {
        const { title, typed, status, notes, lines, page, shown } = drawLog(parts, view, view.height - 2);
        const dot = ` ${theme.glyphs.dot} `;
        const subject = title === '' ? 'Logs' : `Logs${dot}${title}`;
        return {
          title: view.state.logs.whole === undefined ? subject : `${subject}${dot}one line`,
          aside: typed || status,
          foot: [notes, typed ? status : ''].filter(Boolean).join(theme.paint('faint', dot)),
          rows: lines,
          page,
          shown,
        };
      },
      speak: (view) => describeLog(parts, view),
      // The target is the only component of the log; with several, the host that all of them are on.
      target() {
        const snapshot = app.fleet.snapshot();
        const keysOf = new Set(logSubject(snapshot, store.get(), commands.selected())?.componentKeys);
        const shown = snapshot.components.filter(({ key }) => keysOf.has(key));
        const [first] = shown;
        if (!first) return { reason: 'No component is selected.' };
        if (shown.length === 1) return { component: first, host: first.host };
        return {
          ...(shown.every(({ host }) => host === first.host) && { host: first.host }),
          reason: `The logs of ${shown.length} components are shown. Select one of them in Components first.`,
        };
      },
      move: commands.logActions.move,
      actions: commands.logActions.actions,
    };
  },
};
