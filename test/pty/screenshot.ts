import { writeFile } from 'node:fs/promises';
import type { Cell } from './cell-style.ts';

export interface ScreenshotTheme {
  foreground: string;
  background: string;
}

export const darkTheme: ScreenshotTheme = { foreground: '#d8dee9', background: '#101418' };
export const lightTheme: ScreenshotTheme = { foreground: '#24292f', background: '#fdfdfd' };

const fontPx = 15;
/** DejaVu Sans Mono: 0.602 em wide, 1.164 em from ascent to descent, so that box-drawing lines meet. */
const cellWidth = fontPx * 0.602;
const cellHeight = fontPx * 1.164;
const margin = 12;

const escapeXml = (text: string): string => text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign] ?? sign);
const at = (value: number): string => value.toFixed(2);

/** Cells as a picture, each character placed on its own, so that no font can shift a column. */
export function renderSvg(
  rows: readonly (readonly Cell[])[],
  options: { cursor?: { x: number; y: number }; theme?: ScreenshotTheme } = {},
): string {
  const theme = options.theme ?? darkTheme;
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const width = columns * cellWidth + 2 * margin;
  const height = rows.length * cellHeight + 2 * margin;
  const shapes: string[] = [];
  const texts: string[] = [];

  rows.forEach((row, y) => {
    row.forEach((cell, x) => {
      const under = options.cursor?.x === x && options.cursor.y === y;
      const flipped = cell.inverse !== under;
      const ink = (flipped ? cell.background : cell.foreground) ?? (flipped ? theme.background : theme.foreground);
      const paper = (flipped ? cell.foreground : cell.background) ?? (flipped ? theme.foreground : theme.background);
      const left = margin + x * cellWidth;
      const top = margin + y * cellHeight;
      if (paper !== theme.background) {
        // A hair wider than the cell, against seams between neighbours.
        shapes.push(
          `<rect x="${at(left)}" y="${at(top)}" width="${at(cellWidth + 0.3)}" height="${at(cellHeight + 0.3)}" fill="${paper}"/>`,
        );
      }
      if (cell.underline)
        shapes.push(`<rect x="${at(left)}" y="${at(top + cellHeight - 2)}" width="${at(cellWidth)}" height="1" fill="${ink}"/>`);
      if (cell.strikethrough)
        shapes.push(`<rect x="${at(left)}" y="${at(top + cellHeight / 2)}" width="${at(cellWidth)}" height="1" fill="${ink}"/>`);
      if (cell.text.trim() === '' || cell.invisible) return;
      const style = `${cell.bold ? ' font-weight="bold"' : ''}${cell.italic ? ' font-style="italic"' : ''}${cell.dim ? ' opacity="0.6"' : ''}`;
      texts.push(`<text x="${at(left)}" y="${at(top + fontPx * 0.928)}" fill="${ink}"${style}>${escapeXml(cell.text)}</text>`);
    });
  });

  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${at(width)}" height="${at(height)}" viewBox="0 0 ${at(width)} ${at(height)}">`,
    `<rect width="100%" height="100%" fill="${theme.background}"/>`,
    ...shapes,
    `<g font-family="'DejaVu Sans Mono', monospace" font-size="${fontPx}" xml:space="preserve">`,
    ...texts,
    '</g></svg>',
    '',
  ].join('\n');
}

/** Writes a picture; the name's end says which kind, `.svg` or `.png`. */
export async function writePicture(path: string, svg: string): Promise<void> {
  if (path.endsWith('.svg')) return await writeFile(path, svg);
  if (!path.endsWith('.png')) throw new Error(`${path}: a screenshot is a .svg or a .png`);
  const { Resvg } = await import('@resvg/resvg-js');
  const picture = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: 1.5 },
    font: { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans Mono', monospaceFamily: 'DejaVu Sans Mono' },
  });
  await writeFile(path, picture.render().asPng());
}
