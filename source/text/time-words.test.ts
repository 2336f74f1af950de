import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { parseTimeWords } from './time-words.ts';

/** 13:30:15 in Berlin, 07:30:15 in New York. */
const nowMs = Date.UTC(2026, 10, 20, 12, 30, 15, 250);

function timeOf(typed: string, now = nowMs): string {
  const answer = parseTimeWords(typed, now);
  if ('problem' in answer) throw new Error(answer.problem);
  return new Date(answer.timeMs).toISOString();
}

let zone: string | undefined;
beforeEach(() => {
  zone = process.env.TZ;
});
afterEach(() => {
  process.env.TZ = zone;
});

test.each([
  ['10m', '2026-11-20T12:20:15.250Z'],
  ['2h30m', '2026-11-20T10:00:15.250Z'],
  ['2h 30 min ago', '2026-11-20T10:00:15.250Z'],
  ['3d', '2026-11-17T12:30:15.250Z'],
  ['1w', '2026-11-13T12:30:15.250Z'],
  ['1.5h', '2026-11-20T11:00:15.250Z'],
  ['-90s', '2026-11-20T12:28:45.250Z'],
  ['500ms', '2026-11-20T12:30:14.750Z'],
  ['1 hour, 5 minutes', '2026-11-20T11:25:15.250Z'],
])('%s is so long ago', (typed, expected) => {
  expect(timeOf(typed)).toBe(expected);
});

describe('in Berlin', () => {
  beforeEach(() => {
    process.env.TZ = 'Europe/Berlin';
  });

  test.each([
    ['13:02', '2026-11-20T12:02:00.000Z'],
    ['13:30:15', '2026-11-20T12:30:15.000Z'],
    ['13:30:15.2', '2026-11-20T12:30:15.200Z'],
    ['9:05', '2026-11-20T08:05:00.000Z'],
    // These times are still in the future today.
    ['14:02', '2026-11-19T13:02:00.000Z'],
    ['13:30:16', '2026-11-19T12:30:16.000Z'],
    ['12:02Z', '2026-11-20T12:02:00.000Z'],
    ['12:40 UTC', '2026-11-19T12:40:00.000Z'],
    ['2026-11-20', '2026-11-19T23:00:00.000Z'],
    ['2026-11-20 14:02', '2026-11-20T13:02:00.000Z'],
    ['2026-07-01 14:02:33', '2026-07-01T12:02:33.000Z'],
    ['2026-11-20T14:02', '2026-11-20T13:02:00.000Z'],
    ['2026-11-20 14:02 UTC', '2026-11-20T14:02:00.000Z'],
    ['2026-11-20Z', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T14:02:33.123456789Z', '2026-11-20T14:02:33.123Z'],
    ['2026-11-20T14:02:33+05:30', '2026-11-20T08:32:33.000Z'],
    ['2026-11-20t14:02:33-0800', '2026-11-20T22:02:33.000Z'],
    ['today', '2026-11-19T23:00:00.000Z'],
    ['yesterday', '2026-11-18T23:00:00.000Z'],
    ['yesterday 14:02', '2026-11-19T13:02:00.000Z'],
    ['@1732000000', '2024-11-19T07:06:40.000Z'],
    ['1732000000', '2024-11-19T07:06:40.000Z'],
    ['1732000000.5', '2024-11-19T07:06:40.500Z'],
    ['1732000000123', '2024-11-19T07:06:40.123Z'],
    ['now', '2026-11-20T12:30:15.250Z'],
    [' NOW ', '2026-11-20T12:30:15.250Z'],
  ])('%s', (typed, expected) => {
    expect(timeOf(typed)).toBe(expected);
  });

  test('a time of day in the night after the clock changed is that of the day', () => {
    // Summer time lasted until 3:00 of 25 October 2026.
    const sunday = Date.UTC(2026, 9, 25, 9);
    expect(timeOf('1:00', sunday)).toBe('2026-10-24T23:00:00.000Z');
    expect(timeOf('23:00', sunday)).toBe('2026-10-24T21:00:00.000Z');
  });

  test('yesterday of the first is the last of the month before', () => {
    expect(timeOf('23:59', Date.UTC(2027, 0, 1, 8))).toBe('2026-12-31T22:59:00.000Z');
    expect(timeOf('23:59Z', Date.UTC(2027, 0, 1, 8))).toBe('2026-12-31T23:59:00.000Z');
  });
});

test('a time of day is that of the operator’s zone', () => {
  process.env.TZ = 'America/New_York';
  expect(timeOf('07:02')).toBe('2026-11-20T12:02:00.000Z');
  expect(timeOf('13:02')).toBe('2026-11-19T18:02:00.000Z');
});

test.each([
  '',
  'soon',
  '25:00',
  '12:60',
  '2026-02-30',
  '2026-13-01',
  '10x',
  '5 parsecs',
  'm',
  '12:3',
  '1970-01-01',
  '@5',
  '9999999999999999',
  '2026-11-20 14:02 +99:00',
  '10m foo',
  'abc 5m',
  '1e9d',
  '999999999d',
  'x'.repeat(500),
  'Z',
])('%j is no time, and the sentence says what is', (typed) => {
  const answer = parseTimeWords(typed, nowMs);
  expect(answer).toMatchObject({ problem: expect.stringContaining('2026-11-20 14:02') });
});

test('a bare number is asked back', () => {
  expect(parseTimeWords('10', nowMs)).toEqual({
    problem: '"10" has no unit: use 10m for minutes or 10h for hours, or put @ before Unix seconds.',
  });
});

test('whatever is typed, it is a time or a sentence without control characters', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: fc.constantFrom(...'0123456789:-+.TZ@ mhdsw\x1b'), maxLength: 20 })),
      (typed) => {
        const answer = parseTimeWords(typed, nowMs);
        if ('timeMs' in answer) expect(Number.isSafeInteger(answer.timeMs)).toBe(true);
        else expect(answer.problem).toMatch(/^[^\x00-\x1f\x7f]+\.$/);
      },
    ),
    { numRuns: 2_000 },
  );
});
