import { countText } from '../../../text/quantities.ts';
import type { ScanReport } from './report-builder.ts';
import type { ScanRecord } from './triage-book.ts';

const dayMs = 24 * 3_600_000;
/** High severities must be handled within a week (R79): less frequent scans find them too late. */
const oldScanMs = 7 * dayMs;
/** Grype itself refuses an older database. */
const oldFeedMs = 5 * dayMs;

/** Returns a sentence for a report whose scanner used an outdated database; undefined for the others. */
export function oldFeedOf({ feedMs, scannedMs }: Pick<ScanReport, 'feedMs' | 'scannedMs'>, nowMs: number): string | undefined {
  const days = feedMs === undefined ? 0 : Math.floor(((scannedMs ?? nowMs) - feedMs) / dayMs);
  if (days * dayMs < oldFeedMs) return undefined;
  return `The scanner's database was ${countText(days, 'day')} old, so newer vulnerabilities are not in the report.`;
}

/** Returns why the list may be incomplete, one sentence each: old scans, or scans with an outdated database (R60). */
export function scanRemarks(scans: Readonly<Record<string, ScanRecord>>, nowMs: number): string[] {
  const all = Object.entries(scans).map(([subject, { importedAt, scannedAt, feedAt }]) => {
    const atMs = Date.parse(scannedAt ?? importedAt);
    return { subject, ageMs: nowMs - atMs, feedAgeMs: feedAt === undefined ? 0 : atMs - Date.parse(feedAt) };
  });
  const old = all.filter(({ ageMs }) => ageMs >= oldScanMs).sort((a, b) => b.ageMs - a.ageMs);
  const blind = all.filter(({ feedAgeMs }) => feedAgeMs >= oldFeedMs).sort((a, b) => b.feedAgeMs - a.feedAgeMs);
  return [
    ...old.slice(0, 1).map((one) => `Scanned over a week ago: ${named(one.subject, old.length)}, ${daysText(one.ageMs)} ago.`),
    ...blind
      .slice(0, 1)
      .map((one) => `Scanned with an outdated database: ${named(one.subject, blind.length)}, ${daysText(one.feedAgeMs)} old at the time.`),
  ];
}

const daysText = (ms: number) => countText(Math.floor(ms / dayMs), 'day');
const named = (first: string, count: number) => (count === 1 ? first : `${countText(count, 'subject')}, including ${first}`);
