import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Harness, misfits } from '../../test/doubles/console/harness.tsx';
import { findFlow, openOnPractice } from '../../test/doubles/console/practice-harness.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import { tracesBelow } from '../../test/doubles/secret-traces.ts';
import { requiredProgram } from '../../test/required.ts';
import { inspectConfig } from '../config-files/wireguard/inspect-config.ts';
import { makeKeyPair } from '../config-files/wireguard/wireguard-keys.ts';

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
];
type Size = (typeof sizes)[number];

let fixture: PracticeFixture;
let folder: string;
// The tests draw many screens each, possibly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
beforeAll(async () => {
  [fixture, folder] = await Promise.all([PracticeFixture.open(), mkdtemp(join(tmpdir(), 'qd-tunnels-'))]);
}, 60_000);
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true, force: true });
});

const open = (size: Size) => openOnPractice(fixture, { size });

const server = makeKeyPair().publicKey;

/** Fills in name, kind, address, and the server's key and address; other fields keep their defaults. */
async function fillForm(screen: Harness, name: string): Promise<void> {
  await screen.sees('Tunnel for a device', 'required', 'quarterdeck wireguard make --practice');
  await screen.type(name);
  await screen.press('enter', 'enter', 'enter');
  await screen.type(server);
  await screen.press('enter');
  await screen.type('vpn.example.net:51820');
  await screen.press('enter', 'ctrl+s');
  await screen.sees('Output', 'cancel now, nothing is created.');
}

test.each(sizes)('a configuration is written to a file at $columns x $rows; its key is nowhere else (R77)', async (size) => {
  const screen = await open(size);
  await findFlow(screen, 'make a tunnel', 'Create a tunnel configuration for a device');
  await fillForm(screen, 'laptop');
  expect(misfits(screen.frame(), size)).toEqual([]);
  // For Linux the file is the first choice.
  await screen.press('enter');
  await screen.sees('File');
  const file = join(folder, `w${size.columns}.conf`);
  await screen.press('ctrl+u');
  await screen.type(file);
  await screen.press('enter');
  await screen.sees('Wrote', 'server.conf');
  expect(misfits(screen.frame(), size)).toEqual([]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  expect(inspectConfig(text).problems.filter(({ level }) => level === 'error')).toEqual([]);
  const key = /^PrivateKey = (.*)$/m.exec(text)?.[1] ?? 'none';
  await screen.misses(key);
  await screen.press('esc');
  expect(await tracesBelow([fixture.home, fixture.access.folder], [key])).toEqual([]);
});

test('Esc before the last answer makes nothing, and says so', async () => {
  const screen = await open({ columns: 80, rows: 24 });
  await findFlow(screen, 'make a tunnel', 'Create a tunnel configuration for a device');
  await fillForm(screen, 'laptop');
  await screen.press('esc');
  await screen.sees(/[Nn]othing|was left|ancelled|is as before/);
  await screen.misses('PrivateKey');
});

test.each(sizes)('rules of a tunnel that is not deployed are checked in a file that is asked for, at $columns x $rows', async (size) => {
  const file = join(folder, 'config.yml');
  await writeFile(
    file,
    'ingress:\n  - hostname: a.example.org\n    service: http://localhost:80\n  - hostname: b.example.org\n    service: http://localhost:81\n',
  );
  const screen = await open(size);
  await findFlow(screen, 'ingress', 'Check the rules of an outbound tunnel');
  await screen.sees('Configuration', 'No configuration of a deployed');
  await screen.type(file);
  await screen.press('enter');
  // The check completed and found problems.
  await screen.sees(/▲ \S*config\.yml: \d/, 'quarterdeck ingress check');
  expect(misfits(screen.frame(), size)).toEqual([]);
});

const missing = requiredProgram('nebula-cert', 'nebula');

test.skipIf(missing)(
  `the first node makes the authority before it, and its files go where they are asked for${missing ? ` (skipped: ${missing})` : ''}`,
  async () => {
    const size = { columns: 80, rows: 24 };
    const screen = await open(size);
    await findFlow(screen, 'sign a node', 'Sign a node of the overlay mesh');
    await screen.sees('Mesh name', 'This host has no mesh CA yet');
    await screen.press('enter');
    await screen.sees('Created the CA home mesh', 'Node');
    await screen.type('nas');
    await screen.press('enter');
    await screen.sees('10.1.0.1/24');
    await screen.press('enter');
    await screen.sees('Groups');
    await screen.press('enter');
    await screen.sees('Destination for the certificate and key of nas', 'The key is also stored');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('enter');
    await screen.sees('Folder');
    await screen.press('ctrl+u');
    await screen.type(join(folder, 'nas'));
    await screen.press('enter');
    await screen.sees('Signed the certificate of nas, valid until', 'Copy them to the node');
    expect(misfits(screen.frame(), size)).toEqual([]);
    const key = (await readFile(join(folder, 'nas', 'nas.key'), 'utf8')).split('\n')[1] ?? 'none';
    await screen.misses(key);
    expect(await tracesBelow([fixture.home, fixture.access.folder], [key])).toEqual([]);
  },
);
