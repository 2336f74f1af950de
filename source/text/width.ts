import stringWidth from 'string-width';
import { isPlainRun } from './plain-text.ts';
import { portableText } from './portable-text.ts';

let segmenter: Intl.Segmenter | undefined;

export function textWidth(text: string): number {
  return isPlainRun(text) ? text.length : stringWidth(portableText(text));
}

/** `mark` at the end shows that text was cut. Never splits a grapheme. */
export function cut(text: string, columns: number, mark = '>'): string {
  if (columns <= 0) return '';
  if (textWidth(text) <= columns) return text;
  const room = columns - textWidth(mark);
  if (room < 0) return cut(text, columns, '');
  if (isPlainRun(text)) return text.slice(0, room) + mark;
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

export function pad(text: string, columns: number, align: 'left' | 'right' = 'left', mark = '>'): string {
  const fitting = cut(text, columns, mark);
  const fill = ' '.repeat(Math.max(0, columns - textWidth(fitting)));
  return align === 'left' ? fitting + fill : fill + fitting;
}

/** A longer word is split. */
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
