import { useEffect, useMemo, useRef } from 'react';
import { numberText } from '../../text/quantities.ts';
import { useParts } from '../context.ts';
import { useFilterText } from '../hooks/use-filter-text.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useNow } from '../hooks/use-now.ts';
import { useTold } from '../hooks/use-told.ts';
import { type Rectangle, windowStart } from '../layout.ts';
import { countsText, emptyLines, headingLine, orderText, preventionFoot, preventionLine, troubleLines } from '../prevention-lines.ts';
import { preventionRows, rowId } from '../prevention-rows.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** Who is shut out, and what was noticed, as it comes. Only what is seen is drawn. */
export function Prevention({ rectangle }: { rectangle: Rectangle }) {
  const { theme, commands, prevention, store } = useParts();
  const nowMs = useNow();
  const subscribe = useMemo(() => (listener: () => void) => prevention.subscribe(listener), [prevention]);
  useTold(subscribe, 'fact');
  const look = useInterface((state) => state.prevention);
  const filter = useInterface((state) => state.filters.prevention);
  const filterLine = useFilterText('prevention');
  const start = useRef(0);
  const { place } = look;
  useEffect(() => (place === undefined ? undefined : prevention.look(place)), [prevention, place]);

  const view = prevention.view();
  const width = rectangle.width - 2;
  const context = { theme, width, nowMs };
  const rows = preventionRows(view, filter, look);
  const trouble = rows.length > 0 && view?.state === 'failed' ? troubleLines(view, context) : [];
  const found = rows.findIndex((row) => rowId(row) === look.selected);
  const selected = Math.max(0, found >= 0 ? found : Math.min(look.cursor, rows.length - 1));
  const foot = preventionFoot(rows[selected], look, context, rectangle.height - 2);
  const height = Math.max(1, rectangle.height - 3 - trouble.length - foot.length);
  start.current = windowStart({ previous: start.current, selected: rows.length === 0 ? -1 : selected, height, total: rows.length });
  commands.measured.prevention = { height, total: rows.length };
  const lines = rows
    .slice(start.current, start.current + height)
    .map((row, at) => preventionLine(row, look, start.current + at === selected, context));
  const body = rows.length === 0 ? emptyLines(view, filter, look, context) : lines;
  const blank = Array.from({ length: foot.length > 0 ? Math.max(0, height - body.length) : 0 }, () => '');
  const counts = countsText(view, look);
  // What comes in must not move another row under the cursor while a key is on its way.
  const first = rows[selected];
  const pinned = first && found < 0 ? rowId(first) : undefined;
  useEffect(() => {
    if (pinned !== undefined) store.update((state) => ({ prevention: { ...state.prevention, selected: pinned } }));
  }, [store, pinned]);
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={`${look.tab === 'alerts' ? 'Alerts' : 'Decisions'}${counts === '' ? '' : ` ${counts}`}`}
      aside={filterLine}
      below={orderText(look)}
      foot={rows.length > 0 ? theme.paint('faint', `${numberText(selected + 1)} of ${numberText(rows.length)}`) : ''}
      focused
      rows={[headingLine(look, context), ...trouble, ...body, ...blank, ...foot]}
    />
  );
}
