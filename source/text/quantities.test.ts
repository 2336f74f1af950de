import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clockDifferenceText, numberText } from './quantities.ts';

test('numbers are grouped as English writes them', () => {
  expect(numberText(1234567)).toBe('1,234,567');
  fc.assert(
    fc.property(fc.nat(), (number) => {
      expect(numberText(number)).toBe(number.toLocaleString('en'));
    }),
  );
});

test.each([
  [3_600_000, '1h'],
  // Received a second after the event.
  [3_599_000, '1h'],
  [-3_599_000, '1h'],
  [59_000, '59s'],
  [90_000, '2m'],
  [3_570_000, '1h'],
  [3_569_000, '59m'],
])('a clock that is %i ms off is off by %s', (ms, text) => {
  expect(clockDifferenceText(ms)).toBe(text);
});
