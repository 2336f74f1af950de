import { type ParseError, parseTree } from 'jsonc-parser';
import { offsetOf } from '../../../config-files/json-text.ts';
import { parseJson } from '../../../text/json-value.ts';
import { tooDeepAt } from '../../../text/nesting.ts';
import { positionAt } from '../../../text/position.ts';
import { readGrype } from './grype-report.ts';
import { type FindPosition, ReportBuilder, type ScanReport, unreadableReport } from './report-builder.ts';
import { readSarif } from './sarif-report.ts';
import { readCsv, readRows } from './table-report.ts';
import { readTrivy } from './trivy-report.ts';

/** Skips and lists unusable entries. Throws `config.report` with line and column for an unreadable file. */
export async function readReport(bytes: Uint8Array, file: string): Promise<ScanReport> {
  const text = decoded(bytes, file);
  const builder = new ReportBuilder();
  const whole = text.replace(/^\ufeff/, '');
  const first = /\S/.exec(whole)?.[0];
  if (first === undefined) throw unreadableReport(file, 'it is empty');
  if (first === '<') throw unreadableReport(file, 'it is XML', undefined, 'Use a report in CSV, JSON or SARIF.');
  if (first !== '{' && first !== '[') return builder.report(readCsv(text, file, builder));
  let json: unknown;
  try {
    json = parseJson(whole);
  } catch {
    const deep = tooDeepAt(whole);
    if (deep !== undefined) throw unreadableReport(file, 'its JSON is nested too deeply', positionAt(whole, deep));
    // The message of the thrown error has no position for a short text.
    const errors: ParseError[] = [];
    parseTree(whole, errors);
    throw unreadableReport(file, 'it contains invalid JSON', positionAt(whole, errors[0]?.offset ?? whole.trimEnd().length));
  }
  const positionOf = jsonPositions(whole);
  return builder.report(
    readSarif(json, builder, positionOf) ??
      readTrivy(json, builder, positionOf) ??
      readGrype(json, builder, positionOf) ??
      readRows(json, file, builder, positionOf),
  );
}

/** Finds positions in one JSON text. Parses it a second time, and only when a position is required. */
function jsonPositions(text: string): FindPosition {
  let tree: ReturnType<typeof parseTree>;
  return (path) => {
    tree ??= parseTree(text);
    return positionAt(text, tree ? offsetOf(tree, path, 'value') : 0);
  };
}

function decoded(bytes: Uint8Array, file: string): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    // Exports of spreadsheets may be UTF-16.
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    const nul = bytes.indexOf(0);
    if (nul >= 0 && nul < 4096) throw unreadableReport(file, 'it is not text', undefined, 'If the report is compressed, unpack it first.');
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
