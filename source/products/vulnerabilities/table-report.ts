import type { TextPlace } from '../../text/text-place.ts';
import { type FoundEntry, imageSubject, type ReportBuilder, readScore, readTime } from './report-builder.ts';

/** What a column means, by the names that it has: lower case, letters and digits alone. The first name that a table has is taken. */
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
type ColumnName = keyof typeof columnNames;

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** What the columns of a table are. A sentence for a table that cannot be a report. */
export function columnsOf(names: readonly string[]): TableColumns | string {
  const known = new Map(names.map((name, at) => [plain(name), at] as const).reverse());
  const at = (name: ColumnName) => columnNames[name].map((one) => known.get(one)).find((one) => one !== undefined);
  const isOpenVas = known.has('nvtoid') && known.has('nvtname');
  const columns = Object.fromEntries(
    (Object.keys(columnNames) as ColumnName[]).flatMap((name) => {
      const found = at(name);
      return found === undefined ? [] : [[name, found]];
    }),
  ) as Partial<Record<ColumnName, number>>;
  if (isOpenVas) {
    const named = (name: string) => known.get(name);
    return {
      ...{ format: 'OpenVAS', subjectNames: ['hostname', 'ip'].flatMap((name) => named(name) ?? []) },
      ...{ columns: { ...columns, title: named('nvtname'), time: named('timestamp') } },
      openVas: { oid: named('nvtoid') ?? 0, cves: named('cves'), port: named('port'), protocol: named('portprotocol') },
    };
  }
  if (columns.id === undefined) return 'no column names the vulnerability: CVE, VulnerabilityID or ID';
  if (columns.score === undefined && columns.severity === undefined) return 'no column says how bad it is: CVSS or Severity';
  return { format: '', subjectNames: [], columns };
}

export interface TableColumns {
  /** Of whose scanner it is; empty for a table in nobody's form. */
  format: string;
  columns: Partial<Record<ColumnName, number>>;
  /** Several columns that name the subject: the first that is not empty. */
  subjectNames: readonly number[];
  openVas?: { oid: number; cves: number | undefined; port: number | undefined; protocol: number | undefined };
}

/** Where a cell of the row stands; without a column the beginning of the row. */
export type CellPlace = (column?: number) => TextPlace;

/** Reads one row into the report. `fallback` names the subject where no column does. */
export function addRow(row: readonly string[], table: TableColumns, fallback: string, builder: ReportBuilder, place: CellPlace): void {
  const { columns, openVas } = table;
  const score = readScore(cellOf(row, columns.score));
  if (typeof score === 'object') {
    builder.leaveOut(`${score.problem}.`, () => place(columns.score));
    return;
  }
  const severity = cellOf(row, columns.severity);
  if (openVas && (score ?? 0) === 0 && /^(?:log|false positive|)$/i.test(severity)) {
    builder.ignored++;
    return;
  }
  const { id, package: name, aliases } = openVas ? openVasEntry(row, openVas) : plainEntry(row, columns);
  if (id === '') {
    builder.leaveOut('The row does not name the vulnerability.', () => place(openVas?.oid ?? columns.id));
    return;
  }
  if (columns.time !== undefined) {
    const time = readTime(cellOf(row, columns.time));
    if (time !== undefined) builder.scannedMs = Math.max(builder.scannedMs ?? 0, time);
  }
  builder.add({
    id,
    package: name,
    aliases,
    subject: subjectOf(row, table) || fallback,
    version: cellOf(row, columns.version),
    fixedIn: cellOf(row, columns.fixedIn),
    score,
    severity,
    title: cellOf(row, columns.title),
    url: cellOf(row, columns.url),
  });
}

function cellOf(row: readonly string[], at: number | undefined): string {
  return at === undefined ? '' : (row[at]?.trim() ?? '');
}

function plainEntry(row: readonly string[], columns: TableColumns['columns']): Pick<FoundEntry, 'id' | 'package' | 'aliases'> {
  return { id: cellOf(row, columns.id), package: cellOf(row, columns.package) || 'unnamed', aliases: [] };
}

function subjectOf(row: readonly string[], { columns, subjectNames }: TableColumns): string {
  for (const at of subjectNames) {
    const written = cellOf(row, at);
    if (written !== '') return written;
  }
  const written = cellOf(row, columns.subject);
  return /[:@]/.test(written) && /^[\w./-]+(?::\d+)?[\w./-]*[:@][\w.:-]+$/.test(written) ? imageSubject(written) : written;
}

/** A test that finds several weaknesses at once goes by its own id; where it is about one, by that. */
function openVasEntry(
  row: readonly string[],
  openVas: NonNullable<TableColumns['openVas']>,
): Pick<FoundEntry, 'id' | 'package' | 'aliases'> {
  const cves = cellOf(row, openVas.cves).match(/CVE-\d{4}-\d{4,}/g) ?? [];
  const oid = cellOf(row, openVas.oid);
  const port = cellOf(row, openVas.port);
  const [only] = cves;
  return {
    id: cves.length === 1 && only !== undefined ? only : oid,
    package: port === '' || port === '0' ? 'the system' : `port ${port}/${cellOf(row, openVas.protocol) || 'tcp'}`,
    aliases: cves.length === 1 ? [oid] : cves,
  };
}
