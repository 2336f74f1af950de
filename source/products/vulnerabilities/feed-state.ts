import { countText } from '../../text/quantities.ts';
import type { ScanRecord } from './triage-book.ts';
import type { ScanReport } from './vulnerability.ts';

const dayMs = 24 * 3_600_000;
/** What is high has to be dealt with within a week (R79): who scans less often than that finds it late. */
const oldScanMs = 7 * dayMs;
/** Grype itself takes no database that is older. */
const oldFeedMs = 5 * dayMs;

/** A sentence for a report whose scanner knew less than it could have; undefined for the others. */
export function oldFeedOf({ feedMs, scannedMs }: Pick<ScanReport, 'feedMs' | 'scannedMs'>, nowMs: number): string | undefined {
  const days = feedMs === undefined ? 0 : Math.floor(((scannedMs ?? nowMs) - feedMs) / dayMs);
  if (days * dayMs < oldFeedMs) return undefined;
  return `The scanner's database was ${countText(days, 'day')} old: what became known since is not in the report.`;
}

/** What makes the list less than the truth, a sentence each: scans that were made long ago, or with an old database (R60). */
export function scanRemarks(scans: Readonly<Record<string, ScanRecord>>, nowMs: number): string[] {
  const all = Object.entries(scans).map(([subject, { importedAt, scannedAt, feedAt }]) => {
    const atMs = Date.parse(scannedAt ?? importedAt);
    return { subject, ageMs: nowMs - atMs, feedAgeMs: feedAt === undefined ? 0 : atMs - Date.parse(feedAt) };
  });
  const old = all.filter(({ ageMs }) => ageMs >= oldScanMs).sort((a, b) => b.ageMs - a.ageMs);
  const blind = all.filter(({ feedAgeMs }) => feedAgeMs >= oldFeedMs).sort((a, b) => b.feedAgeMs - a.feedAgeMs);
  const [oldest] = old;
  const [blindest] = blind;
  return [
    ...(oldest ? [`Scanned over a week ago: ${named(oldest.subject, old.length)}, ${daysText(oldest.ageMs)} ago.`] : []),
    ...(blindest
      ? [`Scanned with an old database: ${named(blindest.subject, blind.length)}, ${daysText(blindest.feedAgeMs)} old then.`]
      : []),
  ];
}

const daysText = (ms: number) => countText(Math.floor(ms / dayMs), 'day');
const named = (first: string, count: number) => (count === 1 ? first : `${countText(count, 'subject')}, first of all ${first}`);
