import { expect, test, vi } from 'vitest';
import { openRig } from './rig/rig.tsx';

// What Ink says where a screen reader is in use.
vi.mock('ink', async (original) => ({ ...(await original<typeof import('ink')>()), useIsScreenReaderEnabled: () => true }));

const vault = 'nas/password-vault/password-vault';

test('logs are sentences: whose they are, whether they stand still, which line is selected, what is known of it', async () => {
  const screen = await openRig({ size: { columns: 100, rows: 60 } });
  await screen.press('4');
  await screen.sees('Log of password-vault.');
  screen.log(vault, ['first', { text: 'level=error msg="disk is full"', stream: 'stderr' }, 'last']);
  await screen.sees('following · 3 lines'.replace('·', '-'), 'stderr, error, 14:02:08: ERROR disk is full', '14:02:09: last');
  await screen.press('k', 'm');
  await screen.sees('paused', 'selected, marked, stderr, error, 14:02:08: ERROR disk is full');
  screen.log(vault, ['later']);
  await screen.sees('paused, 1 line waits');
  await screen.press('V');
  await screen.sees('The whole line.', '2026-11-20 14:02:08.000Z');
  await screen.press('esc', '/');
  await screen.type('disk');
  await screen.press('enter');
  await screen.sees('Filter disk, hides other lines.');
  await screen.press('T');
  await screen.type('never');
  await screen.press('enter');
  await screen.sees('Go to: never', '"never" is no time');
  expect(screen.frame()).not.toMatch(/[│╭┃]/);
});
