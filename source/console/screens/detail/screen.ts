import type { ComponentView } from '../../../fleet/model.ts';
import { cleanLine } from '../../../text/clean.ts';
import { countText } from '../../../text/quantities.ts';
import { filterText } from '../../filter-text.ts';
import { useStats } from '../../hooks/use-stores.ts';
import { entryOf, flowOf, offeredFinding } from '../../offers.ts';
import { detailTabs } from '../../panes.ts';
import { noPage, type Screen, scrolledTo, type View } from '../../screen.ts';
import { inLogs, selectedComponent, serviceShown } from '../../selection.ts';
import { paragraph } from '../../styled-text.ts';
import type { Theme } from '../../theme.ts';
import { componentsOf, namesOf, rowsFor } from '../components/rows.ts';
import { componentSentence } from '../components/screen.ts';
import { homeOf, remoteOf } from '../hosts/lines.ts';
import { describeLog, drawLog, logReads, useLog } from '../logs/shown-log.ts';
import { componentPortsLines } from '../ports/lines.ts';
import { fieldsLines } from './fields-lines.ts';
import { inspectLine, inspectRows, inspectText, matchRows, watchInspection } from './inspection.ts';
import { operationsLines } from './operations-lines.ts';
import { overviewLines } from './overview-lines.ts';

const keys = [
  { id: 'next-tab', keys: ['l', 'right'], title: 'Next tab' },
  { id: 'previous-tab', keys: ['h', 'left'], title: 'Previous tab' },
  { id: 'run-operation', keys: ['enter'], title: 'Run an operation, or the one that a finding names' },
  { id: 'next-match', keys: ['n'], title: 'Next search match' },
  { id: 'previous-match', keys: ['N'], title: 'Previous search match' },
] as const;

const titles = {
  overview: 'Overview',
  logs: 'Logs',
  ports: 'Ports',
  fields: 'Fields',
  operations: 'Ops',
  inspect: 'Inspect',
} as const;

function tabLine(theme: Theme, current: keyof typeof titles, focused: boolean): string {
  const tabs = detailTabs.map((tab) => {
    if (tab !== current) return theme.paint('faint', ` ${titles[tab]} `);
    return theme.depth === 'none' ? `[${titles[tab]}]` : theme.paint(focused ? 'badge' : 'resting', ` ${titles[tab]} `);
  });
  return ` ${tabs.join('')}`;
}

interface Content {
  total: number;
  lines(from: number, count: number): string[];
  matches: readonly number[];
}

function contentOf(lines: readonly string[]): Content {
  return { total: lines.length, lines: (from, count) => lines.slice(from, from + count), matches: [] };
}

export const detail: Screen<'detail', (typeof keys)[number]['id']> = {
  id: 'detail',
  heading: 'Details',
  keys,
  kind: 'pane',
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: drawing and keys share the matches and the page of the last frame
  open(parts) {
    const { app, store, commands, theme, keymap } = parts;
    const { readOnly } = app.options;
    const inspections = watchInspection(app);
    let page = noPage;
    let matches: readonly number[] = [];

    const serviceOf = ({ state, component }: View) => component && serviceShown(state, component);
    const wantsInspect = ({ state: { tab } }: View) => tab === 'fields' || tab === 'inspect';
    const targetOf = ({ tab }: { tab: keyof typeof titles }) => (tab === 'overview' ? 'logs' : tab);

    function scroll(target: (top: number) => number | undefined): void {
      store.update(({ scroll: tops, tab }) => {
        const last = Math.max(0, page.total - page.height);
        const top = Math.min(last, tops[tab]);
        return { scroll: { ...tops, [tab]: Math.min(last, Math.max(0, target(top) ?? top)) } };
      });
    }

    const nextMatch = (top: number) => matches.find((row) => row > top) ?? matches[0];
    const previousMatch = (top: number) => matches.findLast((row) => row < top) ?? matches.at(-1);

    const overviewOf = (view: View, component: ComponentView) => ({
      ...{ ...view, component, service: serviceOf(view), remote: remoteOf(app, component), home: homeOf(app) },
    });

    // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one case for each tab, and for each state of the inspection
    function contentFor(view: View): Content {
      const { component, state, width } = view;
      const { tab } = state;
      const filter = state.filters[targetOf(state)];
      const say = (text: string) => contentOf(paragraph(theme, 'faint', text, width - 2, ' '));
      if (!component) return say('No component is selected.');
      const entry = entryOf(app, component);
      const inspection = inspections.view(component, wantsInspect(view) ? serviceOf(view) : undefined);
      const found = inspection.state === 'here' ? inspection.detail : undefined;
      if (tab === 'overview') return contentOf(overviewLines({ ...overviewOf(view, component), stats: app.fleet.stats(component.key) }));
      if (tab === 'ports') return contentOf(componentPortsLines(view, component, filter));
      if (tab === 'fields') return contentOf(fieldsLines({ theme, width, entry, detail: found, readOnly, filter }));
      if (tab === 'operations') return contentOf(operationsLines({ theme, width, entry, filter }));
      if (tab === 'logs') return contentOf([]);
      if (inspection.state === 'asking') return say('Querying the engine.');
      if (inspection.state === 'failed') return say(`${inspection.message} ${inspection.remedy}`);
      if (!found) return say('No container to inspect.');
      const text = inspectText(Object(found.raw), entry, readOnly);
      const { rows, starts } = inspectRows(text, width);
      return {
        total: rows.length,
        lines: (from, count) => rows.slice(from, from + count).map((line) => inspectLine(line, theme, width, filter)),
        matches: matchRows(text, filter).map((line) => starts[line] ?? 0),
      };
    }

    function drawTab(view: View) {
      const { state, component, snapshot, height: whole } = view;
      const { tab } = state;
      const height = whole - 4;
      const content = contentFor({ ...view, width: view.width - 2 });
      const top = Math.max(0, Math.min(state.scroll[tab], content.total - height));
      const service = serviceOf(view);
      const ofService = component && component.services.length > 1 && wantsInspect(view) && service;
      const name = component && (namesOf(snapshot.components).get(component.key) ?? '');
      const searched = tab === 'inspect' && state.filters.inspect !== '';
      const window =
        content.total > height ? theme.paint('faint', `${top + 1}-${Math.min(content.total, top + height)} of ${content.total}`) : '';
      const { length } = content.matches;
      const matched = `${countText(length, 'match', 'matches')}, ${keymap.keyOf('next-match')} next`;
      return {
        title: name === undefined ? 'Details' : name + (ofService ? ` ${theme.glyphs.dot} ${cleanLine(ofService.name)}` : ''),
        typed: tab === 'overview' || tab === 'logs' ? '' : filterText(theme, state, tab),
        foot: searched ? theme.paint(length > 0 ? 'accent' : 'warning', matched) : window,
        lines: content.lines(top, height),
        page: { height, total: content.total },
        shown() {
          page = { height, total: content.total };
          ({ matches } = content);
        },
      };
    }

    function drawLogTab(view: View) {
      const { notes, status, ...log } = drawLog(parts, view, view.height - 4);
      return { ...log, foot: [notes, status].filter(Boolean).join(theme.paint('faint', ` ${theme.glyphs.dot} `)) };
    }

    return {
      reads: (state) => [
        selectedComponent(app, state),
        state.tab,
        state.services,
        state.filters[targetOf(state)],
        filterText(theme, state, targetOf(state)),
        state.scroll,
        ...(state.tab === 'logs' ? logReads(parts, state) : []),
      ],
      useChanges(view) {
        const { component, state, height } = view;
        const isUp = component?.services.some(({ state: each }) => ['healthy', 'running', 'unhealthy', 'starting'].includes(each));
        useStats(component && isUp && state.tab === 'overview' ? [component.key] : []);
        inspections.useInspection(component, wantsInspect(view) ? serviceOf(view) : undefined);
        useLog(parts, view, height - 4, state.tab === 'logs');
      },
      draw(view) {
        const { component, state, focused } = view;
        const about = component ? [component.product, component.probe?.version ?? ''].map(cleanLine).filter(Boolean).join(' ') : '';
        const { lines, typed, ...rest } = state.tab === 'logs' && component ? drawLogTab(view) : drawTab(view);
        return {
          ...rest,
          aside: typed || theme.paint('faint', about),
          rows: [tabLine(theme, state.tab, focused), '', ...lines],
        };
      },
      speak(view) {
        const { component, state, snapshot } = view;
        const listed = componentsOf(rowsFor(snapshot.components, state.filters.components, state.grouping));
        const head = componentSentence(listed, component);
        if (inLogs(state)) {
          const { lines, ...rest } = describeLog(parts, view);
          return { ...rest, lines: [...head, ...lines] };
        }
        const overview = component ? overviewLines({ ...overviewOf(view, component), stats: undefined }) : [];
        return { lines: [...head, ...overview.map((line) => line.trim()).filter(Boolean)] };
      },
      move(amount, seen) {
        if (inLogs(store.get())) commands.logActions.move(amount);
        else scroll((top) => scrolledTo(top, seen, amount));
      },
      searched() {
        if (store.get().tab === 'inspect') scroll((top) => matches.find((row) => row >= top));
      },
      actions: {
        'next-tab': () => commands.turnTab(1),
        'previous-tab': () => commands.turnTab(-1),
        'run-operation': () => {
          const flow = flowOf(app, 'op');
          const component = selectedComponent(app, store.get());
          const found = component && offeredFinding(component)?.operation;
          const { tab } = store.get();
          if (flow && tab === 'operations') commands.startFlow(flow);
          else if (flow && tab === 'overview' && found !== undefined) commands.startFlow(flow, component, [found]);
        },
        'next-match': () => scroll(nextMatch),
        'previous-match': () => scroll(previousMatch),
      },
    };
  },
};
