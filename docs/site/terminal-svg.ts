import type { Cell } from '../../test/pty/cell-style.ts';
import { darkTheme } from '../../test/pty/screenshot.ts';

const fontPx = 15;
/** Of DejaVu Sans Mono, so that box-drawing lines meet. Other fonts are stretched to the same width. */
const cellWidth = fontPx * 0.602;
const cellHeight = fontPx * 1.164;
const margin = 12;

interface Run {
  x: number;
  columns: number;
  text: string;
  ink: string;
  paper: string;
  style: string;
}

const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const at = (value: number) => String(Math.round(value * 100) / 100);

/** Returns a screen as a picture: one element for each run of equal style, which is a tenth of one for each cell. */
export function terminalSvg(rows: readonly (readonly Cell[])[], title: string): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const [width, height] = [columns * cellWidth + 2 * margin, rows.length * cellHeight + 2 * margin];
  const shapes: string[] = [];
  const texts: string[] = [];
  for (const [y, row] of rows.entries()) {
    const top = margin + y * cellHeight;
    for (const { x, columns: count, text, ink, paper, style } of runsOf(row)) {
      const [left, wide] = [margin + x * cellWidth, count * cellWidth];
      if (paper !== darkTheme.background)
        shapes.push(`<rect x="${at(left)}" y="${at(top)}" width="${at(wide + 0.3)}" height="${at(cellHeight + 0.3)}" fill="${paper}"/>`);
      // Browsers collapse spaces in a row, so what is between them is placed by itself.
      for (const { 0: part, index } of text.matchAll(/\S+(?: \S+)*/g)) {
        const length = ` textLength="${at(part.length * (count / text.length) * cellWidth)}" lengthAdjust="spacingAndGlyphs"`;
        const start = at(left + index * cellWidth);
        texts.push(`<text x="${start}" y="${at(top + fontPx * 0.928)}"${length} fill="${ink}"${style}>${escapeXml(part)}</text>`);
      }
    }
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${at(width)} ${at(height)}" width="${at(width)}" height="${at(height)}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${darkTheme.background}"/>`,
    ...shapes,
    `<g font-family="'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${fontPx}">`,
    ...texts,
    '</g></svg>\n',
  ].join('\n');
}

function runsOf(row: readonly Cell[]): Run[] {
  const runs: Run[] = [];
  for (const [x, cell] of row.entries()) {
    if (cell.width === 0) continue;
    const ink = (cell.inverse ? cell.background : cell.foreground) ?? (cell.inverse ? darkTheme.background : darkTheme.foreground);
    const paper = (cell.inverse ? cell.foreground : cell.background) ?? (cell.inverse ? darkTheme.foreground : darkTheme.background);
    const style = `${cell.bold ? ' font-weight="bold"' : ''}${cell.dim ? ' opacity="0.6"' : ''}${cell.underline ? ' text-decoration="underline"' : ''}`;
    const text = cell.invisible || cell.text === '' ? ' ' : cell.text;
    const last = runs.at(-1);
    // Only ASCII keeps its width in every font: other signs are placed one by one.
    const joins = last?.ink === ink && last.paper === paper && last.style === style && /^[ -~]+$/.test(last.text) && /^[ -~]$/.test(text);
    if (joins) Object.assign(last, { columns: last.columns + 1, text: last.text + text });
    else if (/^[─━]+$/.test(last?.text ?? '') && last?.text.startsWith(text) && last.ink === ink && last.paper === paper)
      Object.assign(last, { columns: last.columns + 1, text: last.text + text });
    else runs.push({ x, columns: cell.width, text, ink, paper, style });
  }
  return runs;
}
