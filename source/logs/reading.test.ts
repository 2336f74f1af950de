import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LogDouble, type LoggingContainer, loggingFleet } from '../../test/doubles/log-double.ts';
import type { EngineKind } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Entries } from './entry-list.ts';
import { type LogLimits, logLimits, openLogs } from './rings.ts';
import type { LogEntry, LogReading } from './store.ts';

const startMs = Date.parse('2026-11-20T10:00:00Z');
const never = new AbortController().signal;
/** Small, so that few lines are enough to overflow the ring. */
const small: LogLimits = { ...logLimits, tail: 6, lines: 10, frameMs: 1, holdMs: 1, retryMs: 5, searchPages: [3, 5], foundLines: 4 };

const box = (kind: EngineKind = 'docker'): LoggingContainer => ({ log: new LogDouble(kind), running: true, startedMs: 1 });
const texts = (reading: { entries(): Entries<LogEntry> }) => reading.entries().map(({ text }) => text);
const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);

async function until(reached: () => boolean): Promise<void> {
  for (let turn = 0; !reached(); turn++) {
    if (turn > 1_500) throw new Error('it never came');
    await new Promise((resolve) => setTimeout(resolve, turn < 100 ? 0 : 1));
  }
}

function openAll(containers: Record<string, LoggingContainer>, limits = small) {
  const open = loggingFleet(containers);
  const logs = openLogs(open.fleet, limits);
  const { source } = logs.open('key');
  return { ...open, logs, source, close: () => logs.close() };
}

/** Loads until there are no more lines in this direction. */
async function loadAll(reading: LogReading, direction: 'back' | 'forth', sizes: readonly number[]): Promise<void> {
  for (let page = 0; reading.edges()[direction].state !== 'reached'; page++) {
    if (page > 2_000) throw new Error(`it never ends: ${JSON.stringify(reading.edges())}`);
    const { state } = reading.edges()[direction];
    if (state === 'failed') throw new Error(JSON.stringify(reading.edges()));
    if (state === 'loading') await new Promise((resolve) => setImmediate(resolve));
    else reading.more(direction, sizes[page % sizes.length] ?? 1);
  }
}

const isAscending = (reading: LogReading) => {
  const indexes = reading.entries().map(({ index }) => index);
  return indexes.every((index, at) => at === 0 || index > (indexes[at - 1] as number));
};

const steps = fc.array(
  fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 4, arbitrary: fc.nat(700) }, fc.integer({ min: -4_000, max: 9_000 })),
  {
    minLength: 1,
    maxLength: 60,
  },
);
const sizes = fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 4 });

for (const kind of ['docker', 'podman'] as const) {
  describe(`a log as it is read [${kind}]`, () => {
    test('back to the first line, whatever the clock did and however large the pages: nothing lost, nothing doubled, in order', async () => {
      await fc.assert(
        fc.asyncProperty(steps, sizes, fc.boolean(), async (stepsMs, pages, isFiltered) => {
          const one = box(kind);
          let timeMs = startMs;
          for (const [index, stepMs] of stepsMs.entries()) {
            timeMs += stepMs;
            one.log.writeAt(timeMs, `line ${index}`);
          }
          const { source, close } = openAll({ one });
          const passes = ({ text }: LogEntry) => !isFiltered || /[05]$/.test(text);
          const reading = source.read(isFiltered ? passes : undefined);
          await until(
            () => source.total() >= Math.min(stepsMs.length, small.tail) && source.entries().at(-1)?.index === source.total() - 1,
          );
          reading.pause();
          await loadAll(reading, 'back', pages);
          expect(texts(reading)).toEqual(stepsMs.map((_, index) => `line ${index}`).filter((text) => passes({ text } as LogEntry)));
          expect(isAscending(reading)).toBe(true);
          close();
        }),
        { numRuns: 150 },
      );
    });

    test('several logs, back to their first lines: all of each, in its own order', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 4 }), sizes, fc.boolean(), async (all, pages, isFiltered) => {
          const containers = Object.fromEntries(all.map((_, index) => [`c${index}`, box(kind)]));
          for (const [source, stepsMs] of all.entries()) {
            let timeMs = startMs;
            for (const [index, stepMs] of stepsMs.entries()) {
              timeMs += stepMs;
              containers[`c${source}`]?.log.writeAt(timeMs, `c${source} ${index}`);
            }
          }
          const { source, close } = openAll(containers);
          await until(
            () =>
              source.total() >= all.reduce((sum, { length }) => sum + Math.min(length, small.tail), 0) &&
              source.entries().at(-1)?.index === source.total() - 1,
          );
          const passes = ({ text }: LogEntry) => !isFiltered || /[05]$/.test(text);
          const reading = source.read(isFiltered ? passes : undefined);
          reading.pause();
          await loadAll(reading, 'back', pages);
          const got = texts(reading);
          for (const [source, stepsMs] of all.entries()) {
            const wanted = stepsMs.map((_, index) => `c${source} ${index}`).filter((text) => passes({ text } as LogEntry));
            expect(got.filter((text) => text.startsWith(`c${source} `))).toEqual(wanted);
          }
          expect(isAscending(reading)).toBe(true);
          close();
        }),
        { numRuns: 80 },
      );
    });

    test('jumps to a time, and from there on to the end, and back to the beginning', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(900), { minLength: 1, maxLength: 80 }),
          fc.nat(80),
          sizes,
          fc.boolean(),
          async (stepsMs, target, pages, isFiltered) => {
            const one = box(kind);
            let timeMs = startMs;
            const times = stepsMs.map((stepMs) => {
              timeMs += stepMs;
              return timeMs;
            });
            for (const [index, at] of times.entries()) one.log.writeAt(at, `line ${index}`);
            const reported = (ms: number) => (kind === 'podman' ? Math.floor(ms / 1000) * 1000 : ms);
            const { source, close } = openAll({ one });
            await until(
              () => source.total() >= Math.min(stepsMs.length, small.tail) && source.entries().at(-1)?.index === source.total() - 1,
            );
            const passes = (at: number) => !isFiltered || at % 5 === 0;
            const reading = source.read(isFiltered ? ({ text }) => passes(Number(text.slice(5))) : undefined);
            const goalMs = reported(times[Math.min(target, times.length - 1)] as number);
            const index = await reading.jump(goalMs, never);
            const first = times.findIndex((ms, at) => reported(ms) >= goalMs && passes(at));
            expect(reading.following).toBe(first < 0);
            if (first < 0) {
              close();
              return;
            }
            expect(reading.entries().find((entry) => entry.index === index)?.text).toBe(`line ${first}`);
            await loadAll(reading, 'forth', pages);
            await loadAll(reading, 'back', pages);
            expect(texts(reading)).toEqual(
              times
                .map((_, at) => at)
                .filter(passes)
                .map((at) => `line ${at}`),
            );
            expect(isAscending(reading)).toBe(true);
            close();
          },
        ),
        { numRuns: 120 },
      );
    });
  });
}

describe('a reading', () => {
  function write(one: LoggingContainer, from: number, to: number): void {
    for (let number = from; number <= to; number++) one.log.writeAt(startMs + number * 100, `line ${number}`);
  }

  async function opened(lines: number, limits = small) {
    const one = box();
    write(one, 1, lines);
    const all = openAll({ one }, limits);
    onTestFinished(() => all.close());
    await until(() => all.source.entries().at(-1)?.text === `line ${lines}`);
    return { one, ...all };
  }

  test('follows: shows the ring as it is, without a copy', async () => {
    const { source, one } = await opened(3);
    const reading = source.read();
    expect(reading.entries()).toBe(source.entries());
    write(one, 4, 5);
    await until(() => texts(reading).length === 5);
    expect(reading.entries()).toBe(source.entries());
    expect(reading.edges()).toEqual({ back: { state: 'reached' }, forth: { state: 'reached' } });
    expect(reading.waiting()).toBe(0);
  });

  test('with a predicate it shows what passes, also what the ring has let go meanwhile', async () => {
    const { source, one } = await opened(3);
    const reading = source.read(({ text }) => text.endsWith('0'));
    for (let last = 10; last <= 60; last += 5) {
      write(one, last === 10 ? 4 : last - 4, last);
      await until(() => source.entries().at(-1)?.text === `line ${last}`);
    }
    expect(texts(reading)).toEqual(['line 10', 'line 20', 'line 30', 'line 40', 'line 50', 'line 60']);
  });

  test('paused it stands exactly where it is whatever floods in, counts what waits, and goes on without a gap', async () => {
    const { source, one } = await opened(8);
    const reading = source.read();
    reading.pause();
    const held = reading.entries();
    write(one, 9, 14);
    await until(() => source.entries().at(-1)?.text === 'line 14');
    expect(reading.entries()).toBe(held);
    expect(reading.waiting()).toBe(6);
    expect(reading.edges().forth).toEqual({ state: 'more' });
    reading.more('forth', 2);
    expect(texts(reading)).toEqual(numbered(3, 10));
    expect(reading.waiting()).toBe(4);
    // Beyond the ring: the rest comes from the engine.
    write(one, 15, 60);
    await until(() => source.entries().at(-1)?.text === 'line 60');
    expect(reading.waiting()).toBe(50);
    await loadAll(reading, 'forth', [7]);
    expect(texts(reading)).toEqual(numbered(3, 60));
    expect(isAscending(reading)).toBe(true);
    expect(reading.waiting()).toBe(0);
    // And then from the ring again.
    write(one, 61, 63);
    await until(() => reading.waiting() === 3);
    await loadAll(reading, 'forth', [7]);
    expect(texts(reading)).toEqual(numbered(3, 63));
    reading.follow();
    expect(reading.entries()).toEqual(source.entries());
  });

  test('with a predicate what waits is what passes', async () => {
    const { source, one } = await opened(8);
    const reading = source.read(({ text }) => /[05]$/.test(text));
    reading.pause();
    write(one, 9, 11);
    await until(() => source.entries().at(-1)?.text === 'line 11');
    write(one, 12, 20);
    await until(() => source.entries().at(-1)?.text === 'line 20');
    expect(reading.waiting()).toBe(3);
    reading.more('forth', 1);
    await loadAll(reading, 'forth', [1]);
    expect(texts(reading)).toEqual(['line 5', 'line 10', 'line 15', 'line 20']);
    expect(reading.waiting()).toBe(0);
  });

  test('loads the history before the ring while it follows, and lets it go when the ring moves on', async () => {
    const { source, one } = await opened(30);
    const reading = source.read();
    reading.more('back', 5);
    await until(() => reading.edges().back.state === 'more');
    expect(texts(reading)).toEqual(numbered(20, 30));
    write(one, 31, 34);
    await until(() => source.entries().at(-1)?.text === 'line 34');
    expect(texts(reading)).toEqual(numbered(20, 34));
    write(one, 35, 37);
    await until(() => source.entries().at(-1)?.text === 'line 37');
    expect(texts(reading)).toEqual(numbered(28, 37));
    expect(reading.following).toBe(true);
  });

  const huge = { ...small, searchPages: [1_000, 4_000] };

  test('searches the near pages first, then the whole log once, says how far it has come, and stops when asked', async () => {
    const one = box();
    one.log.batchLines = 50;
    for (let number = 1; number <= 200_000; number++) one.log.writeAt(startMs + number, `line ${number}`);
    const { source, close } = openAll({ one }, huge);
    onTestFinished(() => close());
    await until(() => source.entries().length > 0);
    const reading = source.read(({ text }) => text === 'line 3' || text === 'line 198000');
    const seen: { searched: number; timeMs: number | undefined }[] = [];
    reading.subscribe(() => {
      const { back } = reading.edges();
      if (back.state === 'loading') seen.push({ searched: back.searched, timeMs: back.timeMs });
    });
    reading.more('back', 1);
    await until(() => reading.edges().back.state === 'more');
    expect(texts(reading)).toEqual(['line 198000']);
    expect(seen.some(({ searched }) => searched === 1_000)).toBe(true);
    expect(one.log.given).toBeLessThan(10_000);
    const before = { asked: one.log.asked.length, given: one.log.given };
    seen.length = 0;
    reading.more('back', 5);
    await until(() => seen.some(({ searched }) => searched > 0));
    expect(seen.at(-1)?.timeMs).toBeLessThan(startMs + 150_000);
    reading.stop();
    await until(() => reading.edges().back.state === 'more');
    // At once: not after everything was read.
    expect(one.log.given - before.given).toBeLessThan(150_000);
    const stopped = one.log.given;
    reading.more('back', 5);
    await until(() => reading.edges().back.state === 'reached');
    expect(texts(reading)).toEqual(['line 3', 'line 198000']);
    expect(one.log.given - stopped).toBeLessThan(200_000);
    expect(one.log.asked.length - before.asked).toBeLessThan(5);
  });

  test.each(['docker', 'podman'] as const)(
    'finds more than it keeps at once: the older ones follow when they are asked for [%s]',
    async (kind) => {
      const one = box(kind);
      one.log.batchLines = 50;
      // A flood of equal lines within one second: only their number distinguishes them.
      for (let number = 1; number <= 9_000; number++)
        one.log.writeAt(startMs + (number >> 3), number % 3 === 0 ? `match ${number}` : 'flood');
      const { source, close } = openAll({ one }, { ...huge, searchPages: [5, 50], foundLines: 700 });
      onTestFinished(() => close());
      await until(() => source.entries().at(-1)?.text === 'match 9000');
      const reading = source.read(({ text }) => text.startsWith('match'));
      const wanted = Array.from({ length: 3_000 }, (_, at) => `match ${at * 3 + 3}`);
      reading.more('back', 40);
      await until(() => reading.edges().back.state !== 'loading');
      expect(texts(reading)).toEqual(wanted.slice(-texts(reading).length));
      expect(texts(reading).length).toBeLessThan(100);
      await loadAll(reading, 'back', [333]);
      expect(texts(reading)).toEqual(wanted);
    },
  );

  test('shows a line among its neighbours, out of the ring or out of the history', async () => {
    const { source } = await opened(3_000);
    const filtered = source.read(({ text }) => text === 'line 1500');
    filtered.more('back', 1);
    await until(() => texts(filtered).length === 1);
    const reading = source.read();
    const index = await reading.around(filtered.entries().at(0) as LogEntry, never);
    const at = reading.entries().findIndex((entry) => entry.index === index);
    expect(texts(reading).slice(at - 20, at + 21)).toEqual(numbered(1_480, 1_520));
    const recent = source.entries().at(-3) as LogEntry;
    const again = await reading.around(recent, never);
    expect(reading.entries().find((entry) => entry.index === again)?.text).toBe('line 2998');
  });

  test('nothing is so late: a jump leaves it following', async () => {
    const { source } = await opened(30);
    const reading = source.read();
    expect(await reading.jump(startMs + 1_000_000, never)).toBeUndefined();
    expect(reading.following).toBe(true);
  });

  test('says why the history cannot be read, and tries again when asked', async () => {
    const { source, one } = await opened(30);
    const reading = source.read();
    one.log.failure = new Fault('engine.failed', 'The disk is on fire.', 'Run.');
    reading.more('back', 5);
    await until(() => reading.edges().back.state === 'failed');
    expect(reading.edges().back).toEqual({ state: 'failed', message: 'The disk is on fire.' });
    one.log.failure = undefined;
    reading.more('back', 5);
    await until(() => reading.edges().back.state === 'more');
    expect(texts(reading)).toEqual(numbered(20, 30));
  });

  test('a log that was rotated: what is gone is gone, the rest is there once', async () => {
    const { source, one } = await opened(100);
    const reading = source.read();
    reading.pause();
    one.log.lines.splice(0, 50);
    await loadAll(reading, 'back', [9]);
    expect(texts(reading)).toEqual(numbered(51, 100));
    one.log.lines.splice(0, 49);
    const late = source.read();
    late.pause();
    one.log.lines.splice(0, 1);
    write(one, 101, 130);
    await loadAll(late, 'back', [9]);
    expect(texts(late)).toEqual(numbered(95, 100));
  });
});
