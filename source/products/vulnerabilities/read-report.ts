import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { listOf, objectOf, parseJson, textOf } from '../../text/json-value.ts';
import { isTooDeep } from '../../text/nesting.ts';
import { subjectOfFile } from './csv-report.ts';
import { isGrype, readGrype } from './grype-report.ts';
import { JsonPlaces, placeOfJsonError } from './json-place.ts';
import { ReportBuilder } from './report-builder.ts';
import { isSarif, readSarif } from './sarif-report.ts';
import { addRow, columnsOf } from './table-report.ts';
import { isTrivy, readTrivy } from './trivy-report.ts';
import type { ScanReport } from './vulnerability.ts';

/**
 * Reads the report of a scanner, in whichever of the known forms it is. Entries that cannot be used are left out and named. Throws `config.report` with
 * line and column for a file that cannot be read at all.
 */
export async function readReport(bytes: Uint8Array, file: string): Promise<ScanReport> {
  const text = decoded(bytes, file);
  const builder = new ReportBuilder();
  const first = /\S/.exec(text.replace(/^\ufeff/, ''))?.[0];
  if (first === undefined) throw refused(file, 'it is empty', { line: 1, column: 1 });
  if (first === '<') throw refused(file, 'it is XML', { line: 1, column: 1 }, 'Take the report as CSV, JSON or SARIF.');
  if (first !== '{' && first !== '[') {
    const { readCsv } = await import('./csv-report.ts');
    return builder.report(readCsv(text, file, builder));
  }
  const whole = text.replace(/^\ufeff/, '');
  let json: unknown;
  try {
    json = parseJson(whole);
  } catch {
    throw refused(file, isTooDeep(whole) ? 'its JSON is nested too deep here' : 'its JSON is broken here', placeOfJsonError(whole));
  }
  const places = new JsonPlaces(whole);
  if (isSarif(json)) return builder.report(readSarif(json, builder, places));
  if (isTrivy(json)) return builder.report(readTrivy(json, builder, places));
  if (isGrype(json)) return builder.report(readGrype(json, builder, places));
  return builder.report(readRows(json, file, builder, places));
}

/** A list of objects that all have the same names: a table. */
function readRows(json: unknown, file: string, builder: ReportBuilder, places: JsonPlaces): string {
  const rows = listOf(json);
  const names = [...new Set(rows.slice(0, 100).flatMap((row) => Object.keys(objectOf(row) ?? {})))];
  const table = names.length === 0 ? 'no scanner is known that writes it' : columnsOf(names);
  if (typeof table === 'string') throw refused(file, table, { line: 1, column: 1 });
  for (const [index, row] of rows.entries()) {
    const object = objectOf(row);
    const at = (column?: number) => places.find(column === undefined ? [index] : [index, names[column] ?? '']);
    if (!object) builder.leaveOut('An entry of the list is no object.', () => at());
    else
      addRow(
        names.map((name) => textOf(object[name])),
        table,
        subjectOfFile(file),
        builder,
        at,
      );
  }
  return table.format === '' ? 'JSON' : `JSON of ${table.format}`;
}

function decoded(bytes: Uint8Array, file: string): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    // A spreadsheet's export is UTF-16 at times.
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    const nul = bytes.indexOf(0);
    if (nul >= 0 && nul < 4096) throw refused(file, 'it is no text', { line: 1, column: 1 }, 'Unpack it first.');
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

function refused(file: string, why: string, place: { line: number; column: number }, remedy?: string): Fault {
  return new Fault({
    code: 'config.report',
    message: `${cleanLine(file)} is no report that can be read: ${why}.`,
    remedy: remedy ?? 'Take it anew from the scanner: JSON of Trivy or Grype, SARIF, or CSV with a heading.',
    where: { file: cleanLine(file), ...place },
  });
}
