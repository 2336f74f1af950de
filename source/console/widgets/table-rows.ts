import { cleanLine } from '../../text/clean.ts';
import { cut, pad, wrap } from '../../text/width.ts';
import type { View } from '../screen.ts';
import { padStyled } from '../styled-text.ts';
import type { Theme } from '../theme.ts';

export interface Column<Row> {
  title: string;
  columns: number;
  align?: 'right';
  cell(row: Row): string;
}

export type RowSpace = Pick<View, 'theme' | 'width'>;

function cellsLine<Row>(all: readonly Column<Row>[], textOf: (column: Column<Row>) => string, { glyphs }: Theme): string {
  return all.map((column) => pad(textOf(column), column.columns, column.align ?? 'left', glyphs.ellipsis)).join('  ');
}

export function tableRow<Row>(columns: readonly Column<Row>[], row: Row, theme: Theme): string {
  return cellsLine(columns, ({ cell }) => cleanLine(cell(row)), theme);
}

export function tableHeading<Row>(columns: readonly Column<Row>[], { theme, width }: RowSpace): string {
  return theme.paint('faint', pad(`  ${cellsLine(columns, ({ title }) => title, theme)}`, width, 'left', theme.glyphs.ellipsis));
}

export function listRow(text: string, isSelected: boolean, { theme, width }: RowSpace, sign = ' '): string {
  const { pointer, ellipsis } = theme.glyphs;
  const line = padStyled(`${isSelected ? theme.paint('accent', pointer) : sign} ${text}`, width, ellipsis);
  return isSelected ? theme.paint('selected', line) : line;
}

/** Returns the highlighted row as a sentence below a list that has to cut it, in at most a third of the height. Empty when it is not cut. */
export function wholeRow(isCut: boolean, sentence: string, { theme, width, height }: Pick<View, 'theme' | 'width' | 'height'>): string[] {
  if (!isCut || sentence === '') return [];
  const lines = limitedRows(wrap(cleanLine(sentence), width - 2), Math.max(1, Math.floor(height / 3)), width - 2, theme);
  return lines.map((line) => ` ${theme.paint('faint', line)}`);
}

/** Returns at most this many rows of a wrapped text: the rest of it is cut in the last one. */
export function limitedRows(lines: readonly string[], most: number, columns: number, { glyphs }: Theme): readonly string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), cut(lines.slice(most - 1).join(' '), columns, glyphs.ellipsis)];
}
