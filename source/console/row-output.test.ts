import { styledCharsFromTokens, styledCharsToString, tokenize } from '@alcalzone/ansi-tokenize';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import InkOutput from '../../node_modules/ink/build/output.js';
import { remembered, rowOutput } from './row-output.ts';

const RowOutput = rowOutput(InkOutput, styledCharsToString);

interface Piece {
  x: number;
  y: number;
  text: string;
}

/** Returns rows as cells, independent of the escape sequences that produced them. */
function cells(output: string): string[] {
  return output.split('\n').map((row) => styledCharsToString(styledCharsFromTokens(tokenize(row))));
}

function draw(Output: typeof RowOutput, pieces: readonly Piece[], size = { width: 40, height: 6 }) {
  const output = new Output(size);
  for (const { x, y, text } of pieces) output.write(x, y, text, { transformers: [(line) => line] });
  const { output: drawn, height } = output.get();
  return { rows: cells(drawn), height };
}

const word = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('│', '● up', '日本', '   ', 'e\u0301', '👩‍👩‍👧', '\u200b', '\u3000', 'a\nb', '│\n│\n│', '\x1b[31mred\nstill\x1b[39m', ''),
  fc.constantFrom(
    '\x1b[1mbold\x1b[22m ',
    '\x1b[38;2;1;2;3mfore\x1b[39m',
    '\x1b[48;5;7m  \x1b[49m',
    '\x1b[7minverse \x1b[27m',
    '\x1b[31munended',
  ),
);
const piece = fc.record({ x: fc.integer({ min: -2, max: 45 }), y: fc.integer({ min: -2, max: 7 }), text: word });

test('draws the cells that Ink draws, side by side or on each other, inside or outside of the screen', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      expect(draw(RowOutput, pieces)).toEqual(draw(InkOutput, pieces));
    }),
    { numRuns: 2000 },
  );
});

test('draws them again in the next frame', () => {
  const frame = [
    { x: 0, y: 0, text: '│\n│' },
    { x: 1, y: 0, text: '\x1b[1mname\x1b[22m   ' },
    { x: 8, y: 0, text: '\x1b[31m●\x1b[39m' },
  ];
  const moved = frame.map(({ x, y, text }) => ({ x, y: y + 1, text }));
  for (const pieces of [frame, moved, frame]) expect(draw(RowOutput, pieces)).toEqual(draw(InkOutput, pieces));
});

test('leaves clipping and transformed text to Ink', () => {
  const clipped = (Output: typeof RowOutput) => {
    const output = new Output({ width: 20, height: 2 });
    output.clip({ x1: 2, x2: 5, y1: 0, y2: 1 });
    output.write(0, 0, 'abcdefgh', { transformers: [] });
    output.unclip();
    output.write(0, 1, 'loud', { transformers: [(line) => line.toUpperCase()] });
    return output.get();
  };
  expect(clipped(RowOutput)).toEqual(clipped(InkOutput));
  expect(clipped(RowOutput).output).toBe('  cde\nLOUD');
});

test('asks once while a text is in use, and forgets what is not', () => {
  const asked: string[] = [];
  const length = remembered((text) => {
    asked.push(text);
    return text.length;
  }, 10);
  for (let frame = 0; frame < 100; frame++) expect([length('always'), length(`line ${frame}`)]).toEqual([6, `line ${frame}`.length]);
  expect(asked.filter((text) => text === 'always')).toHaveLength(1);
  expect(length('line 99')).toBe(7);
  expect(asked.filter((text) => text === 'line 99')).toHaveLength(1);
  length('line 1');
  expect(asked.filter((text) => text === 'line 1')).toHaveLength(2);
});
