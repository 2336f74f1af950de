import { cleanLine } from '../text/clean.ts';
import type { KeyPress } from './key-press.ts';

/** One line of text input. The cursor counts visible characters (graphemes). */
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

export const fieldOf = (text = ''): TextField => ({ text, cursor: characters(text).length });

function replaced(field: TextField, from: number, to: number, by: string): TextField {
  const parts = characters(field.text);
  const before = parts.slice(0, from).join('') + by;
  return { text: before + parts.slice(to).join(''), cursor: characters(before).length };
}

export function typeInto(field: TextField, text: string): TextField {
  return replaced(field, field.cursor, field.cursor, text);
}

/** A secret is used unchanged, except for control characters. The newline at the end of pasted text is not Enter. */
export function pasteInto(field: TextField, text: string, isSecret = false): TextField {
  return typeInto(field, isSecret ? text.trim().replace(/[\x00-\x1f\x7f]/g, '') : cleanLine(text.trim()));
}

function wordStart({ text, cursor }: TextField): number {
  const before = characters(text).slice(0, cursor);
  while (before.at(-1) === ' ') before.pop();
  return before.lastIndexOf(' ') + 1;
}

function wordEnd({ text, cursor }: TextField): number {
  const parts = characters(text);
  const start = parts.findIndex((part, index) => index >= cursor && part !== ' ');
  const end = start < 0 ? start : parts.indexOf(' ', start);
  return end < 0 ? parts.length : end;
}

/** Keys with two names. */
const sameKey: Readonly<Record<string, string>> = {
  ...{ 'ctrl+b': 'left', 'ctrl+f': 'right', 'ctrl+a': 'home', 'ctrl+e': 'end', 'ctrl+h': 'backspace', 'ctrl+d': 'delete' },
};

const edits: Readonly<Record<string, (field: TextField, length: number) => TextField>> = {
  left: (field) => ({ ...field, cursor: Math.max(0, field.cursor - 1) }),
  right: (field, length) => ({ ...field, cursor: Math.min(length, field.cursor + 1) }),
  home: (field) => ({ ...field, cursor: 0 }),
  end: (field, length) => ({ ...field, cursor: length }),
  'alt+b': (field) => ({ ...field, cursor: wordStart(field) }),
  'alt+f': (field) => ({ ...field, cursor: wordEnd(field) }),
  backspace: (field) => (field.cursor === 0 ? field : replaced(field, field.cursor - 1, field.cursor, '')),
  delete: (field, length) => replaced(field, field.cursor, Math.min(length, field.cursor + 1), ''),
  'ctrl+u': (field) => replaced(field, 0, field.cursor, ''),
  'ctrl+k': (field, length) => replaced(field, field.cursor, length, ''),
  'ctrl+w': (field) => replaced(field, wordStart(field), field.cursor, ''),
  'alt+d': (field) => replaced(field, field.cursor, wordEnd(field), ''),
};

export function editField(field: TextField, { name, text }: KeyPress): TextField | undefined {
  const edit = edits[sameKey[name] ?? name];
  if (edit) return edit(field, characters(field.text).length);
  return text === '' ? undefined : typeInto(field, text);
}
