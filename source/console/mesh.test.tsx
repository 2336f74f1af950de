import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FlowBody } from '../../test/doubles/console/fake-app.ts';
import { misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';

const id = 'mesh-control-server';
let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
  // Opens the secret storage and loads all modules, so that no test of the screen waits for that. The dry run creates no key.
  await fixture.run('mesh-access', id, {}, { dryRun: true });
  await expect(fixture.run('key', id, {}, { operator: new OperatorDouble('unattended') })).rejects.toMatchObject({
    code: 'refused.apiKey',
  });
});
afterAll(() => fixture.close());

/** Runs the real procedure on the control server of the practice stack, with the console in front. */
const played =
  (flow: string): FlowBody =>
  async (operator) =>
    (await fixture.run(flow, id, {}, { operator: operator as OperatorDouble })).message;

async function open(size: { columns: number; rows: number }) {
  const flows = { key: played('key'), 'mesh-node': played('mesh-node') };
  return openHarness({ size, flows, start: { selected: `nas/${id}/${id}` } });
}

test.each([
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
])('K: the console is let in where it was not yet, one form, and the line with the key, once, at $columns x $rows (R61)', async (size) => {
  const screen = await open(size);
  await screen.sees('K key', 'A nodes');
  await screen.press('K');
  if (size.columns === 80) {
    await screen.sees('This console has no API key for mesh-control-server yet', 'headscale apikeys create', 'Create an API key');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('enter');
  }
  await screen.sees('User', 'Valid for', '30d', 'Ctrl-S continue', `quarterdeck key ${id}`);
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('ctrl+s');
  await screen.sees('Choose one.');
  await screen.press('right', 'right', 'right', 'ctrl+s');
  await screen.sees('tailscale up --login-server https://mesh.home.example.org', 'hskey-auth-', 'for guest is valid until', 'y copy');
  expect(misfits(screen.frame(), size)).toEqual([]);
  // A camera cannot read half a code: either all of its rows are shown, or the keys for it.
  const codeRows = screen
    .frame()
    .split('\n')
    .filter((row) => /[█▀▄]{3}/.test(row)).length;
  if (size.rows === 24) {
    await screen.sees('f shows its QR code on the whole screen, W saves it to a file.', 'f whole screen', 'W save the QR code');
    expect(codeRows).toBe(0);
  } else expect(codeRows).toBeGreaterThanOrEqual(19);
  await screen.press('enter');
  await screen.misses('hskey-auth-');
});

test('Esc in the form says what remains', async () => {
  const screen = await open({ columns: 80, rows: 24 });
  await screen.press('K');
  await screen.sees('User');
  await screen.press('esc');
  await screen.sees('No key was created.');
});

test('A: the nodes in columns, what one of them needs, back to the list, and away with what was done', async () => {
  const size = { columns: 80, rows: 24 };
  const screen = await open(size);
  await screen.press('A');
  await screen.sees(
    'Node (routes waiting for approval: engine-room)',
    /engine-room +offline 3d +100\.64\.0\.4 +tag:media +2 to approve/,
    'Cancel to exit without changes.',
  );
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('down', 'down', 'down', 'enter');
  await screen.sees('engine-room: offline 3d', 'Approve routes', 'removes the node');
  await screen.press('esc');
  await screen.sees('routes waiting for approval');
  await screen.press('enter');
  await screen.sees('Approve routes');
  await screen.press('enter');
  await screen.sees('[x] Exit node: all other traffic', 'Sends POST', '/api/v1/node/4/approve_routes.');
  await screen.press('enter');
  await screen.sees('Approved routes of engine-room: exit node: ok', 'Node', /▸ engine-room .* 2 routes/);
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('Approved routes of engine-room: exit node.');
});

test('what cuts a node off is confirmed, and a no leads back to the list', async () => {
  const screen = await open({ columns: 120, rows: 36 });
  await screen.press('A');
  await screen.sees('guest-phone');
  await screen.press('down', 'down', 'down', 'down', 'down', 'enter');
  await screen.sees('guest-phone: online');
  await screen.press('up', 'down', 'down', 'down', 'down', 'down', 'down', 'enter');
  await screen.sees('Delete guest-phone', 'DELETE /api/v1/node/6', 'leaves the mesh immediately', 'y yes');
  await screen.press('n');
  await screen.sees('Cancelled, because it was not confirmed', 'Node');
  await screen.press('esc');
  await screen.sees('No node was changed.');
});
