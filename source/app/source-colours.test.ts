import { expect, test } from 'vitest';
import { createSourceColours } from './source-colours.ts';

const names = ['nas/vault', 'shed/vault', 'nas/sso', 'shed/sso'];

test('what is seen together has different colours, as long as there are enough', () => {
  const colours = createSourceColours(4)(names);
  expect(new Set(colours.values()).size).toBe(4);
  const few = createSourceColours(2)(names);
  expect([...few.values()].every((colour) => colour === 0 || colour === 1)).toBe(true);
  expect(few.size).toBe(4);
});

test('a name keeps its colour when others come and go', () => {
  const colours = createSourceColours(6);
  const before = colours(names.slice(0, 2));
  const more = colours(['another', ...names.toReversed()]);
  for (const name of names.slice(0, 2)) expect(more.get(name)).toBe(before.get(name));
  const less = colours(names.slice(1));
  for (const name of names.slice(1)) expect(less.get(name)).toBe(more.get(name));
});

test('alone a name has the same colour in every start', () => {
  for (const name of names) expect(createSourceColours(6)([name])).toEqual(createSourceColours(6)([name]));
});
