import type { CatalogEntry } from '../catalog/catalog.ts';
import { searchCatalog } from '../catalog/catalog-search.ts';
import { groupTitles } from '../catalog/groups.ts';
import type { Tone } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { pad } from '../text/width.ts';
import { padStyled } from './styled-text.ts';
import type { Theme } from './theme.ts';

let last: { entries: readonly CatalogEntry[]; filter: string; rows: readonly CatalogEntry[] } | undefined;

/** The components of the catalog, by group; with a filter those that fit, the best first. */
export function catalogRows(entries: readonly CatalogEntry[], filter: string): readonly CatalogEntry[] {
  if (last?.entries === entries && last.filter === filter) return last.rows;
  const rows = searchCatalog(entries, filter);
  last = { entries, filter, rows };
  return rows;
}

/** The one under the cursor: the first where what was selected is not there any more. */
export function chosenEntry(rows: readonly CatalogEntry[], selected: string | undefined): CatalogEntry | undefined {
  return rows.find(({ id }) => id === selected) ?? rows[0];
}

interface Context {
  theme: Theme;
  width: number;
}

/** Columns of kind, product, name and group: what people look for first comes first. */
function columnsFor(width: number): number[] {
  const room = width - 2 - 2 * 2;
  const product = Math.min(26, Math.max(14, Math.floor(room * 0.24)));
  const name = Math.min(30, Math.max(16, Math.floor(room * 0.28)));
  const group = width >= 120 ? 16 : 0;
  return [room - product - name - (group === 0 ? 0 : group + 2), product, name, group];
}

function drawn(width: number, cells: readonly string[], mark: string): string {
  return columnsFor(width)
    .flatMap((columns, at) => (columns <= 0 ? [] : [pad(cells[at] ?? '', columns, 'left', mark)]))
    .join('  ');
}

export function catalogHeading({ theme, width }: Context): string {
  return theme.paint('faint', pad(`  ${drawn(width, ['What it is', 'Product', 'Component', 'Group'], theme.glyphs.ellipsis)}`, width));
}

/** `there`: how it is on a host that is connected; undefined where it is on none. */
export function catalogLine(entry: CatalogEntry, marked: boolean, there: Tone | undefined, { theme, width }: Context): string {
  const cells = [entry.kind, entry.product.name, `${entry.id}${entry.own ? ' *' : ''}`, groupTitles[entry.group]].map(cleanLine);
  const text = drawn(width, cells, theme.glyphs.ellipsis);
  const shown = entry.deploy === 'compose' ? text : theme.paint('faint', text);
  const sign = marked ? theme.paint('accent', theme.glyphs.pointer) : there ? theme.paint(there, theme.glyphs.tone[there]) : ' ';
  const line = padStyled(`${sign} ${shown}`, width, theme.glyphs.ellipsis);
  return marked ? theme.paint('selected', line) : line;
}
