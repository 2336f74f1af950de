/** What one program did in one line of the table: a number, or a word for why there is none. */
export type Cell = { value: number } | { none: string } | { failed: string };

/** A line of the table. */
export interface Measure {
  what: string;
  unit: 'ms' | 's' | 'MB' | '%' | 'bytes' | 'lines' | 'lines/s' | 'frames/s' | 'events' | 'containers';
  /** By the id of the program. A program without a cell was not measured. */
  cells: Readonly<Record<string, Cell>>;
  /** What quarterdeck should reach. */
  aim?: { text: string; met: (own: number, cells: Readonly<Record<string, Cell>>) => boolean };
}

export interface Column {
  id: string;
  title: string;
  installed: boolean;
}

const own = 'quarterdeck';

export const ownCell = (value: number): Measure['cells'] => ({ [own]: { value } });

/** Three digits that count: `8.13`, `81.3`, `813`, `81,300`. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return '?';
  const size = Math.abs(value);
  const digits = size >= 99.95 || value === 0 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: digits });
}

/** How many times as much as ours: ` (×3.1)`. Empty where that would mean nothing. */
export function ratioText(value: number, ownValue: number): string {
  if (!(ownValue > 0) || !(value > 0)) return '';
  const ratio = value / ownValue;
  return ` (×${ratio < 0.005 ? '0.00' : ratio < 1 ? ratio.toFixed(2) : ratio < 9.95 ? ratio.toFixed(1) : Math.round(ratio)})`;
}

/**
 * The measures as one table of Markdown. Behind every number stands how many times ours it is; failures are numbered, and answered with
 * their reasons.
 */
export function resultTable(measures: readonly Measure[], columns: readonly Column[]): { table: string; failures: string[] } {
  const failures: string[] = [];
  const rows = measures.map(({ what, unit, cells, aim }) => {
    const ownCell = cells[own];
    const ownValue = ownCell && 'value' in ownCell ? ownCell.value : Number.NaN;
    const drawn = columns.map(({ id, title, installed }) => {
      const cell = cells[id];
      if (!cell) return installed ? '' : 'not installed';
      if ('none' in cell) return cell.none;
      if ('failed' in cell) {
        // One failure takes all the numbers with it that would have come of it.
        const reason = `${title}: ${cell.failed}`;
        if (!failures.includes(reason)) failures.push(reason);
        return `failed [${failures.indexOf(reason) + 1}]`;
      }
      return id === own ? `**${numberText(cell.value)}**` : `${numberText(cell.value)}${ratioText(cell.value, ownValue)}`;
    });
    const verdict = aim ? `${aim.text}: ${Number.isNaN(ownValue) ? '?' : aim.met(ownValue, cells) ? 'met' : '**missed**'}` : '';
    return [what, unit, ...drawn, verdict];
  });
  const lines = [['', 'unit', ...columns.map(({ title }) => title), 'aim'], ['---', '---', ...columns.map(() => '--:'), '---'], ...rows];
  // A pipe in a cell would begin the next one.
  return { table: lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n'), failures };
}

/** The same for a terminal: padded columns, without Markdown. */
export function plainTable(measures: readonly Measure[], columns: readonly Column[]): { table: string; failures: string[] } {
  const { table, failures } = resultTable(measures, columns);
  const rows = table
    .split('\n')
    .filter((_, index) => index !== 1)
    .map((line) => line.slice(2, -2).replaceAll('**', '').split(' | '));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return {
    table: rows
      .map((row) =>
        row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
      )
      .join('\n'),
    failures,
  };
}
