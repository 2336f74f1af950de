import { cut, pad, textWidth } from '../text/width.ts';

export interface TableColumn {
  heading: string;
  align?: 'left' | 'right';
  /** May be made narrower, down to this many columns, when the table does not fit; the widest such column gives first. */
  least?: number;
  /** Colours a padded cell. Widths are counted before. */
  paint?: (cell: string, row: number) => string;
}

const gap = 2;

/**
 * Rows in aligned columns, at most `width` wide: columns with a `least` are cut, and those that still do not fit are left out from the right.
 * The last column is not padded, so that a copied line has no spaces at its end.
 */
export function tableLines(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { width, heading }: { width: number; heading?: (text: string) => string },
): string[] {
  const titles = columns.map((column) => column.heading);
  const withTitles = heading ? [titles, ...rows] : rows;
  const widths = columns.map((_, index) => Math.max(0, ...withTitles.map((row) => textWidth(row[index] ?? ''))));
  let shown = columns.length;
  const taken = () => widths.slice(0, shown).reduce((sum, one) => sum + one, 0) + gap * (shown - 1);

  while (taken() > width) {
    const [widest] = columns
      .slice(0, shown)
      .map((column, index) => ({
        index,
        room: column.least === undefined ? 0 : (widths[index] ?? 0) - column.least,
        width: widths[index] ?? 0,
      }))
      .filter(({ room }) => room > 0)
      .sort((one, other) => other.width - one.width);
    if (widest)
      widths[widest.index] = Math.max(
        columns[widest.index]?.least ?? 0,
        widest.width - Math.max(1, Math.min(taken() - width, Math.ceil(widest.room / 4))),
      );
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
  const lines = rows.map((row, index) => line(row, index));
  return heading ? [heading(line(titles, undefined)), ...lines] : lines;
}
