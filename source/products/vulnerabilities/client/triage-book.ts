import { join } from 'node:path';
import { z } from 'zod';
import { readCheckedJson } from '../../../config/checked-json.ts';
import { withFileLock } from '../../../config/file-lock.ts';
import { writeOwnFile } from '../../../config/own-files.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { ScanReport } from './report-builder.ts';
import type { Decision, DecisionKey, Known, Triaged } from './triage.ts';
import { byUrgency, decisionLookup, decisionSchema, knownSchema, triaged } from './triage.ts';
import { keyOf } from './vulnerability.ts';

const remedy =
  'Fix the file, or move it and import the reports again. Without found.json, decisions are kept; without decisions.json, they are lost.';
/** About 100,000 entries are 40 MB. */
const reading = { remedy, limitBytes: 512 * 1024 * 1024 };

const scanSchema = z.object({
  file: z.string(),
  format: z.string(),
  importedAt: z.string(),
  /** Time of the scan and date of the scanner's database, if the report has them. */
  scannedAt: z.string().optional(),
  feedAt: z.string().optional(),
});
export type ScanRecord = z.infer<typeof scanSchema>;

const foundSchema = z.object({ schema: z.literal(1), scans: z.record(z.string(), scanSchema), found: z.array(knownSchema) });
type FoundFile = z.infer<typeof foundSchema>;
const decisionsSchema = z.object({ decisions: z.array(decisionSchema) });

type ImportChange = ReturnType<typeof merged>['change'];

/** The findings and the decisions about them, in two files: a report replaces the first, and never changes the second. */
export class TriageBook {
  constructor(private readonly folder: string) {}

  get decisionsFile(): string {
    return join(this.folder, 'decisions.json');
  }
  get #foundFile(): string {
    return join(this.folder, 'found.json');
  }

  /** Returns all vulnerabilities, the most urgent first. Throws `config.unreadable`. */
  async read(nowMs: number): Promise<{ all: Triaged[]; scans: Readonly<Record<string, ScanRecord>> }> {
    const [{ found, scans }, decisions] = await Promise.all([this.#found(), this.decisions()]);
    const decisionOf = decisionLookup(decisions);
    return { all: found.map((one) => triaged(one, decisionOf(one), nowMs)).sort(byUrgency), scans };
  }

  /** Returns the changes of a report; `nowMs` is the time of new findings if the report has no date. */
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

  async decisions(): Promise<readonly Decision[]> {
    return (await readCheckedJson(this.decisionsFile, decisionsSchema, reading))?.decisions ?? [];
  }

  /** Writes decisions, which replace earlier ones about the same vulnerabilities; `undefined` withdraws one. */
  async decide(grant: Grant, about: readonly DecisionKey[], decision: Omit<Decision, keyof DecisionKey> | undefined): Promise<void> {
    grant.signal.throwIfAborted();
    await withFileLock(this.decisionsFile, async () => {
      const replaced = new Set(about.map(keyOf));
      const kept = (await this.decisions()).filter((one) => !replaced.has(keyOf(one)));
      const added = decision ? about.map(({ id, package: name, subject }) => ({ id, package: name, subject, ...decision })) : [];
      await writeOwnFile(this.decisionsFile, `${JSON.stringify({ schema: 1, decisions: [...kept, ...added] }, undefined, 2)}\n`);
    });
  }

  async #found(): Promise<FoundFile> {
    return (await readCheckedJson(this.#foundFile, foundSchema, reading)) ?? { schema: 1, scans: {}, found: [] };
  }
}

/** Older findings about the report's subjects are replaced; only the time when each was first found stays. */
function merged({ scans, found }: FoundFile, report: ScanReport, file: string, nowMs: number) {
  const subjects = new Set(report.subjects);
  const before = new Map(found.filter(({ subject }) => subjects.has(subject)).map((one) => [keyOf(one), one]));
  // A scanner's clock that is ahead would move the deadline.
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
  const next: FoundFile = {
    schema: 1,
    scans: { ...scans, ...Object.fromEntries(report.subjects.map((subject) => [subject, record])) },
    found: [...found.filter(({ subject }) => !subjects.has(subject)), ...now],
  };
  // Gone: findings of the same subjects that were not found again.
  return { next, change: { added, stayed, gone: before.size - stayed } };
}
