import { writeFile } from 'node:fs/promises';
import type { Cell } from './cell-style.ts';

export interface ScreenshotTheme {
  foreground: string;
  background: string;
}

export const darkTheme: ScreenshotTheme = { foreground: '#d8dee9', background: '#101418' };
export const lightTheme: ScreenshotTheme = { foreground: '#24292f', background: '#fdfdfd' };

type Rows = readonly (readonly Cell[])[];

/** A screen of a recording, and for how long it is shown. */
export interface Frame {
  rows: Rows;
  ms: number;
}

interface Options {
  /** For those who do not see the picture. */
  title?: string;
  cursor?: { x: number; y: number };
  theme?: ScreenshotTheme;
}

interface Run {
  x: number;
  columns: number;
  text: string;
  ink: string;
  paper: string;
  style: string;
}

const fontPx = 15;
/** Of DejaVu Sans Mono, so that box-drawing lines meet. Other fonts are stretched to the same width. */
const cellWidth = fontPx * 0.602;
const cellHeight = fontPx * 1.164;
const margin = 12;

const escapeXml = (text: string): string => text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign] ?? sign);
const at = (value: number): string => String(Math.round(value * 100) / 100);

/** Returns a screen as a picture: one element for each run of equal style, which is a tenth of one for each cell. */
export function renderSvg(rows: Rows, { title, cursor, theme = darkTheme }: Options = {}): string {
  const shown = rows.map((row, y) =>
    cursor?.y === y ? row.map((cell, x) => (x === cursor.x ? { ...cell, inverse: !cell.inverse } : cell)) : row,
  );
  return picture(rows, { title, theme }, shown.flatMap((row, y) => renderRow(row, y, theme)).join('\n'));
}

/**
 * Returns a recording that repeats for ever. What is the same on several screens is written once. For those who prefer reduced motion it
 * is its first screen.
 */
export function renderRecording(frames: readonly Frame[], { title, theme = darkTheme }: Omit<Options, 'cursor'> = {}): string {
  const totalMs = frames.reduce((sum, { ms }) => sum + ms, 0);
  const times = new Map<string, [from: number, until: number][]>();
  let now = 0;
  for (const { rows, ms } of frames) {
    for (const element of rows.flatMap((row, y) => renderRow(row, y, theme))) {
      const seen = times.get(element) ?? [];
      const last = seen.at(-1);
      if (last?.[1] === now) last[1] = now + ms;
      else seen.push([now, now + ms]);
      times.set(element, seen);
    }
    now += ms;
  }
  const together = Map.groupBy(times.keys(), (element) => `${element.slice(1, 5)} ${times.get(element)?.join(' ')}`);
  const styles: string[] = [];
  const groups = [...together.values()].map((elements) => {
    const seen = times.get(elements[0] ?? '') ?? [];
    const isShape = elements[0]?.startsWith('<rect') === true;
    if (seen.length === 1 && seen[0]?.[0] === 0 && seen[0][1] === totalMs) return { isShape, svg: elements.join('\n') };
    const name = `r${styles.length}`;
    styles.push(`@keyframes ${name}{${keyframes(seen, totalMs)}}.${name}{animation-name:${name}}`);
    return { isShape, svg: `<g class="${seen[0]?.[0] === 0 ? 'first ' : ''}a ${name}">\n${elements.join('\n')}\n</g>` };
  });
  const style = [
    '<style>',
    `.a{visibility:hidden;animation:${totalMs}ms step-end infinite}`,
    ...styles,
    '@media (prefers-reduced-motion:reduce){.a{animation:none}.first{visibility:visible}}',
    '</style>',
  ];
  const drawn = [...groups.filter(({ isShape }) => isShape), ...groups.filter(({ isShape }) => !isShape)];
  return picture(frames[0]?.rows ?? [], { title, theme }, [...style, ...drawn.map(({ svg }) => svg)].join('\n'));
}

function keyframes(seen: readonly (readonly [number, number])[], totalMs: number): string {
  const percent = (ms: number) => `${at((ms / totalMs) * 100)}%`;
  const before = seen[0]?.[0] === 0 ? '' : '0%{visibility:hidden}';
  const changes = seen.map(
    ([from, until]) => `${percent(from)}{visibility:visible}${until < totalMs ? `${percent(until)}{visibility:hidden}` : ''}`,
  );
  return `${before}${changes.join('')}`;
}

function picture(rows: Rows, { title, theme }: { title: string | undefined; theme: ScreenshotTheme }, content: string): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const [width, height] = [at(columns * cellWidth + 2 * margin), at(rows.length * cellHeight + 2 * margin)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    ...(title === undefined ? [] : [`<title>${escapeXml(title)}</title>`]),
    `<rect width="100%" height="100%" rx="8" fill="${theme.background}"/>`,
    `<g font-family="'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${fontPx}">`,
    content,
    '</g></svg>\n',
  ].join('\n');
}

/** Returns the elements of a row, backgrounds first. */
function renderRow(row: readonly Cell[], y: number, theme: ScreenshotTheme): string[] {
  const top = margin + y * cellHeight;
  const shapes: string[] = [];
  const texts: string[] = [];
  for (const { x, columns, text, ink, paper, style } of runsOf(row, theme)) {
    const [left, wide] = [margin + x * cellWidth, columns * cellWidth];
    // A hair larger than the cells, against seams between neighbours.
    if (paper !== theme.background)
      shapes.push(`<rect x="${at(left)}" y="${at(top)}" width="${at(wide + 0.3)}" height="${at(cellHeight + 0.3)}" fill="${paper}"/>`);
    // Browsers collapse spaces in a row, so what is between them is placed by itself.
    for (const { 0: part, index } of text.matchAll(/\S+(?: \S+)*/g)) {
      const length = ` textLength="${at(part.length * (columns / text.length) * cellWidth)}" lengthAdjust="spacingAndGlyphs"`;
      const start = at(left + (index / text.length) * wide);
      texts.push(`<text x="${start}" y="${at(top + fontPx * 0.928)}"${length} fill="${ink}"${style}>${escapeXml(part)}</text>`);
    }
  }
  return [...shapes, ...texts];
}

function runsOf(row: readonly Cell[], theme: ScreenshotTheme): Run[] {
  const runs: Run[] = [];
  for (const [x, cell] of row.entries()) {
    if (cell.width === 0) continue;
    const [foreground, background] = [cell.foreground ?? theme.foreground, cell.background ?? theme.background];
    const [ink, paper] = cell.inverse ? [background, foreground] : [foreground, background];
    const lines = [cell.underline ? 'underline' : '', cell.strikethrough ? 'line-through' : ''].join(' ').trim();
    const style = [
      cell.bold ? ' font-weight="bold"' : '',
      cell.italic ? ' font-style="italic"' : '',
      cell.dim ? ' opacity="0.6"' : '',
      lines === '' ? '' : ` text-decoration="${lines}"`,
    ].join('');
    const text = cell.invisible || cell.text === '' ? ' ' : cell.text;
    const last = runs.at(-1);
    const isAlike = last?.ink === ink && last.paper === paper && last.style === style;
    // Only ASCII and lines keep their width in every font: other signs are placed one by one.
    const joins = isAlike && ((/^[ -~]+$/.test(last.text) && /^[ -~]$/.test(text)) || (/^[─━]/.test(text) && last.text.startsWith(text)));
    if (joins) Object.assign(last, { columns: last.columns + 1, text: last.text + text });
    else runs.push({ x, columns: cell.width, text, ink, paper, style });
  }
  return runs;
}

/** Writes a picture; the name's end says which kind, `.svg` or `.png`. */
export async function writePicture(path: string, svg: string): Promise<void> {
  if (path.endsWith('.svg')) return await writeFile(path, svg);
  if (!path.endsWith('.png')) throw new Error(`${path}: a screenshot is a .svg or a .png`);
  const { Resvg } = await import('@resvg/resvg-js');
  const rendered = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: 1.5 },
    font: { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans Mono', monospaceFamily: 'DejaVu Sans Mono' },
  });
  await writeFile(path, rendered.render().asPng());
}
