import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { renderRecording } from './screenshot.ts';
import { Terminal, type TerminalOptions } from './terminal.ts';

let terminal: Terminal | undefined;
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
});

const run = (script: string, options: TerminalOptions = {}): Terminal => {
  terminal = Terminal.start(['sh', '-c', script], { columns: 40, rows: 8, ...options });
  return terminal;
};

it('shows what a program writes, and how it ended', async () => {
  const shown = run('printf "one\\ntwo"; exit 7');
  expect(await shown.exit()).toEqual({ code: 7, signal: 0 });
  expect(shown.screen().slice(0, 2)).toEqual(['one', 'two']);
});

it('gives a program a terminal of the size that was asked for', async () => {
  const shown = run('test -t 0 && test -t 1 && echo "tty $TERM $(stty size)"');
  await shown.sees('tty xterm-256color 8 40');
});

it('passes keys, text and pastes on', async () => {
  const shown = run('stty -echo -icanon; echo ready; dd bs=1 count=24 2>/dev/null | od -An -c -w8');
  await shown.sees('ready');
  shown.press('up', 'ctrl+a', 'shift+tab', 'enter', 'f1');
  shown.type('text');
  shown.paste('two\nlines');
  await shown.exit();
  expect(shown.text().replaceAll(/ +/g, ' ')).toContain(' 033 [ A 001 033 [ Z \\n\n 033 O P t e x t t\n w o \\n l i n e s');
});

it('brackets a paste for a program that asked for it', async () => {
  const shown = run('stty -echo -icanon; printf "\\033[?2004hready"; dd bs=1 count=14 2>/dev/null | od -An -c -w14', { columns: 80 });
  await shown.sees('ready');
  expect(shown.modes.bracketedPaste).toBe(true);
  shown.paste('ab');
  await shown.sees('[   2   0   0   ~   a   b 033   [   2   0   1   ~');
});

it('tells a running program of a new size', async () => {
  const shown = run('trap "stty size; exit" WINCH; echo ready; while :; do read -r line; done');
  await shown.sees('ready');
  shown.resize(100, 20);
  await shown.sees('20 100');
  expect(shown.screen()).toHaveLength(20);
});

it('knows colours and styles of each cell', async () => {
  const shown = run(`printf '\\033[31mred\\033[0m \\033[1;38;5;208mbold\\033[0m \\033[48;2;1;2;3mrgb\\033[0m \\033[7minv\\033[0m'`);
  await shown.exit();
  expect(shown.cellsOf('red')[0]).toMatchObject({ text: 'r', foreground: '#cd0000', background: undefined, bold: false });
  expect(shown.cellsOf('bold')[3]).toMatchObject({ text: 'd', foreground: '#ff8700', bold: true });
  expect(shown.cellsOf('rgb')).toHaveLength(3);
  expect(shown.cell(9, 0)).toMatchObject({ background: '#010203', inverse: false });
  expect(shown.cellsOf('inv')[0]).toMatchObject({ inverse: true, foreground: undefined });
});

it('follows screens, cursor, titles and the clipboard', async () => {
  const shown = run(
    `echo before; printf '\\033[?1049h\\033[?25l\\033]2;a title\\007\\033]52;c;aGVsbG8=\\007full'; read -r go; printf '\\033[?25h\\033[?1049l'`,
  );
  await shown.sees('full');
  expect(shown.onAlternateScreen).toBe(true);
  expect(shown.cursor.visible).toBe(false);
  expect(shown.titles).toEqual(['a title']);
  expect(shown.clipboard).toEqual(['hello']);
  expect(shown.text()).not.toContain('before');
  shown.press('enter');
  await shown.exit();
  expect(shown.onAlternateScreen).toBe(false);
  expect(shown.cursor.visible).toBe(true);
  expect(shown.text()).toContain('before');
});

it('waits for what comes and for what goes', async () => {
  const shown = run(`stty -echo; printf loading; read -r go; printf '\\r\\033[Kdone'; read -r go`);
  await shown.sees(/^loading/);
  shown.press('enter');
  await shown.seesNot('loading');
  await shown.sees((seen) => seen.cursor.x === 4 && seen.screen()[0] === 'done');
});

it('fails with the screen when what is waited for does not come', async () => {
  const shown = run('echo something else; read -r go');
  await shown.sees('something');
  await expect(shown.sees('never', 50)).rejects.toThrow(/does not show "never": waited 50 ms\n[\s\S]*\|something else/);
});

it('does not wait for a program that has ended', async () => {
  const shown = run('echo last words; exit 3');
  await expect(shown.sees('never', 60_000)).rejects.toThrow(/the program ended with 3\n[\s\S]*last words/);
});

it('says by which signal a program was ended', async () => {
  const shown = run('echo ready; read -r go');
  await shown.sees('ready');
  shown.kill('SIGTERM');
  expect((await shown.exit()).signal).toBe(15);
});

it('answers what a program asks of its terminal', async () => {
  const shown = run(`stty -echo -icanon; printf 'abc\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c`);
  await shown.sees(/033 +\[ +1 +; +4 +R/);
});

it('writes pictures', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qd-shot-'));
  try {
    const shown = run(`printf '\\033[32m● healthy\\033[0m <&> ╭──╮'`);
    await shown.exit();
    await shown.screenshot(join(folder, 'screen.svg'));
    await shown.screenshot(join(folder, 'screen.png'));
    const svg = await readFile(join(folder, 'screen.svg'), 'utf8');
    expect(svg).toMatch(/<text [^>]*fill="#00cd00"[^>]*>●<\/text>/);
    expect(svg).toContain('>&lt;&amp;&gt;</text>');
    const png = await readFile(join(folder, 'screen.png'));
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    // 40 columns and 8 rows of 9.03 x 17.46 px with a margin, at one and a half times the size.
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([578, 246]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('writes a recording in which a text is seen for as long as it was on the screen', async () => {
  const shown = run('echo always; echo first; read -r go; printf "\\033[2;1Hlater"');
  await shown.sees('first');
  const frames = [{ rows: shown.cells(), ms: 3000 }];
  shown.press('enter');
  await shown.sees('later');
  frames.push({ rows: shown.cells(), ms: 1000 });
  const svg = renderRecording(frames, { title: 'Two screens' });
  const classOf = (text: string) => new RegExp(`<g class="([^"]*)">(?:(?!</?g)[\\s\\S])*>${text}</text>`).exec(svg)?.[1] ?? '';
  const timesOf = (text: string) => new RegExp(`@keyframes ${classOf(text).split(' ').at(-1)}\\{(.*?)\\}\\.r`).exec(svg)?.[1];
  expect(svg).toContain('.a{visibility:hidden;animation:4000ms step-end infinite}');
  expect(classOf('always')).toBe('');
  expect(timesOf('first')).toBe('0%{visibility:visible}75%{visibility:hidden}');
  expect(timesOf('later')).toBe('0%{visibility:hidden}75%{visibility:visible}');
  // Without motion, the first screen stays.
  expect([classOf('first').includes('first'), classOf('later').includes('first')]).toEqual([true, false]);
});
