import { cut, pad, textWidth } from '../text/width.ts';

/** Colours, and links (OSC 8). */
const styling = /\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)/g;
const linkEnd = '\x1b]8;;\x1b\\';

/** Without its colours and links. */
export function unstyled(text: string): string {
  return text.includes('\x1b') ? text.replace(styling, '') : text;
}

/** Columns of a text that may hold SGR sequences. */
export function styledWidth(text: string): number {
  return textWidth(unstyled(text));
}

/** Like `cut`, for text that may hold SGR sequences; colours are closed where it was cut. */
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

/** Exactly `columns` wide. */
export function padStyled(text: string, columns: number, mark = '>'): string {
  if (!text.includes('\x1b')) return pad(text, columns, 'left', mark);
  const fitting = cutStyled(text, columns, mark);
  return fitting + ' '.repeat(Math.max(0, columns - styledWidth(fitting)));
}

/** Addresses in it as links that a terminal which knows such things lets the operator click (OSC 8). */
export function withLinks(text: string): string {
  return text.replace(/\bhttps?:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d+)?/g, (url) => `\x1b]8;;${url}\x1b\\${url}${linkEnd}`);
}
