import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { PlainSegmenter, plainCharacters } from './plain-text.ts';

const one = new RegExp(`^[${plainCharacters}]$`);
const plain = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter((character) => one.test(character));

test('every character that is taken for plain is one column wide to the real library', () => {
  expect(plain.length).toBeGreaterThan(900);
  expect(plain.filter((character) => stringWidth(character) !== 1)).toEqual([]);
});

test('text is cut as Intl.Segmenter cuts it, plain or not', () => {
  const real = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  const ours = new PlainSegmenter();
  const piece = fc.oneof(
    fc.constantFrom(...plain),
    fc.constantFrom('\x1b[31m', '\n', '\r', '\r\n', '\u200d', '\ufe0f', '👩', 'é', 'e\u0301', '日', '🇩🇪'),
    fc.string({ unit: anyCharacter, maxLength: 2 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join('');
      const cut = (segmenter: { segment(text: string): Iterable<{ segment: string; index: number }> }) =>
        [...segmenter.segment(text)].map(({ segment, index }) => [index, segment]);
      expect(cut(ours)).toEqual(cut(real));
    }),
    { numRuns: 500 },
  );
});
