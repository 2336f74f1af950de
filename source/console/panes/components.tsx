import { useRef } from 'react';
import { dutiesLeft, isBackupDue } from '../../fleet/duties.ts';
import type { ComponentView, PlaceView, StatsHistory } from '../../fleet/model.ts';
import { isUpState } from '../../fleet/service-state.ts';
import { troubleOf } from '../../terminal/way-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, durationText } from '../../text/quantities.ts';
import { cut, pad, textWidth, wrap } from '../../text/width.ts';
import { type ComponentRow, namesOf, rowsFor, selectedIn } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { useFilterText } from '../hooks/use-filter-text.ts';
import { useFleet, useStats } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useNow } from '../hooks/use-now.ts';
import { type Rectangle, windowStart } from '../layout.ts';
import { padStyled, styledWidth } from '../styled-text.ts';
import type { Theme } from '../theme.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

interface Columns {
  id: number;
  /** Only where there are several. */
  host: number;
  word: number;
  product: number;
  project: number;
  image: number;
  load: boolean;
}

const ageColumns = 4;
const mostHostColumns = 12;
const loadColumns = 16;

/** Which columns fit. The name and the state come first, then the host where there are several, where it belongs, what it costs, what it is. */
export function columnsFor(width: number, hosts: readonly string[] = []): Columns {
  const columns: Columns = { id: 0, host: 0, word: 18, product: 0, project: 0, image: 0, load: false };
  // Pointer, glyph, a space after each column and one at the edge.
  let room = width - 4 - columns.word - 1 - ageColumns - 1;
  if (hosts.length > 1) {
    columns.host = Math.min(mostHostColumns, Math.max(4, ...hosts.map(textWidth)));
    room -= columns.host + 1;
    // Most states are one short word.
    const wanted = Math.min(5, Math.max(0, 20 - room));
    columns.word -= wanted;
    room += wanted;
  }
  const take = (size: number, least: number) => {
    if (room - size - 1 < least) return 0;
    room -= size + 1;
    return size;
  };
  columns.product = take(16, 24);
  columns.load = take(loadColumns, 24) > 0;
  columns.image = take(34, 26);
  columns.project = take(16, 26);
  columns.id = Math.max(8, room);
  if (columns.id > 34) {
    const spare = columns.id - 34;
    columns.id -= spare;
    columns.word += Math.min(spare, 14);
  }
  return columns;
}

export interface RowContext {
  theme: Theme;
  width: number;
  columns: Columns;
  nowMs: number;
  focused: boolean;
  stats: (key: string) => StatsHistory | undefined;
  names: ReadonlyMap<string, string>;
  /** Keys of components whose logs are merged. */
  marked: ReadonlySet<string>;
}

function loadText(history: StatsHistory | undefined): string {
  const cpu = history?.cpuPercent.at(-1);
  const memory = history?.memoryBytes.at(-1);
  return pad(cpu === undefined ? '' : `${cpu.toFixed(1)} %`, 7, 'right') + pad(memory === undefined ? '' : bytesText(memory), 9, 'right');
}

/** One component in one line, exactly `width` wide. */
export function componentLine(component: ComponentView, selected: boolean, context: RowContext): string {
  const { theme, width, columns, nowMs, focused, stats } = context;
  const { glyphs } = theme;
  const main = component.services.find((service) => service.main) ?? component.services[0];
  const age = component.sinceMs === undefined ? '' : durationText(nowMs - component.sinceMs);
  const quiet = (text: string) => (selected ? text : theme.paint('faint', text));
  const left = dutiesLeft(component);
  const urgent = left.some((duty) => duty.urgent);
  const todo = left.length === 0 ? '' : ` ${theme.paint(urgent ? 'warn' : 'accent', urgent ? glyphs.tone.warn : glyphs.todo)}`;
  const name = cut(context.names.get(component.key) ?? '', columns.id - styledWidth(todo), glyphs.ellipsis);
  // What it is called is known; that it is no longer saved is not. That it never was would stand in every row of who saves elsewhere.
  const savedMs = component.backup?.atMs;
  const product =
    savedMs !== undefined && isBackupDue(component, nowMs)
      ? theme.paint('warn', pad(`backup ${durationText(nowMs - savedMs)} old`, columns.product))
      : quiet(pad(cleanLine(component.product), columns.product, 'left', glyphs.ellipsis));
  const parts = [
    `${selected ? theme.paint('accent', glyphs.pointer) : ' '}${theme.paint(component.tone, glyphs.tone[component.tone])}${context.marked.has(component.key) ? theme.paint('key', glyphs.mark) : ' '}${padStyled(`${name}${todo}`, columns.id)}`,
    theme.paint(component.tone, pad(cleanLine(component.word), columns.word, 'left', glyphs.ellipsis)),
    quiet(pad(age, ageColumns, 'right')),
  ];
  if (columns.host) parts.splice(1, 0, quiet(pad(cleanLine(component.host), columns.host, 'left', glyphs.ellipsis)));
  if (columns.load) parts.push(quiet(loadText(stats(component.key))));
  if (columns.product) parts.push(product);
  if (columns.image) parts.push(quiet(pad(cleanLine(main?.image ?? ''), columns.image, 'left', glyphs.ellipsis)));
  // A project named like its only component says nothing new.
  if (columns.project)
    parts.push(
      quiet(pad(component.project === component.id ? '' : cleanLine(component.project), columns.project, 'left', glyphs.ellipsis)),
    );
  const line = padStyled(parts.join(' '), width);
  return selected ? theme.paint(focused ? 'selected' : 'resting', line) : line;
}

export function groupLine(row: Extract<ComponentRow, { kind: 'group' }>, theme: Theme, width: number): string {
  const count = `${row.well}/${row.total}`;
  const title = pad(row.title, width - count.length - 3);
  return ` ${theme.paint('heading', title)} ${theme.paint(row.well === row.total ? 'faint' : 'warn', count)} `;
}

/** What is said where there is nothing to list. */
function emptyLines(places: readonly PlaceView[], settled: boolean, filter: string, theme: Theme, width: number): string[] {
  const room = width - 4;
  const indent = (lines: string[]) => lines.map((line) => `  ${line}`);
  if (filter !== '') return ['', ...indent(wrap(`Nothing matches "${filter}". Esc clears the filter.`, room))];
  const away = places.flatMap((place) => troubleOf(place) ?? []);
  if (away.length > 0) {
    return away.flatMap(({ message, remedy }) => [
      '',
      ...indent(wrap(`${theme.glyphs.tone.bad} ${cleanLine(message)}`, room).map((line) => theme.paint('bad', line))),
      ...indent(wrap(cleanLine(remedy), room)),
    ]);
  }
  if (!settled)
    return ['', ...indent([`${theme.glyphs.tone.busy} Asking the container engine${theme.glyphs.ellipsis === '…' ? '…' : '...'}`])];
  return ['', ...indent(wrap('No containers here yet. What you start with docker, podman or compose appears by itself.', room))];
}

export function ComponentsPane({ rectangle, focused }: { rectangle: Rectangle; focused: boolean }) {
  const { theme, commands } = useParts();
  const { components, places, settled } = useFleet();
  const filter = useInterface((state) => state.filters.components);
  const grouping = useInterface((state) => state.grouping);
  const filterLine = useFilterText('components');
  const selectedKey = useInterface((state) => state.selected);
  const selectedPlace = useInterface((state) => state.selectedPlace);
  const marked = useInterface((state) => state.marked);
  const nowMs = useNow();
  const start = useRef(0);

  const width = rectangle.width - 2;
  const height = rectangle.height - 2;
  const rows = rowsFor(components, filter, grouping);
  const selected = selectedIn(rows, selectedKey, selectedPlace);
  const index = rows.findIndex((row) => row.kind === 'component' && row.component.key === selected?.key);
  start.current = windowStart({ previous: start.current, selected: index, height, total: rows.length });
  commands.measured.list = height;

  // Under headings that name the host it need not stand in each row.
  const columns = columnsFor(width, grouping === 'host' ? [] : places.map(({ name }) => name));
  const visible = rows.slice(start.current, start.current + height);
  const stats = useStats(
    columns.load ? visible.flatMap((row) => (row.kind === 'component' && isUpState(row.component.state) ? [row.component.key] : [])) : [],
  );
  const besideHost = places.length > 1;
  const context: RowContext = { theme, width, columns, nowMs, focused, stats, names: namesOf(components, { besideHost }), marked };
  const lines =
    rows.length === 0
      ? emptyLines(places, settled, filter, theme, width)
      : visible.map((row) =>
          row.kind === 'group' ? groupLine(row, theme, width) : componentLine(row.component, row.component.key === selected?.key, context),
        );

  const shownCount = rows.filter((row) => row.kind === 'component').length;
  const position = rows.slice(0, index + 1).filter((row) => row.kind === 'component').length;
  const count = filter === '' ? `${position} of ${components.length}` : `${shownCount} of ${components.length} match`;
  const logsOf = marked.size === 0 ? '' : `${marked.size} marked for logs ${theme.glyphs.dot} `;
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title="Components"
      aside={filterLine}
      foot={components.length > 0 ? theme.paint('faint', cut(logsOf + count, width)) : ''}
      focused={focused}
      rows={lines}
    />
  );
}
