import { useEffect } from 'react';
import type { ComponentView } from '../../fleet/model.ts';
import { useParts } from '../context.ts';
import { tellingOf } from '../log-line-text.ts';
import { logWhose } from '../log-look.ts';
import { whoOf } from '../panes/log-lead.ts';
import { type LogLines, logLines } from '../panes/log-lines.ts';
import { contextsOf } from '../selection.ts';
import { useFilterText } from './use-filter-text.ts';
import { useFleet } from './use-fleet.ts';
import { useInterface } from './use-interface.ts';
import { useNow } from './use-now.ts';
import { useSelected } from './use-selected.ts';
import { useTold } from './use-told.ts';

/** Nobody wants the history searched for what is half typed. */
const fillAfterMs = 300;

/** Draws anew when the log that is looked at changes, at most 15 times a second, and only while it is `shown`. */
export function useLogChanges(shown = true): void {
  const { logs } = useParts();
  useTold(shown ? logs.subscribe : undefined, 'log');
}

export interface ShownLog extends LogLines {
  /** Whose logs these are. */
  title: string;
  componentCount: number;
  /** The filter, or the time to go to, as it is typed. */
  typed: string;
}

const nothing: ShownLog = {
  lines: [],
  status: '',
  notes: '',
  measured: { height: 1, rowsOf: () => 1, cut: false, whole: { height: 1, total: 0 } },
  title: '',
  componentCount: 0,
  typed: '',
};

/** Whose lines there can be. */
export function writersOf(components: readonly ComponentView[], keys: readonly string[]): string[] {
  const telling = tellingOf(keys);
  const looked = new Set(keys);
  return components.flatMap(({ key, services }) =>
    looked.has(key) ? services.map(({ name }) => whoOf({ component: key, service: name }, telling)) : [],
  );
}

/** The log that is looked at, as rows for a pane, with what its edges say. */
export function useLogLines(options: { width: number; height: number; focused: boolean; shown?: boolean }): ShownLog {
  const { width, height, focused, shown = true } = options;
  const { theme, commands, keymap, logs: hub } = useParts();
  const snapshot = useFleet();
  const component = useSelected();
  const filter = useInterface((state) => state.filters.logs);
  const typed = useFilterText('logs');
  const logs = useInterface((state) => state.logs);
  const marked = useInterface((state) => state.marked);
  const logScope = useInterface((state) => state.logScope);
  const inLog = useInterface((state) => contextsOf(state)[0] === 'logs');
  const nowMs = useNow();
  useLogChanges(shown);

  // Where what is kept does not fill the pane, the engine's history does.
  const reading = shown ? hub.reading() : undefined;
  const edges = hub.edges();
  const short =
    reading !== undefined &&
    hub.entries().length < height &&
    (edges.back.state === 'more' || (edges.forth.state === 'more' && filter !== ''));
  // biome-ignore lint/correctness/useExhaustiveDependencies: every reading is filled, also one that follows another that was short
  useEffect(() => {
    if (!short) return;
    const timer = setTimeout(() => hub.fill(height), fillAfterMs);
    return () => clearTimeout(timer);
  }, [short, hub, height, reading]);

  if (!shown) return nothing;
  const whose = logWhose(snapshot, { marked, logScope }, component);
  const drawn = logLines({
    theme,
    keymap,
    width,
    height,
    focused,
    hub,
    logs,
    filter,
    componentKeys: whose?.componentKeys ?? [],
    services: writersOf(snapshot.components, whose?.componentKeys ?? []),
    nowMs,
  });
  // Keys go by the log that has the focus, where two are on the screen.
  if (focused || !inLog) commands.measured.logs = drawn.measured;
  const onlyHighlights = typed !== '' && !logs.hides ? theme.paint('faint', ' highlighted') : '';
  return { ...drawn, title: whose?.title ?? '', componentCount: whose?.componentKeys.length ?? 0, typed: typed + onlyHighlights };
}
