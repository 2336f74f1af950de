import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeInPicture, seenCode } from '../doubles/seen-code.ts';
import { environmentIn, Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');
const startLimitMs = 30_000;
const id = 'mesh-control-server';

let home: string;
let terminal: Terminal | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-code-'));
});
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
  await rm(home, { recursive: true, force: true });
});

function start(words: readonly string[], size: { columns: number; rows: number }, env: Readonly<Record<string, string>>): Terminal {
  terminal = Terminal.start([join(root, 'bin/quarterdeck'), ...words], {
    cwd: home,
    ...size,
    env: {
      ...environmentIn(home),
      ...env,
    },
  });
  return terminal;
}

/** The console with a new pre-auth key on it. */
async function withKey(size: { columns: number; rows: number }, env: Readonly<Record<string, string>> = {}): Promise<Terminal> {
  const shown = start(['practice'], size, env);
  await shown.sees(/sign-ups open/, startLimitMs);
  shown.press('/');
  shown.type(id);
  await shown.sees(new RegExp(`[▸>]\\S ${id}`));
  shown.press('enter', 'K');
  await shown.sees('Create an API key', startLimitMs);
  shown.press('enter');
  await shown.sees('User', startLimitMs);
  shown.press('right', 'ctrl+s');
  await shown.sees('copies it', startLimitMs);
  return shown;
}

/** The key in the box, which wraps it. */
function keyOf(shown: Terminal): string {
  const joined = shown
    .screen()
    .map((line) => /[│|┃#] {2}(\S.*?) *[│|┃#]/.exec(line)?.[1] ?? ' ')
    .join('');
  const [, key = ''] = /(hskey-auth-[\w-]{77})/.exec(joined) ?? [];
  return key;
}

const codeOf = (shown: Terminal, style: { ascii: boolean; drawnIsDark: boolean }) =>
  seenCode(
    shown
      .screen()
      .slice(0, -1)
      .map((line) => line.padEnd(shown.size.columns)),
    style,
  );

describe('the QR code of a pre-auth key', () => {
  test.each<{ colours: string; env: Record<string, string>; drawnIsDark: boolean }>([
    { colours: 'in colour', env: {}, drawnIsDark: true },
    { colours: 'in colour on a light background', env: { COLORFGBG: '0;15' }, drawnIsDark: true },
    { colours: 'without colour', env: { NO_COLOR: '1' }, drawnIsDark: false },
    { colours: 'without colour on a light background', env: { NO_COLOR: '1', COLORFGBG: '0;15' }, drawnIsDark: true },
  ])('has the whole screen at 80x24, and can be read $colours', async ({ env, drawnIsDark }) => {
    const shown = await withKey({ columns: 80, rows: 24 }, env);
    const key = keyOf(shown);
    expect(key).not.toBe('');
    await shown.sees('f shows its QR code on the whole screen, W saves it to a file.');
    expect(shown.text()).not.toMatch(/[▀▄]{3}/);
    shown.press('f');
    await shown.sees(/Esc back .*masked again in \d+ s/);
    expect(codeOf(shown, { ascii: false, drawnIsDark })).toBe(key);
    const drawn = shown
      .cells()
      .flat()
      .filter(({ text }) => /[▀▄█]/.test(text));
    if ('NO_COLOR' in env) {
      // Where the background was guessed wrong, a key puts it right.
      shown.press('i');
      await shown.sees((screen) => codeRead(screen, { ascii: false, drawnIsDark: !drawnIsDark }) === key);
    } else expect(new Set(drawn.map(({ foreground, background }) => `${foreground} on ${background}`)).size).toBe(1);
    shown.press('esc');
    await shown.sees('copies it');
    expect(keyOf(shown)).toBe(key);
  });

  test('is saved readable only by its owner where even the whole screen is too small', async () => {
    const shown = await withKey({ columns: 60, rows: 20 });
    const key = keyOf(shown);
    shown.press('f');
    await shown.sees('The QR code needs 41 x 22 characters');
    await shown.sees(/press W to\s+save the code to a file/);
    shown.resize(60, 22);
    await shown.sees((screen) => codeRead(screen, { ascii: false, drawnIsDark: true }) === key);
    shown.resize(60, 20);
    await shown.sees('The QR code needs 41 x 22 characters');
    shown.press('W');
    await shown.sees('File for the QR code');
    expect(shown.text()).not.toContain('quarterdeck save-code');
    shown.press('enter');
    await shown.sees('(mode 0600)');
    const [file = ''] = (await readdir(home)).filter((name) => name.endsWith('.svg'));
    expect((await stat(join(home, file))).mode & 0o777).toBe(0o600);
    expect(codeInPicture(await readFile(join(home, file), 'utf8'))).toBe(key);
  });

  test('is not read out to a screen reader, which can save it', async () => {
    const shown = start(['practice'], { columns: 80, rows: 24 }, { INK_SCREEN_READER: 'true' });
    await shown.sees(/sign-ups open/, startLimitMs);
    shown.press('/');
    shown.type(id);
    await shown.sees(`1 of 1: ${id}`);
    shown.press('enter', 'K');
    await shown.sees('Create an API key', startLimitMs);
    shown.press('enter');
    await shown.sees('User', startLimitMs);
    shown.press('right', 'ctrl+s');
    await shown.sees('W saves its QR code to a file.', startLimitMs);
    expect(shown.text()).not.toContain('whole screen');
    shown.press('f', 'W');
    await shown.sees('File for the QR code');
    shown.press('enter');
    await shown.sees(() => shown.text().replace(/\s+/g, ' ').includes('only you can read (mode 0600)'));
    expect((await readdir(home)).filter((name) => name.endsWith('.svg'))).toHaveLength(1);
    expect(shown.raw).not.toMatch(/hskey-auth-|[▀▄]/);
  });

  test('of the command is printed where it fits, and otherwise offered as a file', async () => {
    const answered = async (shown: Terminal) => {
      await shown.sees('Create an API key', startLimitMs);
      shown.type('1\r');
      await shown.sees(/User/, startLimitMs);
      shown.type('1\r');
      for (const question of [
        'Tags (tags) [',
        'Valid for (expiration) [',
        'Reusable (reusable) [',
        'Ephemeral nodes (ephemeral) [',
        'Store the key (keep) [',
      ]) {
        await shown.sees(question, startLimitMs);
        shown.press('enter');
      }
    };
    const wide = start(['key', id, '--practice'], { columns: 80, rows: 24 }, {});
    await answered(wide);
    await wide.sees('is valid until', startLimitMs);
    expect((await wide.exit(startLimitMs)).code).toBe(0);
    const key = /hskey-auth-[\w-]{77}/.exec(wide.scrollback().join(''))?.[0] ?? '';
    const rows = wide.scrollback().filter((line) => /[▀▄█]{3}/.test(line));
    expect(
      seenCode(
        ['', ...rows, ''].map((line) => line.padEnd(80)),
        { ascii: false, drawnIsDark: true },
      ),
    ).toBe(key);
    await wide.close();

    const low = start(['key', id, '--practice'], { columns: 60, rows: 20 }, {});
    await answered(low);
    await low.sees('The QR code needs 41 x 22 characters, but this terminal has', startLimitMs);
    await low.sees('File for the QR code', startLimitMs);
    low.type('code.svg\r');
    await low.sees('(mode 0600)', startLimitMs);
    expect((await low.exit(startLimitMs)).code).toBe(0);
    const saved = /hskey-auth-[\w-]{77}/.exec(low.scrollback().join(''))?.[0] ?? '';
    expect(saved).not.toBe('');
    expect((await stat(join(home, 'code.svg'))).mode & 0o777).toBe(0o600);
    expect(codeInPicture(await readFile(join(home, 'code.svg'), 'utf8'))).toBe(saved);
  });
});

/** For waiting: undefined while there is no code yet. */
function codeRead(shown: Terminal, style: { ascii: boolean; drawnIsDark: boolean }): string | undefined {
  try {
    return codeOf(shown, style);
  } catch {
    return undefined;
  }
}
