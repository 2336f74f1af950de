import stringWidth from 'string-width';
import { portableText } from './portable-text.ts';

const ascii = /^[\x20-\x7e]*$/;
let segmenter: Intl.Segmenter | undefined;

/** Columns that a cleaned text takes in a terminal, where it is drawn as `portableText`. */
export function textWidth(text: string): number {
  return ascii.test(text) ? text.length : stringWidth(portableText(text));
}

/** At most `columns` wide; what was cut is told by `mark` at the end. Never splits what is one character to the eye. */
export function cut(text: string, columns: number, mark = '>'): string {
  if (columns <= 0) return '';
  if (textWidth(text) <= columns) return text;
  const room = columns - textWidth(mark);
  if (room < 0) return cut(text, columns, '');
  if (ascii.test(text)) return text.slice(0, room) + mark;
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  let result = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const width = textWidth(segment);
    if (used + width > room) break;
    result += segment;
    used += width;
  }
  return result + mark;
}

/** Exactly `columns` wide: cut or filled with spaces, on the right or, aligned right, on the left. */
export function pad(text: string, columns: number, align: 'left' | 'right' = 'left', mark = '>'): string {
  const fitting = cut(text, columns, mark);
  const fill = ' '.repeat(Math.max(0, columns - textWidth(fitting)));
  return align === 'left' ? fitting + fill : fill + fitting;
}

/** Broken at spaces into lines of at most `columns`; a longer word is broken where it must be. */
export function wrap(text: string, columns: number): string[] {
  const width = Math.max(1, columns);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    let rest = word;
    const candidate = line === '' ? rest : `${line} ${rest}`;
    if (textWidth(candidate) <= width) {
      line = candidate;
      continue;
    }
    if (line !== '') lines.push(line);
    while (textWidth(rest) > width) {
      const piece = cut(rest, width, '') || [...rest][0] || '';
      lines.push(piece);
      rest = rest.slice(piece.length);
    }
    line = rest;
  }
  lines.push(line);
  return lines;
}
