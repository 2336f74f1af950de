import { expect, test } from 'vitest';
import { oldFeedOf, scanRemarks } from './feed-state.ts';
import { readReport } from './read-report.ts';

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const day = (at: string) => `2026-11-${at}T12:00:00Z`;

test.each([
  ['of today', '22', undefined],
  ['of four days ago', '18', undefined],
  ['of five days ago', '17', /5 days old/],
])('a database %s (R60)', (_, built, said) => {
  const sentence = oldFeedOf({ feedMs: Date.parse(day(built)), scannedMs: nowMs }, nowMs);
  if (said) expect(sentence).toMatch(said);
  else expect(sentence).toBeUndefined();
});

test('a report that does not say how new its database was is taken as it is', () => {
  expect(oldFeedOf({ feedMs: undefined, scannedMs: nowMs }, nowMs)).toBeUndefined();
});

test.each([
  ['as Grype has it now', { status: { schemaVersion: 'v6.0.2', built: day('02') } }],
  ['as older ones had it', { built: day('02'), schemaVersion: 5 }],
])('the age of the database is read %s (R60)', async (_, db) => {
  const text = JSON.stringify({
    matches: [],
    source: { type: 'image', target: { userInput: 'nginx:1' } },
    descriptor: { timestamp: day('20'), db },
  });
  const report = await readReport(Buffer.from(text), 'grype.json');
  expect(oldFeedOf(report, nowMs)).toMatch(/^The scanner's database was 18 days old/);
});

test('old scans and old databases are counted, the worst is named', () => {
  const scan = (scanned: string, feed?: string) => ({
    ...{ file: 'a', format: 'Grype JSON', importedAt: day('22'), scannedAt: day(scanned) },
    ...(feed !== undefined && { feedAt: day(feed) }),
  });
  expect(scanRemarks({ nginx: scan('22', '21'), redis: scan('16') }, nowMs)).toEqual([]);
  expect(scanRemarks({ nginx: scan('15'), redis: scan('10'), caddy: scan('21', '01') }, nowMs)).toEqual([
    'Scanned over a week ago: 2 subjects, including redis, 12 days ago.',
    'Scanned with an outdated database: caddy, 20 days old at the time.',
  ]);
});
