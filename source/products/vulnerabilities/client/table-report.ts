import type { TextPosition } from '../../../text/position.ts';
import { type FoundEntry, imageSubject, type ReportBuilder, readScore, readTime } from './report-builder.ts';

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

export function columnsOf(names: readonly string[]): TableColumns | string {
  const known = new Map(names.map((name, at) => [plain(name), at] as const).reverse());
  const columns = Object.fromEntries(
    Object.entries(columnNames).map(([name, candidates]) => [name, candidates.map((one) => known.get(one)).find((at) => at !== undefined)]),
  ) as TableColumns['columns'];
  const oid = known.get('nvtoid');
  if (oid !== undefined && known.has('nvtname')) {
    return {
      ...{ format: 'OpenVAS', subjectNames: ['hostname', 'ip'].flatMap((name) => known.get(name) ?? []) },
      ...{ columns: { ...columns, title: known.get('nvtname'), time: known.get('timestamp') } },
      openVas: { oid, cves: known.get('cves'), port: known.get('port'), protocol: known.get('portprotocol') },
    };
  }
  if (columns.id === undefined) return 'no column names the vulnerability: CVE, VulnerabilityID or ID';
  if (columns.score === undefined && columns.severity === undefined) return 'no column says how bad it is: CVSS or Severity';
  return { format: '', subjectNames: [], columns };
}

interface TableColumns {
  /** Name of the scanner; empty for a table in an unknown format. */
  format: string;
  columns: Record<keyof typeof columnNames, number | undefined>;
  /** Columns that name the subject: the first non-empty one is used. */
  subjectNames: readonly number[];
  openVas?: Record<'cves' | 'port' | 'protocol', number | undefined> & { oid: number };
}

type Cell = (column: number | undefined) => string;

/** `fallback` is the subject if no column has it. `position` returns that of a cell; without a column, that of the row. */
export function addRow(
  row: readonly string[],
  table: TableColumns,
  fallback: string,
  builder: ReportBuilder,
  position: (column?: number) => TextPosition,
): void {
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
    builder.leaveOut('The row does not name the vulnerability.', () => position(openVas?.oid ?? columns.id));
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
function openVasEntry(cell: Cell, openVas: NonNullable<TableColumns['openVas']>): Pick<FoundEntry, 'id' | 'package' | 'aliases'> {
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
