import Papa from 'papaparse';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { placeAt, type TextPlace } from '../../text/text-place.ts';
import type { ReportBuilder } from './report-builder.ts';
import { addRow, columnsOf } from './table-report.ts';

/** A table with a heading, separated by commas, semicolons or tabs. Throws `config.report` with the place. */
export function readCsv(text: string, file: string, builder: ReportBuilder): string {
  const config = { delimiter: delimiterOf(text), skipEmptyLines: true } as const;
  const { data, errors } = Papa.parse<string[]>(text, config);
  const [broken] = errors;
  if (broken) {
    const why = broken.code === 'MissingQuotes' ? 'a quote that begins in this row never ends' : 'a quote stands where none can be';
    throw unreadable(file, placeAt(text, broken.index ?? text.length), why);
  }
  const [heading, ...rows] = data;
  if (!heading) throw unreadable(file, { line: 1, column: 1 }, 'it is empty');
  const table = columnsOf(heading);
  if (typeof table === 'string') throw unreadable(file, { line: 1, column: 1 }, table, heading);
  const places = new RowPlaces(text, config);
  const subject = subjectOfFile(file);
  for (const [at, row] of rows.entries()) {
    const place = (column = 0) => places.find(at + 1, column);
    if (row.length < heading.length || (row.length > heading.length && row.slice(heading.length).some((cell) => cell.trim() !== '')))
      builder.leaveOut(`The row has ${row.length} fields, and the heading ${heading.length}.`, place);
    else addRow(row, table, subject, builder, place);
  }
  return table.format === '' ? 'CSV' : `CSV of ${table.format}`;
}

/** The separator that the heading has most of, outside of quotes. */
function delimiterOf(text: string): string {
  const heading = (/^[^\r\n]*/.exec(text)?.[0] ?? '').replaceAll(/"[^"]*"/g, '');
  const count = (one: string) => heading.split(one).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best), ',');
}

/** Finds cells in the text. Reads it a second time, and only when something has to be found. */
class RowPlaces {
  readonly #text: string;
  readonly #config: { delimiter: string; skipEmptyLines: true };
  #begins: number[] | undefined;

  constructor(text: string, config: { delimiter: string; skipEmptyLines: true }) {
    this.#text = text;
    this.#config = config;
  }

  /** `row` counts the heading as 0. */
  find(row: number, column: number): TextPlace {
    let offset = this.#rows()[row] ?? 0;
    let isQuoted = false;
    for (let left = column; left > 0 && offset < this.#text.length; offset++) {
      const character = this.#text[offset];
      if (character === '"') isQuoted = !isQuoted;
      else if (!isQuoted && character === this.#config.delimiter) left--;
      else if (!isQuoted && character === '\n') break;
    }
    return placeAt(this.#text, offset);
  }

  #rows(): readonly number[] {
    if (this.#begins) return this.#begins;
    const begins: number[] = [];
    let end = 0;
    Papa.parse<string[]>(this.#text, {
      ...this.#config,
      step: ({ meta }) => {
        // Empty lines before a row belong to nothing.
        while (/[\r\n]/.test(this.#text[end] ?? '')) end++;
        begins.push(end);
        end = meta.cursor;
      },
    });
    this.#begins = begins;
    return begins;
  }
}

function unreadable(file: string, place: TextPlace, why: string, names: readonly string[] = []): Fault {
  const seen =
    names.length > 0
      ? ` Its columns: ${names
          .slice(0, 12)
          .map((name) => cleanLine(name.slice(0, 30)))
          .join(', ')}.`
      : '';
  return new Fault({
    code: 'config.report',
    message: `${cleanLine(file)} is no report that can be read: ${why}.${seen}`,
    remedy: 'Take it anew from the scanner: JSON of Trivy or Grype, SARIF, or CSV with a heading.',
    where: { file: cleanLine(file), ...place },
  });
}

/** `nightly.csv` is about `nightly`. */
export function subjectOfFile(file: string): string {
  const name = file.split(/[\\/]/).at(-1) ?? file;
  return cleanLine(name.replace(/\.(?:csv|tsv|txt|json|sarif)$/gi, '')) || 'unnamed';
}
