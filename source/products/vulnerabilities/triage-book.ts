import { join } from 'node:path';
import { withFileLock } from '../../config/file-lock.ts';
import { readOwnFile, writeOwnFile } from '../../config/own-files.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { objectOf, parseJson } from '../../text/json-value.ts';
import { byUrgency, type Decision, Decisions, type Known, type Triaged, triaged } from './triage.ts';
import { type Band, bands, keyOf, type ScanReport } from './vulnerability.ts';

/** Some 100,000 entries take 40 MB. */
const limitBytes = 512 * 1024 * 1024;

/** The last report about a subject. */
export interface ScanRecord {
  file: string;
  format: string;
  /** ISO 8601. */
  importedAt: string;
  /** When it was scanned, and how new the scanner's database was, where the report says so. */
  scannedAt?: string;
  feedAt?: string;
}

interface FoundFile {
  schema: 1;
  scans: Record<string, ScanRecord>;
  found: Known[];
}

export interface ImportChange {
  /** Not known before. */
  added: number;
  stayed: number;
  /** Of the same subjects, and no longer found. */
  gone: number;
}

/** What was found, and what was decided about it, in two files: a report replaces the first, and never touches the second. */
export class TriageBook {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get decisionsFile(): string {
    return join(this.#folder, 'decisions.json');
  }
  get #foundFile(): string {
    return join(this.#folder, 'found.json');
  }

  /** Everything that is known, the most urgent first. Throws `config.unreadable`. */
  async read(nowMs: number): Promise<{ all: Triaged[]; scans: Readonly<Record<string, ScanRecord>>; decisions: readonly Decision[] }> {
    const [{ found, scans }, decisions] = await Promise.all([this.#found(), this.decisions()]);
    const byKey = new Decisions(decisions);
    return { all: found.map((one) => triaged(one, byKey.of(one), nowMs)).sort(byUrgency), scans, decisions };
  }

  /** What a report would change; `nowMs` is when a new one counts as found, where the report does not say when it was made. */
  async compare(report: ScanReport, nowMs: number): Promise<ImportChange> {
    return merged(await this.#found(), report, '', nowMs).change;
  }

  async import(grant: Grant, report: ScanReport, file: string, nowMs: number): Promise<ImportChange> {
    grant.signal.throwIfAborted();
    return withFileLock(this.#foundFile, async () => {
      const { next, change } = merged(await this.#found(), report, file, nowMs);
      await writeOwnFile(this.#foundFile, JSON.stringify(next));
      return change;
    });
  }

  /** Takes a subject out, with all that was found in it. Decisions stay. */
  async forget(grant: Grant, subject: string): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.#foundFile, async () => {
      const { scans, found } = await this.#found();
      const { [subject]: _, ...others } = scans;
      const next: FoundFile = { schema: 1, scans: others, found: found.filter((one) => one.subject !== subject) };
      await writeOwnFile(this.#foundFile, JSON.stringify(next));
    });
  }

  async decisions(): Promise<readonly Decision[]> {
    const file = this.decisionsFile;
    const text = await readOwnFile(file);
    if (text === undefined) return [];
    const list = objectOf(parsed(text, file))?.['decisions'];
    if (!Array.isArray(list) || !list.every(isDecision)) throw unreadable(file, 'it is not what Quarterdeck writes there');
    return list;
  }

  /** Writes them down, in the place of earlier ones about the same; `undefined` takes one back. */
  async decide(
    grant: Grant,
    about: readonly Pick<Decision, 'id' | 'package' | 'subject'>[],
    decision: Omit<Decision, 'id' | 'package' | 'subject'> | undefined,
  ): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.decisionsFile, async () => {
      const replaced = new Set(about.map(keyOf));
      const kept = (await this.decisions()).filter((one) => !replaced.has(keyOf(one)));
      const added = decision ? about.map(({ id, package: name, subject }) => ({ id, package: name, subject, ...decision })) : [];
      await writeOwnFile(this.decisionsFile, `${JSON.stringify({ schema: 1, decisions: [...kept, ...added] }, undefined, 2)}\n`);
    });
  }

  async #found(): Promise<FoundFile> {
    const file = this.#foundFile;
    const text = await readOwnFile(file, { limitBytes });
    if (text === undefined) return { schema: 1, scans: {}, found: [] };
    const json = objectOf(parsed(text, file));
    const { found, scans } = json ?? {};
    const records = objectOf(scans);
    if (!Array.isArray(found) || !found.every(isKnown) || !records || !Object.values(records).every(isScan))
      throw unreadable(file, 'it is not what Quarterdeck writes there');
    return json as unknown as FoundFile;
  }
}

/** Of the report's subjects nothing older stays, but when each was first seen does. */
function merged({ scans, found }: FoundFile, report: ScanReport, file: string, nowMs: number): { next: FoundFile; change: ImportChange } {
  const subjects = new Set(report.subjects);
  const before = new Map(found.filter(({ subject }) => subjects.has(subject)).map((one) => [keyOf(one), one]));
  // A clock that is ahead would move the deadline.
  const firstMs = Math.min(report.scannedMs ?? nowMs, nowMs);
  let added = 0;
  const now = report.vulnerabilities.map((one): Known => {
    const known = before.get(keyOf(one));
    if (!known) added++;
    return { ...one, firstMs: Math.min(known?.firstMs ?? firstMs, firstMs) };
  });
  const iso = (ms: number) => new Date(ms).toISOString();
  const { scannedMs, feedMs } = report;
  const record: ScanRecord = {
    ...{ file, format: report.format, importedAt: iso(nowMs) },
    ...(scannedMs !== undefined && { scannedAt: iso(scannedMs) }),
    ...(feedMs !== undefined && { feedAt: iso(feedMs) }),
  };
  const stayed = now.length - added;
  return {
    next: {
      schema: 1,
      scans: { ...scans, ...Object.fromEntries(report.subjects.map((subject) => [subject, record])) },
      found: [...found.filter(({ subject }) => !subjects.has(subject)), ...now],
    },
    change: { added, stayed, gone: before.size - stayed },
  };
}

function isKnown(value: unknown): value is Known {
  const one = objectOf(value);
  return (
    one !== undefined &&
    ['subject', 'package', 'id', 'version', 'fixedIn', 'band', 'severity', 'title', 'url'].every((name) => typeof one[name] === 'string') &&
    bands.includes(one['band'] as Band) &&
    ['firstMs', 'count'].every((name) => typeof one[name] === 'number') &&
    (one['score'] === undefined || typeof one['score'] === 'number') &&
    Array.isArray(one['aliases']) &&
    one['aliases'].every((alias) => typeof alias === 'string')
  );
}

function isScan(value: unknown): boolean {
  const one = objectOf(value);
  return (
    one !== undefined &&
    ['file', 'format', 'importedAt'].every((name) => typeof one[name] === 'string') &&
    ['scannedAt', 'feedAt'].every((name) => one[name] === undefined || typeof one[name] === 'string')
  );
}

function isDecision(value: unknown): value is Decision {
  const one = objectOf(value);
  const isText = (name: string) => typeof one?.[name] === 'string';
  return (
    one !== undefined &&
    ['id', 'package', 'subject', 'reason', 'by', 'at'].every(isText) &&
    (one['what'] === 'accept' || one['what'] === 'false-positive' || one['what'] === 'fix') &&
    (one['until'] === undefined || (isText('until') && /^\d{4}-\d{2}-\d{2}$/.test(String(one['until']))))
  );
}

function parsed(text: string, file: string): unknown {
  try {
    return parseJson(text) as unknown;
  } catch {
    throw unreadable(file, 'its JSON is broken');
  }
}

function unreadable(file: string, why: string): Fault {
  return new Fault({
    code: 'config.unreadable',
    message: `${file} cannot be read: ${why}.`,
    remedy: 'Mend it, or move it away: what was found comes back with the next import, decisions do not.',
    where: { file },
  });
}
