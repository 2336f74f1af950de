import { useEffect, useMemo, useRef } from 'react';
import { scannerStates } from '../../fleet/scanner-state.ts';
import { numberText } from '../../text/quantities.ts';
import { useParts } from '../context.ts';
import { useFilterText } from '../hooks/use-filter-text.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useNow } from '../hooks/use-now.ts';
import { useTold } from '../hooks/use-told.ts';
import { type Rectangle, windowStart } from '../layout.ts';
import { triageCounts, triageEmpty, triageFoot, triageHeading, triageLine, triageRemarks, triageRows } from '../triage-rows.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** What scanners found, the most urgent first. Only what is seen is drawn. */
export function Triage({ rectangle }: { rectangle: Rectangle }) {
  const { theme, commands, triage, keymap } = useParts();
  const nowMs = useNow();
  const snapshot = useFleet();
  const subscribe = useMemo(() => (listener: () => void) => triage.subscribe(listener), [triage]);
  useTold(subscribe, 'fact');
  const look = useInterface((state) => state.triage);
  const filter = useInterface((state) => state.filters.triage);
  const filterLine = useFilterText('triage');
  const start = useRef(0);
  useEffect(() => triage.look(), [triage]);

  const view = triage.view();
  const width = rectangle.width - 2;
  const context = { theme, width, nowMs };
  const rows = triageRows(view, filter, look.shows);
  const remarks = triageRemarks(view, scannerStates(snapshot.components), context).slice(0, Math.max(0, rectangle.height - 8));
  const found = look.selected === undefined ? -1 : rows.findIndex((row) => row.id === look.selected);
  const selected = Math.max(0, found >= 0 ? found : Math.min(look.cursor, rows.length - 1));
  const foot = triageFoot(rows[selected], context, rectangle.height - 2);
  const height = Math.max(1, rectangle.height - 3 - remarks.length - foot.length);
  start.current = windowStart({ previous: start.current, selected: rows.length === 0 ? -1 : selected, height, total: rows.length });
  commands.measured.triage = { height, total: rows.length };
  const lines = rows
    .slice(start.current, start.current + height)
    .map((row, at) => triageLine(row, start.current + at === selected, context));
  const body = rows.length === 0 ? triageEmpty(view, filter, look.shows, keymap.keyOf('import-report'), context) : lines;
  const blank = Array.from({ length: Math.max(0, height - body.length) }, () => '');
  const counts = triageCounts(view);
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={`Vulnerabilities${counts === '' ? '' : ` ${counts}`}`}
      aside={filterLine}
      below={look.shows === 'all' ? '' : `${look.shows} alone`}
      foot={rows.length > 0 ? theme.paint('faint', `${numberText(selected + 1)} of ${numberText(rows.length)}`) : ''}
      focused
      rows={[...remarks, triageHeading(context), ...body, ...blank, ...foot]}
    />
  );
}
