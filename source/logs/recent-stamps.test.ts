import { expect, test } from 'vitest';
import { LogBatch } from '../engine/log-batch.ts';
import { RecentStamps } from './recent-stamps.ts';

const isAgain = (recent: RecentStamps, number: number, followed: number, text = `line ${number}`): boolean => {
  const stamp = `2026-11-20T10:00:00.${String(number).padStart(9, '0')}Z`;
  const line = { timeMs: Date.parse('2026-11-20T10:00:00Z') + Math.floor(number / 1e6), stamp, stream: 'stdout', text } as const;
  return recent.isAgain(LogBatch.of([line]), 0, followed);
};

/** Returns how many of this many lines count as new when all lines are sent a second time. */
function takenTwice(lines: number, sentAgain: number, followed: number): number {
  const recent = new RecentStamps();
  for (let number = 0; number < lines; number++) isAgain(recent, number, followed);
  let taken = 0;
  for (let number = lines - sentAgain; number < lines; number++) if (!isAgain(recent, number, followed)) taken++;
  return taken;
}

test('what Docker sends again at a rotation is dropped, once and for all of it', () => {
  expect(takenTwice(5000, 532, 1)).toBe(0);
});

test('the newest line that is sent again is dropped, and one of the same microsecond is another', () => {
  const recent = new RecentStamps();
  const numbers = [1_000_001, 1_000_001, 2_000_000, 2_000_000];
  expect(numbers.map((number) => isAgain(recent, number, 1))).toEqual([false, true, false, false]);
});

test('an older line that says something else is no line sent again', () => {
  const recent = new RecentStamps();
  isAgain(recent, 1, 1);
  isAgain(recent, 3, 1);
  expect(isAgain(recent, 2, 1)).toBe(false);
  expect(isAgain(recent, 1, 1, 'another')).toBe(false);
  expect(isAgain(recent, 1, 1)).toBe(true);
});

test('three hundred that are followed remember less each, so that all of them need no more memory than a few', () => {
  expect(takenTwice(5000, 200, 300)).toBe(0);
  expect(takenTwice(5000, 2000, 300)).toBeGreaterThan(0);
  expect(takenTwice(20_000, 8000, 1)).toBe(0);
});
