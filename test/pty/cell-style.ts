import type { IBufferCell } from '@xterm/headless';

/** How one cell looks. Colours are `#rrggbb`, resolved; undefined is the terminal's own. */
export interface CellStyle {
  foreground: string | undefined;
  background: string | undefined;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
  strikethrough: boolean;
  invisible: boolean;
}

export interface Cell extends CellStyle {
  text: string;
  /** 2 for a wide character, 0 for the cell behind one. */
  width: number;
}

/** xterm's own sixteen. */
const sixteen = [
  '#000000',
  '#cd0000',
  '#00cd00',
  '#cdcd00',
  '#0000ee',
  '#cd00cd',
  '#00cdcd',
  '#e5e5e5',
  '#7f7f7f',
  '#ff0000',
  '#00ff00',
  '#ffff00',
  '#5c5cff',
  '#ff00ff',
  '#00ffff',
  '#ffffff',
];

const hex = (...parts: number[]): string => `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;

/** A colour of the 256-colour palette: sixteen, a 6x6x6 cube, 24 greys. */
export function paletteColour(index: number): string {
  if (index < 16) return sixteen[index] ?? '#000000';
  if (index >= 232) return hex(...Array<number>(3).fill(8 + (index - 232) * 10));
  const steps = [0, 95, 135, 175, 215, 255];
  const engineName = index - 16;
  return hex(steps[Math.floor(engineName / 36)] ?? 0, steps[Math.floor(engineName / 6) % 6] ?? 0, steps[engineName % 6] ?? 0);
}

const colourOf = (value: number, rgb: boolean, palette: boolean): string | undefined =>
  rgb ? hex((value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff) : palette ? paletteColour(value) : undefined;

export function readCell(cell: IBufferCell): Cell {
  return {
    text: cell.getChars() || (cell.getWidth() === 0 ? '' : ' '),
    width: cell.getWidth(),
    foreground: colourOf(cell.getFgColor(), cell.isFgRGB(), cell.isFgPalette()),
    background: colourOf(cell.getBgColor(), cell.isBgRGB(), cell.isBgPalette()),
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
    italic: cell.isItalic() !== 0,
    underline: cell.isUnderline() !== 0,
    inverse: cell.isInverse() !== 0,
    strikethrough: cell.isStrikethrough() !== 0,
    invisible: cell.isInvisible() !== 0,
  };
}
