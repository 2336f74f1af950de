import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonLines } from './json-lines.ts';

test('any chunking gives the same values, also inside a character', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 10 }), (values, cuts) => {
      const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
      const engines = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
      const lines = new JsonLines();
      const read = [0, ...engines].flatMap((start, index) => lines.push(bytes.subarray(start, engines[index] ?? bytes.length)));
      expect(JSON.stringify([...read, ...lines.end()])).toBe(JSON.stringify(values));
    }),
  );
});

test('half a line, record separators and endless lines do no harm', () => {
  const broken = new JsonLines();
  expect([...broken.push(Buffer.from('\x1e{"a":1}\n\n{"b":')), ...broken.end()]).toEqual([{ a: 1 }]);
  const lines = new JsonLines();
  for (let part = 0; part < 6; part++) expect(lines.push(Buffer.alloc(1024 * 1024, 0x61))).toEqual([]);
  expect(lines.push(Buffer.from('\n{"after":true}\n'))).toEqual([{ after: true }]);
});
