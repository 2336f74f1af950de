import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseStamp } from './log-stamp.ts';

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
