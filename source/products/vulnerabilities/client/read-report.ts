import { listOf, objectOf, parseJson, textOf } from '../../../text/json-value.ts';
import { isTooDeep } from '../../../text/nesting.ts';
import { readCsv, subjectOfFile } from './csv-report.ts';
import { readGrype } from './grype-report.ts';
import { type FindPosition, jsonPositions, positionOfJsonError } from './json-position.ts';
import { ReportBuilder, type ScanReport, unreadableReport } from './report-builder.ts';
import { readSarif } from './sarif-report.ts';
import { addRow, columnsOf } from './table-report.ts';
import { readTrivy } from './trivy-report.ts';

/** Skips and lists unusable entries. Throws `config.report` with line and column for an unreadable file. */
export async function readReport(bytes: Uint8Array, file: string): Promise<ScanReport> {
  const text = decoded(bytes, file);
  const builder = new ReportBuilder();
  const whole = text.replace(/^\ufeff/, '');
  const first = /\S/.exec(whole)?.[0];
  if (first === undefined) throw unreadableReport(file, 'it is empty');
  if (first === '<') throw unreadableReport(file, 'it is XML', undefined, 'Take the report as CSV, JSON or SARIF.');
  if (first !== '{' && first !== '[') return builder.report(readCsv(text, file, builder));
  let json: unknown;
  try {
    json = parseJson(whole);
  } catch {
    const why = isTooDeep(whole) ? 'its JSON is nested too deep here' : 'its JSON is broken here';
    throw unreadableReport(file, why, positionOfJsonError(whole));
  }
  const positionOf = jsonPositions(whole);
  return builder.report(
    readSarif(json, builder, positionOf) ??
      readTrivy(json, builder, positionOf) ??
      readGrype(json, builder, positionOf) ??
      readRows(json, file, builder, positionOf),
  );
}

/** Reads a list of objects with the same keys as a table. */
function readRows(json: unknown, file: string, builder: ReportBuilder, positionOf: FindPosition): string {
  const rows = listOf(json);
  const names = [...new Set(rows.slice(0, 100).flatMap((row) => Object.keys(objectOf(row) ?? {})))];
  const table = names.length === 0 ? 'no scanner is known that writes it' : columnsOf(names);
  if (typeof table === 'string') throw unreadableReport(file, table);
  for (const [index, row] of rows.entries()) {
    const object = objectOf(row);
    const cells = names.map((name) => textOf(object?.[name]));
    const at = (column?: number) => positionOf(column === undefined ? [index] : [index, names[column] ?? '']);
    if (object) addRow(cells, table, subjectOfFile(file), builder, at);
    else builder.leaveOut('An entry of the list is no object.', at);
  }
  return table.format === '' ? 'JSON' : `JSON of ${table.format}`;
}

function decoded(bytes: Uint8Array, file: string): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    // Exports of spreadsheets may be UTF-16.
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    const nul = bytes.indexOf(0);
    if (nul >= 0 && nul < 4096) throw unreadableReport(file, 'it is no text', undefined, 'Unpack it first.');
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
