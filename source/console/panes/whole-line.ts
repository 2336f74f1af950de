import type { LogEntry } from '../../fleet/log-store.ts';
import { cleanLine, jsonText } from '../../text/clean.ts';
import { parseJson } from '../../text/json-value.ts';
import { agoText, numberText } from '../../text/quantities.ts';
import { wrap } from '../../text/width.ts';
import { tellingOf, whoParts } from '../log-line-text.ts';
import { type LineText, lineText, wrappedPieces } from '../log-text.ts';
import type { LogLinesOptions } from './log-lines.ts';

/** Of a longer line the store keeps no more: `LogEntry`. */
const keptCharacters = 16_384;

/** One line in full: when, whose, and all of its text; JSON spread out. */
export function wholeLines(
  entry: LogEntry,
  { theme, width, nowMs, componentKeys }: Pick<LogLinesOptions, 'theme' | 'width' | 'nowMs' | 'componentKeys'>,
): string[] {
  const line = lineText(entry, true);
  const when =
    entry.timeMs === undefined
      ? 'at a time that the engine does not tell'
      : `${new Date(entry.timeMs).toISOString().replace('T', ' ')}, ${agoText(nowMs - entry.timeMs)}`;
  const whose = whoParts(entry, tellingOf(componentKeys) === 'host' ? 'host' : 'component').join('/');
  const head = [when, `${whose}, ${entry.stream}`, line.level].filter(Boolean).join(` ${theme.glyphs.dot} `);
  const room = Math.max(1, width - 2);
  const cutNote =
    entry.text.length >= keptCharacters
      ? ['', ` ${theme.paint('warn', `Only its first ${numberText(keptCharacters)} characters are kept.`)}`]
      : [];
  return [
    ...wrap(cleanLine(head), room).map((row) => ` ${theme.paint('faint', row)}`),
    '',
    ...spreadOut(entry.text).flatMap((text) => {
      const piece: LineText = { text, styled: undefined, level: undefined, ascii: /^[\x20-\x7e]*$/.test(text) };
      return wrappedPieces(piece, room).map(({ start, end }) => ` ${text.slice(start, end)}`);
    }),
    ...cutNote,
  ];
}

function spreadOut(text: string): string[] {
  if (!/^\s*[{[]/.test(text)) return [text];
  try {
    return jsonText(parseJson(text), 2).split('\n').map(cleanLine);
  } catch {
    return [text];
  }
}
