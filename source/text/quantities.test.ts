import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numberText } from './quantities.ts';

test('numbers are grouped as English writes them', () => {
  expect(numberText(1234567)).toBe('1,234,567');
  fc.assert(
    fc.property(fc.nat(), (number) => {
      expect(numberText(number)).toBe(number.toLocaleString('en'));
    }),
  );
});
