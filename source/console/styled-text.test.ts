import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutStyled, padStyled, styledWidth, unstyled, withLinks } from './styled-text.ts';

const piece = fc.oneof(
  fc.constantFrom('\x1b[31m', '\x1b[0m', '\x1b[1;38;2;1;2;3m', '\x1b[39m'),
  fc.string({ unit: fc.constantFrom('a', 'B', ' ', '世', 'é', '●'), maxLength: 12 }),
);
const styled = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

test('a cut text fits, keeps its beginning, and is not cut where it need not be', () => {
  fc.assert(
    fc.property(styled, fc.integer({ min: 1, max: 60 }), (text, columns) => {
      const shown = cutStyled(text, columns, '>');
      expect(styledWidth(shown)).toBeLessThanOrEqual(columns);
      if (styledWidth(text) <= columns) expect(shown).toBe(text);
      else expect(unstyled(text).startsWith(unstyled(shown).replace(/>$/, ''))).toBe(true);
    }),
  );
});

test('a padded text is exactly as wide as asked', () => {
  fc.assert(
    fc.property(styled, fc.integer({ min: 1, max: 60 }), (text, columns) => {
      expect(styledWidth(padStyled(text, columns))).toBe(columns);
    }),
  );
});

test('colours end where the text was cut', () => {
  expect(cutStyled('\x1b[31mred text that is long\x1b[39m', 8)).toBe('\x1b[31mred tex\x1b[0m>');
});

test('only a whole local address becomes a link', () => {
  const link = (url: string) => `\x1b]8;;${url}\x1b\\${url}\x1b]8;;\x1b\\`;
  const local = 'http://127.0.0.1:8080';
  expect(withLinks(`See ${local}.`)).toBe(`See ${link(local)}.`);
  expect(withLinks(`${local}/path, http://[::1]`)).toBe(`${link(local)}/path, ${link('http://[::1]')}`);
  for (const other of [
    '.evil',
    '.evil.example/x',
    '-evil',
    'evil',
    '1',
    '@evil',
    ':80evil',
    ':80.evil',
    ':80@evil',
    'é',
    '.é',
    '%2eevil',
  ]) {
    const text = `http://127.0.0.1${other}`;
    expect(withLinks(text)).toBe(text);
  }
});
