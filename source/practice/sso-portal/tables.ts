/** As Go's tabwriter sets a table: a column is as wide as its longest cell and so many blanks. */
export function tabTable(rows: readonly (readonly string[])[], blanks = 1): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)) + blanks);
  return rows
    .map((row) => row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join(''))
    .map((line) => `${line}\n`)
    .join('');
}
