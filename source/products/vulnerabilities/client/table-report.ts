import Papa from 'papaparse';
import { cleanLine } from '../../../text/clean.ts';
import { listOf, objectOf, textOf } from '../../../text/json-value.ts';
import { positionAt, type TextPosition } from '../../../text/position.ts';
import { type FindPosition, imageSubject, type ReportBuilder, readScore, readTime, unreadableReport } from './report-builder.ts';

/** Reads a table with a heading, separated by commas, semicolons or tabs. Throws `config.report` with the position. */
export function readCsv(text: string, file: string, builder: ReportBuilder): string {
  const delimiter = delimiterOf(text);
  const [first, ...rows] = rowsOf(text, file, delimiter);
  if (!first) throw unreadableReport(file, 'it is empty');
  const heading = first.cells;
  const table = columnsOf(heading);
  if (typeof table === 'string') {
    const seen = heading.slice(0, 12).map((name) => cleanLine(name.slice(0, 30)));
    throw unreadableReport(file, `${table}. Columns found: ${seen.join(', ')}`);
  }
  const subject = subjectOfFile(file);
  for (const { cells, begin } of rows) {
    const position = (column = 0) => cellPosition(text, delimiter, begin, column);
    if (cells.length < heading.length || cells.slice(heading.length).some((cell) => cell.trim() !== ''))
      builder.leaveOut(`The row has ${cells.length} fields, but the header row has ${heading.length}.`, position);
    else addRow(cells, table, subject, builder, position);
  }
  return table.format === '' ? 'CSV' : `CSV from ${table.format}`;
}

function rowsOf(text: string, file: string, delimiter: string): { cells: readonly string[]; begin: number }[] {
  const rows: { cells: readonly string[]; begin: number }[] = [];
  let end = 0;
  Papa.parse<string[]>(text, {
    delimiter,
    step({ data: cells, errors: [broken], meta }) {
      if (broken) {
        const why = broken.code === 'MissingQuotes' ? 'the quote that starts in this row is never closed' : 'unexpected quote';
        throw unreadableReport(file, why, positionAt(text, broken.index ?? text.length));
      }
      // Empty lines before a row are skipped.
      while (/[\r\n]/.test(text[end] ?? '')) end++;
      if (cells.length > 1 || cells[0] !== '') rows.push({ cells, begin: end });
      end = meta.cursor;
    },
  });
  return rows;
}

/** Returns the separator that is most frequent in the heading, outside of quotes. */
function delimiterOf(text: string): string {
  const heading = (/^[^\r\n]*/.exec(text)?.[0] ?? '').replaceAll(/"[^"]*"/g, '');
  const count = (one: string) => heading.split(one).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best), ',');
}

/** `begin` is the offset of the row. */
function cellPosition(text: string, delimiter: string, begin: number, column: number): TextPosition {
  let offset = begin;
  let isQuoted = false;
  for (let left = column; left > 0 && offset < text.length; offset++) {
    const character = text[offset];
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === delimiter) left--;
    else if (!isQuoted && character === '\n') break;
  }
  return positionAt(text, offset);
}

function subjectOfFile(file: string): string {
  const name = file.split(/[\\/]/).at(-1) ?? file;
  return cleanLine(name.replace(/\.(?:csv|tsv|txt|json|sarif)$/gi, '')) || 'unnamed';
}

/** Reads a list of objects with the same keys as a table. */
export function readRows(json: unknown, file: string, builder: ReportBuilder, positionOf: FindPosition): string {
  const rows = listOf(json);
  const names = [...new Set(rows.slice(0, 100).flatMap((row) => Object.keys(objectOf(row) ?? {})))];
  const table = names.length === 0 ? 'its format is unknown' : columnsOf(names);
  if (typeof table === 'string') throw unreadableReport(file, table);
  for (const [index, row] of rows.entries()) {
    const object = objectOf(row);
    const cells = names.map((name) => textOf(object?.[name]));
    const at = (column?: number) => positionOf(column === undefined ? [index] : [index, names[column] ?? '']);
    if (object) addRow(cells, table, subjectOfFile(file), builder, at);
    else builder.leaveOut('An entry of the list is not an object.', at);
  }
  return table.format === '' ? 'JSON' : `JSON from ${table.format}`;
}

/** Known names of each column: lower case, only letters and digits. The first name that the table has is used. */
const columnNames = {
  id: ['cve', 'cveid', 'vulnerabilityid', 'vulnid', 'vulnerability', 'advisory', 'advisoryid', 'ghsa', 'id', 'pluginid', 'qid'],
  package: ['package', 'pkgname', 'packagename', 'component', 'artifact', 'library', 'dependency', 'name', 'software', 'module'],
  version: ['version', 'installedversion', 'installed', 'packageversion', 'pkgversion', 'currentversion'],
  fixedIn: ['fixedversion', 'fixedin', 'fixversion', 'fixversions', 'fixed', 'fix', 'patchedversion', 'fixedinversion'],
  score: ['cvss', 'cvssscore', 'cvssv31', 'cvssv3', 'cvssv3basescore', 'cvss3', 'basescore', 'cvssbasescore', 'score'],
  severity: ['severity', 'level', 'risk', 'threat', 'priority'],
  subject: ['image', 'artifactname', 'target', 'hostname', 'host', 'ip', 'ipaddress', 'asset', 'system', 'project', 'subject'],
  title: ['title', 'summary', 'description', 'synopsis'],
  url: ['url', 'link', 'primaryurl', 'reference', 'references'],
  time: ['timestamp', 'scanned', 'scantime', 'createdat', 'detected', 'found', 'date'],
} as const;

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

type TableColumns = Exclude<ReturnType<typeof columnsOf>, string>;

/** Returns what is missing if it is no table of vulnerabilities. */
function columnsOf(names: readonly string[]) {
  const known = new Map(names.map((name, at) => [plain(name), at] as const).reverse());
  const columns = Object.fromEntries(
    Object.entries(columnNames).map(([name, candidates]) => [name, candidates.map((one) => known.get(one)).find((at) => at !== undefined)]),
  ) as Record<keyof typeof columnNames, number | undefined>;
  const oid = known.get('nvtoid');
  if (oid !== undefined && known.has('nvtname')) {
    return {
      /** Name of the scanner; empty for a table in an unknown format. */
      format: 'OpenVAS',
      /** Columns that name the subject: the first non-empty one is used. */
      subjectNames: ['hostname', 'ip'].flatMap((name) => known.get(name) ?? []),
      columns: { ...columns, title: known.get('nvtname'), time: known.get('timestamp') },
      openVas: { oid, cves: known.get('cves'), port: known.get('port'), protocol: known.get('portprotocol') },
    };
  }
  if (columns.id === undefined) return 'it has no vulnerability column (CVE, VulnerabilityID or ID)';
  if (columns.score === undefined && columns.severity === undefined) return 'it has no severity column (CVSS or Severity)';
  return { format: '', subjectNames: [], columns, openVas: undefined };
}

type Cell = (column: number | undefined) => string;
/** Returns the position of a cell; without a column, that of the row. */
type CellPosition = (column?: number) => TextPosition;

/** `fallback` is the subject if no column has it. */
function addRow(row: readonly string[], table: TableColumns, fallback: string, builder: ReportBuilder, position: CellPosition): void {
  const { columns, openVas } = table;
  const cell: Cell = (at) => (at === undefined ? '' : (row[at]?.trim() ?? ''));
  const score = readScore(cell(columns.score));
  if (typeof score === 'object') {
    builder.leaveOut(`${score.problem}.`, () => position(columns.score));
    return;
  }
  const severity = cell(columns.severity);
  if (openVas && (score ?? 0) === 0 && /^(?:log|false positive|)$/i.test(severity)) {
    builder.ignored++;
    return;
  }
  const entry = openVas ? openVasEntry(cell, openVas) : { id: cell(columns.id), package: cell(columns.package) || 'unnamed' };
  if (entry.id === '') {
    builder.leaveOut('The row has no vulnerability ID.', () => position(openVas?.oid ?? columns.id));
    return;
  }
  const time = readTime(cell(columns.time));
  if (time !== undefined) builder.scannedMs = Math.max(builder.scannedMs ?? 0, time);
  builder.add({
    ...entry,
    subject: subjectOf(cell, table) || fallback,
    version: cell(columns.version),
    fixedIn: cell(columns.fixedIn),
    score,
    severity,
    title: cell(columns.title),
    url: cell(columns.url),
  });
}

function subjectOf(cell: Cell, { columns, subjectNames }: TableColumns): string {
  const named = subjectNames.map(cell).find(Boolean);
  if (named) return named;
  const written = cell(columns.subject);
  return /^[\w./-]+(?::\d+)?[\w./-]*[:@][\w.:-]+$/.test(written) ? imageSubject(written) : written;
}

/** A test that finds several vulnerabilities is listed under its own id, a test for a single one under that of the vulnerability. */
function openVasEntry(cell: Cell, openVas: NonNullable<TableColumns['openVas']>) {
  const cves = cell(openVas.cves).match(/CVE-\d{4}-\d{4,}/g) ?? [];
  const oid = cell(openVas.oid);
  const port = cell(openVas.port);
  const [only, second] = cves;
  const isOne = only !== undefined && second === undefined;
  return {
    id: isOne ? only : oid,
    package: port === '' || port === '0' ? 'the system' : `port ${port}/${cell(openVas.protocol) || 'tcp'}`,
    aliases: isOne ? [oid] : cves,
  };
}
