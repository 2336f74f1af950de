import { imageNameParts } from '../../../engine/image-name.ts';
import { Fault } from '../../../faults/fault.ts';
import { cleanLine } from '../../../text/clean.ts';
import type { TextPosition } from '../../../text/position.ts';
import { bandOf, keyOf, parseBand, type Vulnerability } from './vulnerability.ts';

/** More would only fill the screen; the total number is reported. */
const problemsKept = 20;
const titleColumns = 160;

type FoundEntry = Pick<Vulnerability, 'subject' | 'package' | 'id'> & Partial<Omit<Vulnerability, 'band' | 'count'>>;

/** Returns the position of a value in the file of a report, or of its nearest existing parent. */
export type FindPosition = (path: (string | number)[]) => TextPosition;

export type ScanReport = ReturnType<ReportBuilder['report']>;

/** Collects the entries of any report. The same vulnerability of a package counts once, however many paths it is found at. */
export class ReportBuilder {
  readonly #found = new Map<string, Vulnerability>();
  readonly #subjects = new Set<string>();
  /** The first skipped entries. Lines and columns count from 1. */
  readonly #problems: (TextPosition & { message: string })[] = [];
  #skipped = 0;
  /** Number of entries that are not vulnerabilities: log messages, passed tests. */
  ignored = 0;
  scannedMs: number | undefined;
  /** Date of the scanner's database. */
  feedMs: number | undefined;

  subject(name: string): void {
    this.#subjects.add(short(name));
  }

  add(entry: FoundEntry): void {
    this.subject(entry.subject);
    const identity = { subject: short(entry.subject), package: short(entry.package), id: short(entry.id) };
    const key = keyOf(identity);
    const before = this.#found.get(key);
    const severity = short(entry.severity ?? '');
    const score = before?.score === undefined ? entry.score : Math.max(before.score, entry.score ?? 0);
    this.#found.set(key, {
      ...identity,
      aliases: before?.aliases ?? entry.aliases?.map(short) ?? [],
      version: before?.version || short(entry.version ?? ''),
      fixedIn: before?.fixedIn || short(entry.fixedIn ?? ''),
      score,
      band: score === undefined ? parseBand(severity) : bandOf(score),
      severity: before?.severity || severity,
      title: before?.title || short(entry.title ?? ''),
      url: before?.url || webAddress(entry.url),
      count: (before?.count ?? 0) + 1,
    });
  }

  /** Leaves out an entry without an id or a package. `names` are those of the two in the report. */
  addNamed(entry: FoundEntry, what: string, names: Record<'id' | 'package', string>, where: () => TextPosition): void {
    const missing = (['id', 'package'] as const).find((key) => entry[key] === '');
    if (missing) this.leaveOut(`${what} has no ${names[missing]}.`, where);
    else this.add(entry);
  }

  /** `where` is called only for the first problems: finding a position requires parsing the file again. */
  leaveOut(message: string, where: () => TextPosition): void {
    this.#skipped++;
    if (this.#problems.length < problemsKept) this.#problems.push({ ...where(), message });
  }

  /** @param format `Trivy JSON`, `SARIF 2.1.0 of Grype`, `CSV of OpenVAS` */
  report(format: string) {
    const { scannedMs, feedMs, ignored } = this;
    const [subjects, vulnerabilities] = [[...this.#subjects], [...this.#found.values()]];
    return { format, subjects, scannedMs, feedMs, vulnerabilities, ignored, problems: this.#problems, skipped: this.#skipped };
  }
}

/** Returns an image without tag and digest: the next scan is of the next tag, but about the same subject. */
export function imageSubject(reference: string): string {
  const { name } = imageNameParts(reference.trim());
  return name.replace(/^(?:docker\.io\/|index\.docker\.io\/)/, '').replace(/^library\//, '');
}

/** Some locales use a decimal comma. An empty text and `N/A` mean no score. */
export function readScore(text: string): number | undefined | { problem: string } {
  const written = text.trim();
  if (written === '' || /^(?:n\/?a|none|null|-)$/i.test(written)) return undefined;
  const score = /^\d{1,2}(?:[.,]\d+)?$/.test(written) ? Number(written.replace(',', '.')) : Number.NaN;
  return score <= 10 ? score : { problem: `CVSS scores must be from 0 to 10, not "${cleanLine(written.slice(0, 40))}"` };
}

export function readTime(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}/.test(text)) return undefined;
  const time = Date.parse(text.replace(/(\.\d{3})\d+/, '$1'));
  return Number.isNaN(time) ? undefined : time;
}

function short(text: string): string {
  const line = cleanLine(text).trim();
  return line.length <= titleColumns ? line : `${line.slice(0, titleColumns - 1)}…`;
}

function webAddress(text: string | undefined): string {
  return text !== undefined && /^https?:\/\/[^\s"'<>]{1,500}$/.test(text) ? cleanLine(text) : '';
}

export function unreadableReport(
  file: string,
  why: string,
  position: TextPosition = { line: 1, column: 1 },
  remedy = 'Recreate the report with the scanner as JSON (Trivy or Grype), SARIF, or CSV with a header row.',
): Fault {
  const where = { file: cleanLine(file), ...position };
  return new Fault('config.report', `${where.file} is not a supported report: ${why}.`, remedy, { where });
}
