import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inNaturalOrder } from './natural-order.ts';

test('numbers by their value, letters as in a dictionary', () => {
  const names = ['node-10', 'node-2', 'Node-3', 'node', 'media', '2fa', '10g', 'node-2b', 'über', 'node-2-1'];
  expect(names.sort(inNaturalOrder)).toEqual(['2fa', '10g', 'media', 'node', 'node-2', 'node-2-1', 'node-2b', 'node-10', 'Node-3', 'über']);
});

test('of names as containers have them it is the order of localeCompare', () => {
  const name = fc.stringMatching(/^[a-z]{1,4}(-[a-z]{1,3}|-\d{1,4}){0,2}$/);
  fc.assert(
    fc.property(name, name, (one, other) => {
      expect(Math.sign(inNaturalOrder(one, other))).toBe(Math.sign(one.localeCompare(other, 'en', { numeric: true })));
    }),
  );
});

test('of plain text it is the order of localeCompare, whatever the locale of the machine: a C locale reads tables for that', () => {
  const text = fc.string({ unit: 'grapheme-ascii', maxLength: 6 }).filter((written) => !/\d/.test(written));
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(Math.sign(inNaturalOrder(one, other))).toBe(Math.sign(one.localeCompare(other, 'en')));
    }),
    { numRuns: 1000 },
  );
});
