import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Mark, MarkedOutput } from './shell-session.ts';

const token = '0123456789abcdef';

function read(stream: Buffer, cuts: readonly number[]): { text: string; marks: Mark[] } {
  const marks: Mark[] = [];
  const texts: Buffer[] = [];
  const output = new MarkedOutput(token, { onText: (text) => texts.push(Buffer.from(text)), onMark: (mark) => marks.push(mark) });
  let from = 0;
  for (const cut of [...new Set(cuts)].sort((a, b) => a - b).filter((at) => at < stream.length)) {
    output.push(stream.subarray(from, cut));
    from = cut;
  }
  output.push(stream.subarray(from));
  return { text: Buffer.concat(texts).toString('latin1'), marks };
}

describe('output of several commands in one stream', () => {
  test('is told apart wherever it is cut, and whatever the commands write', () => {
    const words = fc.array(fc.constantFrom('\n', token.slice(0, 5), `\n${token}`, `${token} `, 'x', '\0', '\xff', ' '), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(400), { maxLength: 30 }), (commands, cuts) => {
        // A program can write anything except the token followed by its space after a line end, because it cannot know the token.
        // Removing a token can create a new one.
        const written = commands.map((parts) =>
          parts.reduce((text, part) => (`${text}${part}`.includes(`${token} `) ? text : text + part), ''),
        );
        const stream = written.map((text, index) => `${text}\n${token} ${index + 1} end 0\n`).join('');
        const { text, marks } = read(Buffer.from(stream, 'latin1'), cuts);
        expect(text).toBe(written.join(''));
        expect(marks).toEqual(written.map((_, index) => ({ number: index + 1, word: 'end', value: '0' })));
      }),
    );
  });

  test('a mark stands in the middle of what a program writes', () => {
    const { text, marks } = read(Buffer.from(`half\n${token} 1 pid 77\n and half`), [5, 9, 20]);
    expect(text).toBe('half and half');
    expect(marks).toEqual([{ number: 1, word: 'pid', value: '77' }]);
  });
});
