import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { limited } from './waits.ts';

describe('a limited wait', () => {
  test('leaves no listener behind: a watch waits for as long as the console runs', async () => {
    let given: AbortSignal | undefined;
    await limited(new AbortController().signal, 1_000, async (signal) => {
      given = signal;
    });
    expect(getEventListeners(given as AbortSignal, 'abort')).toHaveLength(0);
  });

  test('does not begin when it is over already', async () => {
    const over = AbortSignal.abort(new Error('over'));
    await expect(limited(over, 1_000, () => new Promise(() => {}))).rejects.toThrow('over');
  });
});
