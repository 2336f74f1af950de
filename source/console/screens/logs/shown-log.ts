import { useEffect } from 'react';
import { entryAt } from '../../../logs/entry-list.ts';
import type { LogEntry } from '../../../logs/store.ts';
import { cleanLine } from '../../../text/clean.ts';
import type { ConsoleParts } from '../../context.ts';
import { filterText } from '../../filter-text.ts';
import { useReported } from '../../hooks/use-stores.ts';
import type { InterfaceState } from '../../interface-store.ts';
import { type Spoken, spokenRows, type View } from '../../screen.ts';
import { inLogs, selectedComponent } from '../../selection.ts';
import { clockText, markOf, sourceName, sourceNamingOf, sourceParts } from './line-prefix.ts';
import { type LogLinesOptions, logLines, wholeLines } from './lines.ts';
import { positionOf } from './model.ts';
import { logSubject } from './state.ts';
import { lineText, untimedText } from './text.ts';

/** A partly typed filter does not search the history. */
const fillAfterMs = 300;

export function logReads({ app, theme }: ConsoleParts, state: InterfaceState): unknown[] {
  const { filters, logs, marked, logScope } = state;
  return [selectedComponent(app, state), filters.logs, filterText(theme, state, 'logs'), logs, marked, logScope, inLogs(state)];
}

export function useLog({ logs: viewer }: ConsoleParts, { state }: View, height: number, shown: boolean): void {
  useReported(shown ? viewer.subscribe : undefined, 'log');
  // When the stored lines do not fill the pane, the engine's history does.
  const reading = shown ? viewer.reading() : undefined;
  const edges = viewer.edges();
  const isShort =
    reading !== undefined &&
    viewer.entries().length < height &&
    (edges.back.state === 'more' || (edges.forth.state === 'more' && state.filters.logs !== ''));
  // biome-ignore lint/correctness/useExhaustiveDependencies: every reading is filled, also one that follows another that was short
  useEffect(() => {
    if (!isShort) return;
    const timer = setTimeout(() => viewer.fill(height), fillAfterMs);
    return () => clearTimeout(timer);
  }, [isShort, viewer, height, reading]);
}

function optionsFor({ keymap, logs: viewer }: ConsoleParts, { theme, state, snapshot, component, nowMs, focused }: View) {
  const subject = logSubject(snapshot, state, component);
  const componentKeys = subject?.componentKeys ?? [];
  const naming = sourceNamingOf(componentKeys);
  const shownKeys = new Set(componentKeys);
  const services = snapshot.components.flatMap(({ key, services: all }) =>
    shownKeys.has(key) ? all.map(({ name }) => sourceName({ component: key, service: name }, naming)) : [],
  );
  return {
    ...{ theme, keymap, focused, viewer, logs: state.logs, filter: state.filters.logs, componentKeys, services, nowMs },
    title: subject?.title ?? '',
  };
}

export function drawLog(parts: ConsoleParts, view: View, height: number) {
  const { theme, state, focused, width } = view;
  const { title, ...options } = optionsFor(parts, view);
  const { measured, ...drawn } = logLines({ ...options, width: width - 2, height });
  const typed = filterText(theme, state, 'logs');
  return {
    ...drawn,
    title,
    page: { height, total: 0 },
    /** The filter or the time as it is typed. */
    typed: typed + (typed !== '' && !state.logs.hides ? theme.paint('faint', ' highlighted') : ''),
    shown() {
      // With two logs on the screen, keys apply to the one with the focus.
      if (focused || !inLogs(state)) parts.commands.logActions.seen(measured);
    },
  };
}

export function describeLog(parts: ConsoleParts, view: View): Spoken {
  const { logs: viewer } = parts;
  const { logs, filters } = view.state;
  const { title, ...options } = optionsFor(parts, view);
  const spoken = { ...options, width: view.width, height: spokenRows, focused: true, logs: { ...logs, wrap: true } };
  const { lines, status, notes, measured } = logLines(spoken);
  const shown = () => parts.commands.logActions.seen(measured);
  const filter = filters.logs === '' ? [] : [`Filter ${filters.logs} ${logs.hides ? 'hides other lines' : 'only highlights matches'}.`];
  const head = [title === '' ? 'No log is shown.' : `Log of ${title}.`, ...filter, [status, notes].filter(Boolean).join(', ')];
  const entries = viewer.entries();
  const at = logs.at ? Math.max(0, positionOf(entries, logs.at.cursor)) : entries.length - 1;
  const entry = entryAt(entries, at);
  const said = !entry
    ? lines.map((line) => line.trim())
    : logs.whole !== undefined
      ? ['Whole line.', ...wholeLines(entry, spoken).map((line) => line.trim())].filter(Boolean)
      : entries
          .slice(Math.max(0, at - spokenRows + 1), at + 1)
          .map((each, index, all) => lineSentence(each, spoken, logs.at !== undefined && index === all.length - 1));
  return { lines: [...head, ...said], page: { height: spokenRows, total: 0 }, shown };
}

function lineSentence(entry: LogEntry, { viewer, logs, componentKeys, services }: LogLinesOptions, isSelected: boolean): string {
  const naming = sourceNamingOf(componentKeys);
  const line = logs.raw || logs.times === 'off' ? lineText(entry, logs.raw) : untimedText(entry, viewer.filter());
  const who =
    naming !== 'service'
      ? sourceParts({ component: entry.component, service: '' }, naming).join('/')
      : services.length > 1
        ? entry.service
        : '';
  const said = [
    isSelected ? 'selected' : '',
    logs.marks.has(markOf(entry)) ? 'marked' : '',
    entry.stream === 'stderr' ? 'stderr' : '',
    line.level === undefined || line.level === 'info' ? '' : line.level,
    who,
    entry.timeMs === undefined || logs.times === 'off' ? '' : clockText(entry.timeMs),
  ].filter(Boolean);
  return said.length === 0 ? cleanLine(line.text) : `${said.join(', ')}: ${cleanLine(line.text)}`;
}
