import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LogDouble } from '../../test/doubles/log-double.ts';
import type { LogLine } from '../engine/engine.ts';
import { fractionOf } from '../engine/log-stamp.ts';
import { LogPosition } from './position.ts';

const startMs = Date.parse('2026-11-20T10:00:00Z');
const never = new AbortController().signal;

async function allOf(log: LogDouble, sinceMs?: number): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const batch of log.read({ signal: never, follow: false, tty: false, ...(sinceMs !== undefined && { sinceMs }) }))
    lines.push(...batch);
  return lines;
}

/** Times between two lines: mostly zero or within the second; sometimes far apart. */
const steps = (backMs: number) =>
  fc.array(
    fc.record({
      stepMs: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 3, arbitrary: fc.nat(400) },
        fc.nat(4_000),
        fc.integer({ min: -backMs, max: 0 }),
      ),
      breaks: fc.boolean(),
    }),
    { maxLength: 40 },
  );

for (const kind of ['docker', 'podman'] as const) {
  // Docker records the two streams of a program out of order by less than a second.
  test(`${kind}: wherever a log breaks off, it goes on with the next line, once each`, async () => {
    await fc.assert(
      fc.asyncProperty(steps(900), async (written) => {
        const log = new LogDouble(kind);
        const position = new LogPosition();
        const taken: string[] = [];
        let timeMs = startMs;
        let highestMs = startMs;
        const takeAgain = async () => {
          const wasSeen = position.skipper();
          for (const line of await allOf(log, position.sinceMs)) {
            if (wasSeen(line.timeMs, fractionOf(line.stamp))) continue;
            position.take(line.timeMs, fractionOf(line.stamp));
            taken.push(line.text);
          }
        };
        for (const [index, { stepMs, breaks }] of written.entries()) {
          timeMs = Math.max(timeMs + stepMs, highestMs - 900, startMs);
          highestMs = Math.max(highestMs, timeMs);
          log.writeAt(timeMs, `line ${index}`);
          if (breaks) await takeAgain();
        }
        await takeAgain();
        expect(taken).toEqual(written.map((_, index) => `line ${index}`));
      }),
      { numRuns: 300 },
    );
  });
}

test('a clock that was set back: what is older in the log and newer in time is not taken again', async () => {
  const log = new LogDouble('docker');
  const position = new LogPosition();
  const taken: string[] = [];
  const takeAgain = async () => {
    const wasSeen = position.skipper();
    for (const line of await allOf(log, position.sinceMs)) {
      if (wasSeen(line.timeMs, fractionOf(line.stamp))) continue;
      position.take(line.timeMs, fractionOf(line.stamp));
      taken.push(line.text);
    }
  };
  for (let index = 0; index < 20; index++) log.writeAt(startMs + index * 1_000, `before ${index}`);
  await takeAgain();
  for (let index = 0; index < 20; index++) {
    log.writeAt(startMs + 5_000 + index * 300 + 7, `after ${index}`);
    // The first of them is read while the stream is open.
    if (index === 0) {
      const [line] = (await allOf(log)).slice(-1);
      position.take(line?.timeMs, fractionOf(line?.stamp ?? ''));
      taken.push((line as LogLine).text);
    } else if (index % 4 === 0) await takeAgain();
  }
  await takeAgain();
  expect(taken).toEqual([
    ...Array.from({ length: 20 }, (_, index) => `before ${index}`),
    ...Array.from({ length: 20 }, (_, index) => `after ${index}`),
  ]);
});
