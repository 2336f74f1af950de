import type { Key } from 'ink';
import type { KeyPress } from './key-press.ts';

export interface KeyReceiver {
  /** True when the key meant something. */
  press(press: KeyPress): boolean;
  /** Pasted text: never keys. */
  paste(text: string): void;
}

export interface KeyDispatcher {
  /** For Ink's `useInput`: what came in one read, which can be several keys. */
  input(input: string, key: Key): void;
  paste(text: string): void;
  /** Keys handled so far. */
  count(): number;
}

const controls: Readonly<Record<string, KeyPress>> = {
  '\r': { name: 'enter', text: '' },
  '\n': { name: 'enter', text: '' },
  '\t': { name: 'tab', text: '' },
  '\x7f': { name: 'backspace', text: '' },
  '\b': { name: 'backspace', text: '' },
  '\x1b': { name: 'esc', text: '' },
  ' ': { name: 'space', text: ' ' },
};

/** A terminal without bracketed paste sends a paste as one read. Nobody types this much between two reads; a held key repeats one character. */
const typedAtOnce = 24;

function looksPasted(input: string): boolean {
  return input.length > typedAtOnce && new Set(input).size > 4;
}

function pressOf(character: string): KeyPress | undefined {
  const control = controls[character];
  if (control) return control;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 1 && code <= 26) return { name: `ctrl+${String.fromCharCode(code + 96)}`, text: '' };
  if (code < 32) return undefined;
  return { name: character, text: character };
}

function namedPress(key: Key): KeyPress | undefined {
  const name = key.upArrow
    ? 'up'
    : key.downArrow
      ? 'down'
      : key.leftArrow
        ? 'left'
        : key.rightArrow
          ? 'right'
          : key.pageUp
            ? 'pageup'
            : key.pageDown
              ? 'pagedown'
              : key.home
                ? 'home'
                : key.end
                  ? 'end'
                  : key.return
                    ? 'enter'
                    : key.escape
                      ? 'esc'
                      : key.tab
                        ? key.shift
                          ? 'shift+tab'
                          : 'tab'
                        : key.backspace
                          ? 'backspace'
                          : key.delete
                            ? 'delete'
                            : undefined;
  return name === undefined ? undefined : { name, text: '' };
}

/**
 * The one place where keys enter. What arrived together is taken apart again: `jjj` is three keys, `ab\r` ends with Enter, and Esc with a
 * letter behind it in one read (which looks like Alt and the letter) is Esc and then the letter, unless somebody wants the combination.
 */
export function createKeyDispatcher(receiver: KeyReceiver): KeyDispatcher {
  let count = 0;
  const press = (value: KeyPress): boolean => {
    count++;
    return receiver.press(value);
  };
  return {
    input(input, key) {
      if (key.eventType === 'release') return;
      const named = namedPress(key);
      if (named) {
        press(named);
        return;
      }
      if (key.ctrl) {
        if (input.length === 1) press({ name: input === ' ' ? 'ctrl+space' : `ctrl+${input.toLowerCase()}`, text: '' });
        return;
      }
      if (key.meta) {
        const [character] = input;
        if (character === undefined) return;
        const plain = pressOf(character);
        if (!plain || press({ name: `alt+${plain.name}`, text: '' })) return;
        press({ name: 'esc', text: '' });
        press(plain);
        return;
      }
      if (looksPasted(input)) {
        receiver.paste(input);
        return;
      }
      for (const character of input) {
        const value = pressOf(character);
        if (value) press(input.length > character.length ? { ...value, together: true } : value);
      }
    },
    paste: (text) => receiver.paste(text),
    count: () => count,
  };
}
