import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogLine } from './engine.ts';
import { LogBatch } from './log-batch.ts';
import { type TailRequest, tailThenFollow } from './podman-tail.ts';

const stampOf = (second: number) => `2026-11-20T10:00:${String(second % 60).padStart(2, '0')}Z`;
const line = (text: string, second = 0): LogLine => ({
  timeMs: Date.parse(stampOf(second)),
  stamp: stampOf(second),
  stream: 'stdout',
  text,
});

/** A log as Podman reads it: its end at once, the following lines from the end of the file at the time when it gets there. */
class PodmanLog {
  readonly lines: LogLine[];
  readonly asked: TailRequest[] = [];
  readonly #unheard: LogLine[];
  readonly #live: readonly LogLine[][];

  /** `unheard` lines are written between the two steps, `live` lines after that, a portion at a time. */
  constructor(lines: readonly LogLine[], unheard: readonly LogLine[], live: readonly LogLine[][]) {
    this.lines = [...lines];
    this.#unheard = [...unheard];
    this.#live = live;
  }

  async *read(request: TailRequest): AsyncGenerator<LogBatch> {
    this.asked.push(request);
    if (!request.follow) {
      yield LogBatch.of(request.tail === 0 ? [] : this.lines.slice(-request.tail));
      return;
    }
    this.lines.push(...this.#unheard);
    for (const lines of this.#live) {
      this.lines.push(...lines);
      yield LogBatch.of(lines);
    }
  }

  async heard(tail: number): Promise<string[]> {
    const texts: string[] = [];
    for await (const batch of tailThenFollow((request) => this.read(request), tail)) for (const { text } of batch) texts.push(text);
    return texts;
  }
}

const numbered = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => line(`line ${from + at}`, from + at));
const texts = (lines: readonly LogLine[]) => lines.map(({ text }) => text);

test('what was written between the end that was read and the follow is there, in its place', async () => {
  const log = new PodmanLog(numbered(1, 5), numbered(6, 8), [numbered(9, 10), numbered(11, 12)]);
  expect(await log.heard(3)).toEqual(texts(numbered(3, 12)));
});

test('a log that was empty, one of which nothing was asked, and one that stays quiet', async () => {
  expect(await new PodmanLog([], numbered(1, 2), [numbered(3, 3)]).heard(100)).toEqual(texts(numbered(1, 3)));
  expect(await new PodmanLog(numbered(1, 9), [], [numbered(10, 11)]).heard(0)).toEqual(texts(numbered(10, 11)));
  const quiet = new PodmanLog(numbered(1, 9), [], []);
  expect(await quiet.heard(4)).toEqual(texts(numbered(6, 9)));
  expect(quiet.asked).toHaveLength(2);
});

test('more was written than is looked at first; and so much that it cannot be found again, which costs nothing else', async () => {
  const many = (count: number) => new PodmanLog(numbered(1, 5), numbered(6, count), [numbered(count + 1, count + 2)]);
  expect(await many(3_000).heard(50)).toEqual(texts(numbered(1, 3_002)));
  expect(await many(20_000).heard(50)).toEqual([...texts(numbered(1, 5)), ...texts(numbered(20_001, 20_002))]);
});

test('a log that was rotated meanwhile goes on with what is there', async () => {
  const log = new PodmanLog(numbered(1, 5), [], [numbered(6, 7)]);
  const rotated = tailThenFollow((request) => {
    if (request.follow) log.lines.length = 0;
    return log.read(request);
  }, 10);
  const heard: string[] = [];
  for await (const batch of rotated) heard.push(...texts([...batch]));
  expect(heard).toEqual(texts(numbered(1, 7)));
});

const few = fc.nat(6);

test('lines that differ: all of them, in order, once', async () => {
  await fc.assert(
    fc.asyncProperty(few, few, fc.array(few, { maxLength: 3 }), fc.integer({ min: 1, max: 8 }), async (before, unheard, live, tail) => {
      let last = 0;
      const next = (count: number) => {
        const lines = numbered(last + 1, last + count);
        last += count;
        return lines;
      };
      const log = new PodmanLog(next(before), next(unheard), live.filter((count) => count > 0).map(next));
      const heard = await log.heard(tail);
      const end = log.asked.length > 2 ? last : before;
      // Lines written while the log was not followed are found with the next line.
      expect(heard).toEqual(texts(numbered(Math.max(1, before - tail + 1), end)));
    }),
  );
});

test('lines that are alike: none twice, and none but those that fell between', async () => {
  const words = fc.array(fc.constantFrom('tick', 'tock'), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      words,
      words,
      fc.array(words, { maxLength: 3 }),
      fc.integer({ min: 1, max: 8 }),
      async (before, unheard, live, tail) => {
        const made = (some: readonly string[]) => some.map((word) => line(word));
        const log = new PodmanLog(made(before), made(unheard), live.filter((some) => some.length > 0).map(made));
        const heard = (await log.heard(tail)).join(' ');
        const first = before.slice(-tail).join(' ');
        expect(heard.startsWith(first)).toBe(true);
        expect(heard.endsWith(live.flat().join(' '))).toBe(true);
        expect(heard.length).toBeLessThanOrEqual(
          texts(log.lines)
            .slice(Math.max(0, before.length - tail))
            .join(' ').length,
        );
      },
    ),
  );
});
