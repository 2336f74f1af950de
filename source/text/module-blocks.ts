/** Black on white regardless of the terminal's colours: cameras require it. In the form that Ink writes itself. */
const open = '\x1b[30m\x1b[107m';
const close = '\x1b[49m\x1b[39m';
const modulePixels = 8;
const halves = { '00': ' ', '10': '▀', '01': '▄', '11': '█' } as const;

/** The modules of a two-dimensional code, row by row, true for dark. */
export type Modules = readonly (readonly boolean[])[];

export interface BlockStyle {
  /** Without block characters each module is two characters wide. */
  ascii: boolean;
  /** Without colour, the code uses the terminal's own two colours, and only its background shows which of them is the light one. */
  colour: boolean;
  background: 'dark' | 'light';
}

export function blockSize(code: Modules, { ascii }: Pick<BlockStyle, 'ascii'>): { columns: number; rows: number } {
  const across = code[0]?.length ?? 0;
  return ascii ? { columns: across * 2, rows: code.length } : { columns: across, rows: Math.ceil(code.length / 2) };
}

/** Two modules share a character if the terminal supports half blocks. */
export function moduleBlocks(code: Modules, { ascii, colour, background }: BlockStyle): string[] {
  const darkDrawn = colour || background === 'light';
  // With an odd number of rows, one more light module follows below the last one, as around the code.
  const isDrawn = (row: readonly boolean[] | undefined, column: number) => (row?.[column] ?? false) === darkDrawn;
  const paint = (line: string) => (colour ? `${open}${line}${close}` : line);
  const lines: string[] = [];
  if (ascii) {
    for (const row of code) lines.push(paint(row.map((_, column) => (isDrawn(row, column) ? '##' : '  ')).join('')));
    return lines;
  }
  for (let top = 0; top < code.length; top += 2) {
    const [upper = [], lower] = [code[top], code[top + 1]];
    const drawn = (row: readonly boolean[] | undefined, column: number) => (isDrawn(row, column) ? 1 : 0);
    lines.push(paint(upper.map((_, column) => halves[`${drawn(upper, column)}${drawn(lower, column)}`]).join('')));
  }
  return lines;
}

/** As SVG, black on white: every browser opens it. */
export function modulePicture(code: Modules): string {
  const [width, height] = [code[0]?.length ?? 0, code.length];
  const dark = code.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : []))).join('');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width * modulePixels}" height="${height * modulePixels}" shape-rendering="crispEdges">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<path d="${dark}" fill="#000"/>`,
    '</svg>',
    '',
  ].join('\n');
}
