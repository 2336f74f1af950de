import { afterEach, expect, test, vi } from 'vitest';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import type { StatsSample } from '../engine/engine.ts';
import type { ComponentRuntime } from './open-fleet.ts';
import { StatsWatch } from './stats-watch.ts';

const watch = new StatsWatch(() => {});
afterEach(() => watch.close());

test('what no engine has told yet is no figure, and all components tick together, every other second', async () => {
  vi.useFakeTimers({ now: 0 });
  let changes = 0;
  const counting = new StatsWatch(() => changes++);
  const silent = {
    watch: {
      link: { state: 'connected' },
      engine: {
        async *stats(_id: string, signal: AbortSignal) {
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        },
      },
    },
    group: { members: [{ container: containerDetail({ id: 'slow' }), service: 'slow', known: undefined, main: true }] },
  } as unknown as ComponentRuntime;
  try {
    counting.watch('silent', silent);
    for (const key of ['one', 'two', 'three']) counting.watch(key, runtimeOf({ web: { memoryBytes: 10, memoryLimitBytes: 100 } }));
    await vi.advanceTimersByTimeAsync(500);
    expect(counting.history('one')?.memoryBytes).toEqual([10]);
    const before = changes;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(changes - before).toBe(0);
    expect(counting.history('one')?.memoryBytes).toEqual([10]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(changes - before).toBe(2);
    expect(counting.history('three')?.memoryBytes).toEqual([10, 10, 10, 10, 10]);
    expect(counting.history('silent')).toBeUndefined();
  } finally {
    counting.close();
    vi.useRealTimers();
  }
});

/** Returns a component with these services, each with its memory and its limit. */
function runtimeOf(services: Record<string, { memoryBytes: number; memoryLimitBytes: number }>): ComponentRuntime {
  async function* stats(id: string, signal: AbortSignal): AsyncGenerator<StatsSample> {
    const { memoryBytes = 0, memoryLimitBytes = 0 } = services[id] ?? {};
    yield { timeMs: 0, cpuPercent: 1, memoryBytes, memoryLimitBytes };
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  const members = Object.keys(services).map((id) => ({
    container: containerDetail({ id, name: id }),
    service: id,
    known: undefined,
    main: true,
  }));
  return { watch: { link: { state: 'connected' }, engine: { stats } }, group: { members } } as unknown as ComponentRuntime;
}

test.each([
  ['all limited', { web: { memoryBytes: 10, memoryLimitBytes: 100 }, db: { memoryBytes: 20, memoryLimitBytes: 200 } }, 30, 300],
  [
    'one without a limit: then there is none to be near',
    { web: { memoryBytes: 10, memoryLimitBytes: 100 }, db: { memoryBytes: 500, memoryLimitBytes: 0 } },
    510,
    0,
  ],
])('memory and limit of a component, %s', async (_, services, memoryBytes, memoryLimitBytes) => {
  const stop = watch.watch('key', runtimeOf(services));
  await vi.waitFor(() => expect(watch.history('key')?.memoryBytes.at(-1)).toBe(memoryBytes), { timeout: 3_000 });
  expect(watch.history('key')?.memoryLimitBytes).toBe(memoryLimitBytes);
  stop();
});
