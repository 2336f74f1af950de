import { expect, test } from 'vitest';
import type { LogLine } from '../engine/engine.ts';
import { RecentStamps } from './recent-stamps.ts';

const line = (number: number, text = `line ${number}`): LogLine => ({
  timeMs: number,
  stamp: `2026-11-20T10:00:00.${String(number).padStart(9, '0')}Z`,
  stream: 'stdout',
  text,
});

/** Of so many lines that are sent again after all were sent once, how many are taken for new? */
function takenTwice(lines: number, sentAgain: number, followed: number): number {
  const recent = new RecentStamps();
  for (let number = 0; number < lines; number++) recent.isAgain(line(number), followed);
  let taken = 0;
  for (let number = lines - sentAgain; number < lines; number++) if (!recent.isAgain(line(number), followed)) taken++;
  return taken;
}

test('what Docker sends again at a rotation is dropped, once and for all of it', () => {
  expect(takenTwice(5000, 532, 1)).toBe(0);
});

test('an older line that says something else is no line sent again', () => {
  const recent = new RecentStamps();
  recent.isAgain(line(1), 1);
  recent.isAgain(line(3), 1);
  expect(recent.isAgain(line(2), 1)).toBe(false);
  expect(recent.isAgain(line(1, 'another'), 1)).toBe(false);
  expect(recent.isAgain(line(1), 1)).toBe(true);
});

test('three hundred that are followed remember less each, so that all of them need no more memory than a few', () => {
  expect(takenTwice(5000, 200, 300)).toBe(0);
  expect(takenTwice(5000, 2000, 300)).toBeGreaterThan(0);
  expect(takenTwice(20_000, 8000, 1)).toBe(0);
});
