import { cleanLine } from '../../text/clean.ts';
import { wrap } from '../../text/width.ts';
import { namesOf } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { useFilterText } from '../hooks/use-filter-text.ts';
import { useFleet, useStats } from '../hooks/use-fleet.ts';
import { useInspect } from '../hooks/use-inspect.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useLogLines } from '../hooks/use-log-lines.ts';
import { useNow } from '../hooks/use-now.ts';
import { useSelected } from '../hooks/use-selected.ts';
import { farOf, homeOf } from '../hosts-lines.ts';
import { type DetailTab, detailTabs } from '../interface-store.ts';
import type { Rectangle } from '../layout.ts';
import { serviceShown } from '../selection.ts';
import type { Theme } from '../theme.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';
import { componentPortsLines } from './component-ports-lines.ts';
import { fieldsLines } from './fields-lines.ts';
import { inspectLine, inspectRows, inspectText, matchRows } from './inspect-lines.ts';
import { overviewLines } from './overview-lines.ts';

const titles: Readonly<Record<DetailTab, string>> = {
  overview: 'Overview',
  logs: 'Logs',
  ports: 'Ports',
  fields: 'Fields',
  inspect: 'Inspect',
};

function tabLine(theme: Theme, current: DetailTab, focused: boolean): string {
  return ` ${detailTabs
    .map((tab) => {
      if (tab !== current) return theme.paint('faint', ` ${titles[tab]} `);
      return theme.depth === 'none' ? `[${titles[tab]}]` : theme.paint(focused ? 'badge' : 'resting', ` ${titles[tab]} `);
    })
    .join('')}`;
}

/** What one tab shows: lines of which a window is on the screen, and where a search matches. */
interface Content {
  total: number;
  lines(from: number, count: number): string[];
  matches: readonly number[];
}

function contentOf(lines: readonly string[]): Content {
  return { total: lines.length, lines: (from, count) => lines.slice(from, from + count), matches: [] };
}

export function DetailPane({ rectangle, focused }: { rectangle: Rectangle; focused: boolean }) {
  const parts = useParts();
  const { theme, commands, deck } = parts;
  const component = useSelected();
  const snapshot = useFleet();
  const tab = useInterface((state) => state.tab);
  const services = useInterface((state) => state.services);
  const target = tab === 'overview' ? 'logs' : tab;
  const filter = useInterface((state) => state.filters[target]);
  const filterLine = useFilterText(target);
  const scroll = useInterface((state) => state.scroll);
  const nowMs = useNow();
  const service = component && serviceShown({ ...parts.store.get(), services }, component);
  const running = component?.services.some(
    (each) => each.state === 'healthy' || each.state === 'running' || each.state === 'unhealthy' || each.state === 'starting',
  );
  const stats = useStats(component && running && tab === 'overview' ? [component.key] : []);
  const wantsInspect = tab === 'fields' || tab === 'inspect';
  const inspection = useInspect(component, wantsInspect ? service : undefined);

  const width = rectangle.width - 2;
  const height = rectangle.height - 4;
  const log = useLogLines({ width, height, focused, shown: tab === 'logs' });
  const entry = component?.known ? deck.catalog.get(component.entry ?? component.id) : undefined;
  const { readOnly } = deck.options;
  const say = (text: string) => contentOf(wrap(text, width - 2).map((line) => ` ${theme.paint('faint', line)}`));

  function content(): Content {
    if (!component) return say('Nothing is selected.');
    const detail = inspection.state === 'here' ? inspection.detail : undefined;
    switch (tab) {
      case 'overview':
        return contentOf(
          overviewLines({
            theme,
            width,
            nowMs,
            component,
            service,
            stats: stats(component.key),
            far: farOf(deck, component),
            home: homeOf(deck),
          }),
        );
      case 'ports':
        return contentOf(componentPortsLines({ theme, width, component, snapshot, filter }));
      case 'fields':
        return contentOf(fieldsLines({ theme, width, entry, detail, readOnly, filter }));
      case 'inspect': {
        if (inspection.state === 'asking') return say('Asking the engine.');
        if (inspection.state === 'failed') return say(`${inspection.message} ${inspection.remedy}`);
        if (!detail) return say('There is no container to inspect.');
        const text = inspectText(detail.raw, entry, readOnly);
        const { rows, starts } = inspectRows(text, width);
        return {
          total: rows.length,
          lines: (from, count) => rows.slice(from, from + count).map((line) => inspectLine(line, theme, width, filter)),
          matches: matchRows(text, filter).map((line) => starts[line] ?? 0),
        };
      }
      case 'logs':
        return contentOf([]);
    }
  }

  let lines: string[];
  let foot = '';
  let typed = '';
  if (tab === 'logs' && component) {
    lines = log.lines;
    foot = [log.notes, log.status].filter(Boolean).join(theme.paint('faint', ` ${theme.glyphs.dot} `));
    typed = log.typed;
  } else {
    const { total, lines: linesOf, matches } = content();
    const top = Math.max(0, Math.min(scroll[tab], total - height));
    commands.measured.detail = { height, total, matches };
    lines = linesOf(top, height);
    if (total > height) foot = theme.paint('faint', `${top + 1}-${Math.min(total, top + height)} of ${total}`);
    if (tab !== 'overview' && tab !== 'logs') typed = filterLine;
    if (tab === 'inspect' && filter !== '') foot = theme.paint(matches.length > 0 ? 'accent' : 'warn', `${matches.length} matches, n next`);
  }
  const several = component && component.services.length > 1 && wantsInspect;
  const about = component
    ? [cleanLine(component.product), component.probe?.version ? cleanLine(component.probe.version) : ''].filter(Boolean).join(' ')
    : '';
  const ofLog = tab === 'logs' && component;
  const title = ofLog
    ? log.title
    : component
      ? (namesOf(snapshot.components).get(component.key) ?? '') +
        (several && service ? ` ${theme.glyphs.dot} ${cleanLine(service.name)}` : '')
      : 'Details';
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={title}
      aside={typed || theme.paint('faint', about)}
      foot={foot}
      focused={focused}
      rows={[tabLine(theme, tab, focused), '', ...lines]}
    />
  );
}
