import { expect, test } from 'vitest';
import type { Session, Shown } from '../session/session.ts';
import { jsonTime, showList } from './list-table.ts';

const shownBy = (items: readonly { name: string; size: string }[]): Shown[] => {
  const shown: Shown[] = [];
  const session = { show: (one: Shown) => shown.push(one) } as unknown as Session;
  showList(session, items, { NAME: ({ name }) => name, SIZE: ({ size }) => size }, { title: 'Files', right: ['SIZE'] });
  return shown;
};

test('a list is a table with a row for each item, and nothing where it is empty', () => {
  expect(shownBy([{ name: 'a', size: '1 B' }])).toEqual([
    { kind: 'table', title: 'Files', columns: ['NAME', 'SIZE'], align: ['left', 'right'], rows: [['a', '1 B']] },
  ]);
  expect(shownBy([])).toEqual([]);
});

test('a time that is not known is null in JSON', () => {
  expect([jsonTime(0), jsonTime(undefined)]).toEqual(['1970-01-01T00:00:00.000Z', null]);
});
