import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFrames, type Haste } from './frames.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Requests a frame each millisecond for a second. Returns the times at which frames were drawn. */
async function busySecond(haste: Haste, takesMs = 0): Promise<number[]> {
  const frames = createFrames();
  const drawnMs: number[] = [];
  const draw = () => {
    drawnMs.push(performance.now());
    if (takesMs > 0) frames.written(takesMs, 2000);
  };
  for (let ms = 0; ms < 1000; ms++) {
    frames.ask(draw, haste);
    await vi.advanceTimersByTimeAsync(1);
  }
  frames.close();
  return drawnMs;
}

test('a key is drawn at the end of the turn, right behind whatever else was drawn', async () => {
  const frames = createFrames();
  const drawn: string[] = [];
  frames.ask(() => drawn.push('log'), 'log');
  await vi.advanceTimersByTimeAsync(100);
  frames.written(1, 2000);
  await vi.advanceTimersByTimeAsync(2);
  frames.ask(() => drawn.push('key'), 'key');
  frames.ask(() => drawn.push('another key of the same read'), 'key');
  expect(drawn).toEqual(['log']);
  await Promise.resolve();
  expect(drawn).toEqual(['log', 'key', 'another key of the same read']);
  frames.close();
});

test('a key is drawn alone, and the log that waits when its time has come', async () => {
  const frames = createFrames();
  const drawn: string[] = [];
  const log = () => drawn.push('log');
  frames.ask(log, 'log');
  frames.ask(log, 'log');
  frames.ask(() => drawn.push('key'), 'key');
  await Promise.resolve();
  expect(drawn).toEqual(['key']);
  await vi.advanceTimersByTimeAsync(1000);
  expect(drawn).toEqual(['key', 'log']);
  frames.close();
});

test('keys that never end hold up no log', async () => {
  const frames = createFrames();
  let logs = 0;
  for (let ms = 0; ms < 1000; ms++) {
    frames.ask(() => {}, 'key');
    frames.ask(() => logs++, 'log');
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(logs).toBeGreaterThan(12);
  frames.close();
});

test('a log that is slow to draw is hardly drawn while somebody types, and as often as before behind that', async () => {
  const frames = createFrames();
  let logs = 0;
  const log = () => {
    logs++;
    setTimeout(() => frames.written(0.1, 2000), 20);
  };
  const second = async (typing: boolean): Promise<number> => {
    logs = 0;
    for (let ms = 0; ms < 2000; ms++) {
      frames.ask(log, 'log');
      if (typing && ms % 150 === 0) frames.ask(() => {}, 'key');
      await vi.advanceTimersByTimeAsync(1);
    }
    return logs / 2;
  };
  await second(false);
  const before = await second(false);
  expect(before).toBeGreaterThanOrEqual(4);
  const typing = await second(true);
  expect(typing).toBeGreaterThanOrEqual(0.5);
  expect(typing).toBeLessThanOrEqual(1.5);
  await second(false);
  expect(await second(false)).toBe(before);
  frames.close();
});

test('where drawing a log takes long, it is drawn less often, and as often as before when it no longer does', async () => {
  const frames = createFrames();
  const drawnMs: number[] = [];
  const second = async (takesMs: number): Promise<number> => {
    drawnMs.length = 0;
    const log = () => {
      drawnMs.push(performance.now());
      setTimeout(() => frames.written(0.1, 2000), takesMs);
    };
    for (let ms = 0; ms < 2000; ms++) {
      frames.ask(log, 'log');
      await vi.advanceTimersByTimeAsync(1);
    }
    return drawnMs.length / 2;
  };
  expect(await second(2)).toBeGreaterThan(12);
  const slow = await second(20);
  expect(slow).toBeLessThan(8);
  expect(slow).toBeGreaterThanOrEqual(4);
  await second(2);
  expect(await second(2)).toBeGreaterThan(12);
  frames.close();
});

test('keys are drawn a hundred times a second at most, facts 30 times, logs 15 times', async () => {
  const [keys, facts, logs] = [await busySecond('key'), await busySecond('fact'), await busySecond('log')];
  expect(keys.length).toBeGreaterThan(80);
  expect(keys.length).toBeLessThanOrEqual(126);
  expect(facts.length).toBeGreaterThan(25);
  expect(facts.length).toBeLessThanOrEqual(31);
  expect(logs.length).toBeGreaterThan(12);
  expect(logs.length).toBeLessThanOrEqual(16);
});

test('the last change is always drawn', async () => {
  const frames = createFrames();
  let value = 0;
  let shown = 0;
  const draw = () => {
    shown = value;
  };
  for (const haste of ['key', 'key', 'fact', 'log', 'key'] as const) {
    value++;
    frames.ask(draw, haste);
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(1000);
  expect(shown).toBe(5);
  frames.close();
});

test('facts that come together are one frame', async () => {
  const frames = createFrames();
  const drawnMs: number[] = [];
  frames.ask(() => drawnMs.push(performance.now()), 'fact');
  await vi.advanceTimersByTimeAsync(3);
  frames.ask(() => drawnMs.push(performance.now()), 'fact');
  await vi.advanceTimersByTimeAsync(100);
  expect(new Set(drawnMs).size).toBe(1);
  frames.close();
});

test('a terminal that takes 40 ms for a frame gets fewer of them, and no key waits for that', async () => {
  const [keys, facts, logs] = [await busySecond('key', 40), await busySecond('fact', 40), await busySecond('log', 40)];
  expect(keys.length).toBeGreaterThan(80);
  for (const drawn of [facts, logs]) expect(drawn.length).toBeLessThanOrEqual(14);
});

test('small frames may follow each other sooner, and a link that is fast again is used again', async () => {
  const frames = createFrames();
  const drawnAfter = async (): Promise<number> => {
    const startMs = performance.now();
    await new Promise<void>((resolve) => {
      frames.ask(resolve, 'log');
      void vi.advanceTimersByTimeAsync(2000);
    });
    return performance.now() - startMs;
  };
  await drawnAfter();
  frames.written(100, 4000);
  expect(await drawnAfter()).toBeGreaterThanOrEqual(200);
  frames.written(0.1, 400);
  expect(await drawnAfter()).toBeLessThan(100);
  frames.written(0.1, 4000);
  expect(await drawnAfter()).toBeGreaterThan(150);
  for (let frame = 0; frame < 600; frame++) frames.written(0.1, 4000);
  expect(await drawnAfter()).toBeLessThan(100);
  frames.close();
});

test('who stopped listening is not called, and nobody after the end', async () => {
  const frames = createFrames();
  const listeners = new Set<() => void>();
  const subscribe = frames.paced((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, 'fact');
  const tell = () => {
    for (const listener of listeners) listener();
  };
  let heard = 0;
  const stop = subscribe(() => heard++);
  subscribe(() => heard++);
  tell();
  stop();
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toBe(1);
  tell();
  frames.close();
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toBe(1);
});
