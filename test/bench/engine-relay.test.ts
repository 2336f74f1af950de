import { expect, test } from 'vitest';
import { coveredMs } from './engine-relay.ts';

test('answers that overlap count once, and only within the time that is looked at', () => {
  const spans = [
    { sinceMs: 40, untilMs: 60 },
    { sinceMs: 0, untilMs: 15 },
    { sinceMs: 50, untilMs: 55 },
    { sinceMs: 58, untilMs: 70 },
    { sinceMs: 95, untilMs: 140 },
    { sinceMs: 80, untilMs: 0 },
  ];
  expect(coveredMs(spans, 10, 100)).toBe(5 + 30 + 5);
  expect(coveredMs([], 10, 100)).toBe(0);
  expect(coveredMs([{ sinceMs: 0, untilMs: 200 }], 10, 100)).toBe(90);
});
