import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fractionOf, parseStamp, StampReader } from './log-stamp.ts';

const stampOf = (text: string) => parseStamp(Buffer.from(text));

test('reads what Docker and Podman write before a line', () => {
  expect(stampOf('2026-11-20T09:46:26.152324560Z')).toBe(Date.parse('2026-11-20T09:46:26.152Z'));
  expect(stampOf('2026-11-20T09:47:09Z')).toBe(Date.parse('2026-11-20T09:47:09Z'));
  expect(stampOf('2026-11-20T10:47:09.5+01:00')).toBe(Date.parse('2026-11-20T09:47:09.500Z'));
  expect(stampOf('2026-11-20T04:17:09-05:30')).toBe(Date.parse('2026-11-20T09:47:09Z'));
});

test('anything else is no timestamp', () => {
  for (const text of [
    '',
    'line',
    '2026-11-20',
    '2026-11-20T09:46:26',
    '2026-11-20T09:46:26.Z',
    '2026-11-20 09:46:26Z',
    '2026-11-20T09:46:2xZ',
    '2026-11-20T09:46:26Zx',
    '2026-11-20T09:46:26.1234567891Z',
  ]) {
    expect(stampOf(text), text).toBeUndefined();
  }
});

test('agrees with Date.parse on every moment', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }), (date) => {
      expect(stampOf(date.toISOString())).toBe(date.getTime());
    }),
  );
});

test('one after the other, they say the same as each alone', () => {
  const stamp = fc.oneof(
    fc
      .tuple(fc.constantFrom('2026-11-20T09:46:26', '2026-11-20T09:46:27', '2026-12-20T09:46:27'), fc.constantFrom('Z', '+01:00'))
      .map(([second, zone]) => second + zone),
    fc
      .tuple(
        fc.constantFrom('2026-11-20T09:46:26', '2026-11-20T09:46:27', '1969-12-31T23:59:59'),
        fc.nat(999_999_999),
        fc.constantFrom('Z', '+01:00', 'z'),
      )
      .map(([second, fraction, zone]) => `${second}.${String(fraction).padStart(9, '0')}${zone}`),
    fc.constantFrom('2026-11-20T09:46:26.15Z', '2026-11-20T09:46:26.15232456xZ', '2026-11-20T09:46:99.152324560Z'),
  );
  fc.assert(
    fc.property(fc.array(stamp), (stamps) => {
      const reader = new StampReader();
      for (const each of stamps) {
        const bytes = Buffer.from(`before ${each} behind`);
        const timeMs = parseStamp(Buffer.from(each));
        expect(reader.read(bytes, 7, 7 + each.length)).toBe(timeMs !== undefined);
        if (timeMs !== undefined) expect([reader.timeMs, reader.fraction, reader.stamp]).toEqual([timeMs, fractionOf(each), each]);
      }
    }),
  );
});
