import type { KeyPress } from './key-press.ts';

/** One line being typed. The cursor counts characters as the eye does (graphemes). */
export interface TextField {
  readonly text: string;
  readonly cursor: number;
}

let segmenter: Intl.Segmenter | undefined;

export function characters(text: string): string[] {
  if (/^[\x20-\x7e]*$/.test(text)) return [...text];
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

export function fieldOf(text = ''): TextField {
  return { text, cursor: characters(text).length };
}

function replaced(field: TextField, from: number, to: number, by: string): TextField {
  const parts = characters(field.text);
  const before = parts.slice(0, from).join('') + by;
  return { text: before + parts.slice(to).join(''), cursor: characters(before).length };
}

export function typeInto(field: TextField, text: string): TextField {
  return replaced(field, field.cursor, field.cursor, text);
}

function wordStart(field: TextField): number {
  const parts = characters(field.text);
  let index = field.cursor;
  while (index > 0 && parts[index - 1] === ' ') index--;
  while (index > 0 && parts[index - 1] !== ' ') index--;
  return index;
}

function wordEnd(field: TextField): number {
  const parts = characters(field.text);
  let index = field.cursor;
  while (index < parts.length && parts[index] === ' ') index++;
  while (index < parts.length && parts[index] !== ' ') index++;
  return index;
}

/** The field after a key, as shells edit lines; undefined when the key means nothing here. */
export function editField(field: TextField, press: KeyPress): TextField | undefined {
  const length = characters(field.text).length;
  const at = (cursor: number): TextField => ({ ...field, cursor: Math.max(0, Math.min(length, cursor)) });
  switch (press.name) {
    case 'left':
    case 'ctrl+b':
      return at(field.cursor - 1);
    case 'right':
    case 'ctrl+f':
      return at(field.cursor + 1);
    case 'home':
    case 'ctrl+a':
      return at(0);
    case 'end':
    case 'ctrl+e':
      return at(length);
    case 'alt+b':
      return at(wordStart(field));
    case 'alt+f':
      return at(wordEnd(field));
    case 'backspace':
    case 'ctrl+h':
      return field.cursor === 0 ? field : replaced(field, field.cursor - 1, field.cursor, '');
    case 'delete':
    case 'ctrl+d':
      return replaced(field, field.cursor, Math.min(length, field.cursor + 1), '');
    case 'ctrl+u':
      return replaced(field, 0, field.cursor, '');
    case 'ctrl+k':
      return replaced(field, field.cursor, length, '');
    case 'ctrl+w':
      return replaced(field, wordStart(field), field.cursor, '');
    case 'alt+d':
      return replaced(field, field.cursor, wordEnd(field), '');
    default:
      return press.text === '' ? undefined : typeInto(field, press.text);
  }
}
