import decodeQR from 'qr/decode.js';
import { expect, test } from 'vitest';
import { qrCode } from '../flows/qr-code.ts';
import { moduleBlocks } from './module-blocks.ts';

const text = 'tailscale up --login-server https://mesh.example.org --auth-key hskey-auth-0123456789ab-0123456789abcdef';

/** What a camera would read off the terminal: the lines as pixels. */
function seen(lines: readonly string[], { ascii, drawnIsDark }: { ascii: boolean; drawnIsDark: boolean }): string {
  const plain = lines.map((line) => line.replace(/\x1b\[[\d;]*m/g, ''));
  const rows: boolean[][] = [];
  for (const line of plain) {
    if (ascii) rows.push([...line].filter((_, at) => at % 2 === 0).map((sign) => (sign === '#') === drawnIsDark));
    else {
      rows.push([...line].map((sign) => '▀█'.includes(sign) === drawnIsDark));
      rows.push([...line].map((sign) => '▄█'.includes(sign) === drawnIsDark));
    }
  }
  const scale = 4;
  const width = (rows[0]?.length ?? 0) * scale;
  const height = rows.length * scale;
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const value = rows[Math.floor(y / scale)]?.[Math.floor(x / scale)] ? 0 : 255;
      data.set([value, value, value, 255], (y * width + x) * 4);
    }
  return decodeQR({ width, height, data });
}

test.each([
  { ascii: false, colour: true },
  { ascii: true, colour: true },
  { ascii: false, colour: false },
  { ascii: true, colour: false },
])('a code can be read off the terminal again: %o', (style) => {
  const lines = moduleBlocks(qrCode(text), style);
  expect(seen(lines, { ascii: style.ascii, drawnIsDark: style.colour })).toBe(text);
  expect(lines.some((line) => line.includes('\x1b'))).toBe(style.colour);
  if (style.ascii) expect(lines.join('')).toMatch(/^[\x1b -~]*$/);
});

test('as wide as it is high on most terminals, and a key with its server fits beside 80 by 24', () => {
  const lines = moduleBlocks(qrCode(text), { ascii: false, colour: false });
  expect(lines.length).toBeLessThan(24);
  expect(lines.every((line) => line.length < 80)).toBe(true);
});
