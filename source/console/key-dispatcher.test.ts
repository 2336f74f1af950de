import type { Key } from 'ink';
import { expect, test } from 'vitest';
import { dispatchInput } from './key-dispatcher.ts';

const noKey = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
} satisfies Key;

function record(wanted: readonly string[] = []) {
  const seen: string[] = [];
  const pasted: string[] = [];
  const receiver: Parameters<typeof dispatchInput>[2] = {
    press({ name }) {
      const alt = name.startsWith('alt+');
      if (alt && !wanted.includes(name)) return false;
      seen.push(name);
      return true;
    },
    paste: (text) => pasted.push(text),
  };
  return { seen, pasted, input: (input: string, key: Partial<Key> = {}) => dispatchInput(input, { ...noKey, ...key }, receiver) };
}

test('several letters in one read are several keys', () => {
  const { seen, input } = record();
  input('jjG');
  expect(seen).toEqual(['j', 'j', 'G']);
});

test('what Ink does not take apart is: Enter, Tab, Backspace, control letters', () => {
  const { seen, input } = record();
  input('ab\r');
  input('\t \x7f\x08\x04\n');
  expect(seen).toEqual(['a', 'b', 'enter', 'tab', 'space', 'backspace', 'backspace', 'ctrl+d', 'enter']);
});

test('Alt and a letter is that where it is wanted, and Esc with the letter elsewhere', () => {
  const { seen, input } = record(['alt+b']);
  input('b', { meta: true });
  input('j', { meta: true });
  expect(seen).toEqual(['alt+b', 'esc', 'j']);
});

test('named keys have their names', () => {
  const { seen, input } = record();
  input('', { upArrow: true });
  input('', { tab: true, shift: true });
  input('', { escape: true, meta: true });
  input('d', { ctrl: true });
  expect(seen).toEqual(['up', 'shift+tab', 'esc', 'ctrl+d']);
});

test('function keys, which arrive as nothing, do nothing', () => {
  const { seen, input } = record();
  input('');
  expect(seen).toEqual([]);
});

test('a long read is a paste, unless a key is held', () => {
  const { seen, pasted, input } = record();
  input('systemctl restart everything now');
  input('j'.repeat(60));
  expect(pasted).toEqual(['systemctl restart everything now']);
  expect(seen).toHaveLength(60);
});

test('releases of keys are not presses', () => {
  const { seen, input } = record();
  input('j', { eventType: 'release' });
  expect(seen).toEqual([]);
});
