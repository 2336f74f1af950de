import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { misfits } from '../../test/doubles/console/harness.tsx';
import { findFlow, openOnPractice } from '../../test/doubles/console/practice-harness.ts';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import { tracesBelow } from '../../test/doubles/secret-traces.ts';
import { inspectConfig } from '../config-files/wireguard/inspect-config.ts';

const server = 'tunnel-server-ui';
const narrow = { columns: 80, rows: 24 };
const wide = { columns: 120, rows: 36 };
type Size = typeof narrow;

let fixture: PracticeFixture;
// The tests draw many screens each, possibly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
beforeAll(async () => {
  fixture = await PracticeFixture.open();
  await fixture.run('deploy', server, { options: { set: ['WG_HOST=vpn.example.net'] } });
  await vi.waitUntil(() => ['running', 'healthy'].includes(fixture.component(server)?.serviceState ?? ''), { timeout: 60_000 });
  // Loads all modules, so that no test of the screen waits for that.
  await devices();
}, 120_000);
afterAll(() => fixture.close());

const open = (size: Size) => openOnPractice(fixture, { size, component: server, patienceMs: 30_000 });

/** Returns lines like `phone on`, as the server lists them. */
async function devices(): Promise<string[]> {
  const { data } = await fixture.run('clients-list', server, {}, { operator: new OperatorDouble('unattended') });
  return (data as { clients: { name: string; enabled: boolean }[] }).clients.map(
    ({ name, enabled }) => `${name} ${enabled ? 'on' : 'off'}`,
  );
}
const letIn = (name: string) => fixture.run('clients-add', server, { words: [name] });

test.each([
  { ...narrow, is: 'with the keys for its QR code' },
  { ...wide, is: 'with the keys for its QR code' },
  { columns: 120, rows: 60, is: 'with a code for a camera' },
])('a device is let in at $columns x $rows: its keys are seen once, $is', async ({ columns, rows }) => {
  const size = { columns, rows };
  const screen = await open(size);
  const name = `phone-${columns}-${rows}`;
  await findFlow(screen, 'add a device to the tunnel', 'Add a device to the tunnel');
  await screen.sees('Device name', 'Sends POST /api/wireguard/client', `quarterdeck clients add ${server} --practice`);
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.type('no/name');
  await screen.press('enter');
  await screen.sees('Enter 1 to 40 letters, digits, spaces or . _ @ -');
  await screen.press('ctrl+u');
  await screen.type(name);
  await screen.press('enter');
  await screen.sees(`Configuration of ${name}`, 'PresharedKey = ', 'Endpoint = vpn.example.net:51820');
  expect(misfits(screen.frame(), size)).toEqual([]);
  const frame = screen.frame();
  const shown = [...frame.matchAll(/(\[(?:Interface|Peer)\]|\w+ = [^\s,]+(?:, [^\s,]+)*)/g)].map(([, line]) => line).join('\n');
  expect(inspectConfig(shown).problems.filter(({ level }) => level === 'error')).toEqual([]);
  const keys = [...frame.matchAll(/(?:Private|Preshared)Key = (\S{44})/g)].map(([, key]) => key ?? '');
  expect(keys).toHaveLength(2);
  // Scrolls down to the outcome.
  await screen.press('pagedown', 'pagedown', 'pagedown');
  if (rows >= 60) await screen.sees('▀');
  else {
    await screen.sees('f shows its QR code on the whole screen, W saves it to a file.');
    await screen.press('f');
    await screen.sees(rows >= 36 ? /[▀▄]{3}/ : /The QR code needs \d+ x \d+ characters, but this terminal has 80 x 24/);
    await screen.press('esc');
    await screen.sees('f shows its QR code on the whole screen');
  }
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('enter', 'esc');
  await screen.misses(...keys);
  expect(await devices()).toContain(`${name} on`);
  expect(await tracesBelow([fixture.home, fixture.access.folder], keys)).toEqual([]);
});

test.each([narrow, wide])('all are listed at $columns x $rows, nothing of them cut', async (size) => {
  const name = size.columns === 80 ? 'tablet-of-grandparents' : 'tablet-of-the-grandparents-in-the-garden';
  await letIn(name);
  const screen = await open(size);
  await findFlow(screen, 'list devices tunnel', "List the tunnel's devices");
  await screen.sees('LAST SEEN', 'RECEIVED', name, 'enabled', /10\.8\.0\.\d+/, 'never', `quarterdeck clients list ${server}`);
  expect(misfits(screen.frame(), size)).toEqual([]);
});

test('a configuration is shown once more, for who lost it, and goes with the screen', async () => {
  await letIn('reader');
  const at = (await devices()).indexOf('reader on');
  const screen = await open(narrow);
  await findFlow(screen, 'show device config', "Show a device's configuration");
  await screen.sees('Which device?', 'private key', `quarterdeck clients show ${server}`);
  expect(misfits(screen.frame(), narrow)).toEqual([]);
  await screen.press(...Array.from({ length: at }, () => 'down'), 'enter');
  await screen.sees('Configuration of reader', /PrivateKey = \S{44}/);
  const key = /PrivateKey = (\S{44})/.exec(screen.frame())?.[1] ?? '';
  await screen.press('enter', 'esc');
  await screen.misses(key);
  expect(await tracesBelow([fixture.home, fixture.access.folder], [key])).toEqual([]);
});

test('a device is kept out and let in again: only those that can be are offered', async () => {
  await letIn('watch');
  const screen = await open(narrow);
  const others = (await devices()).indexOf('watch on');
  await findFlow(screen, 'disable a tunnel', 'Disable a tunnel device');
  await screen.sees('Which device?', 'watch', 'enabled', '/disable. The keys', `quarterdeck clients disable ${server}`);
  expect(misfits(screen.frame(), narrow)).toEqual([]);
  await screen.press(...Array.from({ length: others }, () => 'down'), 'enter');
  await screen.sees('Disabled watch.');
  expect(await devices()).toContain('watch off');
  await findFlow(screen, 'enable a tunnel', 'Enable a tunnel device');
  await screen.sees('Which device?', /▸ watch +10\.8\.0\.\d+, disabled/, '/enable. The keys');
  expect(screen.frame()).not.toContain('phone-');
  await screen.press('enter');
  await screen.sees('Enabled watch.');
  expect(await devices()).toContain('watch on');
});

test('a device is removed after a yes, and a no leaves it', async () => {
  await letIn('lost-phone');
  const at = (await devices()).indexOf('lost-phone on');
  const screen = await open(narrow);
  const start = async () => {
    await findFlow(screen, 'remove device tunnel', 'Remove a device from the tunnel');
    await screen.sees('Which device?', 'after a confirmation');
    await screen.press(...Array.from({ length: at }, () => 'down'), 'enter');
    await screen.sees(
      'Remove device lost-phone',
      'DELETE /api/wireguard/client/',
      'The keys of lost-phone are deleted',
      /The address 10\.8\.0\.\d+ may be reused for another device/,
    );
    expect(misfits(screen.frame(), narrow)).toEqual([]);
  };
  await start();
  await screen.press('n');
  await screen.sees('Cancelled, because it was not confirmed: Remove device lost-phone');
  expect(await devices()).toContain('lost-phone on');
  await start();
  await screen.press('y');
  await screen.sees('Removed device lost-phone.');
  expect((await devices()).join()).not.toContain('lost-phone');
});

test('Esc at a question says that the devices are as before, and they are', async () => {
  await letIn('laptop');
  const before = await devices();
  const screen = await open(narrow);
  for (const [words, title, asks, says] of [
    ['add a device to the tunnel', 'Add a device to the tunnel', 'Device name', 'No device was added.'],
    ['show device config', "Show a device's configuration", 'Which device?', 'No device was changed.'],
    ['disable a tunnel', 'Disable a tunnel device', 'Which device?', 'No device was changed.'],
    ['remove device tunnel', 'Remove a device from the tunnel', 'Which device?', 'No device was removed.'],
  ] as const) {
    await findFlow(screen, words, title);
    await screen.sees(asks);
    await screen.press('esc');
    await screen.sees(says);
    await screen.press('esc');
  }
  expect(await devices()).toEqual(before);
});
