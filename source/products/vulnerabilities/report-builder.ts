import { imageNameParts } from '../../engine/image-name.ts';
import { cleanLine } from '../../text/clean.ts';
import { bandOf, bandOfWord, type ReportProblem, type ScanReport, type Vulnerability } from './vulnerability.ts';

/** More would only fill the screen; the number of all of them is told. */
const problemsKept = 20;
const titleColumns = 160;

export interface FoundEntry {
  subject: string;
  package: string;
  id: string;
  aliases?: readonly string[];
  version?: string;
  fixedIn?: string;
  score?: number | undefined;
  severity?: string;
  title?: string;
  url?: string;
}

/** Gathers entries of any report. The same vulnerability of the same package counts once, however many paths it is found at. */
export class ReportBuilder {
  readonly #found = new Map<string, Vulnerability>();
  readonly #subjects = new Set<string>();
  readonly #problems: ReportProblem[] = [];
  #leftOut = 0;
  ignored = 0;
  scannedMs: number | undefined;
  feedMs: number | undefined;

  subject(name: string): void {
    this.#subjects.add(short(name));
  }

  add(entry: FoundEntry): void {
    const subject = short(entry.subject);
    this.#subjects.add(subject);
    const id = short(entry.id);
    const name = short(entry.package);
    const key = `${subject}\n${name}\n${id}`;
    const before = this.#found.get(key);
    const severity = short(entry.severity ?? '');
    const score = before?.score === undefined ? entry.score : Math.max(before.score, entry.score ?? 0);
    this.#found.set(key, {
      subject,
      package: name,
      id,
      aliases: before?.aliases ?? entry.aliases?.map(short) ?? [],
      version: before?.version || short(entry.version ?? ''),
      fixedIn: before?.fixedIn || short(entry.fixedIn ?? ''),
      score,
      band: score === undefined ? bandOfWord(severity) : bandOf(score),
      severity: before?.severity || severity,
      title: before?.title || short(entry.title ?? ''),
      url: before?.url || webAddress(entry.url),
      count: (before?.count ?? 0) + 1,
    });
  }

  /** `where` is asked for the first ones alone: finding a place costs a look through the file. */
  leaveOut(message: string, where: () => { line: number; column: number }): void {
    this.#leftOut++;
    if (this.#problems.length < problemsKept) this.#problems.push({ ...where(), message });
  }

  report(format: string): ScanReport {
    return {
      format,
      subjects: [...this.#subjects],
      scannedMs: this.scannedMs,
      feedMs: this.feedMs,
      vulnerabilities: [...this.#found.values()],
      ignored: this.ignored,
      problems: this.#problems,
      leftOut: this.#leftOut,
    };
  }
}

/** An image without tag and digest: the next scan is of the next tag, and about the same thing. */
export function imageSubject(reference: string): string {
  const { name } = imageNameParts(reference.trim());
  return name.replace(/^(?:docker\.io\/|index\.docker\.io\/)/, '').replace(/^library\//, '');
}

/** A score from 0 to 10; a sentence for what is none. Some locales write a comma. Empty and `N/A` are no score. */
export function readScore(text: string): number | undefined | { problem: string } {
  const written = text.trim();
  if (written === '' || /^(?:n\/?a|none|null|-)$/i.test(written)) return undefined;
  const score = /^\d{1,2}(?:[.,]\d+)?$/.test(written) ? Number(written.replace(',', '.')) : Number.NaN;
  return score <= 10 ? score : { problem: `"${cleanLine(written.slice(0, 40))}" is no CVSS score from 0 to 10` };
}

/** Epoch milliseconds; undefined for what is no time. */
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
