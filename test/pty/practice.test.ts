import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { environmentIn, Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');
const startLimitMs = 30_000;

let home: string;
let terminal: Terminal | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-pty-'));
});
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
  await rm(home, { recursive: true, force: true });
});

function start(words: readonly string[], size: { columns: number; rows: number }, env: Readonly<Record<string, string>> = {}): Terminal {
  terminal = Terminal.start([join(root, 'bin/quarterdeck'), ...words], {
    cwd: root,
    ...size,
    env: {
      ...environmentIn(home),
      ...env,
    },
  });
  return terminal;
}

/** What moves and erases: known to mosh, screen and the Linux console alike. Others (`CSI E`, `CSI b`, ...) some of them draw as nothing, and rows run into each other. */
const movesAndErases = 'ABCDGHJKd';
/** Colours, modes, and questions that a terminal may leave unanswered. */
const harmless = 'mhlcnuqpt';

describe('the console on the practice stack', () => {
  test('a window that is closed, which more than one tells it, still leaves nothing behind', async () => {
    const shown = start(['practice'], { columns: 80, rows: 24 });
    await shown.sees('PRACTICE', startLimitMs);
    await shown.sees(/sign-ups open/);
    const folder = join(home, 'own/run');
    expect(await readdir(folder)).not.toEqual([]);
    const closing = setInterval(() => shown.kill('SIGHUP'), 5);
    // Node itself hears nothing any more in its last moments: whether it says 129 or dies of the signal then is all the same.
    await shown.exit(startLimitMs).finally(() => clearInterval(closing));
    expect(await readdir(folder)).toEqual([]);
  });

  test('draws with what every terminal understands, mosh and screen among them', async () => {
    const shown = start(['practice'], { columns: 80, rows: 24 });
    await shown.sees('PRACTICE', startLimitMs);
    await shown.sees(/sign-ups open/);
    shown.press('down', 'down', 'enter');
    await shown.sees('2 Details');
    shown.press('?');
    await shown.sees(/Keys|Help/);
    shown.press('esc', '4');
    await shown.sees(/\d\d:\d\d/);
    shown.resize(100, 30);
    await shown.sees('q quit');
    const finals = new Set([...shown.raw.matchAll(/\x1b\[[\x30-\x3f]*[\x20-\x2f]*([\x40-\x7e])/g)].map(([, final = '']) => final));
    expect([...finals].filter((final) => !movesAndErases.includes(final) && !harmless.includes(final))).toEqual([]);
  });

  test('the chain of media automation stands behind a key, missing stages and all (R55)', async () => {
    const shown = start(['practice'], { columns: 80, rows: 24 });
    await shown.sees(/sign-ups open/, startLimitMs);
    shown.press('X');
    await shown.sees('Media chain: broken');
    await shown.sees('1 Release on an indexer  missing');
    shown.press('G');
    await shown.sees('5 Library scan');
    await shown.sees(/media-server +healthy/);
    shown.press('esc');
    await shown.sees('1 Components');
  });

  test('what is typed right behind the first frame is not lost', async () => {
    const shown = start(['practice'], { columns: 120, rows: 36 });
    await vi.waitFor(() => expect(shown.text()).toContain('password-vault'), { timeout: startLimitMs, interval: 1 });
    shown.press('/');
    shown.type('vaul');
    await shown.sees(/ \/vaul +─╮/);
    await shown.sees(/▸\S password-vault/);
    // Every row of the panes ends at the edge.
    await vi.waitFor(() => {
      for (const row of shown.screen().slice(2, -2)) expect(row).toMatch(/[│╮╯]$/);
    });
  });

  test('starts, is walked through, resized, plays an incident, and leaves nothing behind', async () => {
    const shown = start(['practice'], { columns: 120, rows: 36 });
    await shown.sees('PRACTICE', startLimitMs);
    await shown.sees(/password-vault ☐ +sign-ups open/);
    await shown.sees(/secrets-manager-path ☐ +sealed 0\/3/);
    await shown.sees(/vulnerability-scanner +loading \d+\/30 min/);

    // Down to the vault, whose log is that of a real one.
    shown.press('down', 'down', 'down');
    await shown.sees(/password-vault.*(?:\n.*)*Vaultwarden/);

    shown.resize(80, 24);
    await shown.sees('PRACTICE');
    expect(shown.screen()).toHaveLength(24);
    shown.resize(120, 36);

    shown.press(':');
    shown.type('incident');
    await shown.sees('Simulate an incident');
    shown.press('enter');
    await shown.sees('A program in a restart loop');
    shown.press('enter');
    await shown.sees(/password-vault[ ☐]+restarting \d+x/, 20_000);
    shown.press('esc');

    shown.press('q');
    expect((await shown.exit()).code).toBe(0);
    expect(shown.onAlternateScreen).toBe(false);
    // Its sockets, audit and journal went with it.
    expect(await readdir(join(home, 'own', 'run'))).toEqual([]);
    expect(existsSync(join(home, 'own', 'state', 'audit.jsonl'))).toBe(false);
  });
});

// Where an engine of the machine is found, nobody is offered another one.
describe.skipIf(existsSync('/var/run/docker.sock') || existsSync('/run/podman/podman.sock'))('a machine without an engine', () => {
  test('is offered the practice stack', async () => {
    const shown = start([], { columns: 100, rows: 30 });
    await shown.sees('No container engine was found on this machine.', startLimitMs);
    await shown.sees('Open the practice stack? [Y/n]');
    expect(shown.onAlternateScreen).toBe(false);
    shown.press('enter');
    await shown.sees('PRACTICE', startLimitMs);
    shown.press('q');
    expect((await shown.exit()).code).toBe(0);
    expect(shown.scrollback().join('\n')).toContain('quarterdeck practice');
  });

  test('who came by npm start is told what can be typed there', async () => {
    const shown = start(['status'], { columns: 100, rows: 30 }, { npm_lifecycle_event: 'start' });
    await shown.sees('npm start -- practice', startLimitMs);
    expect((await shown.exit()).code).toBe(3);
  });

  test('who declines gets the console, which says what is missing and what to try', async () => {
    const shown = start([], { columns: 100, rows: 30 });
    await shown.sees('[Y/n]', startLimitMs);
    shown.type('n');
    shown.press('enter');
    await shown.sees('No container engine was found', startLimitMs);
    await shown.sees('quarterdeck practice');
    expect(shown.text()).not.toContain('PRACTICE');
    shown.press('q');
    expect((await shown.exit()).code).toBe(0);
  });
});

test('a component is changed from the palette by keyboard alone, at 80 by 24: form, review, progress, healthy', async () => {
  const shown = start(['practice'], { columns: 80, rows: 24 });
  await shown.sees('PRACTICE', startLimitMs);
  shown.press('/');
  shown.type('media');
  await shown.sees(/▸\S media-server/);
  shown.press('enter');
  shown.press(':');
  shown.type('deploy');
  await shown.sees('Deploy or change a component');
  shown.press('enter');
  await shown.sees('Change media-server', 20_000);
  shown.press('down', 'down', 'down', 'ctrl+u');
  shown.type('Europe/Oslo');
  shown.press('ctrl+s');
  await shown.sees('Change media-server on practice', 20_000);
  await shown.sees('jellyfin is recreated: its environment changes');
  shown.press('enter');
  await shown.sees(/Starting media-server/, 20_000);
  await shown.sees(/Deployed media-server: healthy/, 30_000);
  expect(shown.screen()).toHaveLength(24);
  shown.press('enter');
  await shown.sees(/media-server .* healthy/);
  shown.press('q');
  expect((await shown.exit()).code).toBe(0);
}, 120_000);
