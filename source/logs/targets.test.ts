import { expect, test } from 'vitest';
import { LogBatch } from '../engine/log-batch.ts';
import { byOurClock, type LogEngine } from './targets.ts';

const hourMs = 3_600_000;
const nowMs = Date.parse('2026-11-22T10:00:00Z');
const line = (timeMs: number | undefined, text: string) => ({
  timeMs,
  stamp: timeMs === undefined ? '' : new Date(timeMs).toISOString(),
  stream: 'stdout' as const,
  text,
});

test.each([hourMs, -hourMs])('logs of a machine whose clock is %i ms ahead are told by ours', async (aheadMs) => {
  const asked: unknown[] = [];
  const far: LogEngine = {
    async *logs(_, { sinceMs, untilMs, tail }) {
      asked.push({ sinceMs, untilMs, tail });
      yield LogBatch.of([line(nowMs + aheadMs - 5_000, 'a'), line(undefined, 'b'), line(nowMs + aheadMs, 'c')]).slice(1, 3);
    },
  };
  const { signal } = new AbortController();
  const seen = [];
  for await (const batch of byOurClock(far, aheadMs).logs('id', {
    signal,
    follow: false,
    tty: false,
    tail: 7,
    sinceMs: nowMs - 600_000,
    untilMs: nowMs,
  }))
    for (const { timeMs, stamp, text } of batch) seen.push({ timeMs, stamp, text });
  expect(asked).toEqual([{ sinceMs: nowMs - 600_000 + aheadMs, untilMs: nowMs + aheadMs, tail: 7 }]);
  expect(seen).toEqual([
    { timeMs: undefined, stamp: '', text: 'b' },
    { timeMs: nowMs, stamp: new Date(nowMs + aheadMs).toISOString(), text: 'c' },
  ]);
});

test('a clock that is right costs nothing', () => {
  const engine: LogEngine = { logs: () => expect.fail('nobody reads') };
  expect(byOurClock(engine, 0)).toBe(engine);
});
