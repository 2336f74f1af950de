import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { agoText, bytesText, durationText } from './quantities.ts';
import { cut, pad, textWidth, wrap } from './width.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 60 });

describe('width', () => {
  test('wide characters count twice', () => {
    expect(textWidth('日本')).toBe(4);
  });

  test('cut tells that it cut', () => {
    expect(cut('quarterdeck', 6)).toBe('quart>');
    expect(cut('日本語', 4)).toBe('日>');
    expect(cut('short', 6)).toBe('short');
  });

  test('pad is exactly as wide as asked, whatever the text', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), fc.constantFrom('left' as const, 'right' as const), (value, columns, align) => {
        expect(textWidth(pad(value, columns, align))).toBe(columns);
      }),
    );
  });

  test('wrap keeps every word and no line is too wide', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 20 }), fc.integer({ min: 3, max: 30 }), (words, columns) => {
        const lines = wrap(words.join(' '), columns);
        expect(lines.join('').replaceAll(' ', '')).toBe(words.join(''));
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

test('quantities read well', () => {
  expect([0, 999, 1000, 1_230_000, 86_000_000, 999_999_999].map(bytesText)).toEqual([
    '0 B',
    '999 B',
    '1.0 KB',
    '1.2 MB',
    '86 MB',
    '1.0 GB',
  ]);
  expect([0, 59_000, 60_000, 3_600_000, 47 * 3_600_000, 12 * 86_400_000].map(durationText)).toEqual([
    '0s',
    '59s',
    '1m',
    '1h',
    '47h',
    '12d',
  ]);
  expect([0, 61_000, 2 * 3_600_000, 3 * 86_400_000].map(agoText)).toEqual(['just now', '1 minute ago', '2 hours ago', '3 days ago']);
});
