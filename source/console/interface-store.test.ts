import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFrames } from './frames.ts';
import { createInterfaceStore } from './interface-store.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a change is there at once, and told at the end of the turn', async () => {
  const store = createInterfaceStore(createFrames());
  const heard: string[] = [];
  store.subscribe(() => heard.push(store.get().focus));
  store.update(() => ({ focus: 'logs' }));
  expect(store.get().focus).toBe('logs');
  expect(heard).toEqual([]);
  await Promise.resolve();
  expect(heard).toEqual(['logs']);
  store.close();
});

test('many changes are told with the frames, and the last one always', async () => {
  const store = createInterfaceStore(createFrames());
  let heard = 0;
  store.subscribe(() => heard++);
  for (let ms = 0; ms < 1000; ms++) {
    store.update((state) => ({ help: { top: state.help.top + 1 } }));
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toBeGreaterThan(80);
  expect(heard).toBeLessThanOrEqual(126);
  expect(store.get().help.top).toBe(1000);
  store.close();
});

test('a change that changes nothing is not told', async () => {
  const store = createInterfaceStore(createFrames());
  let heard = 0;
  store.subscribe(() => heard++);
  store.update((state) => ({ focus: state.focus, notice: undefined }));
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toBe(0);
  store.close();
});
