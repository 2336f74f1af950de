import { expect, test } from 'vitest';
import { openHarness } from '../../test/doubles/console/harness.tsx';
import { themeFor } from './theme.ts';

// This file runs in a process with NO_COLOR set, which also decides for the libraries below.

test('NO_COLOR: no screen has a single colour sequence', async () => {
  expect(process.env.NO_COLOR).toBe('1');
  const screen = await openHarness({
    theme: themeFor({ ...process.env, TERM: 'xterm-256color', COLORTERM: 'truecolor', LANG: 'C.UTF-8' }),
    flows: {
      remove: async (operator, _input, signal) =>
        String(await operator.confirm({ id: 'remove', title: 'Remove', consequences: ['all'] }, signal)),
    },
  });
  screen.log('nas/password-vault/password-vault', ['\x1b[31mred\x1b[0m']);
  for (const keys of [[], ['2'], ['3'], ['4', '/', 'r'], ['esc'], ['i'], ['?'], ['esc'], [':', 's'], ['esc'], ['x']]) {
    await screen.press(...keys);
    expect(screen.raw()).not.toContain('\x1b');
  }
  await screen.sees('y yes');
});

test('without colour the focused pane, the chosen tab and the selected row are still told apart', async () => {
  const screen = await openHarness({ theme: themeFor({ ...process.env, LANG: 'C.UTF-8', TERM: 'xterm' }) });
  await screen.sees('┏ Components', '[Overview]', '▸▲ password-vault');
  await screen.press('4');
  await screen.sees('┏ Logs', '╭ Components');
});
