import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { portableText } from './portable-text.ts';

test.each([
  ['plain letters of many languages stay', 'Straße Ёлка 日本語 한국 ★ é', 'Straße Ёлка 日本語 한국 ★ é'],
  ['combined letters stay', 'e\u0301 \u0e17\u0e35\u0e48', 'e\u0301 \u0e17\u0e35\u0e48'],
  ['signs before a letter are named', 'no \u0600 12', 'no <U+0600> 12'],
  ['pictures lose their skin tone and their variation', '\u{1f44d}\u{1f3fd} \u2764\ufe0f 1\ufe0f\u20e3', '\u{1f44d} \u2764 1'],
  [
    'joined pictures are drawn as the first',
    '\u{1f469}\u{1f3fd}\u200d\u{1f469}\u200d\u{1f467}! \u2764\ufe0f\u200d\u{1f525} a\u200d',
    '\u{1f469}! \u2764 a<U+200D>',
  ],
  ['flags are letters', '\u{1f1e9}\u{1f1ea}', 'DE'],
  ['joined letters are drawn one by one', '\u0c15\u0c4d\u0c37', '\u0c15\u0c37'],
  ['Korean in parts is put together', '\u1112\u1161\u11ab', '한'],
  ['characters that terminals do not know yet are named', '\u{16d40}', '<U+16D40>'],
  ['a mark does not change what stands before the text', ' \u0301x', ' x'],
  [
    'colours and links stay',
    '\x1b[31m\u0600\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\\x1b[39m',
    '\x1b[31m<U+0600>\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\\x1b[39m',
  ],
])('%s', (_, text, expected) => {
  expect(portableText(text)).toBe(expected);
});

const characters = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 6 }),
  ...(
    [
      [0x300, 0x36f],
      [0x5d0, 0x70f],
      [0x900, 0xeff],
      [0x1000, 0x11ff],
      [0x1780, 0x17ff],
      [0x1f1e6, 0x1f64f],
      [0xfe00, 0xfe0f],
      [0x2600, 0x27bf],
    ] as const
  ).map(([min, max]) => fc.string({ unit: fc.integer({ min, max }).map((code) => String.fromCodePoint(code)), maxLength: 6 })),
);

test('as wide as its characters one by one, whatever they combine to', () => {
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 4 }), (parts) => {
      const shown = portableText(parts.join('').replace(/\p{Cc}/gu, ''));
      const alone = [...shown].reduce((sum, character) => sum + (/[\p{Mn}\p{Me}]/u.test(character) ? 0 : stringWidth(character)), 0);
      expect(stringWidth(shown)).toBe(alone);
      expect(portableText(shown)).toBe(shown);
    }),
    { numRuns: 2000 },
  );
});
