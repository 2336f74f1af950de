import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Terminal, type TerminalOptions } from './terminal.ts';

const root = join(import.meta.dirname, '../..');
const startLimitMs = 30_000;

let terminal: Terminal | undefined;
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
});

async function start(options: TerminalOptions = {}, ...words: string[]): Promise<Terminal> {
  terminal = Terminal.start([process.execPath, '--import', 'tsx', join(root, 'test/pty/console-fixture.tsx'), ...words], {
    cwd: root,
    ...options,
    env: { NODE_ENV: 'production', LANG: 'C.UTF-8', ...options.env },
  });
  return terminal;
}

async function startConsole(options: TerminalOptions = {}): Promise<Terminal> {
  const shown = await start(options);
  await shown.sees('password-vault', startLimitMs);
  return shown;
}

function expectRestored(shown: Terminal) {
  expect(shown.onAlternateScreen).toBe(false);
  expect(shown.cursor.visible).toBe(true);
  expect(shown.modes).toEqual({ bracketedPaste: false, mouse: false, applicationCursor: false, wrap: true });
}

describe('the console leaves the terminal as it found it', () => {
  test('on its own screen while it runs: alternate screen, no cursor, pastes in brackets', async () => {
    const shown = await startConsole();
    expect(shown.onAlternateScreen).toBe(true);
    expect(shown.cursor.visible).toBe(false);
    await shown.sees(({ modes }) => modes.bracketedPaste);
    expect(shown.modes.wrap).toBe(false);
  });

  test('after q', async () => {
    const shown = await startConsole();
    shown.press('q');
    await shown.sees('left with 0');
    expect((await shown.exit()).code).toBe(0);
    expectRestored(shown);
    expect(shown.scrollback().filter((line) => line.trim() !== '')).toEqual(['left with 0']);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ] as const)('after %s', async (signal, code) => {
    const shown = await startConsole();
    shown.kill(signal);
    expect((await shown.exit()).code).toBe(code);
    expectRestored(shown);
  });

  test('after a crash, and what went wrong is printed where it can be read', async () => {
    const shown = await startConsole();
    shown.press('D');
    await shown.sees('failed: a bug in the console');
    expect((await shown.exit()).code).toBe(1);
    expectRestored(shown);
  });
});

describe('the console lends its terminal', () => {
  test('to a program inside and comes back to where it was', async () => {
    const shown = await startConsole();
    shown.press('j');
    await shown.sees(/▸▲ sso-portal/);
    shown.press('e');
    await shown.sees('inside, cooked, 120 columns');
    expectRestored(shown);
    shown.type('q');
    await shown.sees('The shell has ended');
    await shown.sees(/▸▲ sso-portal/);
    expect(shown.onAlternateScreen).toBe(true);
    expect(shown.modes.wrap).toBe(false);
    shown.press('k');
    await shown.sees(/▸▲ password-vault/);
    // A second time, and resized while it was away.
    shown.press('e');
    await shown.sees('$ ');
    shown.resize(90, 26);
    shown.type('x');
    await shown.sees(/ 1 Components .* 4 Logs/);
    shown.press('q');
    await shown.sees('left with 0');
    expectRestored(shown);
  });

  test('and comes back when the program fails', async () => {
    const shown = await startConsole();
    shown.press('r');
    await shown.sees('the program could not be');
    expect(shown.onAlternateScreen).toBe(true);
    shown.press('enter', 'q');
    await shown.sees('left with 0');
  });
});

describe('Ctrl-Z', () => {
  const argv = [process.execPath, '--import', 'tsx', join(root, 'test/pty/console-fixture.tsx')];
  const command = argv.map((word) => `'${word}'`).join(' ');

  test.each([
    ['by the terminal itself', argv],
    ['by a shell without job control', ['/bin/sh', '-c', `${command}; true`]],
    ['in a session of its own', ['/bin/sh', '-c', `setsid -w -c ${command}; true`]],
  ] as const)('started %s: it stays, and says why', async (_, words) => {
    terminal = Terminal.start(words, { cwd: root, env: { NODE_ENV: 'production', LANG: 'C.UTF-8' } });
    const shown = terminal;
    await shown.sees('password-vault', startLimitMs);
    shown.press('ctrl+z');
    await shown.sees('Cannot suspend: no shell in this session could resume the console.');
    shown.press('j');
    await shown.sees(/▸▲ sso-portal/);
    shown.press('q');
    await shown.sees('left with 0');
  });

  test.each([
    ['it', command],
    ['it and the script that waits for it', `/bin/sh -c "${command}; true"`],
  ])('in a shell %s stops, the terminal is as it was, and fg draws everything again', async (_, line) => {
    terminal = Terminal.start(['bash', '--norc', '-i'], { cwd: root, env: { NODE_ENV: 'production', LANG: 'C.UTF-8', PS1: 'shell> ' } });
    const shown = terminal;
    await shown.sees('shell>');
    shown.type(`${line}\r`);
    await shown.sees(/▸▲ password-vault/, startLimitMs);
    shown.press('ctrl+z');
    await shown.sees('Stopped');
    expect(shown.onAlternateScreen).toBe(false);
    expect(shown.modes.wrap).toBe(true);
    shown.type('clear; fg\r');
    await shown.sees(/▸▲ password-vault/);
    await shown.sees((screen) => screen.screen()[0]?.startsWith(' quarterdeck') === true);
    expect(shown.onAlternateScreen).toBe(true);
    expect(shown.modes.wrap).toBe(false);
    shown.press('q');
    await shown.sees('left with 0');
    expect(shown.onAlternateScreen).toBe(false);
    expect(shown.modes.wrap).toBe(true);
  });
});

describe('a terminal that cannot show a screen is told what else there is', () => {
  test('TERM=dumb', async () => {
    const shown = await start({ env: { TERM: 'dumb' } });
    await shown.sees('failed: The console requires a terminal, but this terminal (TERM=dumb) cannot display it.', startLimitMs);
    expect(shown.raw).not.toContain('\x1b');
  });

  test('bad keys are refused before anything is drawn', async () => {
    const shown = await start({}, 'q');
    await shown.sees('failed: The key "q" of "stop" is already used by "quit".', startLimitMs);
    expect(shown.raw).not.toContain('\x1b[?1049h');
  });
});

describe('what a real terminal shows', () => {
  test('resized in both directions it never scrolls, tears or wraps', async () => {
    const shown = await startConsole();
    for (const [columns, rows] of [
      [80, 24],
      [200, 60],
      [60, 15],
      [40, 10],
      [120, 36],
    ] as const) {
      shown.resize(columns, rows);
      await shown.sees(columns === 40 ? '40 x 10' : /q quit/);
      await shown.sees((screen) => columns === 40 || screen.screen()[0]?.includes('quarterdeck') === true);
      await shown.sees((screen) => columns === 40 || screen.screen()[rows - 1]?.includes('q quit') === true);
    }
    expect(shown.titles).toEqual([]);
  });

  test('pasted commands are not run', async () => {
    const shown = await startConsole();
    await shown.sees(({ modes }) => modes.bracketedPaste);
    shown.paste('q\nxq');
    await shown.sees('Pasted text is ignored here.');
  });

  test('TERM=linux gets ASCII and 16 colours, NO_COLOR none', async () => {
    const linux = await startConsole({ env: { TERM: 'linux' } });
    await linux.sees('+ Components');
    expect(linux.text()).toMatch(/^[\n\x20-\x7e]*$/);
    expect(linux.raw).not.toMatch(/[34]8;[25];/);
    await linux.close();
    const plain = await startConsole({ env: { NO_COLOR: '1' } });
    expect(plain.raw.replace(/\x1b\[\?\d+[hl]/g, '')).not.toMatch(/\x1b\[[\d;]*m/);
  });

  test('a screen reader gets sentences and no frames', async () => {
    const shown = await start({ env: { INK_SCREEN_READER: 'true' } });
    await shown.sees('Component 1 of 20: password-vault, sign-ups open.', startLimitMs);
    expect(shown.onAlternateScreen).toBe(false);
    expect(shown.text()).not.toMatch(/[╭─│┏━┃]/);
    shown.press('j');
    await shown.sees('Component 2 of 20: sso-portal, unhealthy.');
    shown.press('enter');
    await shown.sees('The health check fails: connection refused (7 times in a row)');
    shown.press('q');
    await shown.sees('left with 0');
  });
});
