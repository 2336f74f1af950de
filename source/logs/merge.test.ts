import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogLine } from '../engine/engine.ts';
import { LogBatch } from '../engine/log-batch.ts';
import { LogMerge } from './merge.ts';

const line = (timeMs: number | undefined, text: string): LogLine => ({ timeMs, stamp: String(timeMs), stream: 'stdout', text });

async function* inBatches(lines: readonly LogLine[], sizes: readonly number[]): AsyncGenerator<LogBatch> {
  for (let at = 0, batch = 0; at < lines.length; batch++) {
    const size = Math.max(1, sizes[batch % Math.max(1, sizes.length)] ?? 1);
    if (size % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    yield LogBatch.of(lines.slice(at, at + size));
    at += size;
  }
}

async function mergeAll(sources: readonly (readonly LogLine[])[], sizes: readonly number[], limit = 1_000): Promise<string[]> {
  const merge = new LogMerge<number>({ holdMs: undefined, lines: limit, sizeBytes: 1_000_000 });
  for (const [index, lines] of sources.entries()) void merge.add(index, () => inBatches(lines, sizes));
  const out: string[] = [];
  while (merge.sources > 0) {
    const runs = merge.take();
    for (const { origin, lines } of runs) for (const { text } of lines) out.push(`${origin}/${text}`);
    if (runs.length === 0 && merge.sources > 0) await merge.more();
  }
  return out;
}

describe('merging logs', () => {
  const stamps = fc.array(fc.oneof(fc.nat(20), fc.constant(undefined)), { maxLength: 40 });
  const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });

  test('whatever the clocks do: nothing is lost, nothing doubled, and each log keeps its own order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stamps, { maxLength: 5 }), sizes, async (all, cuts) => {
        const sources = all.map((times) => times.map((time, index) => line(time, String(index))));
        const merged = await mergeAll(sources, cuts);
        expect(merged).toHaveLength(sources.flat().length);
        for (const [origin, lines] of sources.entries())
          expect(merged.filter((text) => text.startsWith(`${origin}/`))).toEqual(lines.map(({ text }) => `${origin}/${text}`));
      }),
      { numRuns: 150 },
    );
  });

  test('where the clocks go forwards everything is in order of time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat(30), { maxLength: 30 }), { minLength: 1, maxLength: 5 }), sizes, async (all, cuts) => {
        const sources = all.map((times) => times.toSorted((one, other) => one - other).map((time) => line(time, String(time))));
        const times = (await mergeAll(sources, cuts)).map((text) => Number(text.split('/')[1]));
        expect(times).toEqual(times.toSorted((one, other) => one - other));
      }),
      { numRuns: 150 },
    );
  });

  test('three hundred logs at once', async () => {
    const sources = Array.from({ length: 300 }, (_, source) => Array.from({ length: 50 }, (_, at) => line(at * 1000 + source, `${at}`)));
    const merged = await mergeAll(sources, [10]);
    expect(merged).toHaveLength(15_000);
    expect(merged.slice(0, 300)).toEqual(Array.from({ length: 300 }, (_, source) => `${source}/0`));
  });

  test('a log that nobody takes from is not read on', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<LogBatch> {
      for (;;) {
        read += 100;
        yield LogBatch.of(Array.from({ length: 100 }, () => line(read, 'x')));
      }
    }
    const merge = new LogMerge<string>({ holdMs: undefined, lines: 1_000, sizeBytes: 1_000_000 });
    void merge.add('endless', endless);
    await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBe(1_000);
    merge.take();
    await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBe(2_000);
    merge.close();
  });

  test('while following, a quiet log holds the others back for a moment only', async () => {
    let nowMs = 0;
    const merge = new LogMerge<string>({ holdMs: 250, lines: 1_000, sizeBytes: 1_000_000, nowMs: () => nowMs });
    const silence = new Promise<never>(() => undefined);
    async function* quiet(): AsyncGenerator<LogBatch> {
      yield LogBatch.of([line(5, 'quiet')]);
      await silence;
    }
    async function* busy(): AsyncGenerator<LogBatch> {
      yield LogBatch.of([line(1, 'one'), line(5, 'five'), line(9, 'nine')]);
      await silence;
    }
    void merge.add('quiet', quiet);
    void merge.add('busy', busy);
    await new Promise((resolve) => setImmediate(resolve));
    const texts = () => merge.take().flatMap(({ lines }) => Array.from(lines, ({ text }) => text));
    expect(texts()).toEqual(['one', 'five', 'quiet']);
    nowMs = 249;
    expect(texts()).toEqual([]);
    nowMs = 250;
    expect(texts()).toEqual(['nine']);
    merge.close();
  });
});
