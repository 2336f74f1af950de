import decodeQR from 'qr/decode.js';

const scale = 4;

/** What a camera reads off the terminal: its lines as pixels. Throws where there is no code. */
export function seenCode(lines: readonly string[], { ascii, drawnIsDark }: { ascii: boolean; drawnIsDark: boolean }): string {
  const plain = lines.map((line) => line.replace(/\x1b\[[\d;]*m/g, ''));
  const rows: boolean[][] = [];
  for (const line of plain) {
    if (ascii) rows.push([...line].filter((_, at) => at % 2 === 0).map((sign) => (sign === '#') === drawnIsDark));
    else {
      rows.push([...line].map((sign) => '▀█'.includes(sign) === drawnIsDark));
      rows.push([...line].map((sign) => '▄█'.includes(sign) === drawnIsDark));
    }
  }
  return readModules(rows);
}

/** What a camera reads off an SVG picture of a code: a unit square for each dark module. */
export function codeInPicture(svg: string): string {
  const [, across = '0', down = '0'] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
  const dark = new Set([...svg.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${x} ${y}`));
  return readModules(
    Array.from({ length: Number(down) }, (_, y) => Array.from({ length: Number(across) }, (__, x) => dark.has(`${x} ${y}`))),
  );
}

function readModules(rows: readonly (readonly boolean[])[]): string {
  const width = Math.max(...rows.map((row) => row.length)) * scale;
  const height = rows.length * scale;
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const value = rows[Math.floor(y / scale)]?.[Math.floor(x / scale)] ? 0 : 255;
      data.set([value, value, value, 255], (y * width + x) * 4);
    }
  return decodeQR({ width, height, data });
}
