import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  byUrgency,
  type Decision,
  dayProblem,
  decisionLookup,
  endOfDay,
  groupByPackage,
  isLate,
  isUndecided,
  type Known,
  triaged,
} from './triage.ts';
import { type Band, bandOf, bands, parseBand } from './vulnerability.ts';

const hourMs = 3_600_000;
const nowMs = Date.parse('2026-11-22T12:00:00Z');

function known(band: Band, firstMs = nowMs, more: Partial<Known> = {}): Known {
  return {
    subject: 'nginx',
    package: 'zlib',
    id: 'CVE-1',
    aliases: [],
    version: '1',
    fixedIn: '',
    score: undefined,
    band,
    severity: '',
    title: '',
    url: '',
    count: 1,
    firstMs,
    ...more,
  };
}
const decision = (what: Decision['what'], until?: string, more: Partial<Decision> = {}): Decision => ({
  id: 'CVE-1',
  package: 'zlib',
  subject: 'nginx',
  what,
  reason: 'why',
  ...(until && { until }),
  by: 'ada@nas',
  at: '',
  ...more,
});

describe('bands (R79)', () => {
  test.each([
    [10, 'critical'],
    [9, 'critical'],
    [8.9, 'high'],
    [7, 'high'],
    [6.9, 'medium'],
    [4, 'medium'],
    [3.9, 'low'],
    [0.1, 'low'],
    [0, 'none'],
  ] as const)('%f is %s', (score, band) => {
    expect(bandOf(score)).toBe(band);
  });

  test('every score has a band, and a higher one never a lesser band', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 10, noNaN: true }), fc.double({ min: 0, max: 10, noNaN: true }), (a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(bands.indexOf(bandOf(high))).toBeLessThanOrEqual(bands.indexOf(bandOf(low)));
      }),
    );
  });

  test("scanners' own words", () => {
    expect(['CRITICAL', 'Important', 'moderate', 'Negligible', 'Log', 'UNKNOWN', ''].map(parseBand)).toEqual([
      'critical',
      'high',
      'medium',
      'low',
      'none',
      'unknown',
      'unknown',
    ]);
  });
});

describe('deadlines (R79)', () => {
  test.each([
    ['critical', 24 * hourMs, 'due'],
    ['critical', 24 * hourMs + 1, 'overdue'],
    ['high', 7 * 24 * hourMs, 'due'],
    ['high', 7 * 24 * hourMs + 1, 'overdue'],
    ['medium', 400 * 24 * hourMs, 'open'],
    ['low', 400 * 24 * hourMs, 'open'],
  ] as const)('%s, known for %i ms: %s', (band, ageMs, standing) => {
    const one = triaged(known(band, nowMs - ageMs), undefined, nowMs);
    expect(one.standing).toBe(standing);
    expect(isLate(one)).toBe(standing === 'overdue');
    expect(isUndecided(one)).toBe(true);
  });

  test('accepted until the end of its day, then asked about again', () => {
    const one = known('critical', nowMs - 100 * hourMs);
    const until = endOfDay('2026-11-30');
    expect(triaged(one, decision('accept', '2026-11-30'), until)).toMatchObject({ standing: 'accepted', dueMs: until });
    const later = triaged(one, decision('accept', '2026-11-30'), until + 1);
    expect(later.standing).toBe('lapsed');
    expect(isLate(later) && isUndecided(later)).toBe(true);
  });

  test('to be fixed by a day: the day counts, not the usual deadline', () => {
    const one = known('critical', nowMs - 100 * hourMs);
    expect(triaged(one, decision('fix', '2026-11-23'), nowMs).standing).toBe('fixing');
    expect(triaged(one, decision('fix', '2026-11-21'), nowMs).standing).toBe('overdue');
  });

  test('a false positive is never late', () => {
    expect(triaged(known('critical', 0), decision('false-positive'), nowMs)).toMatchObject({
      standing: 'false positive',
      dueMs: undefined,
    });
  });
});

test('a decision about one subject goes before one about all; the last word counts', () => {
  const find = decisionLookup([
    decision('fix', '2026-12-01', { subject: '*' }),
    decision('accept', '2026-12-01'),
    decision('false-positive'),
  ]);
  expect(find({ id: 'CVE-1', package: 'zlib', subject: 'nginx' })?.what).toBe('false-positive');
  expect(find({ id: 'CVE-1', package: 'zlib', subject: 'caddy' })?.what).toBe('fix');
  expect(find({ id: 'CVE-2', package: 'zlib', subject: 'caddy' })).toBeUndefined();
});

test('the order is total: late ones first, then the worse; groups keep it', () => {
  const arbitrary = fc.record({
    band: fc.constantFrom(...bands),
    ageMs: fc.integer({ min: 0, max: 30 * 24 * hourMs }),
    name: fc.constantFrom('a', 'b', 'c'),
    id: fc.string({ maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(arbitrary, { maxLength: 40 }), (all) => {
      const sorted = all
        .map(({ band, ageMs, name, id }) => triaged(known(band, nowMs - ageMs, { package: name, id }), undefined, nowMs))
        .sort(byUrgency);
      for (const [at, one] of sorted.entries()) {
        const next = sorted[at + 1];
        if (!next) continue;
        expect(Number(isLate(one))).toBeGreaterThanOrEqual(Number(isLate(next)));
        if (isLate(one) === isLate(next)) expect(bands.indexOf(one.band)).toBeLessThanOrEqual(bands.indexOf(next.band));
      }
      const groups = groupByPackage(sorted);
      expect(groups.flatMap((group) => group.all)).toHaveLength(sorted.length);
      expect(groups[0]?.all[0]).toBe(sorted[0]);
    }),
  );
});

test.each([
  ['2026-12-31', undefined],
  ['2026-11-22', undefined],
  ['2026-11-21', /in the past/],
  ['2026-02-30', /date such as/],
  ['soon', /date such as/],
  ['2026-1-1', /date such as/],
])('the day %s', (text, problem) => {
  if (problem) expect(dayProblem(text, nowMs)).toMatch(problem);
  else expect(dayProblem(text, nowMs)).toBeUndefined();
});
