import { troubleOf } from '../../../app/connection-text.ts';
import { labelColumns } from '../../../catalog/state.ts';
import type { ComponentView, StatsHistory } from '../../../fleet/model.ts';
import { statusText } from '../../../fleet/probe-status.ts';
import { isUpState } from '../../../fleet/service-state.ts';
import { isBackupDue, setupTasksLeft } from '../../../fleet/setup-tasks.ts';
import { cleanLine } from '../../../text/clean.ts';
import { bytesText, durationText } from '../../../text/quantities.ts';
import { cut, pad, textWidth } from '../../../text/width.ts';
import { filterText } from '../../filter-text.ts';
import { useStats } from '../../hooks/use-stores.ts';
import { createList, listWindow, type Screen, type View } from '../../screen.ts';
import { padStyled, paragraph, styledWidth } from '../../styled-text.ts';
import type { Role, Theme } from '../../theme.ts';
import { type ComponentRow, componentsOf, namesBesideHost, namesOf, rowsFor } from './rows.ts';

const keys = [
  { id: 'open', keys: ['enter', 'right'], title: 'Go to the details', label: 'details' },
  { id: 'open-logs', keys: ['l'], title: 'Go to the logs', label: 'logs' },
  { id: 'mark-component', keys: ['space'], title: 'Mark or unmark the component; logs of marked components are merged' },
  { id: 'group-hosts', keys: ['O'], title: 'Group the list by host or by kind', find: true },
] as const;

export const components: Screen<'components', (typeof keys)[number]['id']> = {
  id: 'components',
  heading: 'Components',
  keys,
  kind: 'pane',
  open({ theme, store, commands, app }) {
    const listed = () => {
      const { filters, grouping } = store.get();
      return componentsOf(rowsFor(app.fleet.snapshot().components, filters.components, grouping));
    };

    const list = createList(
      listed,
      ({ key }) => key,
      () => ({ selected: commands.selected()?.key }),
      ({ selected }) => commands.select(selected),
    );

    function windowOf({ state, snapshot, component, width, height, previousTop, nowMs }: View) {
      const rows = rowsFor(snapshot.components, state.filters.components, state.grouping);
      const index = rows.findIndex((row) => row.kind === 'component' && row.component.key === component?.key);
      // Under headings that name the host, the rows omit it.
      const hosts = state.grouping === 'host' ? [] : snapshot.engines.map(({ name }) => name);
      const window = listWindow(rows, { previous: previousTop, selected: index, height: height - 2 });
      const labels = snapshot.components.map((each) => cleanLine(each.state.label));
      const statuses = snapshot.components.map((each) => cleanLine(statusText(each, nowMs)));
      return { rows, index, ...window, columns: columnsFor(width - 2, { labels, hosts, statuses }) };
    }

    return {
      reads: (state) => [
        filterText(theme, state, 'components'),
        state.filters.components,
        state.grouping,
        state.selected,
        state.selectedRow,
        state.marked,
      ],
      useChanges(view) {
        const { visible, columns } = windowOf(view);
        const running = componentsOf(visible).filter(({ serviceState }) => isUpState(serviceState));
        useStats(columns.load ? running.map(({ key }) => key) : []);
      },
      draw(view) {
        const { state, snapshot, component, focused, nowMs } = view;
        const { filters, marked } = state;
        const { rows, index, top, visible, page, columns } = windowOf(view);
        const width = view.width - 2;
        const names = (snapshot.engines.length > 1 ? namesBesideHost : namesOf)(snapshot.components);
        const stats = (key: string) => app.fleet.stats(key);
        const context = { theme, width, columns, nowMs, focused, stats, names, marked };
        const lineOf = (row: ComponentRow) =>
          row.kind === 'group' ? groupLine(row, theme, width) : componentLine(row.component, row.component.key === component?.key, context);
        const total = snapshot.components.length;
        const position = componentsOf(rows.slice(0, index + 1)).length;
        const count = filters.components === '' ? `${position} of ${total}` : `${componentsOf(rows).length} of ${total} match`;
        const logsOf = marked.size === 0 ? '' : `${marked.size} marked for logs ${theme.glyphs.dot} `;
        return {
          title: 'Components',
          aside: filterText(theme, state, 'components'),
          foot: total > 0 ? theme.paint('faint', cut(logsOf + count, width)) : '',
          rows: rows.length === 0 ? emptyLines(view, filters.components, width) : visible.map(lineOf),
          ...{ top, page },
        };
      },
      speak: ({ component }) => ({ lines: componentSentence(listed(), component) }),
      move: list.move,
      actions: {
        open: () => commands.focus('detail'),
        'open-logs': () => commands.focus('logs'),
        'mark-component'() {
          const component = commands.selected();
          if (!component) return;
          const marked = new Set(store.get().marked);
          if (!marked.delete(component.key)) marked.add(component.key);
          store.update(() => ({ marked, logScope: 'component' }));
        },
        'group-hosts': () => store.update(({ grouping }) => ({ grouping: grouping === 'host' ? 'kind' : 'host' })),
      },
    };
  },
};

export function componentSentence(listed: readonly ComponentView[], component: ComponentView | undefined): string[] {
  if (!component) return [];
  const { text, staleMs } = component.probe?.status ?? {};
  // The age of a stale value would repeat the sentence with each minute.
  const words = [cleanLine(component.id), cleanLine(component.state.label), staleMs === undefined ? text : undefined].filter(Boolean);
  return [`Component ${listed.indexOf(component) + 1} of ${listed.length}: ${words.join(', ')}.`];
}

const ageColumns = 4;
const mostHostColumns = 12;
const loadColumns = 16;
const leastStateColumns = 13;
const leastStatusColumns = 16;
const mostStatusColumns = 32;
const productColumns = 16;

interface Cells {
  labels: readonly string[];
  hosts: readonly string[];
  statuses: readonly string[];
}

function columnsFor(width: number, { labels, hosts, statuses }: Cells) {
  // As wide as the longest label of all components, so that it stays the same in a filtered or scrolled list.
  const state = Math.min(labelColumns, Math.max(leastStateColumns, ...labels.map(textWidth)));
  const columns = { id: 0, host: 0, state, status: 0, product: 0, project: 0, image: 0, load: false };
  // Reserves space for the pointer, the glyph, a space after each column and one at the edge.
  let room = width - 4 - columns.state - 1 - ageColumns - 1;
  if (hosts.length > 1) {
    columns.host = Math.min(mostHostColumns, Math.max(4, ...hosts.map(textWidth)));
    room -= columns.host + 1;
    // Two names that differ only at their end must stay distinct; a label is readable from its start.
    const wanted = Math.min(state - leastStateColumns, Math.max(0, 20 - room));
    columns.state -= wanted;
    room += wanted;
  }
  const take = (size: number, least: number) => {
    if (room - size - 1 < least) return 0;
    room -= size + 1;
    return size;
  };
  const status = Math.min(mostStatusColumns, Math.max(0, ...statuses.map(textWidth)));
  columns.status = status > 0 ? take(Math.max(status, leastStatusColumns), 24 + productColumns + 1) : 0;
  // In a narrow list, a status replaces the name of the product.
  const shared = columns.status > 0 ? productColumns : Math.max(productColumns, Math.min(status, 24));
  columns.product = take(shared, 24) || take(productColumns, 24);
  columns.load = take(loadColumns, 24) > 0;
  columns.image = take(34, 26);
  columns.project = take(16, 26);
  columns.id = Math.max(8, room);
  if (columns.id > 34) {
    const spare = columns.id - 34;
    columns.id -= spare;
    columns.state += Math.min(spare, 14);
  }
  return columns;
}

interface RowContext extends Pick<View, 'theme' | 'width' | 'nowMs' | 'focused'> {
  columns: ReturnType<typeof columnsFor>;
  stats: (key: string) => StatsHistory | undefined;
  names: ReadonlyMap<string, string>;
  marked: ReadonlySet<string>;
}

function loadText(history: StatsHistory | undefined): string {
  const cpu = history?.cpuPercent.at(-1);
  const memory = history?.memoryBytes.at(-1);
  return pad(cpu === undefined ? '' : `${cpu.toFixed(1)} %`, 7, 'right') + pad(memory === undefined ? '' : bytesText(memory), 9, 'right');
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one row, with the cells in their order
function componentLine(component: ComponentView, selected: boolean, context: RowContext): string {
  const { theme, width, columns, nowMs, focused, stats } = context;
  const { glyphs } = theme;
  const main = component.services.find((service) => service.main) ?? component.services[0];
  const age = component.sinceMs === undefined ? '' : durationText(nowMs - component.sinceMs);
  const { severity } = component.state;
  const quiet = (text: string) => (selected ? text : theme.paint('faint', text));
  const cell = (text: string, size: number) => pad(cleanLine(text), size, 'left', glyphs.ellipsis);
  const left = setupTasksLeft(component);
  const urgent = left.some((task) => task.urgent);
  const todo = left.length === 0 ? '' : ` ${theme.paint(urgent ? 'warning' : 'accent', urgent ? glyphs.severity.warning : glyphs.todo)}`;
  const name = cut(context.names.get(component.key) ?? '', columns.id - styledWidth(todo), glyphs.ellipsis);
  // An overdue backup replaces the product name. A missing one is not shown: it would fill the rows of operators with other backups.
  const savedMs = component.backup?.atMs;
  const status = statusText(component, nowMs);
  const product =
    savedMs !== undefined && isBackupDue(component, nowMs)
      ? theme.paint('warning', pad(`backup ${durationText(nowMs - savedMs)} old`, columns.product))
      : quiet(cell((!columns.status && status) || component.product, columns.product));
  const mark = context.marked.has(component.key) ? theme.paint('key', glyphs.mark) : ' ';
  const parts = [
    `${selected ? theme.paint('accent', glyphs.pointer) : ' '}${theme.paint(severity, glyphs.severity[severity])}${mark}${padStyled(`${name}${todo}`, columns.id)}`,
    ...(columns.host ? [quiet(cell(component.host, columns.host))] : []),
    theme.paint(severity, cell(component.state.label, columns.state)),
    ...(columns.status ? [quiet(cell(status, columns.status))] : []),
    quiet(pad(age, ageColumns, 'right')),
    ...(columns.load ? [quiet(loadText(stats(component.key)))] : []),
    ...(columns.product ? [product] : []),
    ...(columns.image ? [quiet(cell(main?.image ?? '', columns.image))] : []),
    // A project with the name of its only component adds no information.
    ...(columns.project ? [quiet(cell(component.project === component.id ? '' : component.project, columns.project))] : []),
  ];
  const line = padStyled(parts.join(' '), width);
  return selected ? theme.paint(focused ? 'selected' : 'resting', line) : line;
}

function groupLine(row: Extract<ComponentRow, { kind: 'group' }>, theme: Theme, width: number): string {
  const count = `${row.well}/${row.total}`;
  const title = pad(row.title, width - count.length - 3);
  return ` ${theme.paint('heading', title)} ${theme.paint(row.well === row.total ? 'faint' : 'warning', count)} `;
}

function emptyLines({ theme, snapshot: { engines, settled } }: View, filter: string, width: number): string[] {
  const { severity, ellipsis } = theme.glyphs;
  const indented = (text: string, role?: Role) => paragraph(theme, role, text, width - 4, '  ');
  if (filter !== '') return ['', ...indented(`No matches for "${filter}". Esc clears the filter.`)];
  const away = engines.flatMap((engineView) => troubleOf(engineView) ?? []);
  if (away.length > 0)
    return away.flatMap(({ message, remedy }) => ['', ...indented(`${severity.error} ${message}`, 'error'), ...indented(remedy)]);
  if (!settled) return ['', `  ${severity.busy} Querying the container engine${ellipsis === '…' ? '…' : '...'}`];
  return ['', ...indented('No containers yet. Containers that you start with docker, podman or compose appear automatically.')];
}
