import { cleanLine } from '../text/clean.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';
import type { Role, Theme } from './theme.ts';

const styling = /\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)/g;
const linkEnd = '\x1b]8;;\x1b\\';

export const unstyled = (text: string): string => (text.includes('\x1b') ? text.replace(styling, '') : text);

export const styledWidth = (text: string): number => textWidth(unstyled(text));

/** Cleans and wraps a text, after `lead` on its first row and the same indentation on the others. Empty for an empty text. */
export function paragraph(theme: Theme, role: Role | undefined, text: string, width: number, lead = ''): string[] {
  const clean = cleanLine(text);
  if (clean === '') return [];
  const indent = ' '.repeat(styledWidth(lead));
  return wrap(clean, width).map((line, row) => (row === 0 ? lead : indent) + (role ? theme.paint(role, line) : line));
}

/** Works like `cut`, for text that may contain SGR sequences; colours are closed at the cut. */
export function cutStyled(text: string, columns: number, mark = '>'): string {
  if (!text.includes('\x1b')) return cut(text, columns, mark);
  if (styledWidth(text) <= columns) return text;
  let room = columns - textWidth(mark);
  if (room < 0) return cut(unstyled(text), columns, '');
  let result = '';
  let last = 0;
  const end = text.includes('\x1b]8;') ? `${linkEnd}\x1b[0m` : '\x1b[0m';
  for (const match of text.matchAll(styling)) {
    const piece = text.slice(last, match.index);
    last = match.index + match[0].length;
    if (textWidth(piece) > room) return `${result}${cut(piece, room, '')}${end}${mark}`;
    result += piece + match[0];
    room -= textWidth(piece);
  }
  return `${result}${cut(text.slice(last), room, '')}${end}${mark}`;
}

export function padStyled(text: string, columns: number, mark = '>'): string {
  if (!text.includes('\x1b')) return pad(text, columns, 'left', mark);
  const fitting = cutStyled(text, columns, mark);
  return fitting + ' '.repeat(Math.max(0, columns - styledWidth(fitting)));
}

/** Matches a URL of this machine up to its end: `http://127.0.0.1.example.org` is another host. */
const localAddress = /\bhttps?:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d+)?(?![\p{L}\p{N}_@%-]|[.:][\p{L}\p{N}_])/gu;

export function withLinks(text: string): string {
  return text.replace(localAddress, (url) => `\x1b]8;;${url}\x1b\\${url}${linkEnd}`);
}
