import Papa from 'papaparse';
import { cleanLine } from '../../../text/clean.ts';
import { positionAt, type TextPosition } from '../../../text/position.ts';
import { type ReportBuilder, unreadableReport } from './report-builder.ts';
import { addRow, columnsOf } from './table-report.ts';

/** Reads a table with a heading, separated by commas, semicolons or tabs. Throws `config.report` with the position. */
export function readCsv(text: string, file: string, builder: ReportBuilder): string {
  const config = { delimiter: delimiterOf(text), skipEmptyLines: true } as const;
  const { data, errors } = Papa.parse<string[]>(text, config);
  const [broken] = errors;
  if (broken) {
    const why = broken.code === 'MissingQuotes' ? 'a quote that begins in this row never ends' : 'a quote stands where none can be';
    throw unreadableReport(file, why, positionAt(text, broken.index ?? text.length));
  }
  const [heading, ...rows] = data;
  if (!heading) throw unreadableReport(file, 'it is empty');
  const table = columnsOf(heading);
  if (typeof table === 'string') {
    const seen = heading.slice(0, 12).map((name) => cleanLine(name.slice(0, 30)));
    throw unreadableReport(file, `${table}. Its columns: ${seen.join(', ')}`);
  }
  const positionOf = rowPositions(text, config);
  const subject = subjectOfFile(file);
  for (const [at, row] of rows.entries()) {
    const position = (column = 0) => positionOf(at + 1, column);
    if (row.length < heading.length || (row.length > heading.length && row.slice(heading.length).some((cell) => cell.trim() !== '')))
      builder.leaveOut(`The row has ${row.length} fields, and the heading ${heading.length}.`, position);
    else addRow(row, table, subject, builder, position);
  }
  return table.format === '' ? 'CSV' : `CSV of ${table.format}`;
}

/** Returns the separator that is most frequent in the heading, outside of quotes. */
function delimiterOf(text: string): string {
  const heading = (/^[^\r\n]*/.exec(text)?.[0] ?? '').replaceAll(/"[^"]*"/g, '');
  const count = (one: string) => heading.split(one).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best), ',');
}

/** Finds positions of cells; row 0 is the heading. Parses the text a second time, and only when a position is required. */
function rowPositions(text: string, config: { delimiter: string; skipEmptyLines: true }): (row: number, column: number) => TextPosition {
  let begins: number[] | undefined;
  const readBegins = () => {
    const found: number[] = [];
    let end = 0;
    Papa.parse<string[]>(text, {
      ...config,
      step: ({ meta }) => {
        // Empty lines before a row are skipped.
        while (/[\r\n]/.test(text[end] ?? '')) end++;
        found.push(end);
        end = meta.cursor;
      },
    });
    return found;
  };
  return (row, column) => {
    begins ??= readBegins();
    let offset = begins[row] ?? 0;
    let isQuoted = false;
    for (let left = column; left > 0 && offset < text.length; offset++) {
      const character = text[offset];
      if (character === '"') isQuoted = !isQuoted;
      else if (!isQuoted && character === config.delimiter) left--;
      else if (!isQuoted && character === '\n') break;
    }
    return positionAt(text, offset);
  };
}

export function subjectOfFile(file: string): string {
  const name = file.split(/[\\/]/).at(-1) ?? file;
  return cleanLine(name.replace(/\.(?:csv|tsv|txt|json|sarif)$/gi, '')) || 'unnamed';
}
