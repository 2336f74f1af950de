import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvRow, goDurationText, goTimeText, parseDurationWithDays, parseGoDuration, rfc3339Nano } from './go-words.ts';

describe('durations', () => {
  it.each([
    [0, '0s'],
    [1, '1ns'],
    [22_866, '22.866µs'],
    [-202_732_998, '-202.732998ms'],
    [14_399_630_000_000, '3h59m59.63s'],
    [14_400_000_000_000, '4h0m0s'],
    [60_000_000_000, '1m0s'],
    [-2_833_579_804_911, '-47m13.579804911s'],
  ])('%d ns are written %s', (nanos, text) => {
    expect(goDurationText(nanos)).toBe(text);
  });

  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(10 ** 15), max: 10 ** 15 }), (micros) => {
        const read = parseGoDuration(goDurationText(micros * 1000));
        expect('ms' in read && Math.abs(read.ms - micros / 1000) < 0.001).toBe(true);
      }),
    );
  });

  it.each([
    ['7d', 'time: unknown unit "d" in duration "7d"'],
    ['abc', 'time: invalid duration "abc"'],
    ['', 'time: invalid duration ""'],
    ['5', 'time: missing unit in duration "5"'],
  ])('%j is refused in the words of Go', (text, words) => {
    expect(parseGoDuration(text)).toEqual({ refusal: words });
  });

  it('take days where days are taken', () => {
    expect(parseDurationWithDays('30d')).toEqual({ ms: 30 * 86_400_000 });
    expect(parseDurationWithDays('1d12h')).toEqual({ ms: 36 * 3_600_000 });
    expect(parseDurationWithDays('4h30m')).toEqual({ ms: 4.5 * 3_600_000 });
  });
});

describe('times and rows', () => {
  it('leave out what is zero behind the second', () => {
    const ms = Date.parse('2026-11-20T12:50:00Z');
    expect([goTimeText(ms), goTimeText(ms + 250)]).toEqual(['2026-11-20 12:50:00 +0000 UTC', '2026-11-20 12:50:00.25 +0000 UTC']);
    expect([rfc3339Nano(ms), rfc3339Nano(ms + 5)]).toEqual(['2026-11-20T12:50:00Z', '2026-11-20T12:50:00.005Z']);
  });

  it('quote where a comma, a quote or a line end stands', () => {
    expect(csvRow(['a', 'b,c', 'd "e"', 'f\ng', ''])).toBe('a,"b,c","d ""e""","f\ng",\n');
  });
});
