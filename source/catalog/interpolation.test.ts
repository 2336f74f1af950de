import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { interpolate, readInterpolation, variablesIn } from './interpolation.ts';

describe('interpolate', () => {
  it.each([
    ['${A:-x}', {}, 'x'],
    ['${A:-x}', { A: '' }, 'x'],
    ['${A-x}', { A: '' }, ''],
    ['${A:-x}', { A: 'y' }, 'y'],
    ['${A}', {}, ''],
    ['$A/$B', { A: '1', B: '2' }, '1/2'],
    ['${A:?kept by Quarterdeck}', {}, ''],
    ['${A:+set}', { A: 'y' }, 'set'],
    ['${A:+set}', {}, ''],
    ['${A:-${B:-deep}}', {}, 'deep'],
    ['${A:-${B:-deep}}', { B: 'b' }, 'b'],
    ['$$HOME and $${A}', { A: 'y' }, '$HOME and ${A}'],
    ['${BIND:-127.0.0.1}:${PORT:-8180}:80', {}, '127.0.0.1:8180:80'],
    ['nothing', {}, 'nothing'],
    ['${toString}', {}, ''],
  ])('%s', (text, values, expected) => {
    expect(interpolate(text, values as Record<string, string>)).toBe(expected);
  });

  it('says where a text is not valid', () => {
    expect(readInterpolation('ab ${A').error).toMatchObject({ offset: 3 });
    expect(readInterpolation('cost: 5$').error).toMatchObject({ offset: 7 });
    expect(readInterpolation('${A B}').error).toMatchObject({ offset: 0 });
    expect(readInterpolation('${}').error).toMatchObject({ offset: 0 });
  });

  it('never throws, and leaves text without dollar signs alone', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[${}A:?+-]*$/)), (text) => {
        readInterpolation(text);
        variablesIn(text);
        const result = interpolate(text);
        if (!text.includes('$')) expect(result).toBe(text);
      }),
    );
  });

  it('brings any value through unchanged', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (value, around) => {
        const escaped = around.replaceAll('$', '$$$$');
        expect(interpolate(`${escaped}\${NAME}${escaped}`, { NAME: value })).toBe(`${around}${value}${around}`);
      }),
    );
  });
});

describe('variablesIn', () => {
  it('finds those inside defaults', () => {
    expect(variablesIn('${A:-${B:?no}}-$C').map(({ name, operator }) => `${name}${operator}`)).toEqual(['A-', 'B?', 'C']);
  });
});
