import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import stringWidth from 'string-width';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { cleanLine } from '../../source/text/clean.ts';
import { portableText } from '../../source/text/portable-text.ts';
import { awkwardText } from './awkward-text.ts';
import { Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const [columns, rows] = [120, 76];
/** Between the panes: where their edges are drawn. */
const left = 54;
const edges = [0, left - 1, left, columns - 1];
const edgesOf = /^[╭╰│┏┗┃][╮╯│┓┛┃][╭╰│┏┗┃][╮╯│┓┛┃]$/;
const program = [process.execPath, '--import', 'tsx', join(root, 'test/pty/console-fixture.tsx'), '', 'awkward'];
const env = { NODE_ENV: 'production', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };

let folder: string;
let terminal: Terminal | undefined;
let cleanup: () => Promise<unknown> = async () => {};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-width-'));
});
afterEach(async () => {
  await cleanup();
  cleanup = async () => {};
  await terminal?.close();
  terminal = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** The console in a terminal, and what is seen in each cell of that. */
interface Shown {
  cells(): Promise<string[][]>;
  press(key: string): Promise<unknown>;
  /** Writes to the terminal behind the back of the console. */
  spoil?(text: string): Promise<unknown>;
}

/** With GNU screen in it where that is wanted: the two count alike, and tmux says what is in each cell. */
async function inTmux(argv: readonly string[]): Promise<Shown> {
  const socket = join(folder, 'tmux');
  const tmux = async (...words: string[]) =>
    (await run('tmux', ['-S', socket, '-f', '/dev/null', ...words], { env: { ...process.env, ...env, SCREENDIR: folder } })).stdout;
  cleanup = () => tmux('kill-server').catch(() => {});
  await tmux('new-session', '-d', '-x', `${columns}`, '-y', `${rows}`, '-c', root, ...argv);
  const tty = (await tmux('display-message', '-p', '#{pane_tty}')).trim();
  return {
    cells: async () => (await tmux('capture-pane', '-p')).split('\n').slice(0, rows).map(cellsOf),
    press: (key) => tmux('send-keys', key),
    spoil: (text) => writeFile(tty, text),
  };
}

async function inEmulator(): Promise<Shown> {
  const shown = Terminal.start(program, { columns, rows, cwd: root, env });
  terminal = shown;
  return {
    cells: async () => shown.cells().map((row) => row.map(({ text, width }) => (width === 0 ? '' : text || ' '))),
    press: async (key) => shown.type(key),
  };
}

/** A row taken apart into its cells: the second one of a wide character is empty, marks are with their letter. */
function cellsOf(row: string): string[] {
  const cells: string[] = [];
  for (const character of row) {
    if (/^[\p{Mn}\p{Me}]$/u.test(character)) cells[cells.length - 1] += character;
    else cells.push(character, ...Array.from({ length: stringWidth(character) - 1 }, () => ''));
  }
  return cells;
}

const picture = /\p{Emoji_Presentation}/u;

/** The same lines wrapped, scrolled to the side and without the other panes: edges stay where they are, whatever meets the last column. */
async function expectEdges(shown: Shown): Promise<void> {
  const framed = async (zoomed: boolean, sees: RegExp) =>
    vi.waitFor(
      async () => {
        const cells = await shown.cells();
        const [header = '', ...others] = cells.map((row) => row.join('').trimEnd());
        expect(header).toMatch(/^ quarterdeck .* \d\d:\d\d$/);
        expect(others.at(rows - 2)).toMatch(/q quit$/);
        expect(others.join('\n')).toMatch(sees);
        for (const row of cells.slice(zoomed ? 2 : 1, rows - 1)) {
          const at = zoomed ? [row[0], row[columns - 1]] : edges.map((column) => row[column]);
          expect(at.join(''), row.join('')).toMatch(zoomed ? /^[╭╰│┏┗┃][╮╯│┓┛┃]$/ : edgesOf);
        }
      },
      { timeout: 40_000, interval: 100 },
    );
  await shown.press('4');
  await shown.press('w');
  await framed(false, /end/);
  await shown.press('g');
  await framed(false, /\u4e16{20}/);
  await shown.press('z');
  await framed(true, /\u4e16{40}/);
  await shown.press('w');
  await framed(true, /x\u4e16{40}/);
  for (const step of ['l', 'l']) {
    await shown.press(step);
    await framed(true, /\u4e16{40}/);
  }
}

/** Every row has its edges where they belong, the header is in the first one, and each line of the log is there, cell by cell. */
async function expectFrame(shown: Shown, { narrowPictures = false } = {}): Promise<void> {
  const lines = Object.values(awkwardText)
    .map((text) => portableText(cleanLine(text)))
    .filter((line) => !narrowPictures || !picture.test(line));
  await vi.waitFor(
    async () => {
      const cells = await shown.cells();
      const [header = '', ...others] = cells.map((row) => row.join('').trimEnd());
      expect(header).toMatch(/^ quarterdeck .* \d\d:\d\d$/);
      expect(others.at(rows - 2)).toMatch(/q quit$/);
      for (const row of cells.slice(1, rows - 1)) expect(edges.map((column) => row[column]).join(''), row.join('')).toMatch(edgesOf);
      const logged = cells.slice(-lines.length * 2).map((row) => row.slice(left, columns).join(''));
      for (const line of lines)
        expect(
          logged.filter((row) => row.includes(` ${line} `)),
          line,
        ).toHaveLength(1);
    },
    { timeout: 40_000, interval: 100 },
  );
}

describe('text that terminals disagree about leaves the frame where it is', () => {
  test('in tmux; Ctrl-L repairs what another program wrote', async () => {
    const shown = await inTmux(program);
    await expectFrame(shown);
    await shown.spoil?.('\x1b[5;1Hwritten by another program\r\n\n\n\x1b[1;1Hgone');
    const seen = async () => (await shown.cells()).map((row) => row.join('')).join('\n');
    await vi.waitFor(async () => expect(await seen()).toContain('written by another program'));
    await shown.press('C-l');
    await vi.waitFor(async () => expect(await seen()).not.toContain('written by another program'));
    await expectFrame(shown);
    await expectEdges(shown);
  });

  test('in GNU screen', async () => {
    // Otherwise it goes on by itself, with the console in it, when its terminal is gone.
    const settings = join(folder, 'screenrc');
    await writeFile(settings, 'autodetach off\n');
    const shown = await inTmux(['screen', '-U', '-c', settings, ...program]);
    await expectFrame(shown);
    await expectEdges(shown);
  });

  test('in a terminal that draws pictures in one column', async () => {
    const shown = await inEmulator();
    await expectFrame(shown, { narrowPictures: true });
    await expectEdges(shown);
  });
});
