import fc from 'fast-check';
import { expect, test } from 'vitest';
import sanitizeAnsi from '../../node_modules/ink/build/sanitize-ansi.js';
import { isPlain, plainCharacters } from '../../source/text/plain-text.ts';

test('Ink leaves plain text as it is', () => {
  const plain = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter((character) =>
    new RegExp(`^[${plainCharacters}]$`).test(character),
  );
  const piece = fc.constantFrom(...plain, '\n', '\u001B[m', '\u001B[1;31m', '\u001B[38;2;1;2;3m');
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join('');
      expect([isPlain(text), sanitizeAnsi(text)]).toEqual([true, text]);
    }),
  );
});

test('no character before U+00AD is ignorable', () => {
  const before = Array.from({ length: 0xad }, (_, code) => String.fromCharCode(code)).join('');
  expect(before).not.toMatch(/\p{Default_Ignorable_Code_Point}/u);
  expect('\u00AD').toMatch(/\p{Default_Ignorable_Code_Point}/u);
});
