import { expect, test } from 'vitest';
import { codeInPicture, seenCode } from '../../test/doubles/seen-code.ts';
import { qrCode } from '../flows/qr-code.ts';
import { blockSize, moduleBlocks, modulePicture } from './module-blocks.ts';

const text = 'tailscale up --login-server https://mesh.example.org --auth-key hskey-auth-0123456789ab-0123456789abcdef';

test.each([
  { ascii: false, colour: true, background: 'dark', drawnIsDark: true },
  { ascii: false, colour: true, background: 'light', drawnIsDark: true },
  { ascii: true, colour: true, background: 'dark', drawnIsDark: true },
  { ascii: false, colour: false, background: 'dark', drawnIsDark: false },
  { ascii: false, colour: false, background: 'light', drawnIsDark: true },
  { ascii: true, colour: false, background: 'dark', drawnIsDark: false },
  { ascii: true, colour: false, background: 'light', drawnIsDark: true },
] as const)('a code can be read off the terminal again: %o', ({ drawnIsDark, ...style }) => {
  const lines = moduleBlocks(qrCode(text), style);
  expect(seenCode(lines, { ascii: style.ascii, drawnIsDark })).toBe(text);
  expect(lines.some((line) => line.includes('\x1b'))).toBe(style.colour);
  if (style.ascii) expect(lines.join('')).toMatch(/^[\x1b -~]*$/);
  const [line = ''] = lines.map((each) => each.replace(/\x1b\[[\d;]*m/g, ''));
  expect({ columns: line.length, rows: lines.length }).toEqual(blockSize(qrCode(text), style));
});

test('as wide as it is high on most terminals, and a key with its server fits beside 80 by 24', () => {
  const lines = moduleBlocks(qrCode(text), { ascii: false, colour: false, background: 'dark' });
  expect(lines.length).toBeLessThan(24);
  expect(lines.every((line) => line.length < 80)).toBe(true);
});

test('a picture of it can be read too', () => {
  expect(codeInPicture(modulePicture(qrCode(text)))).toBe(text);
});
