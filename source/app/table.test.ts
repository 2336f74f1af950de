import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textWidth } from '../text/width.ts';
import { tableLines } from './table.ts';

const columns = [
  { heading: 'NAME', least: 8 },
  { heading: 'SIZE', align: 'right' as const },
  { heading: 'NOTE', least: 4 },
];

test('columns stand under each other, numbers on the right, nothing behind the last', () => {
  expect(
    tableLines(
      columns,
      [
        ['db', '9 MB', 'x'],
        ['cache', '120 MB', ''],
      ],
      { width: 80, heading: (text) => text },
    ),
  ).toEqual(['NAME     SIZE  NOTE', 'db       9 MB  x', 'cache  120 MB']);
});

test('what does not fit is cut where it may be, and says so', () => {
  const [line = ''] = tableLines(columns, [['a-very-long-component-name', '9 MB', 'note']], { width: 24 });
  expect(line).toBe('a-very-long>  9 MB  note');
});

test('a table that cannot be made narrow enough loses columns from the right', () => {
  expect(tableLines(columns, [['component', '120 MB', 'something']], { width: 16 })).toEqual(['compone>  120 MB']);
});

test('whole: cells go on below, and where columns have no room each row is a block', () => {
  const rows = [
    ['a-very-long-component-name', '9 MB', 'a note of some words'],
    ['db', '120 MB', ''],
  ];
  expect(tableLines(columns, rows, { width: 36, heading: (text) => text, whole: true })).toEqual([
    'NAME             SIZE  NOTE',
    'a-very-long-c    9 MB  a note of',
    'omponent-name          some words',
    'db             120 MB',
  ]);
  expect(tableLines(columns, rows, { width: 16, whole: true })).toEqual([
    'NAME  a-very-lon',
    '      g-componen',
    '      t-name',
    'SIZE  9 MB',
    'NOTE  a note of',
    '      some words',
    '',
    'NAME  db',
    'SIZE  120 MB',
  ]);
});

test('no line is ever wider than the terminal', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'ß', '漢', '🦊', '-', ' ') });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, fc.constantFrom('1 B', '120 MB'), cell), { maxLength: 8 }),
      fc.integer({ min: 20, max: 120 }),
      (rows, width) => {
        for (const line of tableLines(columns, rows, { width })) expect(textWidth(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});
