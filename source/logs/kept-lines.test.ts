import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frame } from '../../test/engine/recorded-engine.ts';
import type { LogLine } from '../engine/engine.ts';
import { LogBatch } from '../engine/log-batch.ts';
import { LogLines } from '../engine/log-lines.ts';
import { keptEntry, lineLimitCharacters } from './entry.ts';
import { KeptLines } from './kept-lines.ts';

const web = { component: 'c', container: 'web', service: 'web' };
const db = { component: 'c', container: 'db', service: 'db' };
const noLimit = Number.POSITIVE_INFINITY;

const line = fc.record({
  timeMs: fc.nat(1e9),
  stamp: fc.constant('2026-11-20T09:46:26.152324560Z'),
  stream: fc.constantFrom('stdout' as const, 'stderr' as const),
  text: fc.oneof(
    { weight: 5, arbitrary: fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\x1b', '\t'), maxLength: 60 }) },
    fc.tuple(fc.constantFrom('x', '€', '😀'), fc.nat(2 * lineLimitCharacters)).map(([unit, length]) => unit.repeat(length)),
  ),
});

test('what is kept is what came, whatever its size: nothing lost, nothing doubled, in order, and each line cut as one alone is', () => {
  const batch = fc.record({ lines: fc.array(line, { maxLength: 60 }), origin: fc.constantFrom(web, db), keep: fc.nat(200) });
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 8 }), (batches) => {
      const kept = new KeptLines();
      const expected: ReturnType<typeof keptEntry>[] = [];
      let total = 0;
      for (const { lines, origin, keep } of batches) {
        kept.add(LogBatch.of(lines), origin, total);
        for (const each of lines) expected.push(keptEntry(each, origin, total, total++));
        const before = kept.entries();
        const shown = [...before];
        kept.shrink(keep, noLimit);
        // A list that a caller holds stays unchanged.
        expect([...before]).toEqual(shown);
        if (expected.length > keep) expected.splice(0, expected.length - keep);
        expect([...kept.entries()]).toEqual(expected);
        expect(kept.entries().at(-1)).toEqual(expected.at(-1));
        expect(kept.entries().slice(1, 5)).toEqual(expected.slice(1, 5));
      }
    }),
    { numRuns: 60 },
  );
});

test('lines that lie in the chunk of an engine, and one that two chunks share', () => {
  const stamp = '2026-11-20T09:46:26.152324560Z';
  const bytes = Buffer.concat(Array.from({ length: 1000 }, (_, at) => frame(at % 2 === 0 ? 1 : 2, `${stamp} line ${at}\n`)));
  const kept = new KeptLines();
  const lines = new LogLines({ tty: false, engine: 'docker' });
  let ordinal = 0;
  for (let at = 0; at < bytes.length; at += 777) {
    const batch = lines.push(Buffer.from(bytes.subarray(at, at + 777)));
    kept.add(batch, web, ordinal);
    ordinal += batch.length;
  }
  expect(kept.entries().map(({ text, stream }) => [text, stream])).toEqual(
    Array.from({ length: 1000 }, (_, at) => [`line ${at}`, at % 2 === 0 ? 'stdout' : 'stderr']),
  );
});

test('a list has nothing beyond its ends, also where something was kept before', () => {
  const kept = new KeptLines();
  kept.add(LogBatch.of([{ timeMs: 1, stamp: '', stream: 'stdout', text: 'gone' }]), web, 0);
  expect(kept.entries().at(-1)).toMatchObject({ text: 'gone' });
  kept.shrink(0, noLimit);
  expect([kept.entries().at(-1), kept.entries().at(0)]).toEqual([undefined, undefined]);
});

test('the oldest go until the size is kept to, but for the last one', () => {
  const kept = new KeptLines();
  const long: LogLine = { timeMs: 1, stamp: '', stream: 'stdout', text: 'x'.repeat(10_000) };
  for (let count = 0; count < 20; count++) kept.add(LogBatch.of([long]), web, count);
  expect(kept.sizeBytes).toBe(200_000);
  kept.shrink(noLimit, 35_000);
  expect([kept.length, kept.sizeBytes]).toEqual([3, 30_000]);
  kept.shrink(noLimit, 10);
  expect(kept.length).toBe(1);
});
