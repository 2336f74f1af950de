import { cleanLine } from '../text/clean.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';

export interface TableColumn {
  heading: string;
  align?: 'left' | 'right';
  /** Allows this column to shrink to this many columns when the table does not fit. The widest such column shrinks first. */
  least?: number;
  /** Colours a padded cell. Widths are counted before colouring. */
  paint?: (cell: string, row: number) => string;
}

interface ListColumn<Item> extends Omit<TableColumn, 'heading' | 'paint'> {
  cell(item: Item): string;
  paint?: (cell: string, item: Item) => string;
}

/** By heading. A function alone is a column of its texts. */
export type ListColumns<Item> = Readonly<Record<string, ((item: Item) => string) | ListColumn<Item>>>;

/** Returns a table with a row for each item. Its texts are cleaned. */
export function listLines<Item>(
  items: readonly Item[],
  columns: ListColumns<Item>,
  options: { width: number; heading?: (text: string) => string },
): string[] {
  const all = Object.entries(columns).map(([heading, column]) => ({
    heading,
    ...(typeof column === 'function' ? { cell: column } : column),
  }));
  const table = all.map(({ cell: _, paint, ...column }: ListColumn<Item> & { heading: string }): TableColumn => {
    return { ...column, ...(paint && { paint: (text, row) => paint(text, items[row] as Item) }) };
  });
  const rows = items.map((item) => all.map(({ cell }) => cleanLine(cell(item))));
  return tableLines(table, rows, options);
}

const gap = 2;

/**
 * Returns rows in aligned columns, at most `width` wide. Columns with a `least` are cut, and those that still do not fit are omitted from
 * the right. With `whole`, nothing is lost: cells wrap, and where even that does not fit, each row becomes a block with a line for each
 * column. The last column is not padded, so that a copied line has no trailing spaces.
 */
export function tableLines(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { width, heading, whole = false }: { width: number; heading?: (text: string) => string; whole?: boolean },
): string[] {
  const titles = columns.map((column) => column.heading);
  const withTitles = heading ? [titles, ...rows] : rows;
  const widths = columns.map((_, index) => Math.max(0, ...withTitles.map((row) => textWidth(row[index] ?? ''))));
  let shown = columns.length;
  const taken = () => widths.slice(0, shown).reduce((sum, one) => sum + one, 0) + gap * (shown - 1);

  while (taken() > width) {
    const [widest] = widths
      .slice(0, shown)
      .map((size, index) => ({ index, size, room: size - (columns[index]?.least ?? size) }))
      .filter(({ room }) => room > 0)
      .sort((one, other) => other.size - one.size);
    if (widest) widths[widest.index] = widest.size - Math.min(taken() - width, Math.ceil(widest.room / 4));
    else if (whole) return blocks(columns, rows, width, heading);
    else if (shown > 1) shown -= 1;
    else break;
  }

  const line = (cells: readonly string[], row: number | undefined) =>
    columns
      .slice(0, shown)
      .map((column, index) => {
        const space = widths[index] ?? 0;
        const last = index === shown - 1;
        const cell = cells[index] ?? '';
        const fitted = last && column.align !== 'right' ? cut(cell, space) : pad(cell, space, column.align ?? 'left');
        return row !== undefined && column.paint ? column.paint(fitted, row) : fitted;
      })
      .join(' '.repeat(gap))
      .trimEnd();
  const lines = rows.flatMap((row, index) => (whole ? wrapped(row, widths) : [row]).map((cells) => line(cells, index)));
  return heading ? [heading(line(titles, undefined)), ...lines] : lines;
}

function wrapped(row: readonly string[], widths: readonly number[]): string[][] {
  const cells = row.map((cell, index) => wrap(cell, widths[index] ?? 1));
  return Array.from({ length: Math.max(1, ...cells.map(({ length }) => length)) }, (_, at) => cells.map((lines) => lines[at] ?? ''));
}

function blocks(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: number,
  heading: (text: string) => string = (text) => text,
): string[] {
  const label = Math.min(width >> 1, Math.max(0, ...columns.map(({ heading: title }) => textWidth(title))));
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...columns.flatMap((column, index) =>
      row[index]
        ? wrap(row[index], Math.max(1, width - label - gap)).map(
            (part, line) => `${heading(pad(line === 0 ? column.heading : '', label))}${' '.repeat(gap)}${part}`,
          )
        : [],
    ),
  ]);
}
