import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type OwnPaths, ownPaths } from '../config/paths.ts';
import { type HostSettings, loadSettings, settingsFile } from '../config/settings.ts';
import { createRemoteFleet } from './remote-fleet.ts';

let folder: string;
let file: string;
let reported: string[];
let paths: OwnPaths;
let live: ReturnType<typeof createRemoteFleet>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-live-'));
  paths = ownPaths({ QUARTERDECK_HOME: folder }, folder);
  file = settingsFile(paths);
  reported = [];
  await mkdir(join(folder, 'config'));
  await writeFile(file, 'hosts: {nas: {ssh: nas}}\n');
  live = await open({ nas: { ssh: 'nas' } });
});
afterEach(async () => {
  live.close();
  await rm(folder, { recursive: true, force: true });
});

/** Reports each host that the fleet is given, and each that it drops. */
async function open(shown: Readonly<Record<string, HostSettings>>) {
  const fleet = {
    add: (sources: { host: { name: string; ssh: string } }[]) => reported.push(...sources.map(({ host }) => `+${host.name} ${host.ssh}`)),
    drop({ name }: { name: string }) {
      reported.push(`-${name}`);
      return [];
    },
    isEmpty: () => false,
    watchOf: () => undefined,
  };
  const remote = createRemoteFleet({
    fleet: fleet as never,
    tunnels: { all: [] } as never,
    hosts: { open: async (name: string, { ssh }: HostSettings) => ({ name, ssh }), close: async () => {} } as never,
    engines: { paths } as never,
    prepare: (engine) => engine,
    otherwise: [],
  });
  await remote.follow({ file, read: () => loadSettings(paths, folder), shown });
  return remote;
}

const says = async (text: string) => {
  await writeFile(file, text);
  await live.changed();
};

it('adds what came, drops what went, and leaves alone what stayed, whatever else changes', async () => {
  await says('hosts: {nas: {ssh: nas}, vps: {ssh: op@vps}}\n');
  expect(reported).toEqual(['+vps op@vps']);
  await says('theme: light\nhosts: {vps: {ssh: op@vps}}\n');
  expect(reported.slice(1)).toEqual(['-nas']);
  await Promise.all([live.changed(), live.changed()]);
  expect(reported).toHaveLength(2);
});

it('makes a host anew that is somewhere else now', async () => {
  await says('hosts: {nas: {ssh: op@nas.example.org}}\n');
  expect(reported).toEqual(['-nas', '+nas op@nas.example.org']);
});

it('leaves all as it is while the file is wrong, and takes it over when it is right again', async () => {
  await says('hosts: {nas: {ssh: nas}, vps: {shs: vps}}\n');
  expect(reported).toEqual([]);
  await says('hosts: [\n');
  expect(reported).toEqual([]);
  await says('hosts: {nas: {ssh: nas}, vps: {ssh: vps}}\n');
  expect(reported).toEqual(['+vps vps']);
});

it('notices by itself what another process writes, also into a folder that was not there', async () => {
  live.close();
  await rm(join(folder, 'config'), { recursive: true });
  live = await open({});
  await mkdir(join(folder, 'config'));
  await writeFile(file, 'hosts: {vps: {ssh: vps}}\n');
  await vi.waitFor(() => expect(reported).toEqual(['+vps vps']), { timeout: 15_000 });
});
