import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { cleanColoured, cleanLine, cleanLines, jsonText } from './clean.ts';

const anything = fc.string({ unit: anyCharacter, maxLength: 200 });
const hostilePiece = fc.constantFrom(
  '\x1b',
  '\x9b',
  '\x1b]52;c;',
  '\x07',
  '\x1b\\',
  '\x1b[2J',
  '\x1bP',
  '\x9d',
  'm',
  '[',
  '31;8',
  ';',
  '\r',
  '\u202e',
  '\u200b',
  'text',
);
const hostile = fc.array(hostilePiece, { maxLength: 30 }).map((pieces) => pieces.join(''));

describe('cleanLine', () => {
  test('leaves printable text alone', () => {
    expect(cleanLine('GET /index.html 200 äöü 日本 🚀')).toBe('GET /index.html 200 äöü 日本 🚀');
  });

  test.each([
    ['moving the cursor', 'a\x1b[2J\x1b[1;1Hb', 'ab'],
    ['the window title', 'a\x1b]0;owned\x07b', 'ab'],
    ['the clipboard', 'a\x1b]52;c;ZWNobw==\x1b\\b', 'ab'],
    ['a hyperlink', '\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\', 'click'],
    ['a device control string', 'a\x1bPq#0\x1b\\b', 'ab'],
    ['eight-bit sequences', 'a\x9b31mb\x9d0;x\x9cc', 'abc'],
    ['colour', '\x1b[31mred\x1b[0m', 'red'],
    ['a charset switch', 'a\x1b(0b', 'ab'],
    ['a carriage return', 'password\rharmless', 'password harmless'],
    ['backspaces', 'rm\b\bls', 'rmls'],
  ])('takes away %s', (_what, raw, clean) => {
    expect(cleanLine(raw)).toBe(clean);
  });

  test('an unfinished sequence hides nothing that follows', () => {
    expect(cleanLine('before\x1b]0;the rest is evidence')).toBe('before0;the rest is evidence');
  });

  test('shows what would reorder or hide text', () => {
    expect(cleanLine('abc\u202edcba\u200b')).toBe('abc<U+202E>dcba<U+200B>');
  });

  test('does the same to every character, whatever stands beside it', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const character = String.fromCharCode(code);
      // The rocket sends every line through all the steps; a tab's width depends on its column, and surrogate halves would join each
      // other.
      if (character === '\t' || !character.isWellFormed()) continue;
      const [quick, whole] = [cleanLine(`ä${character}z`).slice(1), cleanLine(`🚀${character}z`).slice(2)];
      if (quick !== whole) expect(quick, `U+${code.toString(16)}`).toBe(whole);
    }
    expect(cleanLine('ä\ud83d')).toBe('ä\ufffd');
  });

  test('expands tabs to columns', () => {
    expect(cleanLine('a\tb')).toBe('a       b');
  });

  test('whatever comes in, what comes out is printable and one line', () => {
    fc.assert(
      fc.property(fc.oneof(anything, hostile), (raw) => {
        const clean = cleanLine(raw);
        expect(clean).not.toMatch(/[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]/);
        expect(clean.isWellFormed()).toBe(true);
      }),
    );
  });

  test('cleaning twice changes nothing', () => {
    fc.assert(fc.property(fc.oneof(anything, hostile), (raw) => cleanLine(cleanLine(raw)) === cleanLine(raw)));
  });
});

describe('cleanColoured', () => {
  test('keeps plain colour and closes it', () => {
    expect(cleanColoured('\x1b[1;31mred\x1b[0m plain \x1b[38;5;200mpink')).toBe('\x1b[1;31mred\x1b[0m plain \x1b[38;5;200mpink\x1b[0m');
  });

  test('drops conceal, blink, reverse and backgrounds', () => {
    expect(cleanColoured('\x1b[8mhidden\x1b[5;7;41;32mx\x1b[48;2;1;2;3my')).toBe('hidden\x1b[32mxy\x1b[0m');
  });

  test('nothing but colour is left of escapes', () => {
    fc.assert(
      fc.property(fc.oneof(anything, hostile), (raw) => {
        expect(cleanColoured(raw).replace(/\x1b\[[0-9;]+m/g, '')).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e]/);
      }),
    );
  });
});

test('cleanLines splits at line ends of every kind', () => {
  expect(cleanLines('a\r\nb\nc\n')).toEqual(['a', 'b', 'c']);
});

describe('jsonText', () => {
  test('says the same as JSON, in characters that no terminal obeys', () => {
    fc.assert(
      fc.property(fc.oneof(anything, hostile), (value) => {
        const json = jsonText({ value });
        expect(JSON.parse(json)).toEqual({ value });
        expect(cleanLine(json)).toBe(json);
      }),
    );
  });
});
