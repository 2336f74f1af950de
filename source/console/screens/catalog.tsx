import { useRef } from 'react';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { whereItRuns } from '../../catalog/where-it-runs.ts';
import type { Tone } from '../../fleet/model.ts';
import { entryLines } from '../../terminal/entry-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { cut } from '../../text/width.ts';
import { catalogHeading, catalogLine, catalogRows, chosenEntry } from '../catalog-rows.ts';
import { useParts } from '../context.ts';
import { useFilterText } from '../hooks/use-filter-text.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { type Rectangle, windowStart } from '../layout.ts';
import type { Theme } from '../theme.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** Longer lines are hard to read. */
const proseColumns = 100;

/** Every component that is known: a list that can be searched, and all that is known about one. */
export function CatalogScreen({ rectangle }: { rectangle: Rectangle }) {
  const { deck } = useParts();
  const look = useInterface((state) => state.catalog);
  const filter = useInterface((state) => state.filters.catalog);
  const rows = catalogRows(deck.catalog.entries, filter);
  const entry = chosenEntry(rows, look.selected);
  return look.reading === undefined || !entry ? (
    <List rectangle={rectangle} rows={rows} entry={entry} filter={filter} />
  ) : (
    <Reading rectangle={rectangle} entry={entry} top={look.reading} />
  );
}

function List({
  rectangle,
  rows,
  entry,
  filter,
}: {
  rectangle: Rectangle;
  rows: readonly CatalogEntry[];
  entry: CatalogEntry | undefined;
  filter: string;
}) {
  const { theme, commands, deck } = useParts();
  const snapshot = useFleet();
  const filterLine = useFilterText('catalog');
  const start = useRef(0);
  const width = rectangle.width - 2;
  const height = Math.max(1, rectangle.height - 4);
  const selected = entry ? rows.indexOf(entry) : -1;
  start.current = windowStart({ previous: start.current, selected, height, total: rows.length });
  commands.measured.catalog = { height, total: rows.length };
  const there = new Map(snapshot.components.flatMap(({ known, id, tone }) => (known ? [[id, tone] as const] : [])));
  const lines = rows
    .slice(start.current, start.current + height)
    .map((row, at) => catalogLine(row, start.current + at === selected, there.get(row.id), { theme, width }));
  const body = lines.length > 0 ? lines : [`  ${cut(`Nothing in the catalog is like "${filter}".`, width - 4)}`];
  const blank = Array.from({ length: Math.max(0, height - body.length) }, () => '');
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={`Catalog ${countText(deck.catalog.entries.length, 'component')}`}
      aside={filterLine}
      below=""
      foot={rows.length > 0 ? theme.paint('faint', `${selected + 1} of ${rows.length}`) : ''}
      focused
      rows={[catalogHeading({ theme, width }), ...body, ...blank, ` ${foot(entry, deck.catalog.entries, there, theme, width)}`]}
    />
  );
}

/** About the component under the cursor. */
function foot(
  entry: CatalogEntry | undefined,
  entries: readonly CatalogEntry[],
  there: ReadonlyMap<string, Tone>,
  theme: Theme,
  width: number,
): string {
  if (!entry) return '';
  const where = whereItRuns(entry, entries) ?? (there.has(entry.id) ? 'It is here already.' : `Not deployed here. Image ${entry.image}`);
  return theme.paint('faint', cut(cleanLine(where), Math.max(1, width - 4), theme.glyphs.ellipsis));
}

function Reading({ rectangle, entry, top }: { rectangle: Rectangle; entry: CatalogEntry; top: number }) {
  const { theme, commands, deck } = useParts();
  const height = Math.max(1, rectangle.height - 2);
  const lines = entryLines(entry, deck.catalog.entries, {
    proseColumns: Math.min(proseColumns, rectangle.width - 4),
    paint: (what, text) => theme.paint(what, text),
  });
  commands.measured.catalog = { height, total: lines.length };
  const shown = lines.slice(top, top + height).map((line) => ` ${line}`);
  const end = Math.min(lines.length, top + height);
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={`Catalog ${cleanLine(entry.id)}`}
      below=""
      foot={lines.length > height ? theme.paint('faint', `${top + 1} to ${end} of ${lines.length}`) : ''}
      focused
      rows={[...shown, ...Array.from({ length: Math.max(0, height - shown.length) }, () => '')]}
    />
  );
}
