/** Black on white whatever the other colours of the terminal are: cameras want it so. In the form that Ink writes itself. */
const open = '\x1b[30m\x1b[107m';
const close = '\x1b[49m\x1b[39m';
const halves = { '00': ' ', '10': '▀', '01': '▄', '11': '█' } as const;

export interface BlockStyle {
  /** Without block characters each module is two signs wide. */
  ascii: boolean;
  colour: boolean;
}

/** The modules of a two-dimensional code, true for dark, as lines of a terminal: two modules a character where it has half blocks. */
export function moduleBlocks(code: readonly (readonly boolean[])[], { ascii, colour }: BlockStyle): string[] {
  // Without colours a terminal mostly writes light on dark: there it is the light modules that are drawn.
  const isDrawn = (row: readonly boolean[] | undefined, column: number) => (row?.[column] ?? false) === colour;
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
