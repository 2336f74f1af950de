import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { FlowBody } from '../../test/doubles/console/fake-app.ts';
import { type Harness, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { type Item, meshId as id, MeshFixture } from '../../test/doubles/mesh-fixture.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';

const size = { columns: 80, rows: 24 };
let fixture: MeshFixture;
beforeAll(async () => {
  fixture = await MeshFixture.open();
  await fixture.run('mesh-access');
  for (const flow of ['mesh-register', 'mesh-user', 'mesh-api-key', 'mesh-expire-key', 'mesh-edit-policy'])
    await fixture.run(flow, [], { kind: 'unattended' }).catch(() => undefined);
});
afterAll(() => fixture.close());

/** Runs the real procedure on the control server of the practice stack, with the console in front. */
const played =
  (flow: string): FlowBody =>
  async (operator, { words, options }, signal) =>
    (await fixture.practice.run(flow, id, { words, options }, { operator: operator as OperatorDouble, signal })).message;

async function open(): Promise<Harness> {
  const names = ['mesh-node', 'mesh-register', 'mesh-user', 'mesh-api-key', 'mesh-expire-key', 'mesh-edit-policy'];
  const flows = Object.fromEntries(names.map((name) => [name, played(name)]));
  return openHarness({ size, flows, start: { selected: `nas/${id}/${id}` } });
}

/** Starts the flow from the palette, like an operator who does not know its key. */
async function start(screen: Harness, title: string): Promise<void> {
  await screen.press(':');
  await screen.type(title);
  await screen.sees(title);
  await screen.press('enter');
}

const nodes = async () => (await fixture.aside('GET', 'node'))['nodes'] as Item[];
const nodeCalled = async (name: string) => (await nodes()).find(({ givenName }) => givenName === name);
const users = async () => ((await fixture.aside('GET', 'user'))['users'] as Item[]).map(({ name }) => name);

test('a node that waits is let in by what its client shows; a typing mistake is told in its place', async () => {
  const key = `hskey-authreq-${'q'.repeat(24)}`;
  await fixture.aside('POST', 'debug/node', { user: 'guest', key, name: 'spyglass', routes: [] });
  const screen = await open();
  await start(screen, 'Register a waiting node');
  await screen.sees('Registration key shown by the client', 'tailscale up --login-server');
  await screen.type('nonsense');
  await screen.press('enter');
  await screen.sees('No registration key found');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('ctrl+u');
  await screen.type(`https://mesh.home.example.org/register/${key}`);
  await screen.press('enter');
  await screen.sees('User', 'captain', 'guest');
  await screen.press('down', 'down', 'enter');
  await screen.sees(/spyglass joined the mesh with address 100\.64\.0\.\d+ and belongs to guest\./);
  expect(misfits(screen.frame(), size)).toEqual([]);
  expect(await nodeCalled('spyglass')).toBeDefined();
});

test('one after the other: tagged, given a day to log in again, expired after a yes, deleted', async () => {
  const screen = await open();
  await screen.press('A');
  await screen.sees('Node', 'spyglass');
  const toList = () => screen.sees('Node');
  await screen.press('end');
  await screen.press('enter');
  await screen.sees('spyglass: ', 'Set tags', 'Expire now', 'removes the node until it joins again');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('enter');
  await screen.sees('Tags of spyglass', 'Tags of the policy');
  await screen.type('tag:pirate');
  await screen.press('enter');
  await screen.sees('The policy does not list tag:pirate under tagOwners.');
  await screen.press('ctrl+u');
  await screen.type('tag:media');
  await screen.press('enter');
  await screen.sees('will belong to its tags', 'y yes');
  await screen.press('y');
  await screen.sees('Set the tags of spyglass: tag:media');
  await toList();
  expect(await nodeCalled('spyglass')).toMatchObject({ tags: ['tag:media'] });
  await screen.press('enter');
  await screen.sees('spyglass: ', 'Expire now');
  await screen.press('down', 'enter');
  await screen.sees('Login expiry of spyglass', '180d');
  await screen.press('enter');
  await screen.sees('spyglass stays logged in until');
  await toList();
  await screen.press('enter');
  await screen.sees('spyglass: ', 'Expire now', 'disconnects the node until it logs in again');
  const toExpire = async () => {
    // The last but one, whatever options precede it in this release.
    await screen.press('end', 'up', 'enter');
    await screen.sees('Expire spyglass', /POST \/api\/v1\/node\/\d+\/expire/, 'is disconnected immediately', 'y yes');
    expect(misfits(screen.frame(), size)).toEqual([]);
  };
  await toExpire();
  await screen.press('n');
  await toList();
  expect(Date.parse(String((await nodeCalled('spyglass'))?.['expiry']))).toBeGreaterThan(Date.now());
  await screen.press('enter');
  await screen.sees('spyglass: ', 'Expire now');
  await toExpire();
  await screen.press('y');
  await screen.sees('Expired spyglass. The node must log in again');
  await toList();
  expect(Date.parse(String((await nodeCalled('spyglass'))?.['expiry']))).toBeLessThanOrEqual(Date.now());
  await screen.press('enter');
  await screen.sees('spyglass: ', 'removes the node');
  expect(screen.frame()).not.toContain('Expire now');
  await screen.press('end', 'enter');
  await screen.sees('Delete spyglass', 'leaves the mesh immediately', 'DELETE /api/v1/node/');
  await screen.press('y');
  await screen.sees('Deleted spyglass from the mesh');
  await toList();
  await screen.press('esc');
  await screen.sees('Applied 4 changes to the mesh.');
  expect(await nodeCalled('spyglass')).toBeUndefined();
});

test('a user comes, a name that is taken is told while it is typed, and goes after a yes', async () => {
  const screen = await open();
  await start(screen, 'Create, rename or delete a mesh user');
  await screen.sees('Action', 'Create a user', 'Delete a user');
  await screen.press('enter');
  await screen.sees('User name');
  await screen.type('mate');
  await screen.press('enter');
  await screen.sees('User mate already exists.');
  await screen.press('ctrl+u');
  await screen.type('bosun');
  await screen.press('enter');
  await screen.sees('Created user bosun. To create a key for the nodes');
  expect(misfits(screen.frame(), size)).toEqual([]);
  expect(await users()).toContain('bosun');
  await start(screen, 'Create, rename or delete a mesh user');
  await screen.sees('Action');
  await screen.press('end', 'enter');
  await screen.sees('User', 'bosun');
  await screen.press('end', 'enter');
  await screen.sees('Delete the user bosun', 'can no longer be registered');
  await screen.press('y');
  await screen.sees('Deleted user bosun.');
  expect(await users()).not.toContain('bosun');
});

test('an API key is shown once; it is expired from the list, and the one of this console is not in it', async () => {
  const screen = await open();
  await start(screen, 'Create or expire an API key');
  await screen.sees('Create an API key', 'Expire an API key');
  await screen.press('enter');
  await screen.sees('API key (shown only once)', /hskey-api-/, 'y copy');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('enter');
  await screen.misses(/hskey-api-[\w-]{30}/);
  await start(screen, 'Create or expire an API key');
  await screen.sees('Create an API key');
  await screen.press('down', 'enter');
  await screen.sees('To replace it: quarterdeck mesh', 'access mesh-control-server --renew');
  await screen.press('end', 'enter');
  await screen.sees('Expire the API key', /lose access/);
  await screen.press('y');
  await screen.sees(/Expired the API key hskey-api-/);
});

test('a pre-auth key is expired after a yes, and Esc leaves it', async () => {
  await fixture.run('key', [], { typed: { key: [{ user: 'guest' }] } });
  const screen = await open();
  await start(screen, 'Expire a pre-auth key');
  await screen.sees('Key', 'guest');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('No key was expired.');
  await start(screen, 'Expire a pre-auth key');
  await screen.sees('Key');
  await screen.press('end', 'enter');
  await screen.sees('Nodes can no longer join with the key');
  await screen.press('y');
  await screen.sees(/Expired pre-auth key \d+ \(guest\)\./);
});

test('the policy in the editor: the place of a mistake, back to the editor with what was written, the difference, set and read back (R62)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qd-editor-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const editor = join(folder, 'editor');
  // The first run of the editor adds the mistake, the second corrects it.
  await writeFile(
    editor,
    `#!/bin/sh\nif grep -q cinema "$1"; then sed -i 's/tag:cinema:8096/tag:media:8096,8920/' "$1"; else sed -i 's/tag:media:8096/tag:cinema:8096/' "$1"; fi\n`,
  );
  await chmod(editor, 0o755);
  vi.stubEnv('EDITOR', editor);
  vi.stubEnv('VISUAL', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const before = String((await fixture.aside('GET', 'policy'))['policy']);
  const screen = await open();
  await start(screen, 'Edit the mesh policy');
  await screen.sees('Change the mesh policy', /Line 13, column \d+: "tag:cinema" is not defined/, /errors? to fix first/);
  expect(misfits(screen.frame(), size)).toEqual([]);
  expect((await fixture.aside('GET', 'policy'))['policy']).toBe(before);
  await screen.press('e');
  await screen.sees(/tag:media:8096,8920/);
  await screen.misses('to fix first');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('enter');
  await screen.sees('Set the policy and verified it by reading it back (1 line added, 1', 'removed).');
  expect((await fixture.aside('GET', 'policy'))['policy']).toContain('tag:media:8096,8920');
  await fixture.aside('PUT', 'policy', { policy: before });
});
