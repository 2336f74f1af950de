import { cleanLine } from '../../text/clean.ts';
import { cut, wrap } from '../../text/width.ts';
import type { Theme } from '../theme.ts';

interface Options {
  theme: Theme;
  width: number;
  /** Of the pane. At most a third of it is taken from the list. */
  height: number;
}

/** The highlighted row as a sentence, for below a list that has no room for all of it. Empty where nothing of the row is cut. */
export function wholeRow(isCut: boolean, sentence: string, { theme, width, height }: Options): string[] {
  if (!isCut || sentence === '') return [];
  const lines = wrap(cleanLine(sentence), width - 2);
  const most = Math.max(1, Math.floor(height / 3));
  const shown =
    lines.length <= most ? lines : [...lines.slice(0, most - 1), cut(lines.slice(most - 1).join(' '), width - 2, theme.glyphs.ellipsis)];
  return shown.map((line) => ` ${theme.paint('faint', line)}`);
}
