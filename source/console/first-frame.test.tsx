import headless from '@xterm/headless';
import { describe, expect, test, vi } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, colourTheme, openHarness, plainTheme } from '../../test/doubles/console/harness.tsx';
import { sampleNowMs } from '../../test/doubles/console/sample-fleet.ts';
import { readCell } from '../../test/pty/cell-style.ts';
import { firstFrame } from './first-frame.ts';
import { enteredWith } from './frame-output.ts';
import type { Size } from './layout.ts';
import { createParts } from './parts.ts';
import { createTerminalLoans } from './terminal-loan.ts';

/** Returns the cells of a terminal after this output, with their colours. */
async function cellsOf(written: string, { columns, rows }: Size) {
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(written, resolve));
  const cells = Array.from({ length: rows }, (_, y) =>
    Array.from({ length: columns }, (_, x) => {
      const cell = terminal.buffer.active.getLine(y)?.getCell(x);
      if (!cell) throw new Error(`no cell at ${x}, ${y}`);
      const { text, width, foreground, background, bold, dim, underline, inverse } = readCell(cell);
      // The colour of a space without a background is invisible.
      return JSON.stringify({ text, width, ...(text !== ' ' && { foreground, bold, dim }), background, underline, inverse });
    }),
  );
  terminal.dispose();
  return cells;
}

describe('what is on the screen before Ink is what Ink draws', () => {
  test.each([
    ['all panes, in colour', { columns: 120, rows: 36 }, colourTheme],
    ['all panes, without', { columns: 200, rows: 60 }, plainTheme],
    ['one pane, in colour', { columns: 80, rows: 24 }, colourTheme],
    ['one pane, in ASCII', { columns: 60, rows: 20 }, asciiTheme],
  ] as const)('%s', async (_, size, theme) => {
    const screen = await openHarness({ size, theme });
    await screen.sees('? help');
    const text = (cells: string[][]) => cells.map((row) => row.map((cell) => JSON.parse(cell).text).join(''));
    // New statistics are in the stores before they are drawn.
    await vi.waitFor(async () => {
      const before = await cellsOf(enteredWith(firstFrame(screen.parts, size)), size);
      const after = await cellsOf(`\x1b[?7l${screen.raw().replaceAll('\n', '\r\n')}`, size);
      expect(text(before)).toEqual(text(after));
      expect(before).toEqual(after);
    }, 10_000);
  });
});

test('nothing is shown where the panes do not fit', async () => {
  const size = { columns: 40, rows: 10 };
  const screen = await openHarness({ size });
  expect(firstFrame(screen.parts, size)).toEqual([]);
});

test('says of a log that was not read yet that it is being read', () => {
  const terminalLoans = createTerminalLoans(process.stdin, process.stdout);
  const parts = createParts({
    ...{ app: createFakeApp(), theme: plainTheme, terminalLoans, now: () => sampleNowMs },
    ...{ quit() {}, redraw() {}, suspend: () => undefined, copy() {} },
  });
  const texts = firstFrame(parts, { columns: 120, rows: 36 }).map(({ text }) => text);
  parts.close();
  expect(texts.join('\n')).toMatch(/▸. password-vault/);
  expect(texts).toContainEqual('  Reading the log…');
});
