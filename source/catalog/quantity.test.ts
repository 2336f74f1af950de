import { expect, it } from 'vitest';
import { quantityValue } from './expressions.ts';

it.each([
  ['500m', 0.5],
  ['2', 2],
  ['1.5', 1.5],
  ['2Gi', 2 * 1024 ** 3],
  ['128Mi', 128 * 1024 ** 2],
  ['3k', 3000],
  ['1e3', 1000],
])('%s is worth %d', (written, value) => {
  expect(quantityValue(written)).toBe(value);
});

it.each(['', 'Gi', '5 apples', '5x', '--3'])('"%s" is no quantity', (written) => {
  expect(() => quantityValue(written)).toThrow(/quantity must be/);
});
