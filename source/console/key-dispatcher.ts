import type { Key } from 'ink';
import type { Commands } from './commands.ts';
import type { KeyPress } from './key-press.ts';

const controls: Readonly<Record<string, KeyPress>> = {
  '\r': { name: 'enter', text: '' },
  '\n': { name: 'enter', text: '' },
  '\t': { name: 'tab', text: '' },
  '\x7f': { name: 'backspace', text: '' },
  '\b': { name: 'backspace', text: '' },
  '\x1b': { name: 'esc', text: '' },
  ' ': { name: 'space', text: ' ' },
};

/** A terminal without bracketed paste sends a paste as one read. Typing never produces this much between two reads. */
const typedAtOnce = 24;

function pressOf(character: string): KeyPress | undefined {
  const control = controls[character];
  if (control) return control;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 1 && code <= 26) return { name: `ctrl+${String.fromCharCode(code + 96)}`, text: '' };
  if (code < 32) return undefined;
  return { name: character, text: character };
}

/** Ink's names and ours, in order of precedence. */
const namedKeys = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'esc'],
  ['tab', 'tab'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
] as const satisfies readonly (readonly [keyof Key, string])[];

/**
 * Receives all keys of the console. Keys that arrived together are separated again: `jjj` is three keys, `ab\r` ends with Enter, and Esc
 * followed by a letter in one read (which looks like Alt and the letter) is Esc and then the letter, unless a command uses the combination.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the order of these cases is that of what one read can mean
export function dispatchInput(input: string, key: Key, { press, paste }: Pick<Commands, 'press' | 'paste'>): void {
  if (key.eventType === 'release') return;
  const named = namedKeys.find(([ink]) => key[ink])?.[1];
  if (named) press({ name: named === 'tab' && key.shift ? 'shift+tab' : named, text: '' });
  else if (key.ctrl) {
    if (input.length === 1) press({ name: input === ' ' ? 'ctrl+space' : `ctrl+${input.toLowerCase()}`, text: '' });
  } else if (key.meta) {
    const [character = ''] = input;
    const plain = pressOf(character);
    if (!plain || press({ name: `alt+${plain.name}`, text: '' })) return;
    press({ name: 'esc', text: '' });
    press(plain);
  } else if (input.length > typedAtOnce && new Set(input).size > 4) paste(input);
  else
    for (const character of input) {
      const value = pressOf(character);
      if (value) press(input.length > character.length ? { ...value, together: true } : value);
    }
}
