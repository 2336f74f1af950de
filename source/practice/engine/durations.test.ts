import { expect, test } from 'vitest';
import { humanDuration, momentText, readMoment } from './durations.ts';

// What Docker's own units package says (go-units, duration_test.go).
test.each([
  [450, 'Less than a second'],
  [1_000, '1 second'],
  [45_000, '45 seconds'],
  [60_000, 'About a minute'],
  [180_000, '3 minutes'],
  [3_600_000, 'About an hour'],
  [10_800_000, '3 hours'],
  [32 * 3_600_000, '32 hours'],
  [51 * 3_600_000, '2 days'],
  [13 * 86_400_000, '13 days'],
  [14 * 86_400_000, '2 weeks'],
  [66 * 86_400_000, '2 months'],
  [25 * 30 * 86_400_000, '2 years'],
])('%i ms is %s', (ms, words) => {
  expect(humanDuration(ms)).toBe(words);
});

test('moments go out to the nanosecond and come back', () => {
  expect(momentText(Date.parse('2026-11-20T10:00:00.007Z'), 1_117)).toBe('2026-11-20T10:00:00.007001117Z');
  expect(momentText(undefined)).toBe('0001-01-01T00:00:00Z');
  expect(readMoment('1795167986.007001117')).toEqual({ ms: 1_795_167_986_007, subNanoseconds: 1_117 });
  expect(readMoment('0')).toBeUndefined();
  expect(readMoment('rubbish')).toBeUndefined();
});
