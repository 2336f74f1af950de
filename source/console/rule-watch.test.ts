import { expect, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import type { InterfaceStore } from './interface-store.ts';
import { watchRules } from './rule-watch.ts';

const notices = async (notify: () => Promise<void>, signal = new AbortController().signal) => {
  const seen: string[] = [];
  const update = (change: (state: never) => { notice?: { text: string } }) => seen.push(change({} as never).notice?.text ?? '');
  await watchRules({ notify }, { update } as unknown as InterfaceStore, signal);
  return seen;
};

test('an open console says why notifications stopped, and nothing when it is closed', async () => {
  const full = new Fault('config.unwritable', 'The disk is full.', 'Free some space.');
  expect(await notices(() => Promise.reject(full))).toEqual(['The disk is full.']);
  expect(await notices(() => Promise.resolve())).toEqual([]);
  expect(await notices(() => Promise.reject(new Error('over')), AbortSignal.abort())).toEqual([]);
});
