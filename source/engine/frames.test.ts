import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frame } from '../../test/engine/recorded-engine.ts';
import { FrameSplitter } from './frames.ts';

function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const engines = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...engines].map((start, index) => bytes.subarray(start, engines[index] ?? bytes.length));
}

function read(chunks: readonly Buffer[]): Record<string, string> {
  const texts: Record<string, Buffer[]> = {};
  const splitter = new FrameSplitter();
  for (const chunk of chunks) {
    splitter.push(chunk, ({ stream, bytes }) => {
      texts[stream] = [...(texts[stream] ?? []), bytes];
    });
  }
  return Object.fromEntries(Object.entries(texts).map(([stream, parts]) => [stream, Buffer.concat(parts).toString('hex')]));
}

test('any chunking gives the same streams', () => {
  const frames = fc.array(
    fc.record({ stream: fc.constantFrom(1 as const, 2 as const), payload: fc.uint8Array({ minLength: 1, maxLength: 60 }) }),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(frames, fc.array(fc.nat(600), { maxLength: 12 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(({ stream, payload }) => frame(stream, Buffer.from(payload))));
      const of = (wanted: 1 | 2) =>
        Buffer.concat(sent.filter(({ stream }) => stream === wanted).map(({ payload }) => payload)).toString('hex');
      const streams = read(splitAt(bytes, cuts));
      expect(streams.stdout ?? '').toBe(of(1));
      expect(streams.stderr ?? '').toBe(of(2));
    }),
  );
});

test('a frame of the engine itself is told apart, an empty one is nothing', () => {
  expect(read([Buffer.concat([frame(1, ''), frame(3, 'no'), frame(1, 'a')])])).toEqual({
    engine: Buffer.from('no').toString('hex'),
    stdout: Buffer.from('a').toString('hex'),
  });
});

test('bytes without frames are all stdout', () => {
  const text = Buffer.from('plain output that never had a header');
  expect(read([text.subarray(0, 3), text.subarray(3)])).toEqual({ stdout: text.toString('hex') });
});
