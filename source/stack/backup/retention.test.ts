import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DatedBackup, defaultRetention, keepOf } from './retention.ts';

const dayMs = 86_400_000;
const now = Date.UTC(2026, 10, 21, 3, 0);
const nightly = (days: number): DatedBackup[] => Array.from({ length: days }, (_, age) => ({ atMs: now - age * dayMs, good: true }));
const dates = (backups: Iterable<DatedBackup>) => [...backups].map(({ atMs }) => new Date(atMs).toISOString().slice(0, 10)).sort();

describe('retention', () => {
  it('two projects that share a name have the policy each', () => {
    const of = (project: string) => nightly(3).map((backup) => ({ ...backup, manifest: { project } }));
    const kept = [...keepOf([...of('lab'), ...of('notes')], { daily: 1, weekly: 0, monthly: 0 })];
    expect(kept.map(({ manifest }) => manifest.project)).toEqual(['lab', 'notes']);
  });

  it('of nightly backups keeps exactly 7 days, 4 weeks and 12 months (R69)', () => {
    expect(defaultRetention).toEqual({ daily: 7, weekly: 4, monthly: 12 });
    expect(dates(keepOf(nightly(800)))).toEqual([
      ...[
        '2025-12-31',
        '2026-01-31',
        '2026-02-28',
        '2026-03-31',
        '2026-04-30',
        '2026-05-31',
        '2026-06-30',
        '2026-07-31',
        '2026-08-31',
        '2026-09-30',
      ],
      // The newest of the last four weeks, from Monday; the last day of October differs from the last day of the week.
      ...['2026-10-31', '2026-11-01', '2026-11-08'],
      ...['2026-11-15', '2026-11-16', '2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21'],
    ]);
  });

  it('never counts a damaged backup, and keeps the last good one however old it is (R69)', () => {
    const old = { atMs: now - 900 * dayMs, good: true };
    const damaged = nightly(30).map((backup) => ({ ...backup, good: false }));
    expect([...keepOf([...damaged, old])]).toEqual([old]);
    expect([...keepOf([...nightly(3)], { daily: 0, weekly: 0, monthly: 0 })]).toHaveLength(1);
  });

  const backups = fc.array(fc.record({ atMs: fc.integer({ min: 0, max: now }), good: fc.boolean() }), { maxLength: 120 });
  const policies = fc.record({ daily: fc.nat(10), weekly: fc.nat(10), monthly: fc.nat(15) });

  it('keeps no more than it is told, and the newest good one always (R69)', () => {
    fc.assert(
      fc.property(backups, policies, (all, policy) => {
        const kept = keepOf(all, policy);
        expect(kept.size).toBeLessThanOrEqual(Math.max(1, policy.daily + policy.weekly + policy.monthly));
        for (const backup of kept) expect(backup.good).toBe(true);
        const newest = Math.max(...all.filter(({ good }) => good).map(({ atMs }) => atMs), -1);
        expect([...kept].some(({ atMs }) => atMs === newest)).toBe(newest >= 0);
      }),
    );
  });

  it('what was let go once is not wanted later: keeping twice is keeping once (R69)', () => {
    fc.assert(
      fc.property(backups, policies, (all, policy) => {
        const kept = keepOf(all, policy);
        expect(keepOf([...kept], policy)).toEqual(kept);
      }),
    );
  });

  it('does not depend on the order (R69)', () => {
    fc.assert(
      fc.property(backups, policies, (all, policy) => {
        const times = (list: DatedBackup[]) => new Set([...keepOf(list, policy)].map(({ atMs }) => atMs));
        expect(times([...all].reverse())).toEqual(times(all));
      }),
    );
  });
});
